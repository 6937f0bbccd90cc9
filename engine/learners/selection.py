"""Choosing settings by cross-validation inside the training part."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold, StratifiedKFold

from engine.learners.base import MultiViewLearner, Rows
from engine.learners.cancellation import checkpoint
from engine.learners.chain import Chain
from engine.learners.registry import parse_chain

Labels = NDArray[Any]
Measure = Callable[[Rows, Labels, Labels], float]
"""Quality, larger is better, from (q, n) distances, (q,) labels of the queries and (n,) labels of the database."""
Crossing = tuple[int, int]
"""The view of the queries and the view of the database, counted from 0."""
SPEC = "spec"


@dataclass
class Kept:
    """What need not be computed twice: for calls with the same views, labels, measure, folds, seed and ``unseen``.

    A kernel is mapped once for all settings of the learner after it, and a chain that is measured for queries of one
    view is measured for those of the others too.
    """

    crossings: Sequence[Crossing] = ()
    """What to measure beside the crossings that are asked for, because it will be."""
    heads: dict[tuple[int, str], tuple[list[Rows], list[Rows]]] = field(default_factory=dict)
    """A fold's training and held-out rows after the steps before a learner, by fold and steps."""
    scores: dict[tuple[str, str], dict[Crossing, float]] = field(default_factory=dict)
    """Mean measure over the folds, by spec and settings, and by crossing."""


@dataclass(frozen=True)
class Selection:
    """What was chosen, and everything that was tried."""

    spec: str
    """The chosen chain, as ``parse_chain`` reads it."""
    settings: dict[str, Any]
    """The chosen parameters of its learner."""
    score: float
    """Their mean measure over folds and crossings."""
    tried: list[dict[str, Any]] = field(default_factory=list)
    """Every candidate, in order: "spec", "settings" and "score"."""


@dataclass(frozen=True, kw_only=True)
class CrossValidation:
    """How a chain is measured on folds of the rows."""

    measure: Measure
    """What to average."""
    crossings: Sequence[Crossing]
    """Which view's queries are answered by which view's database."""
    folds: int = 3
    """At least 2."""
    seed: int = 0
    """Shuffles the folds."""
    unseen: bool = False
    """The fold is the database too, for when items will be searched that were not trained on; crossings must then be of
    two views, or an item would find itself."""
    kept: Kept = field(default_factory=Kept)
    """What was computed before, which every call adds to."""


def cross_validate(
    spec: str, settings: Mapping[str, Any], views: Sequence[Rows], labels: Labels, how: CrossValidation
) -> float:
    """Returns the mean measure of one chain over folds and crossings.

    In each fold the chain is fitted on the other folds, whose rows are the database unless ``how.unseen``, and the rows
    of the fold are the queries.

    Args:
        spec: the chain, as ``parse_chain`` reads it.
        settings: parameters of its learner.
        views: (n, d_v) array per view.
        labels: (n,) classes; folds are stratified where every class has as many members as there are folds.
        how: measure, crossings and folds.

    Raises:
        ValueError: for an unknown learner, parameter or value of one, or too few rows.
    """
    scores = how.kept.scores.setdefault((spec, repr(sorted(settings.items()))), {})
    missing = [crossing for crossing in how.crossings if crossing not in scores]
    if missing:
        wanted = list(dict.fromkeys([*missing, *(one for one in how.kept.crossings if one not in scores)]))
        measured = _measured(spec, settings, views, labels, replace(how, crossings=wanted))
        scores.update(zip(wanted, np.array(list(measured)).mean(axis=0).tolist(), strict=True))
    return float(np.mean([scores[crossing] for crossing in how.crossings]))


def _measured(
    spec: str, settings: Mapping[str, Any], views: Sequence[Rows], labels: Labels, how: CrossValidation
) -> Iterator[list[float]]:
    """Yields, fold by fold, the measure of every crossing."""
    smallest = np.unique(labels, return_counts=True)[1].min()
    splitter = (StratifiedKFold if smallest >= how.folds else KFold)(how.folds, shuffle=True, random_state=how.seed)
    for fold, (train, test) in enumerate(splitter.split(views[0], labels)):
        steps = parse_chain(spec, settings).steps
        learner = max((i for i, step in enumerate(steps) if not step.capabilities.auxiliary), default=0)
        train_rows, test_rows = ([rows[part] for rows in views] for part in (train, test))
        fitted_on, asked = _through(steps[:learner], train_rows, test_rows, labels[train], fold, how.kept)
        chain = Chain(steps[learner:]).fit(fitted_on, labels[train])
        database, items_of = (asked, test) if how.unseen else (fitted_on, train)
        queries, items = chain.transform(asked), chain.transform(database)
        yield [how.measure(distances(queries[q], items[d]), labels[test], labels[items_of]) for q, d in how.crossings]


