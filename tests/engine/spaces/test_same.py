"""Verdicts whether two items are the same: distances are those of searches, thresholds belong to generations."""

from pathlib import Path

import numpy as np
import pytest

from crossview.engine.collections.collection import Collection
from crossview.engine.collections.home import Home
from crossview.engine.learners.frame.comparisons import Comparisons
from crossview.engine.values.comparisons import ItemComparisons
from crossview.engine.values.errors import InputWarning, InvalidInputError, NotFoundError, NotReadyError
from crossview.engine.values.evaluation import EvaluationRequest
from crossview.engine.values.item import ItemUpdate, NewItem
from crossview.engine.values.query import CalibrationRequest, Query, SameRequest, SearchRequest
from crossview.engine.values.recipe import Grouping, Recipe

CLASSES, EACH = 6, 12


@pytest.fixture
def made(home: Home):
    """Return six classes of twelve, in two views with noise."""
    generator = np.random.default_rng(0)
    centres = {"a": generator.normal(size=(CLASSES, 8)), "b": generator.normal(size=(CLASSES, 5))}
    with home.create("same", ["a=vectors:dim=8", "b=vectors:dim=5"]) as opened:
        opened.items.put(
            [
                NewItem(
                    f"{kind}/{number:02}",
                    labels=(str(kind),),
                    rows={
                        view: rows[kind] + generator.normal(size=rows.shape[1]) * 0.5 for view, rows in centres.items()
                    },
                )
                for kind in range(CLASSES)
                for number in range(EACH)
            ]
        )
        yield opened


def stated(pairs: list[tuple[str, str, bool]], notions: list[str] | None = None) -> ItemComparisons:
    keys = sorted({key for one in pairs for key in one[:2]})
    items = np.array([[keys.index(first), keys.index(second)] for first, second, _ in pairs])
    similar = np.array([alike for *_, alike in pairs])
    return ItemComparisons(
        tuple(keys), Comparisons(items, similar, notions=None if notions is None else np.array(notions))
    )


def some_pairs(first: int = 0, count: int = 10) -> ItemComparisons:
    """Return pairs of the items with these numbers in each class."""
    numbers = range(first, first + count - 1)
    alike = [(f"{kind}/{n:02}", f"{kind}/{n + 1:02}", True) for kind in range(CLASSES) for n in numbers]
    different = [
        (f"{kind}/{n:02}", f"{(kind + 1) % CLASSES}/{n:02}", False) for kind in range(CLASSES) for n in numbers
    ]
    return stated(alike + different)


def verdict(collection: Collection, first: str, second: str, view: str = "a", target: str = "", space: str = ""):
    other = target.partition(":")[0] or view
    pair = Query(view, key=first), Query(other, key=second)
    return collection.same(SameRequest([pair], target=target, space=space))[0]


@pytest.mark.parametrize(
    ("recipe", "view", "target"),
    [
        (None, "a", "a"),
        (Recipe(spec="fantope", views=("a",), dim=4), "a", "a"),
        (Recipe(spec="cca", views=("a", "b"), dim=3), "a", "b"),
        (Recipe(spec="posteriors,dot", views=("a", "b")), "a", "b"),
        (Recipe(spec="itq", views=("a",), settings={"n_bits": 8}), "a", "a"),
        (Recipe(spec="itq", views=("a",), settings={"n_bits": 8}, rerank=4), "a", "a"),
    ],
    ids=["raw", "metric", "across views", "queries apart", "codes", "reranked codes"],
)
def test_distances_are_those_of_searches(made, recipe, view, target):
    """The probabilities of hits agree by the same base rate; they fall with the distance, and are one half at the
    threshold of a base rate of one half."""
    if recipe is not None:
        made.train(recipe, space="one")
    threshold = made.spaces.calibrate(CalibrationRequest(view=view, target=target))
    asked = SearchRequest([Query(view, key="0/03")], targets=[target], k=70, probabilities=True, base_rate=0.5)
    (found,) = made.search(asked)
    verdicts = {hit.key: verdict(made, "0/03", hit.key, view, target) for hit in found.hits}
    assert [hit.distance for hit in found.hits] == pytest.approx(
        [verdicts[hit.key].distance for hit in found.hits], 1e-4
    )
    assert [hit.probability for hit in found.hits] == pytest.approx(
        [verdicts[hit.key].probability for hit in found.hits], abs=1e-2
    )
    assert all(one.same == (one.distance <= threshold.distance) for one in verdicts.values())
    assert {one.threshold for one in verdicts.values()} == {threshold.distance}
    own = [verdicts[hit.key].same for hit in found.hits if hit.labels == ("0",)]
    assert np.mean(own) > np.mean([verdicts[hit.key].same for hit in found.hits if hit.labels != ("0",)])


