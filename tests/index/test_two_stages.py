"""Two stages of exact search: codes of 8 bits propose, true distances decide, and a scan answers without a proof."""

import numpy as np
import pytest

from crossview.index import flat
from crossview.index.exact import ExactIndex
from crossview.index.flat import FlatIndex, QuantizedSearcher

DIM = 16
WIDTHS = [1, 50, 60, 300, 353]
"""Widths that views and trainings make, and that FAISS's fast loops do not divide."""


@pytest.fixture(autouse=True)
def first_stage_of_few_rows(monkeypatch):
    monkeypatch.setattr(flat, "_LEAST_COMPONENTS", 1000)


def both(vectors):
    ids, dim = np.arange(len(vectors)) * 3, vectors.shape[1]
    return FlatIndex(dim).changed([], ids, vectors).compacted(), ExactIndex(dim).changed([], ids, vectors)


def vectors_of(count: int = 3000, seed: int = 0, dim: int = DIM) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return (rng.normal(size=(10, dim))[rng.integers(10, size=count)] + rng.normal(size=(count, dim))).astype(np.float32)


@pytest.mark.parametrize("k", [1, 10, 600])
def test_answers_are_those_of_the_exact_twin(k):
    index, exact = both(vectors_of())
    assert index._searcher._base is not None
    for queries in (vectors_of(1, seed=1), vectors_of(30, seed=1)):
        mine, theirs = index.search(queries, k), exact.search(queries, k)
        assert (mine.ids == theirs.ids).all()
        assert (mine.distances == theirs.distances).all()


@pytest.mark.parametrize("shift", [0, 1000])
@pytest.mark.parametrize("dim", WIDTHS)
def test_codes_of_whole_blocks_keep_the_answers_exact_at_every_width(dim, shift):
    """The components that fill a code add nothing to distances, wherever the vectors are."""
    index, exact = both(vectors_of(dim=dim) + shift)
    base = index._searcher._base
    assert base.index.d % 16 == 0
    assert base.error < np.sqrt(dim) * (base.index.sq.trained.at(1) / 255)
    queries = vectors_of(5, seed=1, dim=dim) + shift
    mine, theirs = index.search(queries, 10), exact.search(queries, 10)
    assert (mine.ids == theirs.ids).all()
    assert (mine.distances == theirs.distances).all()


def test_codes_of_earlier_versions_give_way_to_a_scan_until_a_compaction(tmp_path, monkeypatch):
    """Their codes are as wide as the vectors, which makes them slower than a scan."""
    vectors, queries = vectors_of(dim=50), vectors_of(5, seed=1, dim=50)
    with monkeypatch.context() as earlier:
        earlier.setattr(QuantizedSearcher, "base_width", property(lambda searcher: searcher.dim))
        index, exact = both(vectors)
        assert index._searcher._base.index.d == 50
        index.save(tmp_path / "a", {})
    loaded, _ = FlatIndex.load(tmp_path / "a")
    assert loaded._searcher._base is None
    assert loaded.worth_compacting
    for same in (loaded, loaded.compacted()):
        assert (same.search(queries, 10).ids == exact.search(queries, 10).ids).all()
    assert loaded.compacted()._searcher._base.index.d == 64


def test_a_search_without_a_proof_scans(monkeypatch):
    """The error is exaggerated until nothing can be proven; every answer then comes from the scan."""
    index, exact = both(vectors_of())
    scanned, scan = [], index._searcher._scan.search
    monkeypatch.setattr(index._searcher._scan, "search", lambda *given: scanned.append(1) or scan(*given))
    query = vectors_of(1, seed=1)
    assert (index.search(query, 10).ids == exact.search(query, 10).ids).all()
    assert not scanned
    index._searcher._base.error = 1e3
    assert (index.search(query, 10).ids == exact.search(query, 10).ids).all()
    assert scanned


def test_vectors_too_coarse_for_8_bits_have_no_first_stage():
    """One vector far away takes nearly all codes, so that no search among the others has a proof."""
    vectors = vectors_of()
    vectors[0] = 1e4
    index, exact = both(vectors)
    assert index._searcher._base is None
    assert (index.search(vectors[:9], 10).ids == exact.search(vectors[:9], 10).ids).all()


def test_no_code_is_farther_from_its_vector_than_the_error():
    index, exact = both(vectors_of())
    base = index._searcher._base
    decoded = base.index.reconstruct_n(0, len(index))
    errors = np.sqrt(((decoded.astype(np.float64) - exact.get(exact.ids())) ** 2).sum(axis=1))
    assert errors.max() <= base.error <= errors.max() * 1.001


def test_changes_and_filters_keep_the_answers_exact(tmp_path):
    index, exact = both(vectors_of())
    gone, new, rows = np.arange(0, 1500, 3), np.arange(1, 400, 3), vectors_of(133, seed=5)
    index, exact = (one.changed(gone, new, rows) for one in (index, exact))
    index.save(tmp_path / "a", {})
    loaded, _ = FlatIndex.load(tmp_path / "a")
    assert loaded._searcher._base.error > 0
    query = vectors_of(1, seed=6)
    for one in (index, index.compacted(), loaded):
        for only in (None, exact.ids()[::4], exact.ids()[10:]):
            assert (one.search(query, 10, only).ids == exact.search(query, 10, only).ids).all()
