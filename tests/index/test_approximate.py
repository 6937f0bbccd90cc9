"""Approximate kinds may miss neighbours: the items that they find are true, present, chosen, and as many as exist."""

import faiss
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from crossview.index import chunk, ivf
from crossview.index.exact import ExactIndex
from crossview.index.faiss_base import ApproximateSearcher, FaissBase
from crossview.index.graph import GraphIndex
from crossview.index.ivf import IvfIndex
from crossview.index.product import CodeScanIndex
from crossview.index.snapshot import SnapshotError

DIM = 6
KINDS = [IvfIndex, CodeScanIndex, GraphIndex]


@pytest.fixture(autouse=True)
def small_bases(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bases of few rows, and filters that they answer."""
    monkeypatch.setattr(ApproximateSearcher, "least_rows", 40)
    for kind in KINDS:
        monkeypatch.setattr(kind._searcher_type, "few", 0)


@pytest.fixture(params=KINDS, ids=lambda kind: kind.__name__)
def kind(request):
    return request.param


def clustered(count: int, seed: int) -> np.ndarray:
    centers = np.random.default_rng(0).normal(size=(8, DIM))
    rng = np.random.default_rng(seed)
    return (centers[rng.integers(8, size=count)] + 0.3 * rng.normal(size=(count, DIM))).astype(np.float32)


def built(kind, count: int = 400, **parameters):
    vectors = clustered(count, seed=1)
    return kind(DIM, **parameters).changed([], np.arange(count) + 7, vectors).compacted(), vectors


def recall(found, truth) -> float:
    """Return the share of true neighbours, or of others at the same distance, that were found."""
    return float((found.distances <= truth.distances[:, -1:] * (1 + 1e-5)).mean())


def test_efforts_ascend_and_small_indexes_have_none(kind):
    index, vectors = built(kind)
    efforts = index.efforts(10)
    assert len(efforts) > 3
    assert list(efforts) == sorted(set(efforts))
    assert efforts[0] > 0
    small = kind(DIM).changed([], np.arange(39), vectors[:39]).compacted()
    assert not small.efforts(10)
    assert recall(small.search(vectors[:5], 3, None, 1), small.search(vectors[:5], 3)) == 1


def test_filters_allow_no_greater_effort(kind):
    """With a filter, a scan of codes allows even less: with many candidates, a scan of the matches is faster."""
    index, _ = built(kind)
    assert index.efforts(10, 0.02)[-1] <= index.efforts(10)[-1]
    if kind is CodeScanIndex:
        assert index.efforts(10, 0.02)[-1] == 0.02 * 8192 // 1


def test_a_search_without_an_effort_is_exact(kind):
    index, vectors = built(kind)
    exact = ExactIndex(DIM).changed([], index.ids(), vectors)
    queries = clustered(25, seed=2)
    assert (index.search(queries, 10).ids == exact.search(queries, 10).ids).all()


@pytest.mark.parametrize("queries", [1, 7])
def test_the_greatest_effort_misses_next_to_nothing_and_the_least_finds_as_many(kind, queries):
    index, _ = built(kind)
    asked = clustered(queries, seed=3)
    truth = index.search(asked, 10)
    assert recall(index.search(asked, 10, None, index.efforts(10)[-1]), truth) >= 0.99
    least = index.search(asked, 10, None, index.efforts(10)[0])
    assert (least.ids >= 0).all()
    assert (least.distances >= truth.distances - 1e-5).all()


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32 - 1), rows=st.sampled_from([64, 1000]))
def test_found_items_are_true_present_and_chosen_after_any_history(kind, seed, rows):
    """The histories have additions, replacements, removals and compactions; every filter gets k items if k match."""
    rng = np.random.default_rng(seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chunk, "MOST_ROWS", rows)
        index = kind(DIM).changed([], np.arange(200), clustered(200, seed=1)).compacted()
        exact = ExactIndex(DIM).changed([], np.arange(200), clustered(200, seed=1))
        for step in range(4):
            new, gone = rng.permutation(300)[: rng.integers(60)], rng.permutation(300)[: rng.integers(60)]
            vectors = clustered(len(new), seed=int(rng.integers(1000)))
            index, exact = (one.changed(gone, new, vectors) for one in (index, exact))
            index = index.compacted() if step == 2 else index
            asked, k = clustered(int(rng.choice([1, 5])), seed=step), int(rng.integers(1, 20))
            only = rng.permutation(300)[: rng.integers(1, 300)] if rng.random() < 0.6 else None
            found = index.search(asked, k, only, int(rng.choice(index.efforts(k) or [1])))
            allowed = exact.ids() if only is None else np.intersect1d(exact.ids(), only)
            assert ((found.ids >= 0).sum(axis=1) == min(k, len(allowed))).all()
            for query, ids, distances in zip(asked, found.ids, found.distances, strict=True):
                ids = ids[ids >= 0]
                assert np.isin(ids, allowed).all()
                assert len(set(ids.tolist())) == len(ids)
                true = np.sqrt(((exact.get(ids).astype(np.float64) - query) ** 2).sum(axis=1))
                assert distances[: len(ids)] == pytest.approx(true, rel=1e-5, abs=1e-6)


def test_a_snapshot_contains_the_base_so_that_opening_builds_nothing(kind, tmp_path, monkeypatch):
    index, _ = built(kind)
    changed = index.changed(np.arange(7, 30), [5000, 5001], clustered(2, seed=9))
    changed.save(tmp_path / "a", {"x": 1})
    monkeypatch.setattr(kind._searcher_type, "_new_base", None)
    loaded, meta = kind.load(tmp_path / "a")
    queries = clustered(20, seed=4)
    effort = loaded.efforts(10)[len(loaded.efforts(10)) // 2]
    found, truth = loaded.search(queries, 10, None, effort), changed.search(queries, 10)
    assert meta == {"x": 1}
    assert recall(found, truth) >= 0.8
    assert (loaded.search(queries, 10).ids == truth.ids).all()
    assert (loaded.ids() == changed.ids()).all()


def test_a_snapshot_with_the_base_of_another_index_cannot_be_used(kind, tmp_path, monkeypatch):
    index, _ = built(kind)
    other = built(kind, 300)[0]._searcher._base.stored()
    monkeypatch.setattr(FaissBase, "stored", lambda self: other)
    index.save(tmp_path / "a", {})
    with pytest.raises(SnapshotError, match="other vectors"):
        kind.load(tmp_path / "a")
    monkeypatch.setattr(FaissBase, "stored", lambda self: other[:200])
    index.save(tmp_path / "b", {})
    with pytest.raises(SnapshotError):
        kind.load(tmp_path / "b")


def test_half_floats_take_half_the_memory_and_keep_three_digits(kind, tmp_path):
    index, vectors = built(kind, vectors="float16")
    assert index.get([7]).dtype == np.float32
    assert index.get([7])[0] == pytest.approx(vectors[0], rel=1e-3)
    index.save(tmp_path / "a", {})
    loaded, _ = kind.load(tmp_path / "a")
    truth = ExactIndex(DIM).changed([], index.ids(), index.get(index.ids())).search(vectors[:9], 5)
    for one in (index, loaded):
        assert recall(one.search(vectors[:9], 5), truth) == 1
        assert recall(one.search(vectors[:9], 5, None, one.efforts(5)[-1]), truth) >= 0.95
    with pytest.raises(ValueError, match="do not fit into float16"):
        index.changed([], [1], np.full((1, DIM), 1e6))
    with pytest.raises(ValueError, match="float32 or float16"):
        kind(DIM, vectors="int4")


@pytest.mark.parametrize("width", [50, 60, 100, 300, 353])
@pytest.mark.parametrize("vectors", ["float32", "float16"])
def test_widths_of_views_and_trainings_find_the_same(kind, width, vectors):
    """FAISS decodes half floats fast at widths of whole blocks only, so bases fill them up."""
    rows = np.random.default_rng(0).normal(size=(300, width)).astype(np.float32)
    index = kind(width, vectors).changed([], np.arange(300), rows).compacted()
    assert kind is CodeScanIndex or vectors == "float32" or index._searcher._base.index.d % 16 == 0
    exact = ExactIndex(width).changed([], index.ids(), index.get(index.ids()))
    for only in (None, np.arange(0, 300, 2)):
        found = index.search(rows[:9] + 0.1, 5, only, index.efforts(5)[-1])
        truth = exact.search(rows[:9] + 0.1, 5, only)
        assert recall(found, truth) == 1
        assert found.distances == pytest.approx(truth.distances, rel=1e-3)


@pytest.mark.parametrize("kind", [IvfIndex, GraphIndex])
def test_half_floats_of_earlier_versions_are_as_wide_as_their_vectors(kind, tmp_path, monkeypatch):
    with monkeypatch.context() as earlier:
        earlier.setattr(kind._searcher_type, "base_width", property(lambda searcher: searcher.dim))
        index, rows = built(kind, vectors="float16")
        index.save(tmp_path / "a", {})
    loaded, _ = kind.load(tmp_path / "a")
    later = loaded.changed(np.arange(7, 200), np.arange(5000, 5100), clustered(100, seed=5))
    for one, width in ((loaded, DIM), (later, DIM), (later.compacted(), 16)):
        assert one._searcher._base.index.d == width
        assert recall(one.search(rows[:9], 5, None, one.efforts(5)[-1]), one.search(rows[:9], 5)) >= 0.95


def test_rows_that_did_not_change_keep_their_lists(monkeypatch):
    """A new base assigns only new rows to centroids, so that a compaction takes a fraction of the first build."""
    index, _ = built(IvfIndex, 1000)
    monkeypatch.setattr(IvfIndex._searcher_type, "_trained", None)
    before = dict(zip(index.ids().tolist(), index._searcher._base.list_of_row.tolist(), strict=True))
    later = index.changed(np.arange(7, 200), np.arange(5000, 5100), clustered(100, seed=5)).compacted()
    after = dict(zip(later.ids().tolist(), later._searcher._base.list_of_row.tolist(), strict=True))
    assert len(after) == len(later)
    assert all(before[item] == cell for item, cell in after.items() if item < 5000)


def test_kept_centroids_are_not_in_the_snapshot_that_they_came_from(tmp_path):
    """The compacted index copies them: the file of the earlier one is unmapped as soon as nothing uses that index."""
    rows = clustered(40_000, seed=1)
    IvfIndex(DIM).changed([], np.arange(len(rows)), rows).compacted().save(tmp_path / "index", {})
    loaded, _ = IvfIndex.load(tmp_path / "index")
    compacted = loaded.changed(np.arange(20_000), [], rows[:0]).compacted()
    mapped, centroids = loaded._searcher._base._memory, compacted._searcher._base.index.quantizer
    place = faiss.rev_swig_ptr(faiss.downcast_index(centroids).get_xb(), 1).ctypes.data
    assert not 0 <= place - mapped.ctypes.data < len(mapped)


def test_a_filter_far_from_the_query_still_finds_its_nearest_items():
    """Lists without a match are not probed: otherwise a filter on one cluster would lose queries from another."""
    index, vectors = built(IvfIndex, 2000)
    centers = np.random.default_rng(0).normal(size=(8, DIM))
    cluster = ((vectors[:, None] - centers) ** 2).sum(axis=2).argmin(axis=1)
    farthest = ((centers - centers[cluster[0]]) ** 2).sum(axis=1).argmax()
    only, effort = np.flatnonzero(cluster == farthest) + 7, 5
    assert recall(index.search(vectors[:1], 10, only, effort), index.search(vectors[:1], 10, only)) >= 0.5
    near = index._searcher._base.nearest(vectors[:1], 500, ivf._probing(effort))[1]
    assert not np.isin(near[near >= 0] + 7, only).any()


def test_filters_that_depend_on_the_vectors_are_told_from_those_that_do_not(kind):
    index, vectors = built(kind, 4000)
    rng = np.random.default_rng(0)
    by_chance = np.flatnonzero(rng.random(4000) < 0.3) + 7
    on_one_side = np.argsort(vectors @ rng.normal(size=DIM))[:1200] + 7
    assert not index.is_correlated(index.selection(by_chance))
    assert index.is_correlated(index.selection(on_one_side))
    assert index.is_correlated(index.selection(on_one_side))  # as it is remembered
    assert not index.is_correlated(index.selection([]))