def test_hits_are_as_often_the_same_as_their_probabilities_say(made):
    """They count all pairs of a query and an item: by default the labels give the share of pairs that are the same."""
    threshold = made.spaces.calibrate(CalibrationRequest(view="a"))
    assert threshold.base_rate == pytest.approx((EACH - 1) / (CLASSES * EACH - 1))
    queries = [Query("a", key=item.key) for item in made.items(limit=100)]
    hits = [
        hit
        for found in made.search(SearchRequest(queries, targets=["a"], k=100, probabilities=True))
        for hit in found.hits
    ]
    assert len(hits) == CLASSES * EACH * (CLASSES * EACH - 1)
    assert {hit.base_rate for hit in hits} == {threshold.base_rate}
    assert np.mean([hit.probability for hit in hits]) == pytest.approx(threshold.base_rate, abs=0.02)


def test_a_base_rate_may_be_given(made):
    """It multiplies the odds; stated pairs give it without labels."""
    made.spaces.calibrate(CalibrationRequest(view="a"))

    def odds(base_rate: float | None) -> np.ndarray:
        asked = SearchRequest([Query("a", key="0/03")], targets=["a"], k=20, probabilities=True, base_rate=base_rate)
        (found,) = made.search(asked)
        probabilities = np.array([hit.probability for hit in found.hits])
        return probabilities / (1 - probabilities)

    assert odds(0.01) == pytest.approx(odds(0.5) / 99)
    assert (odds(None) < odds(0.5)).all()
    pair = Query("a", key="0/03"), Query("a", key="0/04")
    rare, half = (made.same(SameRequest([pair], base_rate=rate))[0].probability for rate in (0.01, 0.5))
    assert rare / (1 - rare) == pytest.approx(half / (1 - half) / 99)
    assert half == made.same(SameRequest([pair]))[0].probability
    made.items.update([ItemUpdate(item.key, labels=()) for item in made.items(limit=100)])
    assert made.spaces.calibrate(CalibrationRequest(view="a", pairs=some_pairs())).base_rate == 0.5


@pytest.mark.parametrize("rate", [0, 1, -0.1, float("nan")])
def test_a_base_rate_that_is_none_is_refused(made, rate):
    made.spaces.calibrate(CalibrationRequest(view="a"))
    query = Query("a", key="0/03")
    with pytest.raises(InvalidInputError, match="above 0 and below 1"):
        made.search(SearchRequest([query], probabilities=True, base_rate=rate))
    with pytest.raises(InvalidInputError, match="above 0 and below 1"):
        made.same(SameRequest([(query, query)], base_rate=rate))
    with pytest.raises(InvalidInputError, match="also use `probabilities=True`"):
        made.search(SearchRequest([query], base_rate=0.5))


def test_hits_have_no_probability_that_nobody_asked_for(made):
    made.spaces.calibrate(CalibrationRequest(view="a"))
    (found,) = made.search(SearchRequest([Query("a", key="0/03")], targets=["a"]))
    assert {(hit.probability, hit.base_rate) for hit in found.hits} == {(None, None)}


def test_labels_that_were_held_out_calibrate(made):
    """Without held-out labels all calibrate, and the protocol says so."""
    made.train(Recipe(spec="fantope", views=("a",), holdout=0.5), space="half")
    held_out = made.spaces.calibrate(CalibrationRequest(view="a", space="half"))
    assert "that space 'half' was not trained on" in held_out.protocol
    assert "from items that the space was trained on" not in held_out.protocol
    made.train(Recipe(spec="fantope", views=("a",)), space="all")
    assert "hold out items in the training" in made.spaces.calibrate(CalibrationRequest(view="a", space="all")).protocol


