"""Explanations: contributions add up to the value that places a hit; ranks and distances are those of plain NumPy."""

from collections.abc import Iterator
from typing import Any

import notions
import numpy as np
import pytest
from drawn import CLASSES, draw, encode
from scipy.special import expit

from crossview.engine.catalog.ingest.comparison_files import read_comparisons
from crossview.engine.collections.collection import Collection
from crossview.engine.collections.home import Home
from crossview.engine.values.errors import InvalidInputError, NotFoundError
from crossview.engine.values.explanation import ExplainRequest, Explanation
from crossview.engine.values.item import NewItem
from crossview.engine.values.query import Hit, Query, SearchRequest
from crossview.engine.values.recipe import Recipe
from crossview.features.descriptors import key_points
from crossview.features.image import grey

COUNT, WIDTH, KINDS = 120, 8, 4
WORDS = ("sea waves tide", "red rose garden", "grey stone wall", "night sky stars")


@pytest.fixture(scope="module")
def rows() -> dict[str, Any]:
    """Return two views of items in four classes, the second with much noise; a third of the items lack it."""
    generator = np.random.default_rng(0)
    centers = generator.normal(size=(KINDS, WIDTH))
    y = np.arange(COUNT) % KINDS
    return {
        "v": (centers[y] + 0.7 * generator.normal(size=(COUNT, WIDTH))).astype(np.float32),
        "w": (3 * centers[y] + 6 * generator.normal(size=(COUNT, WIDTH))).astype(np.float32),
        "y": y,
    }


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, rows: dict[str, Any]) -> Iterator[Collection]:
    home = Home(tmp_path_factory.mktemp("explained"))
    with home.create("made", [f"v=vectors:dim={WIDTH}", f"w=vectors:dim={WIDTH}", "text"]) as collection:
        new = [
            NewItem(
                key(n),
                rows={"v": rows["v"][n], **({"w": rows["w"][n]} if n % 3 else {})},
                labels=str(rows["y"][n]),
                text=f"{WORDS[rows['y'][n]]} number{n % 7}",
            )
            for n in range(COUNT)
        ]
        assert collection.items.put(new).failures == ()
        collection.views.fit([])
        collection.items.put(new)
        collection.train(Recipe(spec="posteriors,lsh:32", views=("v", "w")), space="codes", activate=False)
        collection.train(Recipe(spec="posteriors,dot", views=("v", "w", "text")), space="classes", activate=False)
        yield collection


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collection]:
    """18 pictures with colours, gist and visual words."""
    with Home(tmp_path_factory.mktemp("pictures")).create("p", ["color", "gist", "sift:words=8", "lab"]) as collection:
        drawn = {(label, n): encode(draw(label, n)) for label in CLASSES for n in range(6)}
        collection.views.fit(list(drawn.values()), workers=1)
        collection.items.put([NewItem(f"{label}/{n}", image=one, labels=label) for (label, n), one in drawn.items()])
        yield collection


def key(number: int) -> str:
    return f"item {number:03}"


def queries(rows: dict[str, Any]) -> list[Query]:
    return [
        *(Query("v", key=key(4)), Query(key=key(4)), Query(key=key(3)), Query("w", vector=rows["w"][5] + 1)),
        *(Query("v", vector=rows["v"][2]), Query("text", text="waves of the sea"), Query(text="stars")),
    ]


def compared(collection: Collection, search: SearchRequest, **options: Any) -> list[tuple[Explanation, Hit]]:
    """Return explanations of all hits of a search, each with its hit; they are in the order of lists and hits."""
    hits = [(one.target, rank, hit) for one in collection.search(search) for rank, hit in enumerate(one.hits, 1)]
    found = collection.explain(ExplainRequest(search, **{"hits": search.k, **options}))
    assert [(one.target, one.rank, one.key) for one in found] == [(name, rank, hit.key) for name, rank, hit in hits]
    return list(zip(found, [hit for *_, hit in hits], strict=True))


def check_sums(explanation: Explanation, hit: Hit) -> None:
    """Check that the contributions add up, and that the total places the hit."""
    parts = [one.contribution for one in explanation.contributions]
    assert sum(parts) == pytest.approx(explanation.total, rel=1e-12)
    assert sum(map(abs, explanation.shares())) == pytest.approx(1 if any(parts) else 0)
    if explanation.measure == "match":
        assert expit(explanation.total) == pytest.approx(hit.match, rel=1e-12, abs=1e-300)
    elif explanation.measure == "distance":
        assert explanation.total == pytest.approx(hit.distance**2, rel=1e-6)
        assert hit.match is None
    assert any(one.distance == hit.distance and one.target == hit.target for one in explanation.contributions)


