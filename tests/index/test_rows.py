"""Versions share what they store: a change copies no chunk, and compaction only those with waste."""

import numpy as np
import pytest

from crossview.index import chunk
from crossview.index.flat import FlatIndex

ROWS, DIM = 16, 4


@pytest.fixture(autouse=True)
def short_chunks(monkeypatch):
    monkeypatch.setattr(chunk, "MOST_ROWS", ROWS)


def filled(count: int = 100) -> FlatIndex:
    return FlatIndex(DIM).changed([], np.arange(count), np.arange(count * DIM).reshape(count, DIM))


def shared(one: FlatIndex, other: FlatIndex) -> list[bool]:
    """Return which chunks of an index lie in the memory of another's at the same place."""
    return [np.shares_memory(a.rows, b.rows) for a, b in zip(one._rows.chunks, other._rows.chunks, strict=False)]


def test_a_change_copies_no_rows():
    """Additions go behind the rows of the open chunk, removals mark rows, and replacements do both."""
    index = filled()
    changed = index.changed([3, 50], [7, 100, 101], np.ones((3, DIM)))
    assert shared(index, changed) == [True] * 7
    assert [len(one) for one in changed._rows.main] == [16] * 6 + [6]
    assert [len(one) for one in changed._rows.stray] == [1]
    assert changed.waste == 4 / 103


def test_of_two_versions_with_one_parent_the_second_copies_the_open_chunk_alone():
    """The first has taken the memory behind it; all three share the sealed chunks."""
    parent = filled()
    first, second = (parent.changed([], [200 + number], np.full((1, DIM), number)) for number in range(2))
    assert shared(parent, first) == [True] * 7
    assert shared(parent, second) == [True] * 6 + [False]
    assert first.get([200]).tolist() == [[0] * DIM]
    assert second.get([201]).tolist() == [[1] * DIM]
    assert first.ids().tolist() == [*range(100), 200]


def test_compaction_rewrites_only_chunks_with_waste():
    """One dead row of sixteen is not worth it; a chunk without rows goes; strays go to the chunk of their ids."""
    index = filled().changed([0, *range(16, 48), 70, 71], [72], np.zeros((1, DIM)))
    compacted = index.compacted()
    kept = [any(np.shares_memory(one.rows, old.rows) for old in index._rows.chunks) for one in compacted._rows.main]
    assert [len(one) for one in compacted._rows.main] == [16, 16, 14, 16, 4]
    assert kept == [True, True, False, True, True]
    assert compacted._rows.stray == ()
    assert compacted.ids().tolist() == index.ids().tolist()
    assert compacted.waste == 1 / 66


def test_long_rows_make_short_chunks():
    """The memory of a chunk is therefore bounded; a chunk has at least one row."""
    assert chunk.chunk_rows(np.empty((0, 4), np.float32)) == ROWS
    assert chunk.chunk_rows(np.empty((0, chunk.CHUNK_BYTES // 8), np.float32)) == 2
    assert chunk.chunk_rows(np.empty((0, chunk.CHUNK_BYTES), np.float32)) == 1


def test_distances_beyond_single_precision_still_find_the_nearest():
    """Their squares are infinite there, and FAISS finds none of them."""
    index = filled(40).changed([], [1000, 1001], [[3e38] * DIM, [2e38] * DIM])
    assert index.search([[1.6e38] * DIM], 3).ids[0, :2].tolist() == [1001, 1000]
    assert index.search([[2.1e38] * DIM] * 2, 2).ids.tolist() == [[1001, 1000]] * 2
    assert index.search([[1.6e38] * DIM], 1, [1000, 1001]).ids.tolist() == [[1001]]
