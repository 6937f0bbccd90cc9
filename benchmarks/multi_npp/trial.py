"""One trial of the Multi-NPP benchmark: split, codebook, settings by cross-validation, figures."""

import dataclasses
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.frame.databases import TRAINED, UNSEEN, ranking_of_others
from benchmarks.frame.journal import Journal
from benchmarks.multi_npp.methods import AS_PRINTED, GROUPS, HEADLINE, VIEWS, Method, Views, methods
from benchmarks.photographs import Photographs, train_and_test
from crossview.engine.learners.frame.chain import Chain
from crossview.engine.learners.registry import parse_chain
from crossview.engine.learners.selection import ClassValidation, Crossing, Measure, distances, select
from crossview.engine.training.measures import (
    average_precision,
    knn_correct,
    members,
    precision_at_k,
    ranking,
    relevance,
)

NEIGHBORS = (5, 10, 30, 50, 70, 100)
FOLDS = 3
TUNED_BY = 5  # neighbours of the accuracy that cross-validation maximises, alone or with mAP


class Plan(NamedTuple):
    """The measures of a trial, and the choice of settings."""

    views: Views = VIEWS
    """The pair that most methods learn from first."""
    tuned_by: str = "both"
    """One of ``MEASURES``."""
    group: str = GROUPS[0]
    """One of ``GROUPS`` of methods."""

    def cells(self) -> Iterator[tuple[Method, int | None, str]]:
        """Yield every method with every one of its dimensions and views to query with."""
        for method in methods(self.views, self.group):
            for dim in method.dims:
                for view in method.views:
                    yield method, dim, view


@dataclass(kw_only=True)
class Trial:
    """The views of a trial, cut into the database (training part) and the queries, and what was computed of them."""

    train: dict[str, NDArray[Any]]
    test: dict[str, NDArray[Any]]
    train_labels: NDArray[Any]
    test_labels: NDArray[Any]
    seed: int
    measure: Measure
    """The measures that choose settings."""
    validations: dict[tuple[Sequence[str], bool], ClassValidation] = field(default_factory=dict)
    """By the views of methods, and whether these share a space."""
    fitted: dict[str, Chain] = field(default_factory=dict)
    """The learner fitted last, which the next query view may have chosen too."""


def run_trial(photographs: Photographs, seed: int, journal: Journal, plan: Plan) -> dict[str, Any]:
    """Return a trial's figures as "rows", and what cross-validation chose, by method, dim and query view, as "chosen".

    Args:
        photographs: all images.
        seed: of the split.
        journal: finished cells (a method, dimension and query view each), which are not computed again.
        plan: what is measured.
    """
    trial: Trial | None = None
    names = {json.dumps([method.name, dim, view]): (method, dim, view) for method, dim, view in plan.cells()}
    for name, cell in names.items():
        if name not in journal:
            started = time.monotonic()
            trial = trial or replace(_split(photographs, seed, plan.views), measure=MEASURES[plan.tuned_by])
            result = _cell(*cell, trial)
            journal.add(name, {**result, "seconds": round(time.monotonic() - started, 2)})
    cells = [journal[name] for name in names]
    rows = [row for cell in cells for row in cell["rows"]]
    return {
        "rows": rows + _headline(rows),
        "chosen": [cell["chosen"] for cell in cells],
        "seconds": round(sum(cell["seconds"] for cell in cells), 1),
    }


def _cell(method: Method, dim: int | None, view: str, trial: Trial) -> dict[str, Any]:
    selection, learner = _tuned(method, dim, view, trial)
    key = {"method": method.name, "dim": dim, "query_view": view}
    rows: list[dict[str, Any]] = []
    queries = learner.transform(trial.test[view], view=method.views.index(view))
    for number, target in enumerate(method.views):
        for database, rows_of_items in ((TRAINED, trial.train), (UNSEEN, trial.test)):
            items = learner.transform(rows_of_items[target], view=number)
            if target == view or (method.shared and queries.shape[1] == items.shape[1]):
                about = {**key, "database_view": target, "database": database}
                rows += [{**about, **row} for row in _figures(queries, items, trial, database)]
    return {"rows": rows, "chosen": {**key, **selection}}


def accuracy(squared: NDArray[Any], query_labels: NDArray[Any], labels: NDArray[Any]) -> float:
    """Return k-NN accuracy, which the paper's tables show."""
    return float(knn_correct(*_ranked(squared, query_labels, labels), TUNED_BY).mean())


