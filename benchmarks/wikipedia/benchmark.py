"""Retrieval between images and texts on the Wikipedia documents of Rasiwasia et al. (ACM Multimedia 2010).

    python -m benchmarks wikipedia --data DIR [--json OUT] [--report DIR]

DIR holds ``wikipedia_crossmodal.npz``: 2,866 documents in 10 classes, each with the visual words of its image and the
topics of its text, split by their authors. The test documents are queries and database both, an image against all
texts and a text against all images; those of the query's class are relevant. The same queries are also measured without
their own document in the database, and with the training documents as the database. Learners and all their settings,
chosen by cross-validation, see the training part only.
"""

import argparse
import dataclasses
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.frame import beside
from benchmarks.frame.benchmark import Benchmark, positive, read_arrays
from benchmarks.frame.databases import TEST, TRAINED, UNSEEN, ranking_of_others
from benchmarks.frame.journal import run_trials
from benchmarks.wikipedia import report
from benchmarks.wikipedia.methods import METHODS, Method
from crossview.engine.learners.frame.chain import Chain
from crossview.engine.learners.frame.view_rows import Rows
from crossview.engine.learners.registry import parse_chain
from crossview.engine.learners.selection import ClassValidation, distances, select
from crossview.engine.training.measures import (
    average_precision,
    interpolated_precision,
    members,
    precision_at_k,
    ranking,
    relevance,
)

FILE = "wikipedia_crossmodal.npz"
VIEWS = ("image", "text")
CROSSINGS = ((0, 1), (1, 0))
FOLDS = 3
SEED = 0
CUTS = (10, 50)
RECALLS = tuple(n / 10 for n in range(11))
DATABASES = (TEST, UNSEEN, TRAINED)

Labels = NDArray[Any]


@dataclass(frozen=True)
class Documents:
    """The two views of the training and of the test documents, and their classes."""

    train: list[Rows]
    test: list[Rows]
    train_labels: Labels
    test_labels: Labels


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Return settings, rows and chosen settings of all methods."""
    documents = read_documents(options.data)
    settings = {
        "train": len(documents.train_labels),
        "test": len(documents.test_labels),
        "classes": sorted(set(documents.train_labels.tolist())),
        "seed": SEED,
        "tuning": f"{FOLDS}-fold cross-validation in the training part, by mAP of held-out queries among "
        "the held-out documents, as in the test; mean of both directions",
        "std": "over the queries",
        "grids": {m.name: {**m.grid, "fixed": m.fixed, "exhaustive": m.exhaustive} for m in METHODS},
    }
    tasks = {method.name: method for method in METHODS}
    trials = run_trials(options, settings, tasks, run, documents, progress=_progress)
    rows = [row for trial in trials for row in trial["rows"]]
    return {"settings": settings, "rows": rows, "chosen": [trial["chosen"] for trial in trials]}


def _progress(trial: Mapping[str, Any]) -> str:
    return f"{trial['chosen']['spec']} in {trial['chosen']['seconds']:.0f} s"


def read_documents(data: Path) -> Documents:
    """Return the documents of a folder; MissingDataError names what is missing."""
    rows = ("image_sift_bow128", "text_lda10")
    arrays = read_arrays(data, FILE, *rows, "y", "class_names", "is_train")
    views = [arrays[name].astype(np.float64) for name in rows]
    labels, train = arrays["class_names"][arrays["y"]], arrays["is_train"].astype(bool)
    return Documents([x[train] for x in views], [x[~train] for x in views], labels[train], labels[~train])


def run(method: Method, documents: Documents) -> dict[str, Any]:
    """Return a method's figures as "rows", and what was chosen for it in the training part as "chosen"."""
    started = time.monotonic()
    validation = ClassValidation(
        documents.train,
        documents.train_labels,
        measure=mean_average_precision,
        crossings=CROSSINGS,
        folds=FOLDS,
        seed=SEED,
        unseen=True,
    )
    selection = select(method.grid, validation, fixed=method.fixed, exhaustive=method.exhaustive)
    chain = parse_chain(selection.spec, selection.settings).fit(documents.train, documents.train_labels)
    rows = [{"method": method.name, **row} for row in _figures(chain, documents)]
    seconds = round(time.monotonic() - started, 1)
    return {"rows": rows, "chosen": {"method": method.name, **dataclasses.asdict(selection), "seconds": seconds}}


def mean_average_precision(squared: Rows, query_labels: Labels, labels: Labels) -> float:
    """Return mAP over the whole database, the measure that settings are chosen by."""
    return float(np.nanmean(average_precision(_relevant(squared, query_labels, labels))))


def _relevant(
    squared: Rows, query_labels: Labels, labels: Labels, ranked: Callable[[Rows], NDArray[np.intp]] = ranking
) -> NDArray[np.bool_]:
    classes = sorted(set(labels))
    queries, items = (members([[name] for name in names], classes) for names in (query_labels, labels))
    return relevance(ranked(squared), queries, items)


def _figures(chain: Chain, documents: Documents) -> Iterator[dict[str, Any]]:
    """Return figures for both directions, and the mean of the two as that of "both" views, in each database."""
    test, train = (
        [chain.transform(rows, view=view) for view, rows in enumerate(part)]
        for part in (documents.test, documents.train)
    )
    labels = documents.test_labels
    for database in DATABASES:
        items, of_items = (train, documents.train_labels) if database == TRAINED else (test, labels)
        precisions = []
        for query, target in CROSSINGS:
            about = {"query_view": VIEWS[query], "database_view": VIEWS[target], "database": database}
            squared = distances(test[query], items[target])
            relevant = _relevant(squared, labels, of_items, ranking_of_others if database == UNSEEN else ranking)
            precisions.append(average_precision(relevant))
            yield {**about, **_figure("map", None, precisions[-1])}
            for k in CUTS:
                yield {**about, **_figure("precision", k, precision_at_k(relevant, k))}
            for recall, values in zip(RECALLS, interpolated_precision(relevant).T, strict=True):
                yield {**about, **_figure("interpolated precision", None, values), "recall": recall}
            if database == UNSEEN:
                for metric, value in beside.of_others(squared).items():
                    yield {**about, "metric": metric, "k": None, "value": value, "std": 0.0}
        both = {"query_view": "both", "database_view": "both", "database": database}
        yield {**both, **_figure("map", None, np.concatenate(precisions))}


def _figure(metric: str, k: int | None, values: Rows) -> dict[str, Any]:
    return {"metric": metric, "k": k, "value": float(np.nanmean(values)), "std": float(np.nanstd(values))}


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", type=Path, required=True, help=f"folder with {FILE}")
    parser.add_argument("--workers", type=positive, default=1, help="processes, a method each")


BENCHMARK = Benchmark(
    "wikipedia", __doc__, _arguments, measure, report.markdown, report.plot, "precision and recall", report.headline
)
