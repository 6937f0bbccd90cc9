"""Fused lists equal the formula of their way over all items, in plain NumPy."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.special import expit, logit

from crossview.engine.collections.collection import Collection
from crossview.engine.collections.home import Home
from crossview.engine.spaces import teaching
from crossview.engine.spaces.columns import Evidence, best_first, mean_scores, reciprocal_ranks
from crossview.engine.spaces.queries import query_probes
from crossview.engine.spaces.random_pairs import Similarity, random_pairs
from crossview.engine.spaces.search import searched_targets
from crossview.engine.spaces.target import Target
from crossview.engine.spaces.version import MOST_VALUES, Remembered
from crossview.engine.values.comparisons import Answer
from crossview.engine.values.errors import InvalidInputError, NotFoundError, NotReadyError
from crossview.engine.values.item import NewItem
from crossview.engine.values.query import HitList, Query, SearchRequest
from crossview.engine.values.recipe import Recipe
from crossview.engine.values.strategy import FUSE

WIDTHS = {"a": 4, "b": 6, "c": 3}
COUNT, CLASSES = 80, 4
KEYS = [f"item {number:02d}" for number in range(COUNT)]
LACKING = {"b": range(5, 80, 7), "c": range(3, 80, 11)}
"""Items without a row of a view."""
Rows = Mapping[str, NDArray[np.float32]]


@pytest.fixture(scope="module")
def rows() -> Rows:
    """Return views of classes: the first separates them, the second hardly, the third not at all; some rows repeat."""
    draw, found = np.random.default_rng(1), dict[str, NDArray[np.float32]]()
    for (view, width), apart in zip(WIDTHS.items(), (2.0, 0.5, 0.0), strict=True):
        centres = apart * draw.normal(size=(CLASSES, width))
        found[view] = (centres[np.arange(COUNT) % CLASSES] + draw.normal(size=(COUNT, width))).astype(np.float32)
        found[view][8:16:4] = found[view][4]  # ties
    return found


def has(view: str, number: int) -> bool:
    return number not in LACKING.get(view, ())


@pytest.fixture
def made(home: Home, rows: Rows) -> Iterator[Collection]:
    with home.create("made", [f"{view}=vectors:dim={width}" for view, width in WIDTHS.items()]) as collection:
        put(collection, rows, labels=True)
        yield collection


def put(collection: Collection, rows: Rows, labels: bool) -> None:
    collection.items.put(
        [
            NewItem(
                key,
                rows={view: found[number] for view, found in rows.items() if has(view, number)},
                labels=(f"class {number % CLASSES}",) if labels else (),
                attributes={"even": number % 2 == 0},
            )
            for number, key in enumerate(KEYS)
        ]
    )


def search(collection: Collection, number: int, **options: Any) -> HitList:
    (found,) = collection.search(SearchRequest([Query(key=KEYS[number])], space="raw", k=COUNT, **options))
    return found


def distances(rows: Rows, number: int, others: list[int]) -> dict[str, dict[int, float]]:
    """Return, by view that the query has, the distance of each item that has it."""
    return {
        view: {
            other: float(np.linalg.norm(found[other].astype(np.float64) - found[number]))
            for other in others
            if has(view, other)
        }
        for view, found in rows.items()
        if has(view, number)
    }


def mean(scores: dict[str, dict[int, float]], weights: Mapping[str, float] | None = None) -> dict[int, float]:
    """Return the mean score of each item over the views that have it."""
    found: dict[int, float] = {}
    for item in {item for of_view in scores.values() for item in of_view}:
        parts = {view: of_view[item] for view, of_view in scores.items() if item in of_view}
        shares = {view: 1.0 if weights is None else weights[view] for view in parts}
        found[item] = sum(shares[view] * parts[view] for view in parts) / sum(shares.values())
    return found


def by_rank(rows: Rows, number: int, others: list[int]) -> dict[int, float]:
    found = distances(rows, number, others)
    ranks = {
        view: {item: 1 + sum(one < mine - 1e-6 for one in of.values()) for item, mine in of.items()}
        for view, of in found.items()
    }
    return mean({view: {item: 1 / (60 + rank) for item, rank in of.items()} for view, of in ranks.items()})


def scores_of(rows: Rows, number: int, others: list[int]) -> dict[str, dict[int, float]]:
    """Return distances over the root mean square distance of the item to all others, in deviations over all other
    items; fewer than 100 items are all anchors."""
    found = {}
    for view, of in distances(rows, number, others).items():
        everyone = [one for one in range(COUNT) if has(view, one)]
        table = np.linalg.norm(rows[view][everyone][:, None] - rows[view][everyone][None], axis=2).astype(np.float64)
        reach = dict(zip(everyone, np.sqrt((table**2).sum(axis=1) / (len(everyone) - 1)), strict=True))
        usual = np.array(
            [mine / reach[item] for item, mine in distances(rows, number, everyone)[view].items() if item != number]
        )
        found[view] = {item: (usual.mean() - mine / reach[item]) / usual.std() for item, mine in of.items()}
    return found


def weights_of(rows: Rows) -> dict[str, float]:
    """Return the cubes of qualities whose products are the shares of common neighbours among items with all views."""
    items = [item for item in range(COUNT) if all(has(view, item) for view in rows)]
    chance, nearest = 10 / (len(items) - 1), dict[str, list[set[int]]]()
    for view, found in rows.items():
        table = np.linalg.norm(found[:, None].astype(np.float64) - found[None], axis=2)
        everyone = [item for item in range(COUNT) if has(view, item)]
        reach = np.sqrt((table[:, everyone] ** 2).sum(axis=1))
        nearest[view] = [
            set(
                sorted(
                    (other for other in items if other != item), key=lambda other: table[item, other] / reach[other]
                )[:10]
            )
            for item in items
        ]
    shares = {
        pair: np.mean([len(one & other) / 10 for one, other in zip(nearest[pair[0]], nearest[pair[1]], strict=True)])
        for pair in ("ab", "bc", "ac")
    }
    common = {pair: max((share - chance) / (1 - chance), 0.005) for pair, share in shares.items()}
    squares = {
        "a": common["ab"] * common["ac"] / common["bc"],
        "b": common["ab"] * common["bc"] / common["ac"],
        "c": common["ac"] * common["bc"] / common["ab"],
    }
    return {view: float((square / max(squares.values())) ** 1.5) for view, square in squares.items()}


def assert_order(found: HitList, wanted: Mapping[int, float]) -> None:
    """Check that all items come, the greatest score first, up to the rounding of float32, and copies by their ids."""
    items = [KEYS.index(hit.key) for hit in found]
    assert sorted(items) == sorted(wanted)
    scores = np.array([wanted[item] for item in items])
    assert (np.diff(scores) < 1e-6 * np.abs(scores).max()).all()
    copies = [item for item in items if item in (4, 8, 12)]
    assert copies == sorted(copies) or scores[items.index(copies[0])] > scores[items.index(copies[-1])]


@pytest.mark.parametrize("number", [0, 5, 3, 4], ids=["has all views", "lacks b", "lacks c", "has copies"])
@pytest.mark.parametrize("filtered", [False, True], ids=["all", "filtered"])
def test_rank_and_distance_are_exact_over_all_items(made: Collection, rows: Rows, number: int, filtered: bool) -> None:
    others = [one for one in range(COUNT) if one != number and (one % 2 == 0 or not filtered)]
    options = {"filter": "even = true"} if filtered else {}
    assert_order(search(made, number, fuse="rank", **options), by_rank(rows, number, others))
    weights = weights_of(rows) if all(has(view, number) for view in rows) else None  # two views tell nothing
    assert_order(search(made, number, fuse="distance", **options), mean(scores_of(rows, number, others), weights))


def test_the_list_states_the_way_and_hits_their_target_and_distance(made: Collection, rows: Rows) -> None:
    """The distance is that of the view in which the hit is best; without matches the default is distance."""
    found = search(made, 0)
    assert found.target == "distance of a, b, c"
    assert found == search(made, 0, fuse="distance")
    apart, scores = distances(rows, 0, list(range(1, COUNT))), scores_of(rows, 0, list(range(1, COUNT)))
    for hit in found:
        item = KEYS.index(hit.key)
        assert hit.distance == pytest.approx(apart[hit.target][item], rel=1e-5, abs=1e-6)
        assert scores[hit.target][item] >= max(of[item] for of in scores.values() if item in of) - 1e-5
    assert search(made, 5).target == "distance of a, c"


def test_k_cuts_the_same_list(made: Collection) -> None:
    for way in ("rank", "distance", "learn"):
        (few,) = made.search(SearchRequest([Query(key=KEYS[0])], space="raw", k=3, fuse=way))
        assert few.hits == search(made, 0, fuse=way).hits[:3]


@pytest.mark.parametrize("number", [1, 2])
def test_learning_weighs_the_views_and_calibrates(made: Collection, rows: Rows, number: int) -> None:
    """The view that separates classes has the most weight; the list is the weighted mean of the scores."""
    found = search(made, number, fuse="learn")
    assert found.target == "learn of a, b, c"
    version = made._opened.versions().answered("raw", lambda *_: [], lambda state: state.version)
    learned = [
        entry.value for entry in version.remembered._entries.values() if isinstance(entry.value, teaching.LearnedFusion)
    ]
    assert len(learned) == 1
    weights = {view: weight for (view, _), weight in learned[0].weights.items()}
    assert sum(weights.values()) == pytest.approx(1)
    assert weights["a"] > weights["b"] > 0
    assert weights["a"] > 0.5
    others = [one for one in range(COUNT) if one != number]
    assert_order(found, mean(scores_of(rows, number, others), weights))
    matches = [hit.match or 0 for hit in found]
    assert matches == sorted(matches, reverse=True)
    lists = [(one, search(made, one, fuse="learn").hits[:10]) for one in range(20)]
    right = [f"class {one % CLASSES}" in hit.labels for one, hits in lists for hit in hits]
    assert np.mean([hit.match or 0 for _, hits in lists for hit in hits]) == pytest.approx(np.mean(right), abs=0.15)
    (some,) = made.search(
        SearchRequest([Query(key=KEYS[number])], space="raw", k=9, fuse="learn", min_match=matches[4])
    )
    assert some.hits == found.hits[: max(5, len(some))]


def test_learning_never_uses_the_item_of_the_query(made: Collection) -> None:
    """Its labels may be wrong: the list stays the same."""
    before = [hit.key for hit in search(made, 1, fuse="learn")]
    made.items.put([NewItem(KEYS[1], labels=("class 3",))])
    assert [hit.key for hit in search(made, 1, fuse="learn")] == before
    made.items.put([NewItem(KEYS[1], labels=("alone",))])
    assert [hit.key for hit in search(made, 1, fuse="learn")] == before


def test_without_labels_comparisons_teach_and_calibrate_nothing(home: Home, rows: Rows) -> None:
    with home.create("taught", [f"{view}=vectors:dim={width}" for view, width in WIDTHS.items()]) as made:
        put(made, rows, labels=False)
        with pytest.raises(NotReadyError, match=r"which the fusion by learning needs: leave out `fuse='learn'`"):
            search(made, 0, fuse="learn")
        draw = np.random.default_rng(0)
        for anchor in range(0, 60, 2):
            near, far = anchor + CLASSES, anchor + 1 + int(draw.integers(2))
            answer = Answer(notion="n", anchor=KEYS[anchor], near=(KEYS[near],), far=(KEYS[far],), person="p")
            made.questions.answer(answer)
        found = search(made, 0, fuse="learn")
        assert {hit.match for hit in found} == {None}
        right = [KEYS.index(hit.key) % CLASSES == 0 for hit in found[:8]]
        assert np.mean(right) >= np.mean([KEYS.index(hit.key) % CLASSES == 0 for hit in search(made, 0)[:8]])
        with pytest.raises(NotReadyError, match="no calibrated match"):
            search(made, 0, fuse="learn", min_match=0.5)


def test_matches_fuse_by_their_logistic_mean(made: Collection) -> None:
    """The mean is over all items of all targets, calibrated; held-out items teach the weights of a trained space."""
    big = np.random.default_rng(2)
    more = [
        NewItem(
            f"more {number:03d}",
            rows={view: big.normal(size=width).astype(np.float32) + number % CLASSES for view, width in WIDTHS.items()},
            labels=(f"class {number % CLASSES}",),
        )
        for number in range(120)
    ]
    made.items.put(more)
    made.train(Recipe(holdout=0.3), space="learned")
    everything = {"space": "learned", "k": 300}
    (found,) = made.search(SearchRequest([Query(key="more 000")], **everything))
    assert found.target == "match of a, b, c"
    parts = [
        {hit.key: hit.match or 0.0 for hit in of_target}
        for view in WIDTHS
        for of_target in made.search(SearchRequest([Query(view, key="more 000")], **everything))
    ]
    own = [[of[hit.key] for of in parts if hit.key in of] for hit in found]
    means = [float(np.mean(logit(np.clip(of_item, 1e-3, 1 - 1e-3)))) for of_item in own]
    matches = [hit.match or 0 for hit in found]
    # A list of all views has a calibration of its own, a line of the mean.
    slope, offset = np.polyfit(means, logit(matches), 1)
    assert slope > 0
    assert matches == pytest.approx(expit(offset + slope * np.array(means)), abs=1e-6)
    assert matches == sorted(matches, reverse=True)
    (learned,) = made.search(SearchRequest([Query(key="more 000")], **everything, fuse="learn"))
    assert learned.target == "learn of a, b, c"
    assert all(hit.match is not None for hit in learned)


def test_several_targets_of_one_view_fuse_when_asked_to(made: Collection, rows: Rows) -> None:
    made.train(Recipe(spec="cca", views=("a", "b"), dim=3), space="both")
    query = Query("a", vector=rows["a"][0])
    (merged,) = made.search(SearchRequest([query], space="both", fuse="distance", k=100))
    (fused,) = made.search(SearchRequest([query], space="both", fuse="rank", k=100))
    assert merged.target == "distance of a, b"
    assert fused.target == "rank of a, b"
    assert {hit.key for hit in merged} == {hit.key for hit in fused} == set(KEYS)
    near = made.search(SearchRequest([query], space="both", k=100, max_distance=0.4))
    (some,) = made.search(SearchRequest([query], space="both", fuse="rank", k=100, max_distance=0.4))
    assert {hit.key for hit in some} == {hit.key for one in near for hit in one}


def test_a_named_target_of_views_that_share_nothing_is_asked_by_its_own_view(made: Collection) -> None:
    """In the space raw, a query without a view finds the same in a target as a query of the target's view."""
    (named,) = made.search(SearchRequest([Query(key=KEYS[3])], targets=("b",), space="raw", k=COUNT))
    (own,) = made.search(SearchRequest([Query("b", key=KEYS[3])], space="raw", k=COUNT))
    assert [hit.key for hit in named] == [hit.key for hit in own]
    examples = [Query(key=KEYS[0]), Query(key=KEYS[1], weight=-1.0)]
    of_view = [Query("b", key=KEYS[0]), Query("b", key=KEYS[1], weight=-1.0)]
    by_name, by_view = (
        made.search(SearchRequest(asked, combine="mean", targets=("b",), space="raw", k=COUNT))[0]
        for asked in (examples, of_view)
    )
    assert [hit.key for hit in by_name] == [hit.key for hit in by_view]
    with pytest.raises(InvalidInputError, match="only searches within a view, not from a to b"):
        made.search(SearchRequest([Query("a", key=KEYS[3])], targets=("b",), space="raw"))


