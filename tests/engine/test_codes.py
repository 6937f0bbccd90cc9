"""Spaces of binary codes: packed in the index, searched by differing bits or re-ranked, measured without favour."""

import numpy as np
import pytest
from rows import GROUPS, each, fill, item, row

from crossview.engine.collections.collection import Collection
from crossview.engine.collections.home import Home
from crossview.engine.spaces.space import Space
from crossview.engine.values.errors import InvalidInputError
from crossview.engine.values.evaluation import EvaluationRequest
from crossview.engine.values.item import NewItem
from crossview.engine.values.query import Query, SearchRequest
from crossview.engine.values.recipe import Recipe, Tune
from crossview.index.base import Index
from crossview.index.multi_index import AutoBinaryIndex
from crossview.index.reranked import RerankedIndex

BOTH = ("color", "gist")
ITEMS = [item(group, number) for group, number in each()]


def trained(home: Home) -> Collection:
    made = fill(home, "codes", ITEMS)
    made.train(Recipe(spec="multi-npp,itq:16", views=BOTH), space="codes")
    return made


@pytest.fixture
def codes(home, once):
    """24 items of three groups in two views, and a space of 16-bit codes of them."""
    with once.copy(home, trained) as made:
        yield made


def stored(collection, name: str) -> Space:
    """Return the space that answers, from the catalog."""
    with collection._opened.catalog.read() as tx:
        number = tx.spaces.in_use()[name]
        return Space.from_state(name, number, tx.spaces.state(name, number))


def probe(space: Space, view: str, group: str, number: int, target: str) -> np.ndarray:
    """Return the code of one row for a target, (1, bytes)."""
    (found,) = space.probe(view, row(view, group, number)[None], [target]).values()
    return found


def index_of(collection, space: str, target: str) -> Index:
    """Return the loaded index of a target."""
    indexes = collection._opened.versions().current().spaces[space].indexes
    return next(covered.index for name, covered in indexes.items() if str(name) == target)


def hits(collection, view: str, target: str, k: int = 100, **options) -> list[dict[str, float]]:
    """Return distances by key, of new queries of every group."""
    queries = [Query(view, vector=row(view, group, 100)) for group in GROUPS]
    answers = collection.search(SearchRequest(queries, targets=[target], k=k, **options))
    return [{hit.key: hit.distance for hit in answer.hits} for answer in answers]


def test_distances_are_the_numbers_of_differing_bits(codes):
    """They are counted one by one, within and across views, of packed codes; equal ones come in the order of items."""
    space = stored(codes, "codes")
    assert space.binary
    for view in BOTH:
        for target in BOTH:
            probes = {group: probe(space, view, group, 100, target) for group in GROUPS}
            assert {(code.dtype, code.shape) for code in probes.values()} == {(np.dtype(np.uint8), (1, 2))}
            for group, found in zip(GROUPS, hits(codes, view, target), strict=True):
                assert list(found.values()) == sorted(found.values())
                for key, distance in found.items():
                    name, number = key.split("/")
                    stored_code = probe(space, target, name, int(number), target)
                    assert distance == np.bitwise_count(probes[group] ^ stored_code).sum()
                assert sum(key.startswith(group) for key in list(found)[:5]) >= 4


def test_a_space_tells_what_it_makes_of_queries(codes):
    """Codes are packed bytes with their bits, whose differing bits are the distances; other spaces give floats."""
    codes.train(Recipe(spec="multi-npp,lsh:12", views=BOTH, rerank=24), space="both", activate=False)
    query, keys = Query("color", vector=row("color", "cat", 100)), [f"{group}/03" for group in GROUPS]
    for space, bits in (("codes", 16), ("both", 12)):
        first, second = codes.embed([query], space=space)
        assert [(one.query, one.target, one.bits, one.vector.shape) for one in (first, second)] == [
            (0, "color", bits, (2,)),
            (0, "gist", bits, (2,)),
        ]
        assert first.vector.dtype == np.uint8
        np.testing.assert_array_equal(np.unpackbits(first.vector)[bits:], 0)
    items = codes.embed([Query("gist", key=key) for key in keys], targets=["gist"])
    found = hits(codes, "color", "gist")[0]
    (asked,) = codes.embed([query], targets=["gist"])
    for key, one in zip(keys, items, strict=True):
        assert found[key] == np.bitwise_count(asked.vector ^ one.vector).sum()
    (raw,) = codes.embed([query], space="raw")
    assert (raw.bits, raw.target, raw.vector.dtype) == (0, "color", np.float32)
    np.testing.assert_array_equal(raw.vector, query.vector)
    with pytest.raises(InvalidInputError, match="at least one query"):
        codes.embed([])


def test_a_space_of_codes_says_so(codes):
    """It states the bits of every target; other spaces state that they have none."""
    info = codes.spaces.get("codes")
    assert (info.binary, info.cross_view, dict(info.dim), info.rerank) == (True, True, {"color": 16, "gist": 16}, 0)
    assert info.size("color") == "16 bits"
    assert not codes.spaces.get("raw").binary
    assert codes.spaces.get("raw").size("color") == "64"