def test_a_threshold_belongs_to_a_generation(made, home):
    """The next has none, the last has its own again; closing loses nothing, a copy has it, deletion takes it."""
    made.train(Recipe(spec="fantope", views=("a",), dim=4), space="m")
    first = made.spaces.calibrate(CalibrationRequest(view="a"))
    made.train(Recipe(spec="fantope", views=("a",), dim=2), space="m")
    with pytest.raises(
        NotReadyError, match=r"`collection.spaces.calibrate\(CalibrationRequest\(space='m', view='a'\)\)`"
    ):
        verdict(made, "0/00", "0/01")
    second = made.spaces.calibrate(CalibrationRequest(view="a", pairs=some_pairs()))
    assert made.spaces.get("m").thresholds == (second,)
    made.spaces.activate("m", 1)
    assert made.spaces.get("m").thresholds == (first,)
    assert verdict(made, "0/00", "0/01").threshold == first.distance
    home.backup("same", home.path / "copy")
    home.restore("again", home.path / "copy")
    with home.open("again") as again, home.open("same") as reopened:
        for one in (again, reopened):
            assert verdict(one, "0/00", "0/01").threshold == first.distance
        reopened.spaces.activate("m", 2)
        assert verdict(made, "0/00", "0/01").threshold == second.distance
    made.spaces.delete("m", 1)
    made.spaces.delete("m")
    made.train(Recipe(spec="fantope", views=("a",), dim=4), space="m")
    assert made.spaces.get("m").thresholds == ()


def test_raw_views_keep_theirs_while_others_come_and_go(made):
    """Another view changes nothing; a deleted view takes its threshold along."""
    kept = made.spaces.calibrate(CalibrationRequest(view="a", space="raw"))
    made.spaces.calibrate(CalibrationRequest(view="b", space="raw"))
    made.views.add("c=vectors:dim=2")
    assert {one.view for one in made.spaces.get("raw").thresholds} == {"a", "b"}
    made.views.delete("b")
    made.views.add("b=vectors:dim=5")
    assert made.spaces.get("raw").thresholds == (kept,)
    assert verdict(made, "0/00", "0/00", space="raw").same


def test_notions_are_calibrated_each(made):
    """The pairs of each notion calibrate it."""
    keys = [item.key for item in made.items(limit=100)]
    triplets = [
        (anchor, near, far)
        for anchor in keys[::3]
        for near, far in zip(keys[1::7], keys[5::7], strict=False)
        if anchor[0] == near[0] != far[0] and anchor != near
    ]
    names = sorted(set(keys))
    items = np.array([[names.index(key) for key in one] for one in triplets])
    notions = np.array(["x" if number % 2 else "y" for number in range(len(items))])
    given = ItemComparisons(tuple(names), Comparisons(items, notions=notions))
    made.train(Recipe(spec="joint:2", views=("a",), constraints=given), space="notions")
    with pytest.raises(InvalidInputError, match="several metrics of view 'a'"):
        made.spaces.calibrate(CalibrationRequest(view="a"))
    pairs = [("0/00", "0/01", True), ("1/00", "1/01", True), ("0/00", "1/00", False), ("2/00", "1/00", False)]
    threshold = made.spaces.calibrate(
        CalibrationRequest(view="a", target="x", pairs=stated(pairs, ["x", "y", "x", "x"]))
    )
    assert (threshold.target, threshold.similar, threshold.dissimilar) == ("a:x", 1, 2)
    with pytest.raises(InvalidInputError, match="are in the notions x, and 'a:y' is not one of them"):
        made.spaces.calibrate(CalibrationRequest(view="a", target="y", pairs=stated(pairs, ["x"] * 4)))