@pytest.mark.parametrize("way", ["rank", "distance", "learn"])
def test_examples_fuse_their_scores(made: Collection, way: str) -> None:
    """Without a way they fuse by distance; the name states a given way, and the items of examples do not teach."""
    examples = [Query(key=KEYS[0]), Query(key=KEYS[4]), Query(key=KEYS[1], weight=-1.0)]
    (plain,) = made.search(SearchRequest(examples, combine="mean", space="raw", k=COUNT))
    (fused,) = made.search(SearchRequest(examples, combine="mean", space="raw", k=COUNT, fuse=way))
    assert fused.target == f"{plain.target}, fused by {way}"
    assert {hit.key for hit in fused} == {hit.key for hit in plain} == {*KEYS} - {KEYS[0], KEYS[4], KEYS[1]}
    assert ([hit.key for hit in fused] == [hit.key for hit in plain]) == (way == "distance")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"fuse": "best"}, "targets fuse by match, distance, rank, learn, not by 'best'"),
        ({"fuse": "rank", "min_match": 0.5}, "hits fused by rank have no match"),
        ({"fuse": "rank", "merge": False}, "makes one list of all targets: leave out merge"),
        ({"fuse": "match", "combine": "mean"}, "scores by examples have no match: fuse by distance, rank or learn"),
    ],
)
def test_ways_that_contradict_are_refused(made: Collection, options: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidInputError, match=words):
        search(made, 0, **options)