@pytest.mark.parametrize("space", ["raw", "classes", "codes"])
@pytest.mark.parametrize("merge", [None, True])
@pytest.mark.parametrize("number", range(7))
def test_contributions_add_up_to_what_places_a_hit(
    made: Collection, rows: dict[str, Any], space: str, merge: bool | None, number: int
) -> None:
    query = queries(rows)[number]
    if (space == "codes" and "text" in (query.view, *query.inputs())) or (merge and not query.view):
        return
    found = compared(made, SearchRequest([query], space=space, k=7, merge=merge))
    assert found
    for explanation, hit in found:
        check_sums(explanation, hit)
    measures = {explanation.measure for explanation, _ in found}
    if space == "raw":
        assert measures == ({"distance"} if query.view and not merge else {"score"})
    else:
        assert measures == {"match"}


@pytest.mark.parametrize("filtered", ["", "label in [0, 1]"])
@pytest.mark.parametrize("least", [0.0, 0.5])
def test_options_of_the_search_count(made: Collection, rows: dict[str, Any], filtered: str, least: float) -> None:
    for query in queries(rows):
        search = SearchRequest([query], space="classes", k=5, filter=filtered, min_match=least)
        for explanation, hit in compared(made, search):
            check_sums(explanation, hit)


@pytest.mark.parametrize("fuse", ["rank", "distance", "learn"])
def test_scores_order_the_list_of_several_targets(made: Collection, fuse: str) -> None:
    """Near copies come before all others."""
    found = [one for one, _ in compared(made, SearchRequest([Query(key=key(7))], space="raw", k=20, fuse=fuse))]
    assert {one.measure for one in found} == {"score"}
    copies = [any(row.copy for row in one.contributions) for one in found]
    assert copies == sorted(copies, reverse=True)
    totals = [one.total for one in found[sum(copies) :]]
    assert totals == sorted(totals, reverse=True)


def test_ranks_and_distances_are_those_of_numpy(made: Collection, rows: dict[str, Any]) -> None:
    """They are compared for every item, found or not, also below a filter."""
    query = rows["v"][2] + 0.5
    distances = np.linalg.norm(rows["v"].astype(np.float64) - query, axis=1)
    for chosen, filtered in ((rows["y"] >= 0, ""), (rows["y"] <= 1, "label in [0, 1]")):
        numbers = np.flatnonzero(chosen)[::2]
        search = SearchRequest([Query("v", vector=query)], space="raw", k=3, filter=filtered)
        found = made.explain(ExplainRequest(search, keys=[key(n) for n in numbers]))
        hits = {hit.key: rank for one in made.search(search) for rank, hit in enumerate(one.hits, 1)}
        for n, one in zip(numbers.tolist(), found, strict=True):
            (row,) = one.contributions
            assert row.distance == pytest.approx(distances[n], rel=1e-5)
            assert row.rank == 1 + (distances[chosen] < distances[n]).sum()
            assert (row.items, one.key, one.rank) == (chosen.sum(), key(n), hits.get(key(n)))
            assert one.total == pytest.approx(row.distance**2)


def test_an_item_that_is_not_found_is_judged_as_if_it_were(made: Collection, rows: dict[str, Any]) -> None:
    """A longer search, which finds it, gives the same match and the same contributions."""
    for query in (Query("v", vector=rows["v"][2] + 0.1), Query(key=key(4))):
        request = SearchRequest([query], space="classes", k=3)
        listed = [hit.key for one in made.search(request) for hit in one.hits]
        others = [key(n) for n in range(0, COUNT, 10) if key(n) not in (*listed, query.key)]
        short = made.explain(ExplainRequest(request, keys=others))
        whole = made.explain(ExplainRequest(SearchRequest([query], space="classes", k=COUNT), keys=others))
        assert all(one.rank is None for one in short)
        for one, other in zip(short, whole, strict=True):
            assert (one.key, one.target) == (other.key, other.target)
            assert one.total == pytest.approx(other.total)


