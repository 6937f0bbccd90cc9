"""Match: the calibrated probability of every hit, from a training with labels to the hits of a search."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rows import WIDTHS, each, fill, item, row
from scipy.special import expit, logit

from crossview.engine.collections.collection import Collection
from crossview.engine.collections.home import Home
from crossview.engine.spaces.match import Familiarity, Match, Novelty, fitted_match
from crossview.engine.training import calibration
from crossview.engine.values.comparisons import Answer
from crossview.engine.values.errors import CancelledError, InvalidInputError, NotReadyError
from crossview.engine.values.item import NewItem
from crossview.engine.values.query import Query, SearchRequest
from crossview.engine.values.recipe import Pair, Recipe

AXIS = Match("a", "b", 0.0, -1.0, -1.0, 0.5, 2.0)


def test_probabilities_are_right_on_average_and_fall_with_distance() -> None:
    generator = np.random.default_rng(0)
    lists = np.sort(generator.uniform(0.5, 4, (600, 20)), axis=1)
    relevant = generator.random(lists.shape) < 1 / (1 + np.exp(3 * lists - 6))
    match = fitted_match(("a", "b"), lists, relevant, np.ones(600), factor=2.0)
    assert match is not None
    found = np.array([match.probabilities((2 * row).tolist()) for row in lists])  # the space's distances are doubled
    assert (np.diff(found, axis=1) <= 0).all()
    assert abs(found.mean() - relevant.mean()) < 0.02
    near = found > 0.5
    assert abs(found[near].mean() - relevant[near].mean()) < 0.05


def test_of_equally_far_hits_those_of_a_familiar_query_are_likelier() -> None:
    """Rows tell apart the queries that distances do not; a weight that would reward novelty is 0."""
    generator = np.random.default_rng(0)
    lists = np.sort(generator.uniform(1, 2, (300, 20)), axis=1)
    familiar = generator.normal(size=(300, 3))
    relevant = generator.random(lists.shape) < expit(2 * (familiar[:, 1:2] - familiar[:, :1]))
    match = fitted_match(("a", "b"), lists, relevant, np.ones(300), 1.0, familiar)
    assert match is not None
    assert match.of_factor < -1
    assert match.of_neighbours == 0
    known, novel = (match.probabilities([1.5], Familiarity(evidence=np.array([x, 0, 0]))) for x in (-1.0, 1.0))
    assert known[0] > 0.7 > 0.4 > novel[0]


@pytest.mark.parametrize("relevant", [True, False])
def test_nothing_is_calibrated_from_hits_of_one_kind(relevant: bool) -> None:
    found = fitted_match(("a", "b"), np.ones((3, 2)), np.full((3, 2), relevant), np.ones(3), 1.0)
    assert found is None


def test_distances_that_say_nothing_give_every_hit_the_prior() -> None:
    match = fitted_match(("a", "b"), np.ones((4, 2)), np.arange(8).reshape(4, 2) < 2, np.ones(4), 1.0)
    assert match is not None
    assert match.probabilities([1.0, 3.0]) == pytest.approx([0.25, 0.25])


def test_no_hits_have_no_probabilities() -> None:
    assert AXIS.probabilities([]) == []


def test_a_copy_matches_and_does_not_change_the_match_of_other_hits() -> None:
    """A hit much nearer than any in the calibration is a copy of the query."""
    copy, nearly, other = AXIS.probabilities([0.0, 0.05, 0.7], Familiarity(0.5))
    assert copy == 1
    assert nearly > 0.9
    assert other == AXIS.probabilities([0.5, 0.7], Familiarity(0.5))[1]


def test_a_row_unlike_all_known_rows_loses_its_match() -> None:
    known, queries = (np.stack([row("color", *one) for one in each(40)][start::2]) for start in (0, 1))
    novelty = Novelty.of("color", known, queries)
    alike = novelty.familiarity(np.stack([row("color", "cat", 99), row("color", "owl", 98)]))
    assert [familiarity.share for familiarity in alike] == [1, 1]
    (other,) = novelty.familiarity(np.eye(1, WIDTHS["color"], dtype=np.float32))
    assert other.share < 0.01
    assert max(AXIS.probabilities([0.5, 0.7], other)) < 0.01
    earlier = replace(novelty, lengths=None, least=None)  # as spaces of earlier versions are stored
    assert earlier.familiarity(queries)[0].share == novelty.familiarity(queries)[0].share


@pytest.mark.parametrize(("count", "calibrated"), [(13, False), (14, True)])
def test_few_labelled_items_have_a_match(home: Home, count: int, calibrated: bool) -> None:
    with fill(home, "few", [item(group, number) for group, number in each(count)]) as made:
        made.train(Recipe(views=("color", "gist")))
        (hits,) = made.search(key="cat/03", k=5)
        assert all((hit.match is not None) == calibrated for hit in hits)


@pytest.fixture(scope="module")
def pets(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    """Return a collection with a trained space."""
    made = fill(Home(tmp_path_factory.mktemp("match")), "pets", [item(group, number) for group, number in each(40)])
    made.train(Recipe(views=("color", "gist")))
    return made


def test_hits_have_a_match_and_a_minimum_cuts_lists(pets: Collection) -> None:
    query = row("color", "cat", 99)
    (hits,) = pets.search(view="color", vector=query, targets="gist", k=100)
    matches = [hit.match for hit in hits]
    assert all(one is not None and 0 < one <= 1 for one in matches)
    assert matches == sorted(matches, key=lambda one: -(one or 0))
    (some,) = pets.search(view="color", vector=query, targets="gist", k=100, min_match=0.5)
    assert some.hits == tuple(hit for hit in hits if (hit.match or 0) >= 0.5)
    (merged,) = pets.search(view="color", vector=query, k=100, merge=True, min_match=0.5)
    assert all((hit.match or 0) >= 0.5 for hit in merged)


def test_a_space_without_calibration_has_no_match_and_says_so(pets: Collection) -> None:
    query = row("color", "cat", 99)
    assert {hit.match for hit in pets.search(view="color", vector=query, space="raw")[0]} == {None}
    with pytest.raises(NotReadyError, match=r"no calibrated match.*train it"):
        pets.search(view="color", vector=query, space="raw", min_match=0.5)


def test_another_process_reads_the_calibration(pets: Collection) -> None:
    space = pets._opened.versions().answered("", lambda *_: [], lambda state: state.space)
    again = type(space).from_state(space.name, space.generation, space.to_state())
    assert len(again.matches) == 5  # four of views and targets, and that of a list of all
    assert again.matches == space.matches
    rows = row("color", "dog", 5)[None]
    (found,), (expected,) = (one.novelty_of["color"].familiarity(rows) for one in (again, space))
    assert (found.share, found.evidence.tolist()) == (expected.share, expected.evidence.tolist())


def test_a_query_without_a_view_asks_by_every_view_and_merges_by_match(pets: Collection) -> None:
    (found,) = pets.search(key="cat/03", k=5)
    of_view = [
        {hit.key: hit.match or 0 for hit in of_target}
        for view in WIDTHS
        for of_target in pets.search(view=view, key="cat/03", k=119)
    ]
    space = pets._opened.versions().answered("", lambda *_: [], lambda state: state.space)
    logits = {
        key: np.mean([logit(np.clip(of_target[key], 1e-3, 0.999)) for of_target in of_view]) for key in of_view[0]
    }
    offset, slope = space.match_of["", ""].line(float(max(logits.values())))
    means = [float(expit(offset + slope * logits[hit.key])) for hit in found]
    assert found.target == "match of color, gist"
    assert [hit.match for hit in found] == pytest.approx(means)
    assert means == sorted(means, reverse=True)
    (some,) = pets.search(key="cat/03", k=5, min_match=found[2].match)
    assert [hit.key for hit in some] == [hit.key for hit in found][:3]
    both = pets.search(SearchRequest([Query(key="cat/03"), Query("gist", key="cat/03")], k=5))
    assert [(one.query, one.target) for one in both] == [(0, found.target), (1, "color"), (1, "gist")]
    assert both[0].hits == found.hits


def test_without_a_match_every_view_is_fused_by_distance(pets: Collection) -> None:
    (found,) = pets.search(key="cat/03", k=5, space="raw")
    assert found.target == "distance of color, gist"
    assert len(found) == 5
    assert {hit.match for hit in found} == {None}


def test_a_vector_needs_a_view(pets: Collection) -> None:
    with pytest.raises(InvalidInputError, match="give the view that it is of"):
        pets.search(vector=row("color", "cat", 1))


@pytest.mark.parametrize(("error", "stored"), [(InvalidInputError, True), (CancelledError, False)])
def test_a_learner_that_refuses_the_sample_leaves_the_space_and_a_cancelled_training_leaves_none(
    home: Home, monkeypatch: pytest.MonkeyPatch, error: type[Exception], stored: bool
) -> None:
    """The small trainings belong to the training: cancelling one of them cancels it."""

    def refuse(*_: object) -> None:
        raise error("stopped")

    monkeypatch.setattr(calibration, "_round", refuse)
    with fill(home, "one", [item(group, number) for group, number in each(60)]) as made:
        if stored:
            made.train(Recipe(spec="pca", views=("color",)))
        else:
            with pytest.raises(CancelledError):
                made.train(Recipe(spec="pca", views=("color",)))
        assert ("pca" in [space.name for space in made.spaces()]) == stored


def test_a_notion_with_one_comparison_does_not_end_a_training(home: Home) -> None:
    """The calibration fits again without some items, and then without the comparison and the target of its notion."""
    with fill(home, "rare", [item(group, number) for group, number in each(40)]) as made:
        for number in range(8):
            near, far = f"cat/{number + 1:02}", f"dog/{number:02}"
            made.questions.answer(
                Answer(notion="often", anchor=f"cat/{number:02}", near=(near,), far=(far,), person="a")
            )
        once = Answer(notion="once", anchor="owl/00", near=("owl/01",), far=("cat/00",), person="a")
        made.questions.answer(once)
        space = made.train(Recipe(views=("color",), answers=True))
        assert {str(one) for one in space.targets} == {"color:often", "color:once"}


def test_evidence_is_the_logit_of_a_match_bounded_around_the_usual_one() -> None:
    """One target alone cannot exclude an item, however rare relevant items are."""
    matches = np.array([1e-12, 1e-4, 0.3, 1 - 1e-12])
    assert AXIS.evidence(matches) == pytest.approx(logit(np.clip(matches, 1e-3, 1 - 1e-3)))
    rare = replace(AXIS, prior=1e-4).evidence(matches)
    assert rare == pytest.approx([logit(1e-4) - logit(0.999), logit(1e-4), logit(1e-4) + logit(0.999), rare[2]])


def test_targets_are_weighed_together_by_what_each_adds(tmp_path: Path) -> None:
    """Items have no labels: a target that shows a query's own item outweighs one of noise, and the list is better."""
    generator = np.random.default_rng(0)
    shown = generator.normal(size=(400, 6))
    rows = {view: shown + noise * generator.normal(size=shown.shape) for view, noise in NOISES.items()}
    items = [NewItem(f"{n}", rows={view: found[n] for view, found in rows.items()}) for n in range(400)]
    with Home(tmp_path / "home").create("twins", [f"{view}=vectors:dim=6" for view in NOISES]) as made:
        made.items.put(items[:300])
        made.train(Recipe(spec="cca", dim=5))
        made.items.put(items[300:])
        space = made._opened.versions().answered("cca", lambda _, one: one.targets, lambda state: state.space)
        clear, vague = (space.match_of["query", target] for target in ("clear", "vague"))
        assert clear.weight == 1
        assert vague.weight * vague.of_hit > 0.3 * clear.of_hit  # both are negative
        asked = [Query("query", vector=rows["query"][n]) for n in range(300, 400)]
        found = {
            targets: made.search(SearchRequest(asked, targets=targets, k=10, fuse="match", merge=True))
            for targets in (("clear",), ("clear", "vague"))
        }
        recall = {
            targets: np.mean([str(n) in [hit.key for hit in hits] for n, hits in enumerate(lists, 300)])
            for targets, lists in found.items()
        }
        assert recall["clear", "vague"] >= recall["clear",] - 0.03


def test_pairs_of_items_without_labels_are_relevant_to_each_other(tmp_path: Path) -> None:
    """A training by pairs is calibrated; it failed, because SciPy returns one axis for a single row."""
    shown = np.random.default_rng(0).normal(size=(120, 6))
    items = [NewItem(f"{n}", rows={"a": row + 0.1, "b": row[::-1]}) for n, row in enumerate(shown)]
    pairs = tuple(Pair(f"{n}", f"{n + 1}") for n in range(0, 120, 2))
    with Home(tmp_path / "home").create("paired", [f"{view}=vectors:dim=6" for view in "ab"]) as made:
        made.items.put(items)
        made.train(Recipe(spec="multi-npp:3", pairs=pairs))
        (hits,) = made.search(SearchRequest([Query("a", key="0")], targets=["b"], k=3))
        assert all(hit.match is not None for hit in hits)


NOISES = {"query": 0.3, "clear": 0.5, "vague": 6.0}
"""The deviation of noise in each view, of rows of deviation 1."""