def test_a_match_that_is_not_calibrated_is_refused_with_the_way_out(made: Collection) -> None:
    with pytest.raises(NotReadyError, match="train it \\(again\\) with labels on at least 40 items"):
        search(made, 0, fuse="match")


def test_every_way_is_the_same_over_queries_at_once(made: Collection) -> None:
    for way in set(FUSE) - {"match"}:
        together = made.search(SearchRequest([Query(key=KEYS[0]), Query(key=KEYS[1])], space="raw", fuse=way))
        assert [one.query for one in together] == [0, 1]
        assert [hit.key for hit in together[1]] == [hit.key for hit in search(made, 1, fuse=way)][:10]


def test_means_ranks_and_the_first_scores() -> None:
    """Ties have one rank, a mean is over the existing values, and the first k are those of the whole order."""
    draw = np.random.default_rng(0)
    values = draw.integers(0, 50, 200).astype(float)
    ranks = 1 + (values[None] < values[:, None]).sum(axis=1)
    assert np.allclose(reciprocal_ranks(values), 1 / (60 + ranks))
    order = np.lexsort((np.arange(200), -values))
    assert best_first(7, values).tolist() == order[:7].tolist()
    ids, means = mean_scores([np.array([1, 4]), np.array([4, 9])], [np.array([1.0, 2.0]), np.array([5.0, 3.0])], [1, 2])
    assert ids.tolist() == [1, 4, 9]
    assert means.tolist() == [1.0, 4.0, 3.0]
    assert len(mean_scores([np.empty(0, np.int64)], [np.empty(0)], [1])[0]) == 0


