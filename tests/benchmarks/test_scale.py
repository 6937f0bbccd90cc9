"""The benchmark of scale draws its data, knows the exact answers, writes meanwhile, and starts its processes."""

import json
import threading
import time

import numpy as np
import pytest

from benchmarks.__main__ import main as run_named
from benchmarks.frame import asking
from benchmarks.scale.contender import PARTS, Contender, Limits
from benchmarks.scale.data import CLUSTERS, QUERIES, VIEWS, Condition, Data, K, conditions, drawn
from benchmarks.scale.engines import ENGINES
from benchmarks.scale.report import markdown, points, shown
from benchmarks.scale.truth import State, Truth
from benchmarks.scale.writer import Turns, Writer

LIMITS = Limits(queries=40, seconds=0.2, timeout=600.0)
RAW = [("crossview index", "flat"), *(("faiss", kind) for kind in ENGINES["faiss"].kinds)]
PEERS = [(name, kind) for name, engine in ENGINES.items() if engine.peer for kind in engine.kinds]


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Data:
    """Return two thousand items."""
    return drawn(tmp_path_factory.mktemp("data"), 2_000, seed=1)


def nearest(data, view, state=State(), only=None):  # noqa: B008 - a value
    """Return the ids of the 10 nearest of each query in float64, by sorting all distances."""
    rows = np.concatenate([batch.rows for batch in data.batches(300)]).astype(float)
    rows[data.order[: state.replaced]] = data.replacements(0, state.replaced)
    kept = data.kept(only)
    kept[data.order[data.changed : data.changed + state.deleted]] = False
    distances = ((data.queries[view][:, None] - rows[kept]) ** 2).sum(axis=2)
    return np.flatnonzero(kept)[np.argsort(distances, axis=1)[:, :K]]


def test_data_are_those_of_the_seed(data, tmp_path):
    """A seed gives the same files again, another one others; files that exist are not drawn again."""
    again, other = drawn(tmp_path, 2_000, seed=1), drawn(tmp_path, 2_000, seed=2)
    np.testing.assert_array_equal(data.rows(500, 700), again.rows(500, 700))
    np.testing.assert_array_equal(data.queries["across"], again.queries["across"])
    assert (data.rows(500, 700) != other.rows(500, 700)).any()
    (tmp_path / "2000-1" / "mark").touch()
    drawn(tmp_path, 2_000, seed=1)
    assert (tmp_path / "2000-1" / "mark").exists()


def test_data_that_were_begun_are_drawn_again(tmp_path):
    """A folder that a killed run left incomplete is not taken as the data."""
    (tmp_path / "500-0.begun").mkdir()
    (tmp_path / "500-0.begun" / "order.npy").write_bytes(b"half")
    assert drawn(tmp_path, 500, seed=0).count == 500


def test_queries_across_views_lie_off_the_items(data):
    """A query within the view is nearer to its item than items are to each other; one across views is far from all."""
    within, across = (np.sqrt(Truth(data.folder).farthest(view)) for view in VIEWS)
    rows = data.rows(0, data.count)
    own = {view: np.sqrt(((data.queries[view][:, None] - rows) ** 2).sum(axis=2)).min(axis=1) for view in VIEWS}
    assert np.median(own["within"]) < 1 < np.median(own["across"])
    assert np.median(within) > np.median(own["within"])
    assert np.median(across) > np.median(own["across"])


