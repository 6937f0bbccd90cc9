"""The benchmarks share workers that end with their parent, reruns, and statements of where figures come from."""

import argparse
import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from benchmarks.frame import beside, databases
from benchmarks.frame.benchmark import Benchmark, numbers, trial_arguments
from benchmarks.frame.journal import Journal, by_seed, partial_folder, run_trials
from benchmarks.frame.record import ROOT, provenance, source
from benchmarks.frame.tables import mean_and_error, span, table
from benchmarks.frame.workers import THREADS, alone, each

PARENT = """
import os, sys, time
sys.path[:0] = {paths!r}
from test_frame import sleep
from benchmarks.frame.workers import each
if __name__ == "__main__":
    list(each({{"one": 0, "two": 1}}, sleep, {folder!r}, workers=2))
"""


def sleep(number, folder):
    """Write the id of this process, and then work for longer than a test may take."""
    Path(folder, f"{number}.pid").write_text(str(os.getpid()), encoding="ascii")
    time.sleep(600)


def square(number, factor=1):
    """Stand for a trial."""
    return {"value": factor * number**2}


def threads(names):
    """Return the numbers of threads that a worker is given."""
    return [os.environ.get(name) for name in names]


def gone(process):
    """Return whether a process has ended; one that only waits for its parent to notice counts as ended."""
    try:
        return Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def until(condition, seconds=300):
    """Wait for a condition, and return whether it came to hold."""
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.05)
    return condition()


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc to see which processes run")
@pytest.mark.parametrize("ended_by", [signal.SIGTERM, signal.SIGKILL])
def test_workers_end_with_their_parent(tmp_path, ended_by):
    """No worker goes on after its parent is terminated or killed."""
    script = tmp_path / "parent.py"
    script.write_text(
        PARENT.format(paths=[str(ROOT), str(Path(__file__).parent)], folder=str(tmp_path)), encoding="utf-8"
    )
    parent = subprocess.Popen([sys.executable, str(script)])
    try:
        assert until(
            lambda: all((tmp_path / f"{n}.pid").exists() and (tmp_path / f"{n}.pid").read_text() for n in (0, 1))
        )
        workers = [int((tmp_path / f"{number}.pid").read_text()) for number in (0, 1)]
        assert not any(gone(worker) for worker in workers)
        parent.send_signal(ended_by)
        parent.wait(300)
        assert until(lambda: all(gone(worker) for worker in workers))
    finally:
        parent.kill()
        parent.wait()


@pytest.mark.parametrize("workers", [1, 2])
def test_every_task_has_its_result(workers):
    """Results have the names of their tasks, in one process and in several."""
    assert dict(each({"two": 2, "three": 3}, square, 10, workers=workers)) == {
        "two": {"value": 40},
        "three": {"value": 90},
    }


def test_workers_have_the_threads_they_are_given(monkeypatch):
    """A worker has the given number of threads, and this process keeps its own."""
    monkeypatch.setenv(THREADS[0], "7")
    monkeypatch.delenv(THREADS[1], raising=False)
    assert alone(threads, THREADS, threads=3) == ["3", "3"]
    assert threads(THREADS) == ["7", None]


def options(folder, **changes):
    """Return the options of a run with one worker."""
    return argparse.Namespace(**{"json": folder / "out.json", "workers": 1, "trials": 2, "size": 4, **changes})


def test_a_rerun_computes_what_is_missing(tmp_path):
    """Finished trials are taken from the earlier run; other settings or options start again."""
    ran = []

    def run(seed):
        ran.append(seed)
        return {"value": np.float64(seed) / 3}

    def rerun(seeds, settings=None, **changes):
        chosen = options(tmp_path, trials=len(seeds), **changes)
        return run_trials(chosen, settings or {"k": 5}, by_seed(seeds), run, progress=str)

    assert rerun([0, 1]) == [{"value": 0.0}, {"value": 1 / 3}]
    assert rerun([1, 2, 0]) == [{"value": 1 / 3}, {"value": 2 / 3}, {"value": 0.0}]
    assert ran == [0, 1, 2]
    rerun([0], {"k": 6})
    rerun([0], size=5)
    assert ran == [0, 1, 2, 0, 0]


def test_a_line_that_was_cut_short_is_not_read(tmp_path):
    """A run that was killed while it wrote loses only the broken line, and goes on writing after the whole ones."""
    path = tmp_path / "a" / "journal.jsonl"
    for name, value in (("one", 1), ("two", [2.5])):
        Journal(path).add(name, value)
    path.write_text(path.read_text(encoding="utf-8")[:-3], encoding="utf-8")
    journal = Journal(path)
    assert "one" in journal
    assert "two" not in journal
    journal.add("two", (3,))
    assert Journal(path)["two"] == journal["two"] == [3]


def test_the_partial_folder_changes_with_the_code(tmp_path, monkeypatch):
    """Results of other code are not used as results of this code."""
    before = partial_folder(options(tmp_path), {}, by_seed)
    monkeypatch.setattr("benchmarks.frame.journal.code_digest", lambda run: {"benchmark": "other"})
    assert partial_folder(options(tmp_path), {}, by_seed) != before


