"""Multi-index hashing looks up what it can, is equally exact when it scans, and keeps tables that are faster."""

import numpy as np
import pytest

from crossview.index import chunk, multi_index
from crossview.index.binary_flat import BinaryFlatIndex
from crossview.index.exact import ExactBinaryIndex
from crossview.index.multi_index import AutoBinaryIndex, MultiIndexHashing
from crossview.index.substrings import SubstringTables


def clustered(count: int, bits: int, seed: int) -> np.ndarray:
    """Return codes whose bits differ from those of one of 20 centres with probability 0.04 each."""
    centers = np.random.default_rng(0).random((20, bits)) < 0.5
    rng = np.random.default_rng(seed)
    return np.packbits(centers[rng.integers(20, size=count)] ^ (rng.random((count, bits)) < 0.04), axis=1)


@pytest.mark.parametrize("bits", [16, 30, 64, 100])
def test_after_each_step_every_group_at_its_distance_was_there(bits):
    """This is the pigeonhole bound of multi-index hashing; no group comes twice within a step."""
    codes = np.unique(clustered(400, bits, seed=1), axis=0)
    tables = SubstringTables.of(codes, bits)
    for query in clustered(5, bits, seed=2):
        true = np.unpackbits(codes ^ query, axis=1).sum(axis=1)
        seen = {}
        for complete, (groups, distances) in zip(range(12), tables.steps(query, most=10**9), strict=False):
            assert len(np.unique(groups)) == len(groups)
            ids, away = tables.members(groups, distances, most=1)
            seen.update(zip(ids.tolist(), away.tolist(), strict=True))
            assert set(np.flatnonzero(true <= complete).tolist()) <= set(seen)
        assert all(true[number] == distance for number, distance in seen.items())


def test_near_neighbours_are_looked_up_and_not_scanned_for(monkeypatch):
    """The tables answer by themselves: a scan is an error here."""
    monkeypatch.setattr(multi_index, "_LOOKUP", 0.1)
    codes, queries = clustered(20_000, 64, seed=1), clustered(20, 64, seed=2)
    both = [
        kind(64).changed([], np.arange(len(codes)), codes).compacted() for kind in (MultiIndexHashing, ExactBinaryIndex)
    ]
    index, exact = (one.changed(np.arange(0, 4000, 2), [], codes[:0]) for one in both)
    monkeypatch.setattr(index._searcher._scan, "_scan", None)
    mine, theirs = index.search(queries, 10), exact.search(queries, 10)
    assert (mine.ids == theirs.ids).all()
    assert (mine.distances == theirs.distances).all()


def test_tables_are_built_anew_only_by_compaction_after_a_quarter_has_changed(monkeypatch):
    built = []
    monkeypatch.setattr(chunk, "MOST_ROWS", 2000)  # short chunks would be rewritten for a few dead rows, and tables too
    made = SubstringTables.of
    monkeypatch.setattr(SubstringTables, "of", lambda *args: built.append(1) or made(*args))
    codes = clustered(1300, 64, seed=1)
    index = MultiIndexHashing(64).changed([], np.arange(1000), codes[:1000])
    assert (len(built), index.waste) == (0, 1.0)
    index = index.compacted()
    assert (len(built), index.waste) == (1, 0.0)
    index = index.changed(np.arange(10), np.arange(1000, 1200), codes[1000:1200])
    assert index.waste < 0.07
    assert len(index.compacted()) == 1190
    assert len(built) == 1
    index = index.changed([], np.arange(1200, 1300), codes[1200:])
    assert index.waste > 0.2
    assert index.compacted().waste < 0.07
    assert len(built) == 2


@pytest.mark.parametrize("spread", ["clustered", "uniform"])
def test_a_snapshot_contains_the_tables_or_that_none_are_worth_it(monkeypatch, tmp_path, spread):
    """Opening therefore builds nothing, and answers the same; also after changes."""
    monkeypatch.setattr(multi_index, "_LARGE", 1000)
    monkeypatch.setattr(multi_index, "_LOOKUP", 2)
    codes = clustered(2000, 64, seed=1)
    if spread == "uniform":
        codes = np.random.default_rng(1).integers(256, size=codes.shape, dtype=np.uint8)
    index = AutoBinaryIndex(64).changed([], np.arange(len(codes)), codes).compacted()
    index = index.changed(np.arange(3), [5000], codes[:1])
    index.save(tmp_path / "index", {})
    monkeypatch.setattr(SubstringTables, "of", None)
    loaded, _ = AutoBinaryIndex.load(tmp_path / "index")
    assert (loaded._searcher._base is None) == (index._searcher._base is None) == (spread == "uniform")
    mine, theirs = loaded.search(codes[:50], 10), index.search(codes[:50], 10)
    assert (mine.ids == theirs.ids).all()
    assert (mine.distances == theirs.distances).all()


@pytest.mark.parametrize("spread", ["clustered", "uniform"])
def test_the_tables_of_large_sets_are_kept_where_neighbours_are_near(monkeypatch, spread):
    """Clustered codes have them; uniform codes and small sets have not. Equal codes give equal choices."""
    monkeypatch.setattr(multi_index, "_LARGE", 1000)
    monkeypatch.setattr(multi_index, "_LOOKUP", 2)
    codes = clustered(2000, 64, seed=1)
    if spread == "uniform":
        codes = np.random.default_rng(0).integers(0, 256, codes.shape, np.uint8)
    for _ in range(2):
        index = AutoBinaryIndex(64).changed([], np.arange(999), codes[:999]).compacted()
        assert index._searcher._base is None
        index = index.changed([], np.arange(999, 2000), codes[999:])
        assert index.waste > 0.2
        index = index.compacted()
        assert index.waste < 0.07
        assert (index._searcher._base is not None) == (spread == "clustered")


def test_the_snapshot_of_a_flat_index_serves_the_others(tmp_path):
    flat = BinaryFlatIndex(64).changed([], np.arange(300), clustered(300, 64, seed=1))
    flat.save(tmp_path / "a.idx", {"sequence": 3})
    index, meta = MultiIndexHashing.load(tmp_path / "a.idx")
    assert meta == {"sequence": 3}
    queries = clustered(4, 64, seed=2)
    assert (index.search(queries, 5).ids == flat.search(queries, 5).ids).all()