def quality(squared: NDArray[Any], query_labels: NDArray[Any], labels: NDArray[Any]) -> float:
    """Return the mean of k-NN accuracy and mAP."""
    order, of_queries, of_items = _ranked(squared, query_labels, labels)
    precision = average_precision(relevance(order, of_queries, of_items))
    return (float(knn_correct(order, of_queries, of_items, TUNED_BY).mean()) + float(np.nanmean(precision))) / 2


MEASURES: Mapping[str, Measure] = {"both": quality, "accuracy": accuracy}


def _split(photographs: Photographs, seed: int, views: Views) -> Trial:
    labels = photographs.labels
    train, test = train_and_test(labels, seed)
    rows = {"color": photographs.color, "sift": photographs.words(train, seed), "gist": photographs.gist}
    parts = [{view: rows[view][part] for view in views} for part in (train, test)]
    return Trial(
        train=parts[0], test=parts[1], train_labels=labels[train], test_labels=labels[test], seed=seed, measure=quality
    )


def _tuned(method: Method, dim: int | None, view: str, trial: Trial) -> tuple[dict[str, Any], Chain]:
    """Return settings for queries of one view, chosen inside the training part, and the learner fitted on that part."""
    rows = [trial.train[name] for name in method.views]
    selection = _chosen(method, dim, view, trial) if method.tuned else _given(method, dim)
    name = repr((method.views, selection["spec"], selection["settings"]))
    if name not in trial.fitted:
        trial.fitted = {name: parse_chain(selection["spec"], selection["settings"]).fit(rows, trial.train_labels)}
    return selection, trial.fitted[name]


def _given(method: Method, dim: int | None) -> dict[str, Any]:
    """Return the settings of a method that leaves nothing to choose, in the form of a selection."""
    (spec,) = method.grid["spec"]
    rest = {name: values[0] for name, values in method.grid.items() if name != "spec"}
    return {"spec": spec, "settings": {**_fixed(method, dim), **rest}, "score": None, "tried": []}


def _fixed(method: Method, dim: int | None) -> dict[str, Any]:
    return {**method.fixed, **({} if dim is None else {"n_components": dim})}


def _chosen(method: Method, dim: int | None, view: str, trial: Trial) -> dict[str, Any]:
    key = method.views, method.shared
    if key not in trial.validations:
        trial.validations[key] = ClassValidation(
            [trial.train[name] for name in method.views],
            trial.train_labels,
            measure=trial.measure,
            crossings=[crossing for name in method.views for crossing in _crossings(method, name)],
            folds=FOLDS,
            seed=trial.seed,
        )
    selection = select(
        method.grid,
        trial.validations[key],
        crossings=_crossings(method, view),
        fixed=_fixed(method, dim),
        exhaustive=method.exhaustive,
    )
    return dataclasses.asdict(selection)


def _crossings(method: Method, view: str) -> list[Crossing]:
    """Return the directions that a method is tuned for: from the query view to every other view, or within one view."""
    query = method.views.index(view)
    return [(query, other) for other in range(len(method.views)) if (other != query) == method.shared]


def _ranked(squared: NDArray[Any], query_labels: NDArray[Any], labels: NDArray[Any]) -> tuple[Any, Any, Any]:
    return ranking(squared), *_members(query_labels, labels)


def _members(query_labels: NDArray[Any], labels: NDArray[Any]) -> tuple[Any, Any]:
    classes = sorted(set(labels))
    queries, items = (members([[name] for name in names], classes) for names in (query_labels, labels))
    return queries, items


def _figures(queries: NDArray[Any], items: NDArray[Any], trial: Trial, database: str) -> Iterator[dict[str, Any]]:
    """Yield the figures of queries among the items of a database; among unseen ones no query finds its own item."""
    squared, trained = distances(queries, items), database == TRAINED
    order = ranking(squared) if trained else ranking_of_others(squared)
    of_queries, of_items = _members(trial.test_labels, trial.train_labels if trained else trial.test_labels)
    relevant = relevance(order, of_queries, of_items)
    for k in NEIGHBORS:
        yield {"metric": "accuracy", "k": k, "value": float(knn_correct(order, of_queries, of_items, k).mean())}
        yield {"metric": "precision", "k": k, "value": float(precision_at_k(relevant, k).mean())}
    yield {"metric": "map", "k": None, "value": float(np.nanmean(average_precision(relevant)))}


def _headline(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the figures of the hybrid whose frozen view is the queries' own, under the paper's name."""
    return [
        {**row, "method": f"{HEADLINE}{how}"}
        for row in rows
        for how in ("", AS_PRINTED)
        if row["method"] == f"hybrid-{row['query_view']}{how}"
    ]
