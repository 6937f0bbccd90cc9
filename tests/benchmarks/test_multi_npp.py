"""The Multi-NPP benchmark follows its protocol, keeps its form, and runs again."""

import dataclasses
import json
import re
import subprocess
import sys
from pathlib import Path

import cv2
import numpy as np
import pytest

from benchmarks import photographs as multi_npp_features
from benchmarks.__main__ import main as run_named
from benchmarks.frame.benchmark import MissingDataError
from benchmarks.frame.databases import of_database
from benchmarks.frame.journal import Journal
from benchmarks.multi_npp import benchmark as multi_npp
from benchmarks.multi_npp import report as multi_npp_report
from benchmarks.multi_npp import trial as multi_npp_trial
from benchmarks.multi_npp.benchmark import compared
from benchmarks.multi_npp.methods import AS_PRINTED, BASELINES, VIEWS, methods
from benchmarks.multi_npp.paper import PAPER, paper_row
from benchmarks.multi_npp.trial import Plan
from benchmarks.photographs import Photographs, photographs
from crossview.engine.learners.registry import parse_chain
from crossview.features.sift import Sift

PAIR = VIEWS[:2]
HYBRIDS = ("hybrid-color", "hybrid-sift")
LEAN = {
    "original": {"spec": ["l1"]},
    "pca": {"spec": ["l1,pca"]},
    "cca": {"spec": ["l1,cca"], "power": [1.0, 2.0]},
    "multi-npp": {"spec": ["l1,sqrt,multi-npp"], "max_iter": [1]},
    "start": {"spec": ["l1,sqrt,multi-npp"]},
    "hybrid-color": {"spec": ["l1,sqrt,hybrid"], "nearest": [5]},
    "hybrid-sift": {"spec": ["l1,sqrt,hybrid"], "nearest": [5]},
    "hybrid-gist": {"spec": ["l1,sqrt,hybrid"], "nearest": [5]},
    "multi-npp as printed": {"spec": ["l1,multi-npp"], "max_iter": [5]},
    "hybrid-color as printed": {"spec": ["l1,multi-npp"]},
    "hybrid-sift as printed": {"spec": ["l1,multi-npp"]},
    "hybrid-gist as printed": {"spec": ["l1,multi-npp"]},
    "kernel semantic ridge": {"spec": ["l1,kernel:chi2,semantic", "l1,kernel:rbf,semantic"]},
    "kernel multi-npp": {"spec": ["l1,kernel:chi2,multi-npp,l2"], "max_iter": [1]},
    "kernel semantic ridge, 3 views": {"spec": ["l1@0+1,kernel:chi2,semantic"]},
    "kernel multi-npp, 3 views": {"spec": ["l1@0+1,kernel:chi2,multi-npp"], "max_iter": [1]},
}
LEAN_DIMS = {(10, 30, 50): (2, 4), (50,): (4,), (None,): (None,)}


@pytest.fixture
def lean(monkeypatch):
    """Use few settings, dimensions and words, so that a trial takes a second."""
    monkeypatch.setattr(multi_npp_features, "Sift", lambda: Sift(words=20))
    monkeypatch.setattr(multi_npp, "WIDEST", (4,))
    use(monkeypatch, LEAN)


def use(monkeypatch, names):
    def lean_methods(views, group):
        return [
            dataclasses.replace(method, grid=LEAN[method.name], dims=LEAN_DIMS[method.dims])
            for method in methods(views, group)
            if method.name in names
        ]

    for module in (multi_npp, multi_npp_trial):
        monkeypatch.setattr(module, "methods", lean_methods)


