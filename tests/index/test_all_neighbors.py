"""The neighbours of all rows are the nearest ones; a search by cells still finds near copies."""

import numpy as np
import pytest

from crossview.index import all_neighbors as module
from crossview.index.all_neighbors import all_neighbors


def test_a_scan_finds_the_nearest() -> None:
    draws = np.random.default_rng(0)
    rows, known = (draws.normal(size=(count, 7)).astype(np.float32) for count in (40, 90))
    distances = np.linalg.norm(rows[:, None] - known[None], axis=2)
    found = all_neighbors(rows, known, 5)
    assert (found.ids == distances.argsort(axis=1)[:, :5]).all()
    assert np.allclose(found.distances, np.sort(distances, axis=1)[:, :5], atol=1e-4)


def test_fewer_rows_than_neighbors_and_none() -> None:
    rows = np.eye(3, dtype=np.float32)
    assert all_neighbors(rows, rows, 8).ids.shape == (3, 3)
    assert all_neighbors(rows, rows[:0], 8).ids.shape == (3, 0)


def test_cells_keep_copies_together_and_repeat_their_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "EXACT", 100)
    draws = np.random.default_rng(0)
    known = draws.normal(size=(3_000, 8)).astype(np.float32)
    rows = known + draws.normal(scale=0.02, size=known.shape).astype(np.float32)
    found = all_neighbors(rows, known, 3)
    assert (found.ids[:, 0] == np.arange(3_000)).mean() > 0.99
    assert (found.ids == all_neighbors(rows, known, 3).ids).all()


def test_what_the_report_raises_ends_the_work() -> None:
    def report(done: int, total: int) -> None:
        raise KeyboardInterrupt

    rows = np.eye(3, dtype=np.float32)
    with pytest.raises(KeyboardInterrupt):
        all_neighbors(rows, rows, 2, report=report)
