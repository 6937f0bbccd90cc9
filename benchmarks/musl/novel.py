"""Metrics for classes that they were not learned from, after section 3.4 of Babenko, Branson and Belongie (ICCV 2009).

    python -m benchmarks musl-novel --data DIR --novel DIR [--trials N] [--json OUT] [--report DIR]

Both folders hold ``images/<class>/<picture>`` (or the class folders themselves), more than 30 pictures in each class,
and classes' names begin with kinds, as in ``flower_crocus``. In every trial 30 pictures of a class are drawn. Forest
words, metrics and groups are learned from those of ``--data`` alone; those of ``--novel`` are examples, by which each
novel class is given one of the metrics, and the database. All other pictures are the queries.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.frame.benchmark import Benchmark, Document, MissingDataError, seeds_of, trial_arguments
from benchmarks.frame.journal import by_seed, run_trials
from benchmarks.frame.paired import Trials
from benchmarks.frame.plots import panels
from benchmarks.frame.tables import mean_and_error, summary, table
from benchmarks.musl.benchmark import check_counts
from benchmarks.musl.features import pictures
from benchmarks.musl.novel_trial import CHOSEN, DEFAULT, EXAMPLES, GRID, KINDS, ONE_PRINTED, ONE_WIDE, PRINTED_FEW, run
from benchmarks.musl.trial import AS_PRINTED, FEW, FOLDS, KMEANS, NEIGHBORS, PRINTED, RETRAINED, TRAIN
from crossview.engine.learners.papers.musl.musl import MuSL

COUNTS = (1, 2, 3, 5, 10, 20)
ACCURACIES = tuple(f"{k}-NN" for k in NEIGHBORS)
MAIN = ACCURACIES[-1]
PARTS = {"": "novel classes alone", ", all": "all classes", ", kind known": "novel classes of the query's kind"}
FIGURES = (*(f"{name}{part}" for part in PARTS for name in ACCURACIES), "kinds")
NAMES = ("thresholds", "method", "metrics", "examples")
CURVES = {
    (CHOSEN, RETRAINED): ("MuSL, thresholds chosen", "#0072B2"),
    (DEFAULT, RETRAINED): ("MuSL, one threshold", "#56B4E9"),
    (CHOSEN, KMEANS): ("k-means, thresholds chosen", "#E69F00"),
}
# Distinct in the common kinds of colour blindness.
SINGLES = (
    (CHOSEN, ONE_WIDE, 1),
    (CHOSEN, KINDS, None),
    (DEFAULT, ONE_PRINTED, 1),
    (DEFAULT, PRINTED[-1], PRINTED_FEW),
)
SOURCE = (
    "Paper: from its text, on Merged 10 (4 objects of Caltech 256, 3 flowers, 3 UIUC textures), metrics of Merged 20."
)


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Return settings, rows and trials of all draws."""
    learned, unseen = pictures(options.data), pictures(options.novel)
    for images, data in ((learned, options.data), (unseen, options.novel)):
        check_counts(images, data)
    if shared := sorted(set(learned.classes.tolist()) & set(unseen.classes.tolist())):
        raise MissingDataError(f"{options.novel} holds no novel classes only: {', '.join(shared)} are learned")
    seeds = seeds_of(options)
    counts = sorted({count for count in COUNTS if count < len(learned.classes)} | {len(learned.classes)})
    settings = {
        "data": options.data.name,
        "novel": options.novel.name,
        "pictures": [len(learned.paths), len(unseen.paths)],
        "classes": learned.classes,
        "novel classes": unseen.classes,
        "seeds": list(seeds),
        "train": TRAIN,
        "examples": EXAMPLES,
        "neighbors": NEIGHBORS,
        "thresholds": GRID,
        "folds": FOLDS,
        "learner": MuSL().get_params(),
        "as printed": AS_PRINTED,
        "workers": options.workers,
    }
    trials = run_trials(options, settings, by_seed(seeds), run, options.data, options.novel, counts, progress=progress)
    return {"settings": settings, "rows": rows(trials), "trials": trials}


