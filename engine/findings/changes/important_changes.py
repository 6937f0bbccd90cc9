"""The important changes of a series: learning the important regions, deciding, and explaining."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crossview.engine.catalog.catalog import Transaction
from crossview.engine.findings.changes.decision import Decision, decide, least_sure, region_distances, source_distances
from crossview.engine.findings.changes.importance import Importance, Labels, learn
from crossview.engine.findings.changes.monotony import monotony
from crossview.engine.findings.changes.series import Series, read_series
from crossview.engine.findings.changes.times import Period
from crossview.engine.learners.frame.view_rows import Rows
from crossview.engine.runtime.cancellation import checkpoint
from crossview.engine.values.changes import Change, Changes, ChangesRequest, LearnedImportance, PairLabel
from crossview.engine.values.errors import InvalidInputError, NotReadyError
from crossview.features.page import Page

MOST = 2_000
"""Number of newest versions for learning a metric, because the important regions of a page can change."""
QUESTIONS = 20
"""Number of pairs proposed for labels."""


def find_changes(tx: Transaction, request: ChangesRequest) -> Callable[[], Changes]:
    """Read the successive versions of a collection, and return the function that finds their important changes.

    The function does not read the catalog, so no transaction stays open for it. Without ``learned``, it learns the
    metric and the threshold from all versions, and from labels if there are any.

    Raises InvalidInputError, NotFoundError (view), NotReadyError (too few versions, or equal versions).
    """
    request.check()
    series = read_series(tx, request.view or (request.learned.view if request.learned else ""), request.gone)
    start = series.position(request.after) if request.after else 0
    read = _Read(series.rows(tx, start), series.pages(tx, start) if _by_structure(request) else [], start)
    return partial(_found, request, series, read)


class _Read(NamedTuple):
    """The rows and pages of the versions from a position on."""

    rows: NDArray[np.float32]
    pages: list[Page | None]
    """None for a version without HTML; empty if the structure does not count."""
    start: int


def _by_structure(request: ChangesRequest) -> bool:
    return request.structure if request.learned is None else len(request.learned.weights) > 1


def _found(request: ChangesRequest, series: Series, read: _Read) -> Changes:
    learned = request.learned
    compared = _Compared.of(series, read, request)
    period = request.period or series.line.usual_period()
    notes = list(series.notes)
    if learned is None:
        learned, more = _learn(series, compared, request, Period.parse(period))
        notes += more
    elif learned.grid != series.grid:
        raise InvalidInputError(
            f"the learned metric has {learned.grid} cells a side, view {series.view.name!r} has {series.grid}"
        )
    metric, decision = _metric(learned), Decision(np.array(learned.weights), learned.threshold)
    if len(learned.weights) not in (1, 3) or not learned.threshold > 0:
        raise InvalidInputError("learned must have one weight, or three with HTML, and a positive threshold")
    changes = _changes(series, compared, metric, decision)
    return Changes(
        versions=len(series.keys),
        first=series.line.times[0],
        last=series.line.times[-1],
        source=series.line.source,
        period=period,
        learned=learned,
        importance=tuple(metric.weights().tolist()),
        changes=tuple(changes),
        questions=tuple(_questions(changes, compared)),
        notes=tuple(notes),
    )


@dataclass(frozen=True, eq=False)
class _Compared:
    """The distances of successive pairs and of labelled pairs, by region and by structure."""

    places: NDArray[np.int64]
    """(p, 2) positions of successive versions, then (m, 2) of labelled pairs."""
    regions: Rows
    structure: Rows
    """(p + m, 2) Jaccard distances of links and images; (p + m, 0) without HTML."""
    labels: Mapping[tuple[int, int], bool | None]
    rows: NDArray[np.float32]

    @classmethod
    def of(cls, series: Series, read: _Read, request: ChangesRequest) -> "_Compared":
        start = read.start
        labels = _labels(series, request.labels, start)
        count = len(series.keys)
        decided = [pair for pair, important in labels.items() if important is not None]
        places = np.column_stack([np.arange(start, count - 1), np.arange(start + 1, count)])
        places = np.vstack([places, np.array(decided, np.int64).reshape(-1, 2)])
        regions = region_distances(read.rows, places - start, series.grid)
        return cls(places, regions, _structure(read.pages, places - start, request), labels, read.rows)

    @property
    def important(self) -> NDArray[np.bool_]:
        """(m,) the labels of the labelled pairs."""
        return np.array([important for important in self.labels.values() if important is not None], np.bool_)

    @property
    def labelled(self) -> slice:
        """The rows of the labelled pairs."""
        return slice(len(self.places) - len(self.important), None)

    @property
    def successive(self) -> slice:
        """The rows of the successive pairs."""
        return slice(0, len(self.places) - len(self.important))

    def distances(self, metric: Importance) -> Rows:
        """Return (p + m, 1 or 3): the learned distance, then the distances of the structure."""
        return np.column_stack([metric.distances(self.regions), self.structure])


def _structure(pages: list[Page | None], pairs: NDArray[np.int64], request: ChangesRequest) -> Rows:
    """Return the Jaccard distances of pairs of versions, by the positions of their pages.

    The structure counts if all versions have HTML, or if ``learned`` has weights for it; versions without HTML then
    have distance 0.
    """
    if request.learned is None and None in pages:
        pages = []
    distances = np.zeros((len(pairs), 2 if pages else 0))
    for place, (first, second) in enumerate(pairs if pages else ()):
        checkpoint()
        earlier, later = pages[first], pages[second]
        if earlier is not None and later is not None:
            distances[place] = source_distances(earlier, later)
    return distances


def _labels(series: Series, labels: Sequence[PairLabel], start: int) -> dict[tuple[int, int], bool | None]:
    """Return the labels of pairs of versions from a position on, the earlier version first; the last label counts."""
    by_pair: dict[tuple[int, int], bool | None] = {}
    for label in labels:
        first, second = sorted((series.position(label.earlier), series.position(label.later)))
        if first == second:
            raise InvalidInputError(f"a label compares {label.earlier!r} with itself: name two versions")
        if first >= start:
            by_pair.pop((first, second), None)
            by_pair[first, second] = label.important
    return by_pair


def _learn(
    series: Series, compared: _Compared, request: ChangesRequest, period: Period
) -> tuple[LearnedImportance, list[str]]:
    first = max(0, len(series.keys) - MOST)
    order = monotony(series.line.positions(period)[first:], period.amount)
    important, labelled = compared.important, compared.labelled
    free = [
        place
        for place, pair in enumerate(compared.places[compared.successive].tolist())
        if tuple(pair) not in compared.labels
    ]
    try:
        labels = Labels(compared.regions[labelled], important)
        metric = learn(region_distances(compared.rows[first:], order.pairs, series.grid), order, request.form, labels)
        distances = compared.distances(metric)
        decision = decide(distances[free], distances[labelled], important, request.extreme)
    except ValueError as error:
        raise NotReadyError(f"these {len(series.keys)} versions give nothing to learn from: {error}") from error
    learned = LearnedImportance(
        view=series.view.name,
        grid=series.grid,
        form=request.form,
        matrix=tuple((np.diag(metric.matrix) if request.form == "diagonal" else metric.matrix.ravel()).tolist()),
        weight=metric.weight,
        order=metric.order,
        weights=tuple(decision.weights.tolist()),
        threshold=decision.threshold,
        quadruplets=len(order),
        labels=len(important),
    )
    notes = [f"the metric is learned from the newest {MOST:,} versions"] if first else []
    if order.gaps:
        longest = np.diff(series.line.hours()[first:]).max()
        gaps = f"{order.gaps} pairs of successive versions are a period or more apart and do not teach the metric"
        notes.append(f"{gaps}; the longest time is {longest:.0f} hours")
    return learned, notes


def _metric(learned: LearnedImportance) -> Importance:
    values, cells = np.array(learned.matrix), learned.grid**2
    count = cells if learned.form == "diagonal" else cells**2
    if len(values) != count or not np.isfinite(values).all():
        raise InvalidInputError(
            f"a {learned.form} metric of {learned.grid} cells a side must have {count:,} finite numbers"
        )
    matrix = np.diag(values) if learned.form == "diagonal" else values.reshape(cells, cells)
    return Importance(matrix, learned.form, learned.weight, learned.order)


def _changes(series: Series, compared: _Compared, metric: Importance, decision: Decision) -> list[Change]:
    own = compared.successive
    scores = decision.scores(compared.distances(metric))[own]
    shares = metric.shares(compared.regions[own])
    shares = shares / np.maximum(shares.sum(axis=1, keepdims=True), np.finfo(float).tiny)
    hours = series.line.hours()
    changes = []
    for place, (earlier, later) in enumerate(compared.places[own].tolist()):
        identical = not compared.regions[place].any() and not compared.structure[place].any()
        links, images = compared.structure[place].tolist() if compared.structure.shape[1] else (None, None)
        changes.append(
            Change(
                earlier=series.keys[earlier],
                later=series.keys[later],
                time=series.line.times[later],
                hours=float(hours[later] - hours[earlier]),
                importance=float(scores[place]),
                important=bool(scores[place] > 1),
                identical=identical,
                regions=tuple(shares[place].tolist()),
                links=links,
                images=images,
                label=compared.labels.get((earlier, later)),
            )
        )
    return changes


def _questions(changes: Sequence[Change], compared: _Compared) -> list[int]:
    """Return the changes to label next, the least certain first, without those that a person has labelled."""
    labelled = [tuple(pair) in compared.labels for pair in compared.places[compared.successive].tolist()]
    candidates = [place for place, change in enumerate(changes) if not (change.identical or labelled[place])]
    scores = np.array([change.importance for change in changes])
    questions: list[int] = least_sure(scores, np.array(candidates, np.int64))[:QUESTIONS].tolist()
    return questions