def similar(found: HitList) -> list[float]:
    return [hit.similarity for hit in found if hit.similarity is not None]


@pytest.mark.parametrize("options", [{}, {"targets": ("a",)}, {"fuse": "distance", "filter": "even = true"}])
def test_a_list_is_in_the_order_of_the_similarity_that_it_shows(made: Collection, options: dict[str, Any]) -> None:
    for number in range(0, COUNT, 9):
        found = search(made, number, **options)
        alike = similar(found)
        assert len(alike) == len(found) > 0
        assert alike == sorted(alike, reverse=True)
        assert all(0 <= value <= 1 for value in alike)
        assert all(hit.target in hit.targets and set(hit.targets) <= {*WIDTHS} for hit in found)


def test_similarity_is_the_share_of_pairs_that_are_less_alike(made: Collection, rows: Rows) -> None:
    """In one view, this is the share of pairs that are farther apart; over all pairs it is uniform in any list."""
    table = np.linalg.norm(rows["a"][:, None].astype(np.float64) - rows["a"][None], axis=2)
    apart = table[~np.eye(COUNT, dtype=bool)]
    for hit in search(made, 0, targets=("a",)):
        assert hit.similarity == pytest.approx(np.mean(apart > hit.distance), abs=0.01)
    every = [value for number in range(COUNT) for value in similar(search(made, number))]
    assert np.quantile(every, [0.1, 0.5, 0.9]) == pytest.approx([0.1, 0.5, 0.9], abs=0.04)