def test_bits_that_differ_are_the_distance(made: Collection) -> None:
    for explanation, _ in compared(made, SearchRequest([Query("v", key=key(4))], space="codes", k=6)):
        for row in explanation.contributions:
            if row.distance is not None:
                assert row.differing_bits is not None
                assert (len(row.differing_bits), row.bits) == (row.distance, 32)
                assert all(0 <= bit < 32 for bit in row.differing_bits)


def test_codes_that_are_reranked_have_bits_and_the_distances_of_vectors(made: Collection) -> None:
    made.train(Recipe(spec="multi-npp,lsh:12", views=("v", "w"), rerank=24), space="reranked", activate=False)
    for explanation, hit in compared(made, SearchRequest([Query("v", key=key(4))], space="reranked", k=6)):
        check_sums(explanation, hit)
        (row,) = [one for one in explanation.contributions if one.target == hit.target]
        assert row.bits == 12
        assert row.distance == hit.distance
        assert row.differing_bits is not None
        assert len(row.differing_bits) <= 12


def test_weighted_notions_contribute_by_their_weight(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Their contribution is the weight times the squared distance, and ``embed`` gives its parts."""
    home = Home(folder := tmp_path_factory.mktemp("notions"))
    notions.fill_things(home)
    with home.open("things") as collection:
        stated = read_comparisons(notions.write_triplets(folder / "comparisons.csv"))
        collection.train(Recipe(spec="joint:2", views=("view",), constraints=stated))
        weights, query = {"color": 2.0, "shape": 0.5}, Query("view", key=notions.key(1))
        for explanation, hit in compared(collection, SearchRequest([query], weights=weights, k=5)):
            assert explanation.measure == "distance"
            assert explanation.total == pytest.approx(hit.distance**2, rel=1e-5)
            assert [one.target for one in explanation.contributions] == ["view:color", "view:shape"]
            for part, weight in zip(explanation.contributions, weights.values(), strict=True):
                assert part.distance is not None
                assert part.contribution == weight * part.distance**2
            assert explanation.total == pytest.approx(sum(one.contribution for one in explanation.contributions))


def test_each_part_of_a_joined_view_agrees_by_itself(pictures: Collection) -> None:
    pictures.train(Recipe(spec="scale", views=("color+gist",)), space="joined", activate=False)
    request = SearchRequest([Query("color+gist", image=encode(draw("red", 30)))], space="joined", k=3)
    for explanation, hit in compared(pictures, request):
        check_sums(explanation, hit)
        assert [one.view for one in explanation.agreements] == ["color", "gist"]
        assert all(0 < one.agreement <= 1 for one in explanation.agreements)
        assert all(part.squared_distance is None for one in explanation.agreements for part in one.parts)


def test_words_that_two_texts_share_agree(made: Collection) -> None:
    (found, *_) = made.explain(ExplainRequest(SearchRequest([Query("text", text="waves of the tide")], space="raw")))
    (agreement,) = found.agreements
    agreeing = {part.name: part for part in agreement.parts if part.agreement}
    assert set(agreeing) == {"waves", "tide"}
    assert sum(part.query for part in agreement.parts) == pytest.approx(1)
    assert all(part.agreement == min(part.query, part.item) for part in agreement.parts)


def test_parts_of_raw_rows_add_up_to_the_squared_distance(pictures: Collection) -> None:
    """They do in every view; the shares that agree are those of plain NumPy."""
    picture = encode(draw("red", 30))
    for view in ("color", "gist", "sift", "lab"):
        request = SearchRequest([Query(view, image=picture)], space="raw", k=4)
        first = pictures.embed([Query(view, image=picture)], space="raw")[0].vector
        second = pictures.items.embed(view, space="raw")
        for explanation, hit in compared(pictures, request, parts=5):
            (agreement,) = explanation.agreements
            assert agreement.other_squared_distance is not None
            apart = [part.squared_distance or 0.0 for part in agreement.parts]
            assert sum(apart) + agreement.other_squared_distance == pytest.approx(hit.distance**2, rel=1e-5)
            shares = [one / one.sum() for one in (first, second.vectors[second.keys.index(hit.key)])]
            assert agreement.agreement == pytest.approx(np.minimum(*shares).sum(), rel=1e-4)
            agreeing = [part.agreement for part in agreement.parts]
            assert len(agreeing) == 5
            assert agreeing == sorted(agreeing, reverse=True)
            assert view == "sift" or not any(part.query_places or part.item_places for part in agreement.parts)


def test_key_points_of_shared_words_lie_in_both_pictures(pictures: Collection) -> None:
    """Their number is that which the query's row counts, at most 20 of each word."""
    picture = encode(draw("red", 30))
    request = SearchRequest([Query("sift", image=picture)], space="raw", k=3)
    points = len(key_points(grey(draw("red", 30))))
    for explanation, _ in compared(pictures, request, parts=8):
        (agreement,) = explanation.agreements
        for part in agreement.parts:
            assert len(part.query_places) == min(20, round(points * part.query))
            for place in (*part.query_places, *part.item_places):
                assert 0 <= place.x <= 1
                assert 0 <= place.y <= 1
                assert 0 < place.size <= 1


def test_a_query_by_key_has_the_points_of_its_thumbnail(pictures: Collection) -> None:
    (found, *_) = pictures.explain(ExplainRequest(SearchRequest([Query("sift", key="red/0")], space="raw")))
    assert any(part.query_places for part in found.agreements[0].parts)


def test_a_near_copy_has_match_1_and_the_first_rank(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Its contribution is the largest possible one, divided among the views in which it is a copy."""
    generator = np.random.default_rng(0)
    with Home(tmp_path_factory.mktemp("copies")).create("c", ["v=vectors:dim=6", "w=vectors:dim=6"]) as collection:
        x = generator.normal(size=(120, 6)).astype(np.float32) + 3 * np.eye(6, dtype=np.float32)[np.arange(120) % 6]
        rows = {key(n): {"v": x[n], "w": x[n, ::-1].copy()} for n in range(120)}
        rows["copy"] = rows[key(0)]
        collection.items.put(
            [NewItem(one, rows=given, labels=str(n % 6)) for n, (one, given) in enumerate(rows.items())]
        )
        collection.train(Recipe(spec="posteriors,dot"))
        for explanation, hit in compared(collection, SearchRequest([Query(key=key(0))], k=4)):
            check_sums(explanation, hit)
            assert all(row.copy == (hit.key == "copy") for row in explanation.contributions)
            assert (hit.key == "copy") == (explanation.rank == 1) == (explanation.total == 800)
            assert (hit.match == 1) == (hit.key == "copy")
            assert [row.rank for row in explanation.contributions] == [1] * 4 or hit.key != "copy"


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"keys": ["nowhere"]}, NotFoundError, "no item 'nowhere'"),
        ({"keys": [key(4)]}, InvalidInputError, "is the query"),
        ({"keys": [key(0)], "search": {"targets": "w"}}, InvalidInputError, "has no row of view 'w'"),
        ({"keys": [key(3)], "search": {"filter": "label = 0"}}, InvalidInputError, "does not fulfil the condition"),
        ({"keys": [key(n) for n in range(101)]}, InvalidInputError, "at most 100 items, not 101"),
        ({"hits": 0}, InvalidInputError, "hits of an explanation must be from 1 to 100, not 0"),
        ({"parts": 101}, InvalidInputError, "parts of an explanation must be from 0 to 100, not 101"),
        ({"search": {"queries": 2}}, InvalidInputError, "is of one query, not 2"),
        ({"search": {"combine": "mean"}}, InvalidInputError, "only searches for the nearest items"),
        ({"search": {"k": 0}}, InvalidInputError, "k must be at least 1"),
        ({"search": {"targets": "nothing"}}, NotFoundError, "has no target 'nothing'"),
    ],
)
def test_hostile_requests_are_refused(made: Collection, change: Any, error: type[Exception], message: str) -> None:
    given = {"space": "classes", **change.get("search", {})}
    searches = [Query("v", key=key(4))] * given.pop("queries", 1)
    with pytest.raises(error, match=message):
        made.explain(
            ExplainRequest(SearchRequest(searches, **given), **{n: v for n, v in change.items() if n != "search"})
        )


def test_a_list_whose_target_lacks_an_item_has_no_explanation(made: Collection) -> None:
    found = made.explain(ExplainRequest(SearchRequest([Query("v", key=key(4))], space="classes"), keys=key(0)))
    assert {one.target for one in found} == {"v", "text"}
    assert all(row.distance is None for one in found for row in one.contributions if row.target == "w")