def test_codes_are_kept_in_snapshots_and_follow_the_catalog(codes, home):
    """A second opening answers the same from binary indexes; items that come and go enter and leave them."""
    before = hits(codes, "color", "gist")
    with home.open("codes") as again:
        assert hits(again, "color", "gist") == before
        index = index_of(again, "codes", "gist")
        assert isinstance(index, AutoBinaryIndex)
        assert index.get(index.ids()).shape == (24, 2)
        again.items.put([item("cat", 50)])
        again.items.delete(["owl/01"])
        keys = set(hits(again, "color", "gist")[0])
        assert keys == set(before[0]) - {"owl/01"} | {"cat/50"}


@pytest.mark.parametrize("spec", ["sign", "lsh:40", "itq:8", "pca:3,lsh:50", "standardize,lsh:100"])
def test_codes_of_views_apart_are_searched_within_a_view(codes, spec):
    """Each view has a hash of its own, of any length, and no query crosses."""
    info = codes.train(Recipe(spec=spec, views=BOTH), space="apart")
    assert (info.binary, info.cross_view) == (True, False)
    found = hits(codes, "gist", "gist", k=5, space="apart")
    assert sum(key.startswith(group) for group, one in zip(GROUPS, found, strict=True) for key in one) >= 12
    with pytest.raises(InvalidInputError, match="only searches within a view"):
        hits(codes, "gist", "color", space="apart")


def test_dimensions_and_settings_are_the_main_learners(home):
    """--dim and --set pass the hasher by; without a dimension, it equals the number of bits."""
    with fill(home, "more", [item(group, number) for group, number in each(12)]) as more:
        assert more.train(Recipe(spec="multi-npp,sign", views=BOTH, dim=12)).dim == {"color": 12, "gist": 12}
        assert stored(more, "sign").pipeline.main_learner.n_components == 12
        more.train(
            Recipe(spec="sqrt,kernel:rbf,multi-npp,itq:64", views=BOTH, settings={"eta": 0.5, "itq__random_state": 7})
        )
        main, hasher = stored(more, "itq").pipeline.steps[-2:]
        assert (main.n_components, main.eta, hasher.random_state) == (64, 0.5, 7)


@pytest.mark.parametrize(
    ("spec", "options", "words"),
    [
        ("multi-npp,itq:0", {}, "n_bits must be a whole number from 1 to 4,096 or null, not 0"),
        ("multi-npp,sign:8", {}, "'sign' takes no value"),
        ("lsh:16", {"dim": 8}, "'lsh' has no parameter n_components; it has: n_bits"),
        ("multi-npp", {"rerank": 3}, "no codes to re-rank: multi-npp gives float vectors.*multi-npp,itq:32"),
        ("multi-npp,itq:8,l2", {"rerank": 3}, "no codes to re-rank"),
        ("multi-npp,itq:8", {"rerank": -1}, "at least one code for each wanted hit, not -1"),
    ],
)
def test_what_cannot_be_is_refused_with_a_reason(codes, spec, options, words):
    """No generation is made."""
    with pytest.raises(InvalidInputError, match=words):
        codes.train(Recipe(spec=spec, views=BOTH, **options), space="wrong")
    assert {space.name for space in codes.spaces()} == {"codes", "raw"}


def test_a_view_added_later_has_the_codes_of_the_space(home):
    """The other views' distances stay; the new view has the hash of the space, or its own if views are apart."""
    with fill(home, "late", ITEMS) as late:
        late.train(Recipe(spec="semantic,lsh:64", views=("color",)), space="shared")
        before = hits(late, "color", "color")
        info = late.spaces.extend("shared", ["gist"])
        assert (info.binary, dict(info.dim)) == (True, {"color": 64, "gist": 64})
        assert hits(late, "color", "color") == before
        for group, found in zip(GROUPS, hits(late, "gist", "color", k=5), strict=True):
            assert all(key.startswith(group) for key in found)
        late.train(Recipe(spec="pca:5,sign", views=("color",)), space="apart")
        assert late.spaces.extend("apart", ["gist"]).dim == {"color": 5, "gist": 5}


def test_tuning_is_of_the_learner_before_the_hasher(codes):
    """The distances of the codes decide, also among fewer dimensions than bits."""
    values = {"n_components": (8, 20), "eta": (1e-6,), "gamma": (1e-6,), "max_iter": (1,), "kernel": ("none",)}
    info = codes.train(Recipe(spec="multi-npp,itq:16", views=BOTH, tune=Tune(values, folds=2)), space="tuned")
    assert info.tuning is not None
    assert [trial.settings["n_components"] for trial in info.tuning.tried if trial.score] == [8, 20]
    with pytest.raises(InvalidInputError, match="nothing to tune of itq:16"):
        codes.train(Recipe(spec="itq:16", views=BOTH, tune=Tune()))


# -- re-ranking