@pytest.mark.parametrize(
    ("pairs", "error", "message"),
    [
        ([("0/00", "0/01", True)], InvalidInputError, "all of the 1 usable pairs are similar"),
        ([("0/00", "1/01", False)], InvalidInputError, "all of the 1 usable pairs are dissimilar"),
        ([("0/00", "nobody", True), ("no one", "1/00", False)], NotFoundError, "there is no item 'nobody'"),
        ([("0/00", "0/00", True), ("0/00", "1/00", False)], InvalidInputError, "'0/00' is compared with itself"),
        (
            [("0/00", "0/01", True), ("0/01", "0/00", False)],
            InvalidInputError,
            "similar by constraint 1 and dissimilar",
        ),
        ([("none", "0/00", True), ("none", "1/00", False)], NotReadyError, "none of the 2 pairs has items"),
    ],
)
def test_pairs_that_cannot_calibrate_are_refused(made, pairs, error, message):
    """The words say which; nothing is stored."""
    made.items.put([NewItem("none", rows={"b": [0, 0, 0, 0, 1]})])
    for ask in (
        lambda given: made.spaces.calibrate(CalibrationRequest(view="a", pairs=given)),
        lambda given: made.evaluate(EvaluationRequest(view="a", pairs=given)),
    ):
        with pytest.raises(error, match=message):
            ask(stated(pairs))
    assert made.spaces.get("raw").thresholds == ()


def test_what_cannot_be_told_is_refused(made):
    """A vector of NaN, a file that is not a picture, another view than the target's, an unknown view."""
    made.spaces.calibrate(CalibrationRequest(view="a"))
    known = Query("a", key="0/00")
    for other, error in (
        (Query("a", vector=[float("nan")] * 8), InvalidInputError),
        (Query("a", image=b"no picture"), InvalidInputError),
        (Query("b", key="0/00"), InvalidInputError),  # raw compares within a view
        (Query("c", key="0/00"), NotFoundError),
    ):
        with pytest.raises(error):
            made.same(SameRequest([(known, other)], space="raw"))
    with pytest.raises(InvalidInputError):
        made.same(SameRequest([(known, Query("b", key="0/00"))], target="a"))
    with pytest.raises(InvalidInputError, match="at least one"):
        made.same(SameRequest([]))
    with pytest.raises(NotReadyError, match=r"collection.spaces.calibrate\(CalibrationRequest\(space='raw', view='b'"):
        made.search(SearchRequest([Query("b", key="0/00")], targets=["b"], probabilities=True))


def test_pairs_of_items_that_are_not_there_are_left_out(made):
    """The others have the same verdicts; the result and threshold name the keys and the number of pairs left out."""
    made.items.put([NewItem("bare", rows={"b": [0, 0, 0, 0, 1]})])
    given = [("0/00", "0/01", True), ("0/00", "1/00", False), ("nobody", "0/01", True), ("0/01", "no one", False)]
    threshold = made.spaces.calibrate(CalibrationRequest(view="a", pairs=stated(given)))
    assert (threshold.similar, threshold.dissimilar) == (1, 1)
    assert "2 of 4 pairs left out: there is no item 'nobody', 'no one'" in threshold.protocol
    evaluated = made.evaluate(EvaluationRequest(view="a", pairs=stated(given)))
    assert "2 of 4 pairs left out: there is no item 'nobody', 'no one'" in evaluated.protocol
    asked = [(Query("a", key=one), Query("a", key=other)) for one, other, _ in [*given, ("0/00", "bare", True)]]
    first, second, *left_out = made.same(SameRequest(asked))
    assert [first, second] == made.same(SameRequest(asked[:2]))
    assert [one.key for one in left_out] == ["nobody", "no one", "bare"]
    assert "no item 'nobody'" in left_out[0].reason
    assert "item 'bare' has no row of view 'a'" in left_out[2].reason


def test_without_labels_pairs_are_asked_for(home: Home, tmp_path: Path):
    """An item is the same as itself."""
    with home.create("bare", ["a=vectors:dim=2"]) as made:
        made.items.put([NewItem(str(number), rows={"a": [number, number % 2]}) for number in range(6)])
        with pytest.raises(NotReadyError, match="give `pairs`"):
            made.spaces.calibrate(CalibrationRequest(view="a"))
        made.spaces.calibrate(CalibrationRequest(view="a", pairs=stated([("0", "2", True), ("0", "3", False)])))
        one = verdict(made, "4", "4")
        assert (one.same, one.distance) == (True, 0.0)


