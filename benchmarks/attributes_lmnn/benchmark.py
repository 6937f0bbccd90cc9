"""Table 5 of Law, Thome and Cord (CVPR 2014) on PubFig: metrics in the space of relative attributes.

    python -m benchmarks attributes-lmnn --data DIR --json OUT [--trials N] [--report DIR]

DIR holds ``pubfig_relattr.npz``: 772 images of 8 people, 542 features, and how the people are ordered by 11 attributes.
30 images of each person train the attributes and the classifiers, the others test; every seed draws them anew. The
attributes are learned in every split, and in every fold that settings are chosen by, from its training images alone;
the predictor in the file was trained on images that random splits put among the test ones, and is not used.
"""

import argparse
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from benchmarks import peers
from benchmarks.attributes_lmnn import report
from benchmarks.attributes_lmnn.methods import FOLDS, LEARNER, METHODS, PEER, REPEATS, Images, Labels, choose, measure
from benchmarks.frame.record import record, usable_cores, write_json
from benchmarks.frame.workers import over

NAME = "attributes-lmnn"
FILE = "pubfig_relattr.npz"
TRAIN = 30


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    console = Console()
    data = read(options.data)
    seeds = range(options.first_seed, options.first_seed + options.trials)
    names = [name for name in METHODS if name != PEER or peers.available()]
    began = time.perf_counter()
    trials = []
    for trial in over(seeds, run, data, names, workers=options.workers):
        shown = ", ".join(f"{name} {100 * figures['accuracy']:.1f}" for name, figures in trial["methods"].items())
        console.print(f"seed {trial['seed']}: {shown}", highlight=False)
        trials.append(trial)
    settings = {
        "seeds": list(seeds),
        "images": len(data["labels"]),
        "train": TRAIN,
        "folds": FOLDS,
        "repeats": REPEATS,
        "grids": {name: {**METHODS[name].grid, "after": METHODS[name].after} for name in names},
        "learner": LEARNER,
        "workers": options.workers,
    }
    document = record(NAME, settings, report.rows(trials))
    document |= {"trials": trials, "seconds": time.perf_counter() - began}
    write_json(options.json, document)
    text = report.markdown(document)
    console.print(text, markup=False, highlight=False, soft_wrap=True)
    if options.report:
        report.write(options.report, document, text)
    return 0


def read(folder: Path) -> dict[str, Any]:
    """Returns features (n, d), labels (n,), and the orderings of the classes; SystemExit says what is missing."""
    path = folder / FILE
    if not path.is_file():
        raise SystemExit(f"{folder} holds no {FILE}")
    with np.load(path) as file:
        missing = sorted({"X", "y", "relative_ordering"} - set(file))
        if missing:
            raise SystemExit(f"{path} has no {', '.join(missing)}")
        orderings = file["relative_ordering"].T.astype(np.float64)
        return {
            "features": file["X"].astype(np.float64),
            "labels": file["y"].astype(np.int64),
            "orderings": {str(label): amounts.tolist() for label, amounts in enumerate(orderings)},
        }


def split(labels: Labels, seed: int) -> Labels:
    """Returns the positions of the training images, 30 of each class."""
    generator = np.random.default_rng(seed)
    drawn = [generator.permutation(np.flatnonzero(labels == label))[:TRAIN] for label in np.unique(labels)]
    return np.concatenate(drawn)


def run(seed: int, data: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """Returns the figures of the named methods on one split."""
    images = Images(data["features"], data["labels"], data["orderings"], split(data["labels"], seed), seed)
    figures: dict[str, Any] = {}
    for name in names:
        method = METHODS[name]
        began = time.perf_counter()
        fixed = figures[method.after]["settings"] if method.after else {}
        settings, validated = choose(method, images, fixed) if method.grid else (dict(fixed), None)
        figures[name] = {
            "accuracy": measure(method, images, settings),
            "validated": validated,
            "settings": settings,
            "seconds": time.perf_counter() - began,
        }
    return {"seed": seed, "methods": figures}


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks {NAME}", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help=f"folder with {FILE}")
    parser.add_argument("--trials", type=int, default=30, help="number of splits")
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=usable_cores(), help="processes, a split each")
    parser.add_argument("--json", type=Path, required=True, help="where to write the figures")
    parser.add_argument("--report", type=Path, help="folder for the Markdown table and the plot")
    return parser.parse_args(arguments)
