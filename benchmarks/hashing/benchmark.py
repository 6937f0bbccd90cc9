"""Codes across views: mAP and precision at k against bits, on photographs and on the Wikipedia documents.

    python -m benchmarks hashing --data DIR --json OUT [--trials N] [--report DIR]

DIR holds ``corel1k`` (photographs in folders of classes: colour histograms and colour SIFT words, 80/20 splits, the
training part being the database and the test part the queries) and ``wikipedia_crossmodal`` (the split of its authors;
the test documents are queries and database both). Sign, LSH and ITQ behind learned embeddings stand beside npp-hash and
SCM, which learn their bits, and beside the embeddings themselves; MuSL's codes, which do not compare across views, are
measured within them. Settings are chosen by cross-validation inside each training part, at 64 bits, and serve all
lengths.

Equally near items are measured in every order: figures are means over the orders of ties.
"""

import argparse
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from benchmarks.frame.record import record, usable_cores, write_json
from benchmarks.frame.workers import over
from benchmarks.hashing import report
from benchmarks.hashing.methods import METHODS, TUNED_BITS
from benchmarks.hashing.trial import FOLDS, TEST_SIZE, WIKIPEDIA, run
from benchmarks.photographs import photographs

NAME = "hashing"
BITS = (16, 32, 64, 128, 256)
PHOTOGRAPHS, DOCUMENTS = "corel1k", "wikipedia_crossmodal"
NAMES = ("data", "method", "bits", "query_view", "database_view", "metric", "k")


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    console, progress = Console(), Console(stderr=True)
    began = time.monotonic()
    cache = options.json.with_name(options.json.name + ".cache")
    images, documents = options.data / PHOTOGRAPHS, options.data / DOCUMENTS
    for folder in (images, documents):
        if not folder.is_dir():
            raise SystemExit(f"{options.data} holds no {folder.name}")
    photographs(images, cache)  # described once, before the trials read what was described
    seeds = range(options.first_seed, options.first_seed + options.trials)
    trials = []
    # The documents first: they take longest.
    for trial in over([WIKIPEDIA, *seeds], run, images, cache, documents, options.bits, workers=options.workers):
        progress.print(f"{trial['data']}, seed {trial['seed']}: {trial['seconds']:.0f} s", highlight=False)
        trials.append(trial)
        # So that an interruption loses only what runs.
        write_json(cache / f"{trial['data']}-{trial['seed']}.json", trial)
    settings = {
        "seeds": list(seeds),
        "bits": list(options.bits),
        "test_size": TEST_SIZE,
        "tuning": f"{FOLDS}-fold cross-validation in the training part, by mAP across views, at {TUNED_BITS} bits; "
        "MuSL's alpha within views, and of five metrics the default",
        "ties": "means over all their orders",
        "methods": {m.name: {"chain": m.spec, **m.grid, "fixed": m.fixed, "kernel": m.kernel} for m in METHODS},
    }
    document = record(NAME, settings, summary([row for trial in trials for row in trial["rows"]]))
    document |= {"trials": trials, "seconds": time.monotonic() - began}
    write_json(options.json, document)
    text = report.markdown(document)
    console.print(text, markup=False, highlight=False, soft_wrap=True)
    if options.report:
        report.write(options.report, document, text)
    return 0


def summary(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Returns one row per figure with its mean and standard deviation over the trials, of which "trials" is the number.

    The deviation is that of a sample; None of one trial.
    """
    values: dict[tuple[Any, ...], list[float]] = defaultdict(list)
    for row in rows:
        values[tuple(row.get(name) for name in NAMES)].append(row["value"])
    return [
        {
            **dict(zip(NAMES, key, strict=True)),
            "value": float(np.mean(found)),
            "std": float(np.std(found, ddof=1)) if len(found) > 1 else None,
            "trials": len(found),
        }
        for key, found in values.items()
    ]


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog=f"python -m benchmarks {NAME}", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help=f"folder with {PHOTOGRAPHS} and {DOCUMENTS}")
    parser.add_argument("--trials", type=int, default=10, help="splits of the photographs")
    parser.add_argument("--first-seed", type=int, default=0, help="seed of the first split; the others follow")
    parser.add_argument("--bits", type=_numbers, default=BITS, help="code lengths, 64 among them")
    parser.add_argument("--json", type=Path, required=True, help="where to write the figures")
    parser.add_argument("--report", type=Path, help="folder for the Markdown tables and the plot")
    parser.add_argument("--workers", type=int, default=min(2, usable_cores()), help="splits at a time")
    options = parser.parse_args(arguments)
    if options.trials < 1 or options.workers < 1:
        parser.error("--trials and --workers must be at least 1")
    if TUNED_BITS not in options.bits or min(options.bits) < 1:
        parser.error(f"--bits must be positive, {TUNED_BITS} among them")
    return options


def _numbers(text: str) -> tuple[int, ...]:
    try:
        return tuple(sorted({int(part) for part in text.split(",")}))
    except ValueError:
        raise argparse.ArgumentTypeError("numbers with commas between them") from None