def drawn(n=40, seed=0):
    """Return four classes that differ in every view."""
    generator = np.random.default_rng(seed)
    labels = np.array([f"class {i % 4}" for i in range(n)])
    color = generator.dirichlet(np.ones(64) / 4, size=4)[np.arange(n) % 4] + 0.01 * generator.random((n, 64))
    centers = generator.integers(0, 100, size=(4, 384))
    descriptors = np.concatenate([centers[i % 4] + generator.integers(0, 60, size=(20, 384)) for i in range(n)])
    color = (color / color.sum(axis=1, keepdims=True)).astype(np.float32)
    gist = (1 + np.arange(n)[:, None] % 4 + generator.random((n, 16))).astype(np.float32)
    return Photographs(
        labels=labels,
        color=color,
        gist=gist,
        descriptors=descriptors.astype(np.uint8),
        ends=20 * np.arange(1, n + 1),
        fingerprint="drawn",
    )


def test_paper_tables_are_whole():
    """The paper's figures are there for every method, dimension and view pair of its tables, in per cent."""
    assert [sum(row.table == table for row in PAPER) for table in (1, 2, 3, 4, 5)] == [6, 10, 10, 9, 9]
    assert all(len(row.values) == len(row.deviations) == 6 for row in PAPER)
    assert all(5 < value < 40 for row in PAPER for value in row.values)
    assert paper_row("hybrid", 50, "color", "sift").values[0] == 30.0
    assert paper_row("multi-npp", 30, "sift", "sift").values[1] == 35.4
    assert paper_row("original", None, "color", "color").values[5] == 25.2
    assert paper_row("nothing", 50, "color", "sift") is None


def trial(seed, views=VIEWS):
    """Run a trial without anything of an earlier one."""
    return multi_npp_trial.run_trial(drawn(), seed, Journal(None), Plan(views))


def test_trial_gives_every_figure(lean):
    """A trial has a figure for every method, dimension, view pair, metric and k, and says what was chosen."""
    made = trial(1000)
    found = {(row["method"], row["dim"], row["query_view"], row["database_view"]) for row in made["rows"]}
    pairs = [(query, database) for query in ("color", "sift") for database in ("color", "sift")]
    shared = ("cca", "multi-npp", "hybrid-color", "hybrid-sift", "multi-npp as printed", "hybrid-color as printed")
    assert found >= {(method, dim, *pair) for method in shared for dim in (2, 4) for pair in pairs}
    whole = (("kernel semantic ridge, 3 views", None), ("kernel multi-npp, 3 views", 4))
    assert found >= {(*one, query, database) for one in whole for query in VIEWS for database in VIEWS}
    assert found >= {("original", None, view, view) for view in VIEWS}
    assert ("kernel multi-npp", 4, "color", "sift") in found
    assert ("original", None, "color", "sift") not in found
    assert {("hybrid", 4, "sift", "color"), ("hybrid as printed", 4, "sift", "color")} <= found
    assert all(0 <= row["value"] <= 1 for row in made["rows"])
    about = ("method", "dim", "query_view", "database_view", "metric", "k")
    trained, unseen = (
        {tuple(row[name] for name in about) for row in of_database(made["rows"], database)}
        for database in ("trained", "unseen")
    )
    assert trained == unseen
    chosen = {one["method"] for one in made["chosen"] if one["query_view"] == "color"}
    assert chosen == {name for name in LEAN if "gist" not in name}
    assert json.loads(json.dumps(made)) == made


def test_what_is_printed_is_not_tuned(lean):
    """The rows as printed have the paper's settings for any query view, and no others are tried for them."""
    printed = [one for one in trial(1000)["chosen"] if one["method"].endswith(AS_PRINTED)]
    assert {one["method"] for one in printed} == {f"{name}{AS_PRINTED}" for name in ("multi-npp", *HYBRIDS)}
    assert not any(one["tried"] for one in printed)
    settings = [one["settings"] for one in printed]
    assert {(one["eta"], one["gamma"], one["pairs"], one["init"]) for one in settings} == {
        (1e-6, 1e-6, "sampled", "random")
    }
    assert {one["settings"]["max_iter"] for one in printed if one["method"].startswith("hybrid")} == {1}


def test_any_pair_of_views_will_do(lean):
    """Without colour the words and GIST are the pair, and nothing learns from three views."""
    made = trial(1000, ("sift", "gist"))
    assert {row["query_view"] for row in made["rows"]} == {"sift", "gist"}
    names = {row["method"] for row in made["rows"]}
    assert {"hybrid-gist", "hybrid-gist as printed", "kernel multi-npp"} <= names
    assert not any("3 views" in name or "color" in name for name in names)


