"""Two artists: Google's drawing of a concept finds Twitter's, by the rows of EfficientNet-Lite0 and by hand-made views.

    python -m benchmarks artists --data DIR --models DIR [--json OUT] [--report DIR] [--trials N]

DIR of ``--data`` holds ``emoji2``, 1,390 concepts that two artists drew; DIR of ``--models`` holds ``lite0``. An item
is a concept with two pictures, whose rows are two views. Half of the concepts, drawn by the seed, teach which drawings
belong together, without any label; the drawings of the others are queries and items.
"""

import argparse
import csv
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.frame import beside
from benchmarks.frame.benchmark import Benchmark, Document, MissingDataError, seeds_of, trial_arguments
from benchmarks.frame.headlines import stated
from benchmarks.frame.journal import by_seed, cache_folder, run_trials
from benchmarks.frame.tables import summary, table
from benchmarks.pretrained.rows import COLOR, GIST, IMAGENET, MODEL, model_folder, rows_of
from benchmarks.rivals.tuned import pipeline
from benchmarks.sets.standing import standard_error
from crossview.engine.learners.frame.chain import Chain
from crossview.engine.learners.frame.normalization import Scale
from crossview.engine.learners.frame.supervision import Supervision
from crossview.engine.learners.frame.view_rows import Rows
from crossview.engine.learners.selection import distances
from crossview.engine.training.settling import OF_ITEMS, OF_VIEWS
from crossview.features.color import Color
from crossview.features.gist import Gist

DRAWINGS = "emoji2"
ARTISTS = ("google", "twitter")
"""The artist of the queries, and the artist of the items."""
HAND_MADE = f"{COLOR}+{GIST}"
RAW = "raw"
METHODS: Mapping[str, str] = {RAW: "", "default": OF_VIEWS, "instances": OF_ITEMS, "cca": "cca", "csa": "csa,dot"}
"""Pipelines by name: the views themselves; the default without labels; that for labels that name items; two rivals."""
METRICS = ("recall@1", beside.RECALL)


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Return settings, rows and trials."""
    seeds, folders = seeds_of(options), (options.data, options.models, cache_folder(options))
    concepts = len(drawings(*folders)[MODEL][0])  # described once, before trials in several processes need it
    settings = {"seeds": list(seeds), "methods": dict(METHODS), "concepts": concepts}
    trials = run_trials(options, settings, by_seed(seeds), run, *folders)
    return {"settings": settings, "rows": _rows(trials), "trials": trials}


def drawings(data: Path, models: Path, cache: Path) -> dict[str, list[Rows]]:
    """Return the rows of the drawings of each artist, (n, d), by what describes them; the parts of the hand-made view
    are beside each other.

    Raises MissingDataError; ModelError without onnxruntime.
    """
    path = data / DRAWINGS / "items.csv"
    if not path.is_file():
        raise MissingDataError.of(path.parent, path.name)
    with path.open(encoding="utf-8") as file:
        items = list(csv.DictReader(file))
    files = [path.parent / artist / item["category"] / f"{item['key']}.png" for artist in ARTISTS for item in items]
    rows = {
        view: np.split(blocks[0], len(ARTISTS)) for view, blocks in rows_of(files, model_folder(models), cache).items()
    }
    return {
        MODEL: [matrix / np.linalg.norm(matrix, axis=1, keepdims=True) for matrix in rows[MODEL]],
        HAND_MADE: [np.hstack(parts) for parts in zip(rows[COLOR], rows[GIST], strict=True)],
    }


def run(seed: int, data: Path, models: Path, cache: Path) -> dict[str, Any]:
    """Return the figures of one division into halves, each [rows, method, metric, value]."""
    began = time.monotonic()
    descriptions = drawings(data, models, cache)
    count = len(descriptions[MODEL][0])
    order = np.random.default_rng(seed).permutation(count)
    taught, held_out = np.sort(order[: count // 2]), np.sort(order[count // 2 :])
    figures = []
    for name, views in descriptions.items():
        for method, spec in METHODS.items():
            chain = _learned(spec, [view[taught] for view in views], name)
            queries = chain.transform_queries(views[0][held_out], 0).astype(np.float64)
            items = chain.transform(views[1][held_out], view=1).astype(np.float64)
            own = beside.of_own(distances(queries, items), np.arange(len(held_out)))
            figures += [[name, method, metric, own[metric]] for metric in METRICS]
    sizes = len(taught), len(held_out)
    return {"seed": seed, "sizes": sizes, "figures": figures, "seconds": time.monotonic() - began}


def _learned(spec: str, views: Sequence[Rows], name: str) -> Chain:
    """Return the fitted pipeline; as in collections, the parts of a joined view get one scale first."""
    first = [] if name == MODEL else [Scale(widths=(Color().dim, Gist().dim))]
    steps = pipeline(spec, {}).steps if spec else []
    return Chain([*first, *steps]).fit(views, Supervision(mask=np.ones((len(views[0]), len(views)), bool)))


def _rows(trials: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [
        {"rows": rows, "method": method, "metric": metric, **summary(_values(trials, rows, method, metric))}
        for rows in (MODEL, HAND_MADE)
        for method in METHODS
        for metric in METRICS
    ]


def _values(trials: Sequence[Mapping[str, Any]], *names: str) -> Any:
    return np.array([value for trial in trials for *key, value in trial["figures"] if tuple(key) == names])


def markdown(document: Document) -> str:
    """Return the report: recall of each method, and its differences to the raw rows."""
    trials, settings = document["trials"], document["settings"]
    text = (
        f"{settings['concepts']:,} concepts that Google and Twitter drew; Google's drawing is the query, and Twitter's "
        f"drawings of all held-out concepts are the items. Half of the concepts, in {len(settings['seeds'])} random "
        "divisions, teach which drawings belong together. `raw` compares the rows as they are, those of the model by "
        "cosine. The share of concepts that are found first and among the first ten, in per cent; ± is the standard "
        "error of the difference to `raw`, paired by division and corrected for the overlap of random halves (Nadeau "
        f"and Bengio, 2003). {IMAGENET}"
    )
    heads = [head for metric in METRICS for head in (metric, "to raw")]
    lines = [["rows", "learned", *heads]]
    overlap = trials[0]["sizes"][1] / trials[0]["sizes"][0]
    for rows in (MODEL, HAND_MADE):
        for method in METHODS:
            cells = []
            for metric in METRICS:
                values, raw = (_values(trials, rows, learner, metric) for learner in (method, RAW))
                cells += [f"{100 * values.mean():.1f}", "" if method == RAW else _difference(values - raw, overlap)]
            lines.append([rows, method, *cells])
    return "\n\n".join(["# Two artists: drawings of one concept find each other", text, table(lines)])


def _difference(values: Any, overlap: float) -> str:
    text = f"{100 * values.mean():+.1f}"
    return text if len(values) < 2 else f"{text} ± {100 * standard_error(values, overlap):.1f}"


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", type=Path, required=True, help=f"folder with {DRAWINGS}")
    parser.add_argument("--models", type=Path, required=True, help=f"folder that holds {MODEL}")
    trial_arguments(parser, trials=10)


BENCHMARK = Benchmark(
    "artists",
    __doc__,
    _arguments,
    measure,
    markdown,
    headline=stated(
        "Find another artist's drawing of the same concept: share in the first 10",
        "{0:.3f} (CSA over a pretrained model)",
        "{1:.3f} (the model's own cosine)",
        {"rows": "lite0", "method": "csa", "metric": "recall@10"},
        {"rows": "lite0", "method": "raw", "metric": "recall@10"},
    ),
)