def test_re_ranked_codes_answer_with_euclidean_distances(codes, home):
    """If every code is a candidate, the answers are those of the float space, also after re-opening."""
    codes.train(Recipe(spec="multi-npp", views=BOTH, dim=16), space="floats")
    info = codes.train(Recipe(spec="multi-npp,itq:16", views=BOTH, dim=16, rerank=24), space="exact")
    assert (info.binary, info.rerank, info.dim["gist"]) == (True, 24, 16)
    for view, target in (("color", "gist"), ("gist", "gist")):
        found, expected = (hits(codes, view, target, k=6, space=space) for space in ("exact", "floats"))
        assert [list(one) for one in found] == [list(one) for one in expected]
        for mine, theirs in zip(found, expected, strict=True):
            np.testing.assert_allclose(list(mine.values()), list(theirs.values()), rtol=1e-5)
    with home.open("codes") as again:
        assert hits(again, "gist", "gist", k=6, space="exact") == found
        index = index_of(again, "exact", "gist")
        assert isinstance(index, RerankedIndex)
        assert index.get(index.ids()).shape == (24, 2 + 4 * 16)


def test_re_ranking_orders_the_nearest_codes_only(codes):
    """With R = 1 the hits are those of the codes, in the order of Euclidean distances."""
    codes.train(Recipe(spec="multi-npp,itq:16", views=BOTH, rerank=1), space="one")
    plain, again = (hits(codes, "color", "gist", k=5, space=space) for space in ("codes", "one"))
    assert [set(one) for one in plain] == [set(one) for one in again]
    assert all(list(one.values()) == sorted(one.values()) for one in again)


def test_an_extended_space_is_re_ranked_as_it_was(home):
    """The vectors behind the codes of a later view are kept, too."""
    with fill(home, "late", ITEMS) as late:
        late.train(Recipe(spec="semantic,lsh:32", views=("color",), rerank=4), space="shared")
        assert late.spaces.extend("shared", ["gist"]).rerank == 4
        for group, found in zip(GROUPS, hits(late, "gist", "color", k=5), strict=True):
            assert all(key.startswith(group) for key in found)
            assert any(distance != int(distance) for distance in found.values())


# -- measured


BY_CLASS = ("accuracy", "precision", "map")
"""The measures by labels; the others count hits or find the query's own item."""


def test_codes_are_measured_on_held_out_items(codes):
    """They are measured after a refit, too, and the protocol says how ties rank."""
    codes.train(Recipe(spec="multi-npp,itq:16", views=BOTH, holdout=0.25), space="codes")
    found = codes.evaluate(EvaluationRequest(view="color", k=(1, 5), databases=("trained",)))
    assert "codes at equal distances rank at random" in found.protocol
    assert all(row.value > 0.8 for row in found.rows if row.metric in BY_CLASS)
    assert found.rows == codes.evaluate(EvaluationRequest(view="color", k=(1, 5), databases=("trained",))).rows
    again = codes.evaluate(
        EvaluationRequest(view="gist", targets=("color",), refit=True, k=(3,), databases=("trained",))
    )
    assert all(row.value > 0.7 for row in again.rows if row.metric in BY_CLASS)


def test_ties_favour_no_class(home):
    """One bit of noise has no information: precision is about the share of a class, for any order of the items."""
    with home.create("coins", ["clip=vectors:dim=1"]) as coins:
        keys = [f"{group}/{number:03}" for group in GROUPS for number in range(60)]
        rows = np.random.default_rng(0).normal(size=(180, 1)).astype(np.float32)
        named = zip(keys, rows, strict=True)
        coins.items.put([NewItem(key, rows={"clip": one}, labels=(key[:3],)) for key, one in named])
        coins.train(Recipe(spec="sign", views=("clip",), holdout=0.5))
        values = {
            (row.metric, row.k): row.value for row in coins.evaluate(EvaluationRequest(view="clip", k=(1, 20))).rows
        }
    assert values["precision", 20] == pytest.approx(1 / 3, abs=0.06)
    assert values["map", None] == pytest.approx(1 / 3, abs=0.06)


def test_re_ranked_codes_are_measured_as_they_are_searched(codes):
    """If all are candidates, the figures are the float space's; with R = 1, precision at k is that of the codes."""
    for spec, space, rerank in (
        ("multi-npp", "floats", 0),
        ("multi-npp,lsh:6", "exact", 24),
        ("multi-npp,lsh:6", "plain", 0),
        ("multi-npp,lsh:6", "one", 1),
    ):
        codes.train(Recipe(spec=spec, views=BOTH, dim=6, holdout=0.25, rerank=rerank), space=space)
    found = {
        space: codes.evaluate(EvaluationRequest(view="color", spaces=(space,), k=(2, 6)))
        for space in ("floats", "exact", "plain", "one")
    }
    assert [row.value for row in found["exact"].rows] == [row.value for row in found["floats"].rows]
    note = "the 24 x k nearest are ordered by their float vectors, for map and median_rank k = 6"
    assert note in found["exact"].protocol
    precision = {
        space: [row.value for row in found[space].rows if row.metric == "precision"] for space in ("plain", "one")
    }
    assert precision["one"] == precision["plain"]