def test_trial_is_repeatable(lean):
    """The same seed gives the same figures."""
    assert trial(1001)["rows"] == trial(1001)["rows"]


def test_codebook_sees_the_training_part_only():
    """Changing an image outside the training part changes no other image's words."""
    images = drawn()
    train = np.arange(30)
    before = images.words(train, 0)
    images.descriptors[20 * 35 : 20 * 36] = 7
    after = images.words(train, 0)
    np.testing.assert_array_equal(np.delete(before, 35, axis=0), np.delete(after, 35, axis=0))
    assert (before.sum(axis=1) == 20).all()


def test_summary_is_mean_and_deviation():
    """Rows of several trials become one with mean and standard deviation."""
    row = {"method": "m", "dim": 2, "query_view": "a", "database_view": "b", "metric": "map", "k": None}
    row["database"] = "unseen"
    summary = multi_npp.summary([[{**row, "value": 0.2}], [{**row, "value": 0.6}]])
    assert summary == [{**row, "value": pytest.approx(0.4), "std": pytest.approx(0.2)}]


def test_report_shows_ours_and_the_papers(lean, tmp_path):
    """The report has the five tables with the paper's figures in brackets, and a plot."""
    pytest.importorskip("matplotlib")
    trials = [trial(seed)["rows"] for seed in (1000, 1001)]
    rows = multi_npp.summary(trials)
    rows += [{**row, "dim": 50} for row in rows if row["dim"] == 4]
    settings = {
        "images": {"a": 40},
        "dims": [2, 50],
        "neighbors": [5, 10, 30, 50, 70, 100],
        "test_size": 0.2,
        "seeds": [1000, 1001],
        "tuning": "t",
        "headline": "h",
    }
    document = {"settings": settings, "rows": rows, "compared": compared(trials, PAIR), "seconds": 2.0}
    text = multi_npp_report.markdown(document)
    assert all(f"## Table {number}." in text for number in range(1, 6))
    assert "(30.0)" in text
    assert re.search(r"\| multi-npp as printed \| 50 \|[^|]* \(34.0\) \|", text)
    across, within = text.split("## Within")[0], text.split("## Within")[1].split("##")[0]
    assert "color → sift, mAP: kernel semantic ridge" in across
    assert "sift → sift, 5-NN: original" in within
    assert "| kernel multi-npp |" in across
    assert "## mAP, among unseen items" in text
    earlier = [
        {name: value for name, value in row.items() if name != "database"} for row in of_database(rows, "trained")
    ]
    assert "unseen" not in multi_npp_report.markdown(document | {"rows": earlier})
    others = document | {"settings": settings | {"data": "other", "views": list(VIEWS)}}
    text = multi_npp_report.markdown(others)
    assert text.startswith("# Multi-NPP on other, by")
    assert "the paper's, on its own" not in text
    assert "(30.0)" not in text
    assert multi_npp_report.headline(others)[2] == ""
    multi_npp_report.plot(tmp_path / "multi-npp.png", document)
    assert cv2.imread(str(tmp_path / "multi-npp.png")) is not None


def test_differences_are_paired():
    """A method is compared with the baseline of the greatest mean, trial by trial; one trial has no standard error."""
    pair = {"dim": None, "query_view": "color", "database_view": "sift", "metric": "accuracy", "k": 5}

    def split(ridge, cca, mine):
        names = ("kernel semantic ridge", "kernel cca")
        baselines = [{**pair, "method": name, "value": value} for name, value in zip(names, (ridge, cca), strict=True)]
        return [*baselines, {**pair, "method": "kernel multi-npp", "dim": 50, "value": mine}]

    *_, ours = compared([split(0.5, 0.9, 0.6), split(0.7, 0.1, 0.7), split(0.6, 0.1, 0.8)], PAIR)
    assert (ours["method"], ours["baseline"]) == ("kernel multi-npp", "kernel semantic ridge")
    assert ours["value"] == pytest.approx(0.7)
    assert ours["difference"] == pytest.approx(0.1)
    assert ours["standard_error"] == pytest.approx(0.1 / np.sqrt(3))
    assert compared([split(0.5, 0.9, 0.6)], PAIR)[-1]["standard_error"] is None


