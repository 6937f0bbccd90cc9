"""A base under rows: the code that a new kind of approximate index needs, and the parts that it shares."""

from typing import NamedTuple

import numpy as np
import pytest

from crossview.index import chunk
from crossview.index.base import SearchCapabilities
from crossview.index.based import BasedSearcher, Found
from crossview.index.exact import ExactIndex
from crossview.index.flat import FlatIndex
from crossview.index.float_scan import FlatSearcher
from crossview.index.stored import StoredIndex

DIM = 8


class Cells(NamedTuple):
    """The rows of each cell; a cell holds the vectors whose first component has one sign."""

    rows: tuple[np.ndarray, np.ndarray]
    vectors: np.ndarray
    nbytes: int = 0


class CellSearcher(BasedSearcher[Cells]):
    """An approximate searcher, which looks into the cell of the query alone."""

    capabilities = SearchCapabilities(exact=False)

    def __init__(self, dim: int) -> None:
        super().__init__(FlatSearcher(dim))

    def _new_base(self, before: "CellSearcher") -> Cells:
        vectors = np.concatenate([one.rows for one in self.rows.main])
        return Cells((np.flatnonzero(vectors[:, 0] < 0), np.flatnonzero(vectors[:, 0] >= 0)), vectors)

    def _ask(self, base: Cells, queries: np.ndarray, k: int, effort: int) -> Found:
        numbers = np.full((len(queries), len(base.vectors)), -1)
        distances = np.full(numbers.shape, np.inf, np.float32)
        for row, query in enumerate(queries):
            cell = base.rows[int(query[0] >= 0)]
            numbers[row, : len(cell)] = cell
            distances[row, : len(cell)] = np.sqrt(((base.vectors[cell].astype(np.float64) - query) ** 2).sum(axis=1))
        return Found(numbers, distances, np.zeros(len(queries), bool))


class CellIndex(StoredIndex):
    """An index that needs nothing else for versions, removals, lookups and snapshots."""

    _kind, _searcher_type = "cells", CellSearcher


@pytest.fixture
def vectors() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(400, DIM)).astype(np.float32)


def nearest_in_cell(vectors: np.ndarray, ids: np.ndarray, later: np.ndarray, query: np.ndarray, k: int):
    """Return the k nearest by the oracle, among the ids of the query's cell and those that came later."""
    near = np.concatenate([ids[(vectors[ids, 0] >= 0) == (query[0] >= 0)], later])
    return ExactIndex(DIM).changed([], near, vectors[near]).search(query[None], k)


@pytest.mark.parametrize("rows", [32, 1000])
def test_an_approximate_base_answers_beside_an_exact_scan_of_later_rows(vectors, rows, monkeypatch):
    """Rows that were removed since are never found, rows that were added always are, and all distances are true."""
    monkeypatch.setattr(chunk, "MOST_ROWS", rows)
    index = CellIndex(DIM).changed([], np.arange(300), vectors[:300]).compacted()
    later = index.changed(np.arange(0, 60, 2), np.arange(300, 340), vectors[300:340])
    alive = np.setdiff1d(np.arange(300), np.arange(0, 60, 2))
    for query in vectors[340:360]:
        for version, ids, new in ((index, np.arange(300), []), (later, alive, np.arange(300, 340))):
            found = version.search(query[None], 5)
            expected = nearest_in_cell(vectors, ids, np.array(new, np.int64), query, 5)
            assert found.ids.tolist() == expected.ids.tolist()
            assert found.distances.tolist() == expected.distances.tolist()
    assert not later.capabilities.exact
    assert not later.worth_compacting


def test_a_filter_is_answered_exactly_by_the_scan(vectors):
    """It may leave few rows in a cell."""
    index, flat = (kind(DIM).changed([], np.arange(400), vectors).compacted() for kind in (CellIndex, FlatIndex))
    only = np.arange(0, 400, 7)
    assert (index.search(vectors[:9], 6, only).ids == flat.search(vectors[:9], 6, only).ids).all()


def test_a_base_is_built_anew_when_a_quarter_has_changed(vectors):
    """A compaction builds it, since searches become slower by then."""
    index = CellIndex(DIM).changed([], np.arange(200), vectors[:200]).compacted()
    later = index.changed([], np.arange(200, 300), vectors[200:300])
    assert later.worth_compacting
    assert later.waste == 1 / 3
    whole = later.compacted()
    assert (whole.waste, whole._searcher._built) == (0, 300)


def test_a_loaded_index_has_its_base(vectors, tmp_path):
    """The snapshot holds the rows alone."""
    index = CellIndex(DIM).changed([], np.arange(200), vectors[:200]).compacted()
    index.save(tmp_path / "a.idx", {})
    again, _ = CellIndex.load(tmp_path / "a.idx")
    assert (again.search(vectors[300:310], 4).ids == index.search(vectors[300:310], 4).ids).all()
