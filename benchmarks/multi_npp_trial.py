"""One trial of the Multi-NPP benchmark: split, codebook, settings by cross-validation, figures."""

import dataclasses
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedShuffleSplit

from benchmarks.multi_npp_features import Photographs
from engine.learners.chain import parse_chain
from engine.learners.selection import Crossing, distances, select
from engine.measures import average_precision, knn_correct, members, precision_at_k, ranking, relevance

VIEWS = ("color", "sift")
DIMS = (10, 30, 50)
NEIGHBORS = (5, 10, 30, 50, 70, 100)
TEST_SIZE = 0.2
FOLDS = 3
TUNED_BY = 5  # neighbours of the accuracy that cross-validation maximises

STEPS = ("l1,sqrt", "l1,sqrt,standardize", "l1")


def _specs(learner: str) -> list[str]:
    return [f"{steps},{learner}" for steps in STEPS]


@dataclass(frozen=True)
class Method:
    """A row of the paper's tables and the settings that cross-validation may give it."""

    name: str
    grid: Mapping[str, Sequence[Any]]
    fixed: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    exhaustive: bool = True
    shared: bool = True
    """Whether the views share a space: then it is tuned across the views, else within the query's."""
    has_dim: bool = True


_HYBRID: Mapping[str, Sequence[Any]] = {
    "spec": _specs("hybrid"),
    "nearest": [20, 10, None],
    "spread": [0.5, 0.35, 1.0],
    "max_iter": [1, 3],
}
METHODS = (
    Method("original", {"spec": STEPS}, shared=False, has_dim=False),
    Method("pca", {"spec": _specs("pca")}, shared=False),
    Method("cca", {"spec": _specs("cca"), "shrinkage": ["auto", 0.1, 0.3, 0.6], "power": [0.0, 1.0, 2.0, 4.0]}),
    Method(
        "multi-npp",
        {"spec": _specs("multi-npp"), "max_iter": [1, 3, 10], "eta": [1e-6, 1e-2, 1e-1], "gamma": [1e-6, 1e-2, 1e-1]},
        {"random_state": 0},
        exhaustive=False,
    ),
    Method("start", {"spec": _specs("multi-npp")}, {"max_iter": 0, "random_state": 0}),
    Method("hybrid-color", {**_HYBRID, "gamma": [1e-6, 1e-2, 1e-1]}, {"frozen": 0}, exhaustive=False),
    Method("hybrid-sift", {**_HYBRID, "eta": [1e-6, 1e-2, 1e-1]}, {"frozen": 1}, exhaustive=False),
)
HEADLINE = "hybrid"


@dataclass(frozen=True)
class Split:
    """The two views of a trial, cut into the database (training part) and the queries."""

    train: list[NDArray[Any]]
    test: list[NDArray[Any]]
    train_labels: NDArray[Any]
    test_labels: NDArray[Any]


def run_trial(photographs: Photographs, seed: int, kept: Path | None = None) -> dict[str, Any]:
    """Returns a trial's figures as "rows", and what cross-validation chose, by method, dim and query view, as "chosen".

    ``kept`` is a file of finished cells (a method, dimension and query view each), one JSON line for each: those in it
    are not computed again, and new ones are added to it as they are done.
    """
    cells = _read_cells(kept)
    split: Split | None = None
    for method, dim, view in _plan():
        name = json.dumps([method.name, dim, VIEWS[view]])
        if name in cells:
            continue
        started = time.monotonic()
        split = split or _split(photographs, seed)
        cells[name] = _cell(method, dim, view, split, seed)
        cells[name]["seconds"] = round(time.monotonic() - started, 2)
        if kept is not None:
            with kept.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"cell": name, **cells[name]}) + "\n")
    rows = [row for cell in cells.values() for row in cell["rows"]]
    return {
        "rows": rows + _headline(rows),
        "chosen": [cell["chosen"] for cell in cells.values()],
        "seconds": round(sum(cell["seconds"] for cell in cells.values()), 1),
    }


