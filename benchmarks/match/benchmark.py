"""Match: the probabilities of hits, and queries from outside all classes.

Every fifth class is left out of a collection of the other training items, through the product, with the default
learner. The queries are held-out items of the known classes and all items of the unknown ones, which weigh a fifth.
AUC: whether the match of the first hit, the largest posterior of the query's view or the nearest raw distance tells
queries of known classes from others; a search by all views is compared with the largest mean posterior. ECE: the
expected calibration error of the match of the first ten hits, in ten bins.
"""

import argparse
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.frame.benchmark import Benchmark, Document, seeds_of, trial_arguments
from benchmarks.frame.journal import cache_folder, run_trials
from benchmarks.frame.tables import summary, table
from benchmarks.match.trial import ALL, BINS, MEASURES, calibration_error, run
from benchmarks.sets.named import load, sets_argument, sets_of

_NAMES = ("data", "query_view", "database_view", "method", "metric")
_POOLED = "ece over all directions and seeds"


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Return settings, rows and reliability of all sets and seeds."""
    seeds = seeds_of(options)
    for name in sets_of(options):
        load(name, options.data, cache_folder(options))  # extracted once, before trials in several processes need it
    settings = {"seeds": list(seeds), "sets": sets_of(options), "workers": options.workers}
    tasks = {f"{name} seed {seed}": (name, seed) for seed in seeds for name in sets_of(options)}
    trials = run_trials(options, settings, tasks, run, options.data, cache_folder(options), progress=_progress)
    return {"settings": settings, "rows": rows(trials), "reliability": reliability(trials)}


def rows(trials: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return mean and deviation over the seeds of every figure."""
    groups: dict[tuple[str, ...], list[float]] = defaultdict(list)
    for trial in trials:
        for *names, value in trial["figures"]:
            groups[trial["data"], *names].append(value)
    return [{**dict(zip(_NAMES, names, strict=True)), **summary(values)} for names, values in groups.items()]


def reliability(trials: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the mean match and the share of relevant hits in each bin of match, by set."""
    lines = []
    for name in dict.fromkeys(trial["data"] for trial in trials):
        bins = np.sum([trial["bins"] for trial in trials if trial["data"] == name], axis=0)
        shares = bins / bins[:, 0].sum()
        for place, (weight, match, relevant) in enumerate(shares.tolist()):
            line = {"data": name, "from": place / BINS, "weight": weight}
            lines.append(line | {"match": match / max(weight, 1e-9), "relevant": relevant / max(weight, 1e-9)})
        lines.append({"data": name, "metric": _POOLED, "value": calibration_error(bins)})
    return lines


def markdown(document: Document) -> str:
    """Return the figures by set and direction, and the reliability of each set."""
    text = [f"# Match of hits\n\nMeans over the seeds {document['settings']['seeds']}.\n"]
    for name in document["settings"]["sets"]:
        cells = {
            tuple(row[field] for field in _NAMES[1:]): row["value"] for row in document["rows"] if row["data"] == name
        }
        lines = [["query view -> view", *(f"AUC of {method}" for method in MEASURES), "ECE of match"]]
        for query, target in dict.fromkeys(names[:2] for names in cells if names[0]):
            columns = [*((method, "auc") for method in MEASURES), (MEASURES[0], "ece")]
            values = [cells.get((query, target, *column)) for column in columns]
            lines.append([f"{query} -> {target}", *("" if value is None else f"{value:.3f}" for value in values)])
        bins = [row for row in document["reliability"] if row["data"] == name and "from" in row]
        (pooled,) = [row["value"] for row in document["reliability"] if row["data"] == name and "value" in row]
        body = [[f"{row['from']:.1f}", *(f"{row[key]:.3f}" for key in ("weight", "match", "relevant"))] for row in bins]
        seconds = cells["", "", "training", "seconds"]
        text += [
            f"## {name}\n\n{table(lines)}\n\nTraining with calibration: {seconds:.1f} s. {_POOLED}: {pooled:.3f}.\n",
            f"{table([['match from', 'share of hits', 'mean match', 'relevant'], *body])}\n",
        ]
    return "\n".join(text)


def headline(document: Document) -> tuple[str, str, str]:
    """Return how well queries of unknown classes are recognised in the first set, and how well match is calibrated."""
    name = document["settings"]["sets"][0]
    by_method = {
        row["method"]: row["value"]
        for row in document["rows"]
        if row["data"] == name and row["query_view"] == ALL
        if row["metric"] == "auc"
    }
    (error,) = [row["value"] for row in document["reliability"] if row["data"] == name and "value" in row]
    ours, other = (by_method[method] for method in MEASURES[:2])
    return (
        f"Recognise queries to which no item is similar, by the match of the first hit ({name}, all views): AUC",
        f"{ours:.3f}; calibration error of all matches {error:.3f}",
        f"{other:.3f} ({MEASURES[1]})",
    )


def _progress(trial: Mapping[str, Any]) -> str:
    return f"{trial['seconds']:.0f} s"


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", type=Path, required=True, help="folder of the sets")
    sets_argument(parser, ["corel1k", "merged20"])
    trial_arguments(parser, trials=10)


BENCHMARK = Benchmark("match", __doc__, _arguments, measure, markdown, headline=headline)
