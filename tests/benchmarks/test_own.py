"""Your own data: feature files and labels give the figures of the same items in a collection."""

import csv
import json

import numpy as np
import pytest
from rows import GROUPS, WIDTHS, row

from benchmarks.registry import benchmark
from crossview.engine.collections.home import Home
from crossview.engine.values.evaluation import EvaluationRequest
from crossview.engine.values.item import NewItem

EACH = 12
LEARNERS = ("cca", "sqrt,cca")


@pytest.fixture
def files(tmp_path):
    """Two views of 36 items, one of which lacks a view, and their labels."""
    views = {view: np.array([row(view, group, n) for group in GROUPS for n in range(EACH)]) for view in WIDTHS}
    views["gist"][5] = np.nan
    for view, rows in views.items():
        np.save(tmp_path / f"{view}.npy", rows)
    labels = [group for group in GROUPS for _ in range(EACH)]
    (tmp_path / "y.txt").write_text("\n".join(labels) + "\n", encoding="utf-8")
    return tmp_path, views, labels


def run(folder, *more):
    """Run the benchmark, and return its document."""
    views = [str(folder / f"{view}.npy") for view in WIDTHS]
    options = ["--views", *views, "--learners", "; ".join(LEARNERS), "--splits", "2", *map(str, more)]
    files = ["--json", str(folder / "own.json"), "--report", str(folder / "report")]
    assert benchmark("own").main([*options, *files]) == 0
    return json.loads((folder / "own.json").read_text(encoding="utf-8"))


def test_files_are_measured_as_a_collection_is(files):
    """JSON and CSV have the figures of ``Collection.evaluate``, the page a table of the mean and a plot."""
    folder, views, labels = files
    document = run(folder, "--labels", folder / "y.txt", "--csv", folder / "own.csv")
    with Home(folder / "home").create("own", tuple(WIDTHS)) as collection:
        items = [
            NewItem(
                f"{number:08}",
                rows={view: rows[number] for view, rows in views.items() if np.isfinite(rows[number]).all()},
                labels=(label,),
            )
            for number, label in enumerate(labels)
        ]
        collection.items.put(items)
        expected = collection.evaluate(EvaluationRequest(learners=LEARNERS, views=tuple(WIDTHS), splits=2))
    values = [round(row.value, 6) for row in expected.rows if row.metric != "seconds"]  # as JSON states them
    assert [row["value"] for row in document["rows"] if row["metric"] != "seconds"] == pytest.approx(values)
    with (folder / "own.csv").open(encoding="utf-8", newline="") as file:
        lines = [line for line in csv.DictReader(file) if line["metric"] != "seconds"]
    assert [float(line["value"]) for line in lines] == pytest.approx(values, rel=1e-5)  # six digits
    assert {bool(line["difference"]) for line in lines} == {True, False}
    page = (folder / "report" / "index.html").read_text(encoding="utf-8")
    assert "Mean" in page
    assert "color → gist" in page
    assert (folder / "report" / "own.png").stat().st_size > 1000


def test_without_labels_items_find_their_own_view(files):
    folder, *_ = files
    metrics = {row["metric"] for row in run(folder)["rows"]}
    assert metrics == {"recall", "median_rank", "coverage", "hubness", "seconds"}


def test_files_that_do_not_fit_are_named(files):
    folder, *_ = files
    (folder / "y.txt").write_text("a\n", encoding="utf-8")
    with pytest.raises(SystemExit, match="has 1 lines, and the views have 36 rows"):
        run(folder, "--labels", folder / "y.txt")
    (folder / "gist.npy").write_bytes(b"rows")
    with pytest.raises(SystemExit, match="is not a file of"):
        run(folder)