def test_a_list_is_doubtful_if_its_nearest_item_is_farther_than_nearest_items_are(made: Collection) -> None:
    """One item in twenty is, and a query that is unlike all items; a collection of a few items cannot tell."""
    lists = [search(made, number, targets=("a",)) for number in range(COUNT)]
    assert np.mean([hit_list.is_doubtful for hit_list in lists]) == pytest.approx(0.05, abs=0.02)
    best = {flag: [similar(each)[0] for each in lists if each.is_doubtful is flag] for flag in (True, False)}
    assert max(best[True]) <= min(best[False])
    far = SearchRequest([Query("a", vector=np.full(4, 50, np.float32))], space="raw", fuse="distance")
    assert made.search(far)[0].is_doubtful
    made.items.delete(KEYS[12:])
    assert not made.search(far)[0].is_doubtful


def test_similarity_follows_the_collection(made: Collection) -> None:
    """It is in its order after deletions, in a collection of two items or one, and for a query unlike any item."""
    far = Query("a", vector=np.full(4, 50, np.float32))
    (found,) = made.search(SearchRequest([far], space="raw", fuse="distance", k=COUNT))
    assert max(similar(found)) < 0.01
    for kept in (40, 12, 3, 2, 1):
        made.items.delete(KEYS[kept:])
        new = Query("a", vector=np.ones(4, np.float32))
        for query in (Query(key=KEYS[0]), new):
            (found,) = made.search(SearchRequest([query], space="raw", fuse="distance", k=COUNT))
            assert len(found) == kept - (query.key is not None)
            assert similar(found) == sorted(similar(found), reverse=True)