def values(trials: Trials, name: str, **about: Any) -> list[float]:
    """Return a figure of every trial that has it."""
    return [row[name] for trial in trials for row in trial["novel"] if about.items() <= row.items()]


def rise(trials: Trials, count: int, name: str = MAIN, thresholds: str = CHOSEN, examples: int = EXAMPLES[-1]) -> Any:
    """Return the accuracy of K metrics less that of one, draw by draw."""
    about = {"thresholds": thresholds, "method": RETRAINED, "examples": examples}
    multiple, single = (values(trials, name, metrics=metrics, **about) for metrics in (count, 1))
    return np.subtract(multiple, single)


def rows(trials: Trials) -> list[dict[str, Any]]:
    """Return means and standard deviations over the trials of all figures, and of what K metrics gain over one."""
    summaries: list[dict[str, Any]] = []
    for row in trials[0]["novel"]:
        about = {name: row[name] for name in NAMES}
        summaries += [{**about, "metric": name, **summary(values(trials, name, **about))} for name in FIGURES]
        if row["method"] == RETRAINED:
            gained = rise(trials, row["metrics"], MAIN, row["thresholds"], row["examples"])
            summaries.append({**about, "metric": f"{MAIN}, gained over one metric", **summary(gained)})
    return summaries


def progress(trial: dict[str, Any]) -> str:
    """Return what a trial found, in short."""
    about = {"thresholds": CHOSEN, "method": RETRAINED, "examples": EXAMPLES[-1]}
    points = [row for row in trial["novel"] if about.items() <= row.items()]
    return ", ".join(f"K = {row['metrics']} {100 * row[MAIN]:.1f}" for row in points)


def markdown(document: Document) -> str:
    """Return the report: ours beside the paper's, the curves of K, and what metrics gain over one."""
    settings, trials = document["settings"], document["trials"]
    learner = settings["learner"]
    protocol = (
        f"Metrics of {len(settings['classes'])} classes, tested on {len(settings['novel classes'])} others, and on all "
        f"of them. {settings['train']} pictures of each class are examples and the database, the others the queries; "
        f"{len(trials)} draws, ± the standard error over them. Thresholds a word: {learner['n_thresholds']}, or chosen."
    )
    parts = ["# Novel classes, after Babenko, Branson and Belongie (ICCV 2009), section 3.4", protocol]
    parts.append(f"## Beside the paper, {MAIN}\n\n{table(_beside_paper(trials))}\n\n{SOURCE}")
    for part, title in PARTS.items():
        for name in reversed(ACCURACIES):
            parts.append(f"## {title.capitalize()}, {name}, %\n\n{table(_curve(trials, name + part))}")
    parts.append(
        f"## K metrics − one, points, paired over draws, {MAIN}\n\n{_chosen(trials)}\n\n{table(_rises(trials))}"
    )
    parts.append(f"## Classes that are given a metric of their kind, %\n\n{table(_curve(trials, 'kinds'))}")
    return "\n\n".join(parts)


def headline(document: Document) -> tuple[str, str, str]:
    trials, novel = document["trials"], len(document["settings"]["novel classes"])
    return (
        f"Recognise {novel} novel classes by three learned metrics instead of one: points of 5-NN accuracy gained",
        mean_and_error(rise(trials, 3), sign="+"),
        "almost 25 in the paper",
    )


def plot(path: Path, document: Document) -> None:
    """Draw accuracy against K: on the novel classes, on all, and within the query's kind."""
    trials = document["trials"]
    with panels(path, 1, len(PARTS), (5 * len(PARTS), 4.5)) as figure:
        for (part, title), axis in zip(PARTS.items(), figure.axes, strict=True):
            for (thresholds, method), (label, color) in CURVES.items():
                about = {"thresholds": thresholds, "method": method, "examples": EXAMPLES[-1]}
                counts = [count for count in _counts(trials) if values(trials, MAIN, metrics=count, **about)]
                accuracies = [values(trials, MAIN + part, metrics=count, **about) for count in counts]
                means = [100 * float(np.mean(draws)) for draws in accuracies]
                errors = [100 * summary(draws)["std"] / np.sqrt(len(trials)) for draws in accuracies]
                axis.errorbar(counts, means, errors, marker="o", markersize=3, color=color, label=label)
            axis.set_xlabel("metrics")
            axis.set_ylabel(f"{MAIN} accuracy, %: {title}")
            axis.legend(frameon=False)