@pytest.mark.parametrize("views", [VIEWS, ("sift", "gist")])
def test_grids_are_of_known_settings(views):
    """Every chain of every grid takes every value of its parameters, and every baseline is among the methods."""
    for method in methods(views, "all"):
        for spec in method.grid["spec"]:
            for name, values in method.grid.items():
                for value in values if name != "spec" else ():
                    parse_chain(spec, {**method.fixed, name: value})
    assert {method.name for method in methods(views, "all")} >= set(BASELINES)


def test_a_report_of_other_views(lean):
    """The tables, the comparison and the headline are of the views that were measured."""
    trials = [trial(seed, ("sift", "gist"))["rows"] for seed in (1000, 1001)]
    settings = {
        "data": "grey",
        "views": ["sift", "gist"],
        "images": {"a": 40},
        "dims": [2, 4],
        "neighbors": [5, 10, 30, 50, 70, 100],
        "test_size": 0.2,
        "seeds": [1000, 1001],
        "tuning": "t",
        "headline": "h",
    }
    compared_ = compared(trials, ("sift", "gist"))
    document = {"settings": settings, "rows": multi_npp.summary(trials), "compared": compared_, "seconds": 2.0}
    text = multi_npp_report.markdown(document)
    assert "Table 3. GIST query, GIST database" in text
    assert "| gist | sift | hybrid as printed | 4 |" in text
    assert "color" not in text
    assert "## Three views" not in text
    assert multi_npp_report.headline(document)[0].startswith(
        "Find photographs of the query's class (grey) across views, GIST query SIFT words"
    )


def painted(folder: Path, per_class=8):
    generator = np.random.default_rng(0)
    for number, name in enumerate(("reds", "greens", "blues")):
        (folder / name).mkdir(parents=True)
        for i in range(per_class):
            image = generator.integers(0, 90, size=(96, 96, 3), dtype=np.uint8)
            image[..., 2 - number] += 150
            for _ in range(12):
                corner = generator.integers(0, 80, size=2)
                cv2.rectangle(image, corner.tolist(), (corner + 12).tolist(), (250, 250, 250), -1)
            cv2.imwrite(str(folder / name / f"{i}.png"), image)


def test_images_are_found_in_both_layouts_and_kept(tmp_path):
    """<class>/ and images/<class>/ both work, and a second reading takes the first one's extraction."""
    painted(tmp_path / "a")
    painted(tmp_path / "b" / "images")
    first = photographs(tmp_path / "a", tmp_path / "cache")
    assert sorted(set(first.labels)) == ["blues", "greens", "reds"]
    assert first.color.shape == (24, 64)
    assert first.gist.shape == (24, 512)
    assert first.ends[-1] == len(first.descriptors)
    kept = sorted(path.stat().st_mtime_ns for path in (tmp_path / "cache").rglob("*.npy"))
    second = photographs(tmp_path / "b", tmp_path / "cache")
    np.testing.assert_array_equal(first.descriptors, second.descriptors)
    assert sorted(path.stat().st_mtime_ns for path in (tmp_path / "cache").rglob("*.npy")) == kept
    (tmp_path / "empty").mkdir()
    with pytest.raises(MissingDataError, match="holds no pictures"):
        photographs(tmp_path / "empty", tmp_path / "cache")


def test_unknown_benchmark_lists_the_known(capsys):
    """The program lists the names that exist, and ends with status 2."""
    assert run_named(["nothing"]) == 2
    found = capsys.readouterr().err
    assert (
        "unseen,match,information,copies,duplicates,duplicate-files,examples,fusion,words,taught,artists,conditions,"
        in found
    )