def _through(
    steps: Sequence[MultiViewLearner],
    train: list[Rows],
    test: list[Rows],
    labels: Labels,
    fold: int,
    kept: Kept,
) -> tuple[list[Rows], list[Rows]]:
    """Returns both parts after the steps, fitted on the first."""
    key = fold, repr([(step.name, step.get_params()) for step in steps])
    if key not in kept.heads:
        chain = Chain(steps).fit(train, labels)
        kept.heads[key] = chain.transform(train), chain.transform(test)
    return kept.heads[key]


def select(
    grid: Mapping[str, Sequence[Any]],
    views: Sequence[Rows],
    labels: Labels,
    *,
    fixed: Mapping[str, Any] | None = None,
    exhaustive: bool = True,
    kept: Kept | None = None,
    **how: Any,
) -> Selection:
    """Returns the best settings of a grid by ``cross_validate``.

    Args:
        grid: values to try by parameter name, "spec" among them, the likeliest first.
        views: (n, d_v) array per view.
        labels: (n,) classes.
        fixed: parameters that are the same throughout.
        exhaustive: try every combination; or else start from every first value and choose the parameters one after
            another, in the order of the grid, which needs a sum of fits instead of a product.
        kept: what earlier calls computed, which this one adds to; None: nothing.
        how: the other fields of :class:`CrossValidation`.

    Of equal scores the first wins.

    Raises:
        ValueError: as ``cross_validate``, or for a grid without "spec".
    """
    if SPEC not in grid:
        raise ValueError('a grid needs "spec", the chains to try')
    validation = CrossValidation(kept=Kept() if kept is None else kept, **how)

    def score(point: dict[str, Any]) -> float:
        spec, settings = _parted(point, fixed)
        return cross_validate(spec, settings, views, labels, validation)

    best, tried = search(grid, score, exhaustive=exhaustive)
    described = []
    for point, value in tried:
        spec, settings = _parted(point, fixed)
        described.append({"spec": spec, "settings": settings, "score": value})
    spec, settings = _parted(best, fixed)
    return Selection(spec, settings, max(value for _, value in tried), described)


def search(
    grid: Mapping[str, Sequence[Any]], score: Callable[[dict[str, Any]], float], *, exhaustive: bool = True
) -> tuple[dict[str, Any], list[tuple[dict[str, Any], float]]]:
    """Returns the point of a grid, a value by name, whose score is largest, and every point tried with its score.

    Args:
        grid: values to try by name, the likeliest first.
        score: called once for each point that is tried.
        exhaustive: as in :func:`select`.
    """
    names = list(grid)
    scores: dict[tuple[int, ...], float] = {}

    def at(point: tuple[int, ...]) -> dict[str, Any]:
        return {name: grid[name][i] for name, i in zip(names, point, strict=True)}

    def scored(point: tuple[int, ...]) -> float:
        if point not in scores:
            checkpoint()
            scores[point] = score(at(point))
        return scores[point]

    sizes = [len(values) for values in grid.values()]
    if exhaustive:
        best = max(np.ndindex(*sizes), key=scored)
    else:
        best = (0,) * len(sizes)
        for axis, size in enumerate(sizes):
            best = max((_with(best, axis, i) for i in _from(best[axis], size)), key=scored)
    return at(best), [(at(point), value) for point, value in scores.items()]


def distances(queries: Rows, items: Rows) -> Rows:
    """Returns the (q, n) squared Euclidean distances, never below 0."""
    squared: Rows = (queries**2).sum(axis=1)[:, None] + (items**2).sum(axis=1)[None, :] - 2 * queries @ items.T
    return np.maximum(squared, 0.0)


def _parted(point: Mapping[str, Any], fixed: Mapping[str, Any] | None) -> tuple[str, dict[str, Any]]:
    """The chain, and its learner's parameters."""
    settings = {**(fixed or {}), **point}
    return settings.pop(SPEC), settings


def _with(point: tuple[int, ...], axis: int, value: int) -> tuple[int, ...]:
    return (*point[:axis], value, *point[axis + 1 :])


def _from(first: int, size: int) -> list[int]:
    """0..size - 1 with ``first`` in front."""
    return [first, *(i for i in range(size) if i != first)]