def _chosen(trials: Trials) -> str:
    choices = {
        "one metric": [trial["chosen thresholds"]["1"] for trial in trials],
        "several": [trial["chosen thresholds"][str(FEW)] for trial in trials],
    }
    counted = {
        name: ", ".join(f"{count} {picked.count(count)} times" for count in sorted(set(picked)))
        for name, picked in choices.items()
    }
    return f"Chosen: {'; '.join(f'for {name} {text}' for name, text in counted.items())}."


def _counts(trials: Trials) -> list[int]:
    return sorted({row["metrics"] for row in trials[0]["novel"] if row["method"] == RETRAINED})


def _beside_paper(trials: Trials) -> list[list[str]]:
    three = [count for count in _counts(trials) if count == 3]
    lines = [["", "ours", "paper"]]
    for count in three:
        for thresholds in (CHOSEN, DEFAULT):
            gain = mean_and_error(rise(trials, count, MAIN, thresholds), sign="+")
            lines.append([f"novel classes, three metrics − one, thresholds {thresholds}, points", gain, "almost 25"])
    about: dict[str, Any] = {"examples": EXAMPLES[-1]}
    three_printed, one_printed = (values(trials, MAIN, method=name, **about) for name in (PRINTED[-1], ONE_PRINTED))
    difference = mean_and_error(np.subtract(three_printed, one_printed), sign="+")
    lines.append(["the same with the paper's own constants, points", difference, "almost 25"])
    for count in three:
        about |= {"metrics": count, "thresholds": CHOSEN}
        ours, heuristic = (values(trials, f"{MAIN}, all", method=name, **about) for name in (RETRAINED, KMEANS))
        difference = mean_and_error(np.subtract(ours, heuristic), sign="+")
        lines.append(["all classes, MuSL − k-means, three metrics, points", difference, "about 5"])
    return lines


def _curve(trials: Trials, name: str) -> list[list[str]]:
    columns = [(key, examples) for examples in reversed(EXAMPLES) for key in CURVES]
    lines = [["K", *(f"{CURVES[key][0]}, {examples} examples" for key, examples in columns)]]
    for count in _counts(trials):
        about: list[dict[str, Any]] = [
            {"thresholds": key[0], "method": key[1], "metrics": count, "examples": examples}
            for key, examples in columns
        ]
        lines.append([str(count), *(mean_and_error(values(trials, name, **names)) for names in about)])
    for thresholds, method, metrics in SINGLES:
        label = method if metrics in (None, 1) else f"{method}, K = {metrics}"
        cells = [""] * len(columns)
        for examples, place in ((EXAMPLES[-1], 0), (EXAMPLES[0], len(CURVES))):
            cells[place + (thresholds == DEFAULT)] = mean_and_error(
                values(trials, name, thresholds=thresholds, method=method, examples=examples)
            )
        lines.append([label, *cells])
    return lines


def _rises(trials: Trials) -> list[list[str]]:
    columns = [(part, thresholds) for part in PARTS for thresholds in (CHOSEN, DEFAULT)]
    lines: list[Sequence[str]] = [["K", *(f"{PARTS[part]}, thresholds {kind}" for part, kind in columns)]]
    for count in _counts(trials)[1:]:
        gains = [rise(trials, count, MAIN + part, kind) for part, kind in columns]
        lines.append([str(count), *(mean_and_error(gain, sign="+") for gain in gains)])
    return [list(line) for line in lines]


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", type=Path, required=True, help="folder of the classes that metrics are learned from")
    parser.add_argument("--novel", type=Path, required=True, help="folder of the novel classes")
    trial_arguments(parser, trials=20)


BENCHMARK = Benchmark(
    "musl-novel", __doc__, _arguments, measure, markdown, plot, "accuracy against the number of metrics", headline
)