def test_conditions_keep_the_shares_that_they_state(data):
    """The share of each condition is exact up to rounding, at least one item; the clusters keep theirs whole."""
    chosen = conditions(data.count)
    for name, only in chosen.items():
        if only.column == "number":
            assert data.kept(only).sum() == max(1, round(float(name.split()[0]) / 100 * data.count))
    assert chosen["clusters, 10 %"] == Condition("cluster", CLUSTERS // 10)
    assert 0.05 < data.kept(chosen["clusters, 10 %"]).mean() < 0.15


@pytest.mark.parametrize("name", ["", "0.01 %", "1 %", "clusters, 10 %", "changed"])
@pytest.mark.parametrize("view", VIEWS)
def test_exact_answers_are_those_of_an_exhaustive_sort(data, name, view):
    """In every state and under every condition, the nearest by sorting have recall 1, and are as far as the truth."""
    state = State(data.changed, data.changed) if name == "changed" else State()
    only = conditions(data.count).get(name)
    truth = Truth(data.folder, state, only)
    found = nearest(data, view, state, only)
    assert truth.recall(view, found) == 1
    assert truth.is_known(view)
    assert Truth(data.folder, state, only).recall(view, found[:7]) == 1


def test_recall_counts_distances_once_and_only_of_items_that_are_there(data):
    """An id that comes twice counts once; -1, deleted items, and far ones count nothing."""
    found = nearest(data, "within")
    twice, some, far = found.copy(), found.copy(), found.copy()
    twice[:, 1] = twice[:, 0]
    some[:, 5:] = -1
    far[:, :2] = nearest(data, "within", State(0, 0), Condition("cluster", 1))[:, :2]
    truth = Truth(data.folder)
    assert truth.recall("within", twice) == pytest.approx(0.9)
    assert truth.recall("within", some) == pytest.approx(0.5)
    assert truth.recall("within", far) < 0.9
    gone = data.order[data.changed : 2 * data.changed]
    left = 1 - np.isin(found, gone).mean()
    changed = Truth(data.folder, State(0, data.changed)).recall("within", found)
    assert changed == pytest.approx(left)


def test_a_waiting_writer_gets_its_turn():
    """A loop that takes the lock again at once lets a waiting thread in."""
    turns, written = Turns(), threading.Event()

    def write():
        with turns.taken():
            written.set()

    with turns.taken():
        writer = threading.Thread(target=write)
        writer.start()
        time.sleep(0.05)  # until it waits; too short a time makes the test pass, too
    deadline = time.monotonic() + 300
    while not written.is_set() and time.monotonic() < deadline:
        with turns.taken():
            pass
    assert written.is_set()


class Kept:
    """Stand for an engine that keeps the ids it is given, or fails."""

    def __init__(self, fails=False):
        self.ids, self._fails = [], fails

    def replace(self, ids, rows):
        if self._fails:
            raise OSError("the disk is full")
        assert len(ids) == len(rows)
        self.ids += ids.tolist()


@pytest.mark.parametrize("turns", [None, Turns()])
def test_the_writer_replaces_the_items_in_their_order(data, turns):
    """It writes each due item once, continues where the last write ended, and ends with the replacements."""
    engine = Kept()
    writer = Writer(engine, data, written=3, a_second=1e6, turns=turns)
    writer.start()
    while writer.written < data.changed:
        time.sleep(0.01)
    writer.end()
    assert engine.ids == data.order[3 : data.changed].tolist()
    assert len(writer.seconds) == 1


def test_a_failing_writer_keeps_its_failure(data):
    """The thread that searches can read the error that ended the writer."""
    writer = Writer(Kept(fails=True), data, written=0, a_second=1e6, turns=None)
    writer.start()
    writer.join(300)
    assert str(writer.failure) == "the disk is full"


def rows_of(name, kind, folder, data, parts=PARTS):
    """Return the rows of one kind of an engine, and those of failures."""
    rows = Contender(name, kind, folder / "index", data, LIMITS).measured(parts)
    return rows, {row["part"]: row["value"] for row in rows if row["metric"] == "failed"}


def check(rows, failed, name, kind):
    """Check that all parts have all figures, recall grows to 1 with the effort, and replaced items are found."""
    efforts, method = ENGINES[name].kinds[kind], f"{name} {kind}"
    for view in VIEWS:
        curve = points(rows, method, view)
        assert [one["effort"] for one in curve] == sorted(efforts.efforts)
        assert curve[-1]["recall"] > 0.9
        assert all(one["recall"] <= 1 for one in curve)
        for one in curve:
            assert 0 < one["p50, ms"] <= one["p95, ms"] <= one["p99, ms"]
            assert one["queries/s in batches"] > 0
        assert {"conditions", "writes"} & failed.keys() or points(rows, method, view, "writes")[-1]["recall"] > 0.5
        if "changes" not in failed:
            assert points(rows, method, view, "changes")[-1]["recall"] > 0.5
    figures = {row["metric"]: row["value"] for row in rows if row["part"] == "build"}
    assert figures["seconds"] > 0
    assert figures["peak memory"] > 1 << 20
    assert figures["disk"] > 100 * 2_000


@pytest.mark.parametrize(("name", "kind"), RAW)
def test_an_index_in_our_environment_has_all_its_figures(data, tmp_path, name, kind):
    """Only the parts that a kind of FAISS does not support fail, by their names."""
    rows, failed = rows_of(name, kind, tmp_path, data)
    check(rows, failed, name, kind)
    cannot = {"HNSW32": {"changes"}, "PQ32x4fs,RFlat": {"conditions", "changes"}}
    assert failed.keys() - {"writes"} == cannot.get(kind, set())
    assert all("UnsupportedError: FAISS" in reason for reason in failed.values())


@pytest.mark.skipif(not asking.STORES.exists(), reason="the peers' environment is not there: make stores")
@pytest.mark.parametrize(("name", "kind"), PEERS)
def test_a_peer_has_all_its_figures(data, tmp_path, name, kind):
    """Peers answer as the others do, also after changes; usearch knows no conditions."""
    rows, failed = rows_of(name, kind, tmp_path, data)
    check(rows, failed, name, kind)
    assert failed.keys() == ({"conditions"} if name == "usearch" else set())


def test_a_missing_peer_and_a_late_one_lose_their_own_rows(data, tmp_path, monkeypatch):
    """A missing library is reported with the remedy, and a process beyond its time with that time."""
    monkeypatch.setattr(asking, "STORES", tmp_path / "missing" / "python")
    for number, (name, kind, timeout, reason) in enumerate(
        [
            ("hnswlib", "HNSW32", 60.0, "not installed; make its environment with: make stores"),
            ("faiss", "Flat", 0.0, "more than 0 s, ended in: build"),
        ]
    ):
        limits = Limits(queries=5, seconds=0.1, timeout=timeout)
        (row,) = Contender(name, kind, tmp_path / str(number), data, limits).measured(PARTS)
        assert (row["part"], row["metric"], row["value"]) == ("build", "failed", reason)


def test_the_effort_that_is_shown_is_the_quickest_of_enough_recall():
    """Without enough recall it is the effort of the largest recall."""
    slow, quick, poor = ({"recall": r, "queries/s": q} for r, q in ((0.99, 10), (0.96, 100), (0.5, 1000)))
    assert shown([poor, quick, slow]) == quick
    assert shown([poor, {"recall": 0.9, "queries/s": 1}]) == {"recall": 0.9, "queries/s": 1}
    assert shown([]) is None


def test_a_small_run_writes_figures_report_and_plot(tmp_path):
    """Ours finds all, the ratio to raw FAISS is there, and kinds that this version lacks are named."""
    out, report = tmp_path / "a.json", tmp_path / "report"
    options = ["--items", "2000", "--queries", "20", "--seconds", ".2", "--engines", "crossview", "crossview index"]
    chosen = [*options, "--data", str(tmp_path / "data"), "--json", str(out), "--report", str(report)]
    assert run_named(["scale", *chosen]) == 0
    document = json.loads(out.read_text())
    rows = document["rows"]
    found = [row for row in rows if row["method"] == "crossview flat"]
    assert {row["part"] for row in found} == {"build", *PARTS}
    assert {row["value"] for row in found if row["metric"] == "recall"} == {1.0}
    assert {row["task"] for row in rows if row["metric"] == "ratio"} == {"one query", "batches of 100"}
    assert not [row for row in rows if row["metric"] == "failed" and row["method"] == "crossview index flat"]
    text = markdown(document)
    titles = (
        "Time, memory and disk",
        "Under conditions, across",
        "Beside writes",
        "After changes",
        "Beside raw",
        "Calls",
    )
    for title in titles:
        assert f"### {title}" in text
    assert (report / "scale.png").stat().st_size > 10_000
    assert len(Data(tmp_path / "data" / "2000-0").queries["within"]) == QUERIES
