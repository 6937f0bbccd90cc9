"""A taught model: what crossview adds to the rows of EfficientNet-Lite0, on photographs with classes.

    python -m benchmarks taught --data DIR --models DIR [--sets NAME ...] [--json OUT] [--report DIR] [--trials N]

DIR of ``--models`` holds ``lite0``. 80 % of each class are learned from; the others are the queries, among unseen
items and among learned ones, and so are changed copies of them. The learned spaces, codes of 64 bits among them, stand
beside the model's own cosine and beside a linear probe of scikit-learn, with all labels and with two of each class.
"""

import argparse
from pathlib import Path
from typing import Any

from benchmarks.frame.benchmark import Benchmark, positive, seeds_of, trial_arguments
from benchmarks.frame.headlines import stated
from benchmarks.frame.journal import cache_folder, run_trials
from benchmarks.pretrained import taught_report
from benchmarks.pretrained.rows import MODEL
from benchmarks.pretrained.taught_methods import METHODS
from benchmarks.pretrained.taught_trial import divided, run
from benchmarks.unseen.report import rows

SETS = ("corel1k", "merged20")


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Return settings, rows and trials of all sets and seeds."""
    seeds, cache = seeds_of(options), cache_folder(options)
    folders = options.data, options.models, cache
    for name in options.sets:
        divided(name, 0, *folders)  # described once, before trials in several processes need it
    methods = {name: [method.spec, *method.views] for name, method in METHODS.items()}
    settings = {"seeds": list(seeds), "sets": options.sets, "methods": methods, "copies": options.copies}
    tasks = {f"{name} seed {seed}": (name, seed, options.copies) for seed in seeds for name in options.sets}
    trials = run_trials(options, settings, tasks, run, *folders)
    return {"settings": settings, "rows": rows(trials), "trials": trials}


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", type=Path, required=True, help="folder of the sets")
    parser.add_argument("--models", type=Path, required=True, help=f"folder that holds {MODEL}")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=SETS, help="photographs in classes")
    parser.add_argument("--copies", type=positive, default=50, help="number of pictures by whose copies users search")
    trial_arguments(parser, trials=10)


BENCHMARK = Benchmark(
    "taught",
    __doc__,
    _arguments,
    measure,
    taught_report.markdown,
    headline=stated(
        "Learn from labels over the rows of a pretrained model (corel1k), unseen items: mAP",
        "{0:.3f}",
        "{1:.3f} (cosine of the model), {2:.3f} (linear probe)",
        {
            "data": "corel1k",
            "database": "unseen",
            "query_view": "lite0",
            "database_view": "lite0",
            "method": "default, hand-made views too",
            "metric": "map",
        },
        {
            "data": "corel1k",
            "database": "unseen",
            "query_view": "lite0",
            "database_view": "lite0",
            "method": "raw cosine",
            "metric": "map",
        },
        {
            "data": "corel1k",
            "database": "unseen",
            "query_view": "lite0",
            "database_view": "lite0",
            "method": "linear probe",
            "metric": "map",
        },
    ),
)