def test_a_space_that_is_trained_again_meanwhile_keeps_the_threshold_apart(made, monkeypatch):
    """The threshold belongs to the generation that was measured, not to the one that answers by then."""
    made.train(Recipe(spec="fantope", views=("a",), dim=4), space="m")
    import crossview.engine.spaces.thresholds as thresholds

    real = thresholds.calibrated

    def slowly(*arguments):
        found = real(*arguments)
        made.train(Recipe(spec="fantope", views=("a",), dim=2), space="m")
        return found

    monkeypatch.setattr(thresholds, "calibrated", slowly)
    threshold = made.spaces.calibrate(CalibrationRequest(view="a"))
    assert made.spaces.get("m").thresholds == ()
    made.spaces.activate("m", 1)
    assert made.spaces.get("m").thresholds == (threshold,)


def test_folds_that_were_left_out_calibrate(made):
    """A metric fits its own pairs closely: without each fold the error is larger, and never that of its own."""
    made.items.update([ItemUpdate(item.key, attributes={"class": item.labels[0]}) for item in made.items(limit=100)])
    made.train(Recipe(spec="fantope", views=("a",), dim=4, constraints=some_pairs()), space="m")
    own = made.spaces.calibrate(CalibrationRequest(view="a", pairs=some_pairs()))
    left_out = made.spaces.calibrate(CalibrationRequest(view="a", pairs=some_pairs(), refit=True))
    assert "within 3 folds, at distances that the learner gives without the fold" in left_out.protocol
    assert left_out.similar + left_out.dissimilar < own.similar + own.dissimilar
    by_class = made.spaces.calibrate(CalibrationRequest(view="a", refit=True, group_by=Grouping("class")))
    assert "which do not part items by class" in by_class.protocol
    assert by_class.distance != left_out.distance
    assert made.spaces.get("m").thresholds == (by_class,)


def test_what_cannot_be_refitted_is_refused(made):
    """Raw views learn nothing; groups are those of a refit; pairs must lie within the folds."""
    with pytest.raises(InvalidInputError, match="learns nothing"):
        made.spaces.calibrate(CalibrationRequest(view="a", refit=True))
    with pytest.raises(InvalidInputError, match="also use `refit=True`"):
        CalibrationRequest(view="a", group_by=Grouping("class"))
    made.train(Recipe(spec="fantope", views=("a",), dim=4), space="m")
    with pytest.raises(NotFoundError, match="attribute 'class'"):
        made.spaces.calibrate(CalibrationRequest(view="a", refit=True, group_by=Grouping("class")))


def test_without_a_view_the_threshold_with_the_fewest_errors_decides(made: Collection) -> None:
    """Each view that can gets a threshold; a view without pairs of items is left out."""
    made.views.add("c=vectors:dim=3")
    pair = [(Query(key="0/00"), Query(key="1/00"))]
    with pytest.raises(NotReadyError, match="has no threshold"):
        made.same(SameRequest(pair, space="raw"))
    with pytest.warns(InputWarning, match="no threshold for view c: calibrate it alone"):
        best = made.spaces.calibrate(CalibrationRequest(space="raw"))
    by_view = {threshold.view: threshold for threshold in made.spaces.get("raw").thresholds}
    assert by_view.keys() == {"a", "b"}
    assert best.error_rate == min(threshold.error_rate or 0 for threshold in by_view.values())
    (unstated,) = made.same(SameRequest(pair, space="raw"))
    assert unstated == verdict(made, "0/00", "1/00", view=best.view, space="raw")
    with pytest.warns(InputWarning, match="no threshold for view c"):
        assert made.spaces.calibrate(CalibrationRequest()).view == best.view
    with pytest.raises(InvalidInputError, match="give every query of the pairs a view, or none"):
        made.same(SameRequest([(Query("a", key="0/00"), Query(key="1/00"))], space="raw"))
