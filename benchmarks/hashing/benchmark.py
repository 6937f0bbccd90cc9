"""Codes across views: mAP against bits by three protocols, on photographs and on the Wikipedia documents.

    python -m benchmarks hashing --data DIR [--json OUT] [--trials N] [--report DIR]

DIR holds ``corel1k`` (photographs in folders of classes: colour histograms and colour SIFT words, 80/20 splits) and
``wikipedia_crossmodal`` (the split of its authors). The test part asks, within and across views, three databases:
training items coded by their labels, which is the protocol of supervised cross-modal hashing; the same items coded by
hashing their features; and the test part itself, items that nothing was learned from. For the documents, there is also
the authors' database, all test documents. Sign, LSH and ITQ behind learned embeddings, SCM and SCRATCH, and random
codes of classes stand beside npp-hash, and the embeddings beside the codes. Settings are chosen by cross-validation
inside each training part, at 64 bits and for each of the three databases, and serve all lengths.

Equally near items are measured in every order: figures are means over the orders of ties.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.frame import tables
from benchmarks.frame.benchmark import Benchmark, MissingDataError, numbers, seeds_of, trial_arguments
from benchmarks.frame.journal import cache_folder, run_trials
from benchmarks.frame.record import usable_cores
from benchmarks.hashing import report
from benchmarks.hashing.methods import METHODS, TUNED_BITS
from benchmarks.hashing.trial import FOLDS, run, task_names
from benchmarks.photographs import TEST_SIZE, photographs

BITS = (16, 32, 64, 128, 256)
PHOTOGRAPHS, DOCUMENTS = "corel1k", "wikipedia_crossmodal"
NAMES = ("data", "method", "bits", "query_view", "database_view", "database", "metric")


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Return settings, rows and trials: the documents', and those of the photographs' splits."""
    images, documents = options.data / PHOTOGRAPHS, options.data / DOCUMENTS
    for folder in (images, documents):
        if not folder.is_dir():
            raise MissingDataError.of(options.data, folder.name)
    cache = cache_folder(options)
    photographs(images, cache)  # described once, before the trials read what was described
    seeds = seeds_of(options)
    settings = {
        "seeds": list(seeds),
        "bits": list(options.bits),
        "test_size": TEST_SIZE,
        "tuning": f"{FOLDS}-fold cross-validation in the training part, by mAP across views in a database of the same "
        f"kind, at {TUNED_BITS} bits",
        "ties": "means over all their orders",
        "methods": {m.name: {"chain": m.spec, **m.grid, "fixed": m.fixed, "kernel": m.kernel} for m in METHODS},
    }
    trials = run_trials(options, settings, task_names(seeds), run, images, cache, documents, options.bits)
    return {"settings": settings, "rows": summary([row for trial in trials for row in trial["rows"]]), "trials": trials}


def summary(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return one row per figure with its mean and standard deviation over the trials, of which "trials" is the number.

    The deviation is that of a sample; None of one trial.
    """
    return [
        {**about, **tables.summary(values), **({"std": None} if len(values) < 2 else {}), "trials": len(values)}
        for about, values in tables.values_by(rows, NAMES)
    ]


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", type=Path, required=True, help=f"folder with {PHOTOGRAPHS} and {DOCUMENTS}")
    parser.add_argument("--bits", type=_lengths, default=BITS, help=f"code lengths, {TUNED_BITS} among them")
    trial_arguments(parser, trials=3, workers=min(2, usable_cores()))


def _lengths(text: str) -> tuple[int, ...]:
    lengths = numbers(text)
    if TUNED_BITS not in lengths:
        raise argparse.ArgumentTypeError(f"{text} needs {TUNED_BITS} among them, where settings are chosen")
    return lengths


BENCHMARK = Benchmark(
    "hashing", __doc__, _arguments, measure, report.markdown, report.plot, "mAP against bits", report.headline
)