def _read_cells(kept: Path | None) -> dict[str, dict[str, Any]]:
    """The cells that an earlier run finished; a last line that was cut short is taken away."""
    if kept is None or not kept.exists():
        return {}
    text = kept.read_text(encoding="utf-8")
    whole = text[: text.rfind("\n") + 1]
    if whole != text:
        kept.write_text(whole, encoding="utf-8")
    found = [json.loads(line) for line in whole.splitlines()]
    return {cell.pop("cell"): cell for cell in found}


def _cell(method: Method, dim: int | None, view: int, split: Split, seed: int) -> dict[str, Any]:
    found, learner = _tuned(method, dim, view, split, seed)
    key = {"method": method.name, "dim": dim, "query_view": VIEWS[view]}
    rows: list[dict[str, Any]] = []
    for database in range(len(VIEWS)):
        queries = learner.transform(split.test[view], view=view)
        items = learner.transform(split.train[database], view=database)
        if queries.shape[1] == items.shape[1]:
            rows += [{**key, "database_view": VIEWS[database], **row} for row in _figures(queries, items, split)]
    return {"rows": rows, "chosen": {**key, **found}}


def accuracy(squared: NDArray[Any], query_labels: NDArray[Any], labels: NDArray[Any]) -> float:
    """k-NN accuracy, the measure that settings are chosen by."""
    classes = sorted(set(labels))
    queries, items = (members([[name] for name in names], classes) for names in (query_labels, labels))
    return float(knn_correct(ranking(squared), queries, items, TUNED_BY).mean())


def _plan() -> Iterator[tuple[Method, int | None, int]]:
    for method in METHODS:
        for dim in DIMS if method.has_dim else (None,):
            for view in range(len(VIEWS)):
                yield method, dim, view


def _split(photographs: Photographs, seed: int) -> Split:
    labels = photographs.labels
    splitter = StratifiedShuffleSplit(1, test_size=TEST_SIZE, random_state=seed)
    train, test = next(splitter.split(labels, labels))
    views = [photographs.color, photographs.words(train, seed)]
    return Split([rows[train] for rows in views], [rows[test] for rows in views], labels[train], labels[test])


def _tuned(method: Method, dim: int | None, view: int, split: Split, seed: int) -> tuple[dict[str, Any], Any]:
    """Settings chosen inside the training part for queries of one view, and the learner fitted on all of it."""
    fixed = {**method.fixed, **({} if dim is None else {"n_components": dim})}
    crossing: Crossing = (view, 1 - view) if method.shared else (view, view)
    selection = select(
        method.grid,
        split.train,
        split.train_labels,
        fixed=fixed,
        exhaustive=method.exhaustive,
        measure=accuracy,
        crossings=[crossing],
        folds=FOLDS,
        seed=seed,
    )
    learner = parse_chain(selection.spec, selection.settings).fit(split.train, split.train_labels)
    return dataclasses.asdict(selection), learner


def _figures(queries: NDArray[Any], items: NDArray[Any], split: Split) -> Iterator[dict[str, Any]]:
    classes = sorted(set(split.train_labels))
    mine, theirs = (members([[name] for name in names], classes) for names in (split.test_labels, split.train_labels))
    order = ranking(distances(queries, items))
    relevant = relevance(order, mine, theirs)
    for k in NEIGHBORS:
        yield {"metric": "accuracy", "k": k, "value": float(knn_correct(order, mine, theirs, k).mean())}
        yield {"metric": "precision", "k": k, "value": float(precision_at_k(relevant, k).mean())}
    yield {"metric": "map", "k": None, "value": float(np.nanmean(average_precision(relevant)))}


def _headline(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Returns the figures of the hybrid whose frozen view is the queries' own, under the paper's name."""
    return [{**row, "method": HEADLINE} for row in rows if row["method"] == f"hybrid-{row['query_view']}"]
