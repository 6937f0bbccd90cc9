"""Accuracy against the number of metrics, after Babenko, Branson and Belongie (ICCV 2009).

    python -m benchmarks musl --data DIR [--trials N] [--json OUT] [--report DIR]

DIR holds ``images/<class>/<picture>`` (or the class folders themselves), more than 30 pictures in each. In every trial
30 of a class are the training part and the database, all others the queries; forest words, metrics and groups of
classes are learned from the training part. A query's distance to a database picture is by the metric of the picture's
class. Where the classes' names begin with kinds, as in ``flower_crocus``, groups are compared with these. One, five and
a metric for each class are tried with several thresholds a word, too.
"""

import argparse
from pathlib import Path
from typing import Any

from benchmarks.frame.benchmark import Benchmark, MissingDataError, seeds_of, trial_arguments
from benchmarks.frame.journal import by_seed, run_trials
from benchmarks.musl import report
from benchmarks.musl.features import Pictures, pictures
from benchmarks.musl.trial import ALPHAS, AS_PRINTED, DRAWS, FOLDS, NEIGHBORS, THRESHOLDS, TRAIN, run
from crossview.engine.learners.papers.musl.musl import MuSL

COUNTS = (2, 3, 5, 10, 20)


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Return settings, rows and trials of all splits."""
    images = pictures(options.data)
    check_counts(images, options.data)
    seeds = seeds_of(options)
    counts = [count for count in COUNTS if count <= len(images.classes)]
    settings = {
        "data": options.data.name,
        "pictures": len(images.paths),
        "classes": images.classes,
        "kinds": images.kinds,
        "seeds": list(seeds),
        "train": TRAIN,
        "neighbors": NEIGHBORS,
        "alphas": ALPHAS,
        "thresholds": THRESHOLDS,
        "folds": FOLDS,
        "random groupings": DRAWS,
        "learner": MuSL().get_params(),
        "as printed": AS_PRINTED,
        "workers": options.workers,
    }
    trials = run_trials(options, settings, by_seed(seeds), run, options.data, counts, progress=report.progress)
    return {"settings": settings, "rows": report.rows(trials), "trials": trials}


def check_counts(images: Pictures, data: Path) -> None:
    """Raise MissingDataError where a class has no more pictures than train."""
    few = [str(name) for name in images.classes if (images.labels == name).sum() <= TRAIN]
    if few:
        raise MissingDataError(f"{data} has no more than {TRAIN} pictures of: {', '.join(few)}")


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", type=Path, required=True, help="folder with images/<class>/<picture>")
    trial_arguments(parser, trials=5)


BENCHMARK = Benchmark(
    "musl", __doc__, _arguments, measure, report.markdown, report.plot, "accuracy and groups", report.headline
)
