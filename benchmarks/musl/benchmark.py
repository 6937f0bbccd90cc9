"""Accuracy against the number of metrics, after Babenko, Branson and Belongie (ICCV 2009).

    python -m benchmarks musl --data DIR [--trials N] --json OUT [--report DIR]

DIR holds ``images/<class>/<picture>`` (or the class folders themselves), more than 30 pictures in each. In every trial
30 of a class are the training part and the database, all others the queries; forest words, metrics and groups of
classes are learned from the training part. A query's distance to a database picture is by the metric of the picture's
class. Where the classes' names begin with kinds, as in ``flower_crocus``, groups are compared with these, and
metrics learned without two classes of each kind are tried on those.
"""

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from rich.console import Console

from benchmarks.frame.record import record, usable_cores, write_json
from benchmarks.frame.workers import over
from benchmarks.musl import report
from benchmarks.musl.features import pictures
from benchmarks.musl.figures import progress, rows
from benchmarks.musl.trial import ALPHAS, AS_PRINTED, DRAWS, EXAMPLES, FOLDS, NEIGHBORS, NOVEL_PER_KIND, TRAIN, run
from engine.learners.musl.musl import MuSL

NAME = "musl"
COUNTS = (2, 3, 5, 7, 10, 14, 20)
NOVEL_COUNTS = (1, 2, 3, 5, 7, 10, 14)


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    console = Console(stderr=True)
    found = pictures(options.data)
    few = [str(name) for name in found.classes if (found.labels == name).sum() <= TRAIN]
    if few:
        raise SystemExit(f"{options.data} has no more than {TRAIN} pictures of: {', '.join(few)}")
    seeds = range(options.first_seed, options.first_seed + options.trials)
    novel = len(found.classes) - NOVEL_PER_KIND * len(np.unique(found.kinds))
    counts = [[count for count in COUNTS if count <= len(found.classes)]]
    counts += [sorted({count for count in NOVEL_COUNTS if count < novel} | {novel})]
    began = time.perf_counter()
    trials = []
    for trial in over(seeds, run, options.data, *counts, workers=options.workers):
        console.print(f"seed {trial['seed']}: {progress(trial)}", highlight=False)
        trials.append(trial)
    settings = {
        "data": options.data.name,
        "pictures": len(found.paths),
        "classes": found.classes,
        "kinds": found.kinds,
        "seeds": list(seeds),
        "train": TRAIN,
        "neighbors": NEIGHBORS,
        "examples": EXAMPLES,
        "novel per kind": NOVEL_PER_KIND,
        "alphas": ALPHAS,
        "folds": FOLDS,
        "random groupings": DRAWS,
        "learner": MuSL().get_params(),
        "as printed": AS_PRINTED,
        "workers": options.workers,
    }
    document = record(NAME, settings, rows(trials))
    document |= {"trials": trials, "seconds": time.perf_counter() - began}
    write_json(options.json, document)
    text = report.markdown(document)
    Console().print(text, markup=False, highlight=False, soft_wrap=True)
    if options.report:
        report.write(options.report, document, text)
    return 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks {NAME}", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder with images/<class>/<picture>")
    parser.add_argument("--trials", type=int, default=5, help="number of splits")
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=usable_cores(), help="processes, a split each")
    parser.add_argument("--json", type=Path, required=True, help="where to write the figures")
    parser.add_argument("--report", type=Path, help="folder for the Markdown tables and the plot")
    return parser.parse_args(arguments)