@given(st.lists(st.floats(-100, 100), max_size=60), st.lists(st.floats(-1e4, 1e4), min_size=2, max_size=30))
def test_similarity_never_falls_as_a_score_grows(pairs: list[float], scores: list[float]) -> None:
    alike = Similarity.among(np.array(pairs)).of(np.sort(scores))
    assert (np.diff(alike) >= 0).all()
    assert ((alike >= 0) & (alike <= 1)).all()


def test_named_targets_of_several_views_are_asked_by_their_own_views(made: Collection) -> None:
    """In a space that searches only within views, too, also by examples; a stated view still has to reach them."""
    (some,) = made.search(SearchRequest([Query(key=KEYS[0])], targets=("a", "b"), space="raw"))
    assert some.target == "distance of a, b"
    examples = [Query(key=KEYS[0]), Query(key=KEYS[1])]
    (combined,) = made.search(SearchRequest(examples, combine="mean", targets=("a", "b"), space="raw"))
    assert combined.target == "mean of a, b"
    with pytest.raises(InvalidInputError, match="only searches within a view, not from a to b"):
        made.search(SearchRequest([Query("a", key=KEYS[3])], targets=("a", "b"), space="raw"))


def test_an_unknown_target_is_named_also_beside_known_ones(made: Collection) -> None:
    for query in (Query(key=KEYS[0]), Query("a", key=KEYS[0])):
        with pytest.raises(NotFoundError, match="space 'raw' has no target 'typo'; there are: a, b, c"):
            made.search(SearchRequest([query], targets=("a", "typo"), space="raw"))


