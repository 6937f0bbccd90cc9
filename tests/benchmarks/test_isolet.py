"""The ISOLET benchmark draws the tasks and divisions that it states, and writes every figure."""

import json

import numpy as np
import pytest

from benchmarks.frame.benchmark import MissingDataError
from benchmarks.isolet import benchmark as isolet
from benchmarks.isolet import methods
from benchmarks.isolet.data import FILE, Letters, divide, errors, read, vote


@pytest.fixture
def folder(tmp_path):
    """Return four speakers of each of two groups, who say each of three letters four times."""
    generator = np.random.default_rng(0)
    labels = np.tile(np.repeat(np.arange(3), 4), 8)
    speakers = np.repeat(np.arange(8), 12)
    rows = np.eye(3, 8)[labels] + generator.normal(size=(8, 8))[speakers] / 4 + generator.normal(size=(96, 8)) / 4
    np.savez(tmp_path / FILE, X=rows, y=labels, group=np.where(speakers < 4, 1, 5), speaker=speakers)
    return tmp_path


def test_tasks_are_groups_of_whole_speakers(folder):
    """A task may be a part of a group; a division has 60, 20 and 20 per cent of every task, and differs by seed."""
    assert np.bincount(read(folder, 1).tasks).tolist() == [48, 48]
    letters = read(folder, 2)
    assert np.bincount(letters.tasks).tolist() == [24] * 4
    division = divide(letters, 0)
    assert np.bincount(division.train.tasks).tolist() == [14] * 4
    assert len(division.train.rows) + len(division.validation.rows) + len(division.test.rows) == 96
    assert not np.array_equal(division.test.rows, divide(letters, 1).test.rows)


def test_three_nearest_rows_vote():
    """Two equal votes win; if all differ, the nearest does. Errors are by task, among its rows and among all."""
    rows = np.array([[0.0], [1.0], [1.1], [5.0]])
    assert vote(rows, np.array([0, 1, 1, 2]), np.array([[0.1]])).tolist() == [1]
    assert vote(rows, np.array([0, 1, 2, 2]), np.array([[0.1]])).tolist() == [0]
    train = Letters(np.vstack([rows, rows]), np.array([0, 0, 0, 0, 1, 1, 1, 1]), np.repeat([0, 1], 4))
    queries = Letters(rows[:2], np.array([0, 1]), np.array([0, 1]))
    found = errors({0: np.eye(1), 1: np.eye(1)}, train, queries)
    assert found["own"] == [0.0, 0.0]


def test_writes_figures_of_every_method(folder, monkeypatch):
    """Every method has its errors beside the paper's."""
    grid = {"pull": (1.0,), "max_iter": (5,)}
    short = {
        name: methods.Method(method.fit, grid if method.grid else {})
        for name, method in methods.METHODS.items()
        if name != methods.PEER
    }
    monkeypatch.setattr(isolet, "METHODS", short)
    out = folder / "out.json"
    arguments = ["--data", str(folder), "--trials", "2", "--workers", "1", "--json", str(out), "--report", str(folder)]
    assert isolet.BENCHMARK.main(arguments) == 0
    document = json.loads(out.read_text())
    assert [trial["seed"] for trial in document["trials"]] == [0, 1]
    assert all(list(trial["methods"]) == list(short) for trial in document["trials"])
    text = (folder / "isolet.md").read_text()
    assert "| 5.48 |" in text
    assert "joint, D = 169 − MT-LMNN" in text
    with pytest.raises(MissingDataError, match=FILE):
        read(folder / "nowhere", 1)