def made(**changes):
    """Return a benchmark of a single figure."""

    def arguments(parser):
        parser.add_argument("--data", type=Path)
        parser.add_argument("--sizes", type=numbers, default=(1, 2))
        trial_arguments(parser, trials=3, workers=1)

    def run(options):
        return {"settings": {"seeds": [0, 1]}, "rows": [{"method": "m", "metric": "map", "value": 0.5, "std": 0.1}]}

    return Benchmark(name="made", description="One figure.", arguments=arguments, run=run, **changes)


def test_a_document_states_where_its_figures_come_from(tmp_path, capsys):
    """It has the command with relative paths, the commit, the date and the machine, and the report ends with them."""
    out = tmp_path / "out.json"
    data = ["--data", str(ROOT / "data"), "--sizes", "3,1", "--trials", "3"]
    assert made().main([*data, "--json", str(out), "--report", str(tmp_path / "report")]) == 0
    document = json.loads(out.read_text(encoding="utf-8"))
    assert shlex.split(document["command"]) == shlex.split("python -m benchmarks made --data data --sizes 1,3")
    assert {name: document[name] for name in ("commit", "base", "dirty")} == source()
    assert {"benchmark", "date", "machine", "versions", "digest", "settings", "rows", "seconds"} <= set(document)
    text = (tmp_path / "report" / "made.md").read_text(encoding="utf-8")
    assert text == capsys.readouterr().out.rstrip() + "\n"
    assert "| m, map | 0.5 ± 0.1 |" in text
    assert text.rstrip().splitlines()[-1].startswith(f"`{document['command']}`, commit {document['commit'][:7]}")


def test_a_lost_commit_is_stated_with_what_stays_valid():
    """After a branch was rewritten, its base still places a run."""
    host = {"cpu": "a processor", "cores": 2, "memory_gib": 4.0}
    plain = {"command": "x", "date": "2026-01-02", "machine": host, "seconds": 1.0, "dirty": False, "commit": "a" * 40}
    lost = {"base": "b" * 40, "commit_lost": True}
    assert provenance(plain).startswith("`x`, commit aaaaaaa, 2026-01-02;")
    words = "commit aaaaaaa (not in the repository; based on bbbbbbb), 2026-01-02;"
    assert provenance(plain | lost).startswith(f"`x`, {words}")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["--trials", "0"], "must be at least 1"), (["--sizes", "two"], "not a list of numbers")],
)
def test_wrong_arguments_are_named(arguments, message, tmp_path, capsys):
    """A wrong number ends the program with a line that has the number and the allowed ones."""
    with pytest.raises(SystemExit):
        made().main([*arguments, "--json", str(tmp_path / "out.json")])
    assert message in capsys.readouterr().err


def test_cells():
    """Means have standard errors, spans have their ends, and single values have neither."""
    assert mean_and_error([0.5, 0.7]) == "60.0 ± 10.0"
    assert mean_and_error([0.25], 1, 2, "+") == "+0.25"
    assert mean_and_error([]) == ""
    assert [span([3]), span([1000, 2])] == ["3", "2 to 1,000"]
    assert table([["a"], ["b"]]) == "| a |\n| --- |\n| b |"


def test_rankings_of_others_leave_the_own_item_out():
    """Each row ranks the other items by their distances; a table without its diagonal keeps the order of the others."""
    distances = np.array([[0.0, 2, 1], [3, 0, 4], [9, 8, 0]])
    np.testing.assert_array_equal(databases.ranking_of_others(distances), [[2, 1], [0, 2], [1, 0]])
    np.testing.assert_array_equal(databases.without_own(distances), [[2, 1], [3, 4], [9, 8]])
    assert distances[0, 0] == 0


def test_rows_of_earlier_runs_are_of_the_usual_database():
    rows = [{"value": 1}, {"value": 2, "database": "unseen"}, {"value": 3, "database": None}]
    assert [row["value"] for row in databases.of_database(rows, "trained")] == [1, 3]
    assert [row["value"] for row in databases.of_database(rows, "test", "test")] == [1, 3]
    assert [row["value"] for row in databases.of_database(rows, "unseen")] == [2]


def test_own_items_are_found_as_soon_as_in_the_mean_over_all_orders_of_ties():
    """A query whose own item shares its distance with others finds it as often as chance would."""
    distances = np.array([[0.0, 1.0, 1.0, 2.0], [3.0, 1.0, 1.0, 2.0], [1.0, 1.0, 1.0, 1.0]])
    assert beside.of_own(distances, np.array([0, 0, 3])) == {
        "recall@1": pytest.approx((1 + 0 + 1 / 4) / 3),
        "recall@10": 1.0,
        "median_rank": 2.5,
    }


def test_the_best_of_each_figure_is_bold():
    """The least rank and hubness, the largest of the others; a missing figure is an empty cell."""
    figures = {
        "one": {"map": 0.8, "median_rank": 9.0, "coverage": 0.2},
        "two": {"map": 0.5, "median_rank": 2.0, "coverage": 1.0},
        "few": {"map": 0.1},
    }
    assert beside.lines(figures) == [
        ["method", "mAP", "own median rank", "coverage"],
        ["one", "**0.800**", "9.0", "0.200"],
        ["two", "0.500", "**2.0**", "**1.000**"],
        ["few", "0.100", "", ""],
    ]