def test_a_query_by_text_is_mapped_apart_from_others_of_its_view(home: Home) -> None:
    """So whether it is a text among rows of pictures does not depend on the other queries of the request."""
    with home.create("notes", ["text:dim=2"]) as notes:
        notes.items.put([NewItem(text, text=text) for text in ("red rose", "red wine", "blue sea")])
        notes.views.fit(())
        queries = [Query("text", key="red wine"), Query("text", text="rose"), Query("text", vector=np.ones(2))]
        asked = SearchRequest(queries, space="raw")
        groups = notes._opened.versions().answered(
            "raw", searched_targets(asked), lambda state: list(query_probes(state, queries, ()))
        )
    assert [group.numbers for group in groups] == [[0, 2], [1]]


def test_two_targets_weigh_the_same(made: Collection, rows: Rows) -> None:
    others = list(range(1, COUNT))
    pair = {view: found for view, found in rows.items() if view != "c"}
    assert_order(search(made, 0, targets=("a", "b")), mean(scores_of(pair, 0, others)))


def drawn(made: Collection) -> tuple[Evidence, list[tuple[str, Target]]]:
    """Return what a search of the space raw reads, in memory, and its crossings."""
    asked = SearchRequest([Query(key=made.items.keys()[0])], space="raw")
    state = made._opened.versions().answered("raw", searched_targets(asked), lambda held: held)
    state = state._replace(version=replace(state.version, transaction=None))
    return Evidence(state), [(str(target), target) for target in state.space.targets]


def test_a_view_of_few_items_leaves_similarities_as_they_are(home: Home) -> None:
    """A sample of the items of all views has too few with this view to show how far they usually are."""
    draw, widths = np.random.default_rng(0), {"p": 8, "q": 256}
    views = [["p", "q"] if number < 30 else ["p"] for number in range(2000)]
    rows = [{view: draw.normal(size=widths[view]).astype(np.float32) for view in some} for some in views]
    with home.create("sparse", ["p=vectors:dim=8", "q=vectors:dim=256"]) as made:
        made.items.put([NewItem(f"{number:04}", rows=of_item) for number, of_item in enumerate(rows)])
        for number in range(8):
            asked = SearchRequest([Query(key=f"{number:04}")], space="raw", k=1)
            ((found,), (alone,)) = (made.search(one)[0] for one in (asked, replace(asked, targets=("p",))))
            assert found.similarity == pytest.approx(alone.similarity, abs=0.04)
        evidence, crossings = drawn(made)
        levels = random_pairs(evidence, crossings).levels
        assert [bool(np.isnan(levels[crossing]).all()) for crossing in crossings] == [False, True]


def test_pairs_are_drawn_once_for_crossings_in_any_order(made: Collection) -> None:
    """They are kept apart from other results, few of them, in few bytes."""
    evidence, crossings = drawn(made)
    remembered, pairs = evidence.state.version.remembered, random_pairs(evidence, crossings)
    assert random_pairs(evidence, crossings[::-1]) is pairs
    assert pairs.table.nbytes == 4 * pairs.table.size
    before = len(remembered._entries)
    for number in range(MOST_VALUES):
        remembered.value("pairs", Remembered).value(number, int)
    assert random_pairs(evidence, crossings) is not pairs
    assert len(remembered._entries) == before


def test_a_similarity_keeps_few_scores() -> None:
    scores = np.sort(np.random.default_rng(0).normal(size=50_000))
    alike = Similarity.among(scores)
    assert len(alike.scores) <= 4_000
    assert alike.of(scores) == pytest.approx((np.arange(50_000) + 1) / 50_001, abs=2e-4)
    assert alike.of(scores[-5:]) == pytest.approx((np.arange(49_995, 50_000) + 1) / 50_001)