def test_rerun_takes_what_is_finished(lean, tmp_path, monkeypatch):
    """A rerun with the same settings computes only the missing cells, of begun trials too; with other settings, all."""
    computed = []

    def counted(method, dim, view, trial, cell=multi_npp_trial._cell):
        computed.append((trial.seed, method.name, dim, view))
        return cell(method, dim, view, trial)

    monkeypatch.setattr(multi_npp, "photographs", lambda data, cache: drawn())
    monkeypatch.setattr(multi_npp_trial, "_cell", counted)
    out = tmp_path / "out.json"
    arguments = ["--data", str(tmp_path), "--json", str(out), "--workers", "1", "--first-seed", "1000", "--trials"]
    assert multi_npp.BENCHMARK.main([*arguments, "1"]) == 0
    first, cells = json.loads(out.read_text(encoding="utf-8"))["rows"], len(computed)
    (lines,) = tmp_path.glob("out.json.partial/*/1000.jsonl")
    text = lines.read_text(encoding="utf-8")
    lines.write_text(text[: text.rfind("\n", 0, -1) + 30], encoding="utf-8")  # a kill while the last line was written
    (lines.parent / "trials.jsonl").unlink()
    assert multi_npp.BENCHMARK.main([*arguments, "1"]) == 0
    assert json.loads(out.read_text(encoding="utf-8"))["rows"] == first
    assert len(computed) == cells + 1
    assert multi_npp.BENCHMARK.main([*arguments, "2"]) == 0
    assert len(computed) == 2 * cells + 1
    document = json.loads(out.read_text(encoding="utf-8"))
    assert document["settings"]["seeds"] == [1000, 1001]
    assert set(document["rows"][0]) == {
        *("method", "dim", "query_view", "database_view", "database"),
        *("metric", "k", "value", "std"),
    }
    assert {one["seed"] for one in document["chosen"]} == {1000, 1001}
    use(monkeypatch, ["original"])
    multi_npp.BENCHMARK.main([*arguments, "1"])
    assert len(computed) == 2 * cells + 1 + len(VIEWS)


def test_command_line(tmp_path):
    """The command reads pictures, runs a trial in a process of its own and writes JSON, Markdown and plot."""
    painted(tmp_path / "data", per_class=40)
    command = [sys.executable, "-m", "benchmarks", "multi-npp", "--data", str(tmp_path / "data"), "--trials", "1"]
    options = ["--json", str(tmp_path / "out.json"), "--report", str(tmp_path / "report"), "--first-seed", "1000"]
    done = subprocess.run([*command, *options], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Table 5" in done.stdout
    assert (tmp_path / "report" / "multi-npp.png").exists()


@pytest.mark.parametrize("views", ["sift", "sift,sift", "sift,text", "color,sift,gist,gist"])
def test_views_are_two_or_three_that_there_are(views, tmp_path, capsys):
    """Other numbers and names are refused with the views that exist."""
    with pytest.raises(SystemExit):
        multi_npp.BENCHMARK.main(["--data", str(tmp_path), "--json", str(tmp_path / "out.json"), "--views", views])
    assert "is not two or three of color,sift,gist" in capsys.readouterr().err


def test_what_settings_are_chosen_by():
    """A perfect ranking scores 1 by either measure; one that errs further down costs mAP, not accuracy."""
    labels = np.array(["a", "a", "b", "b", "b", "b", "a", "a", "a", "a"])
    query = np.array(["a"])
    further_down = np.array([[0, 1, 3, 4, 5, 6, 2, 7, 8, 9]], float)
    assert multi_npp_trial.MEASURES["accuracy"](further_down, query, labels) == 1
    assert multi_npp_trial.MEASURES["both"](further_down, query, labels) == pytest.approx(
        (1 + np.mean([1, 1, 1, 4 / 8, 5 / 9, 6 / 10])) / 2
    )
    perfect = (labels[None, :] != "a").astype(float)
    assert [measure(perfect, query, labels) for measure in multi_npp_trial.MEASURES.values()] == [1.0, 1.0]
