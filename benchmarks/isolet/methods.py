"""Methods of the ISOLET benchmark: metrics of tasks, and the choice of their settings."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.isolet.data import Division, Letters, errors
from crossview.engine.learners.frame.base import MultiViewLearner
from crossview.engine.learners.frame.view_rows import Rows, cut
from crossview.engine.learners.papers.joint.joint import JointMetrics
from crossview.engine.learners.papers.joint.mt_lmnn import MultiTaskLMNN
from crossview.engine.learners.papers.metrics.lmnn import LMNN

Factors = Mapping[int, Rows]
WAYS = ("own", "all")
"""Whose training rows are a query's neighbours: its own task's, or those of all tasks."""


@dataclass(frozen=True)
class Method:
    """A row of the table.

    Attributes:
        fit: the (r, d) factor of each task's metric, given the training rows and the settings.
        grid: values of the settings, of which every combination is tried.
    """

    fit: Callable[..., Factors]
    grid: Mapping[str, Sequence[Any]] = field(default_factory=dict)

    @property
    def points(self) -> list[dict[str, Any]]:
        """All settings."""
        return [dict(zip(self.grid, values, strict=True)) for values in product(*self.grid.values())]


def measure(method: Method, division: Division) -> dict[str, Any]:
    """Return the test errors by task with the settings that do best on the validation rows, chosen for each way."""
    best: dict[str, tuple[float, dict[str, Any]]] = {}
    began = time.perf_counter()
    for settings in method.points:
        factors = method.fit(division.train, **settings)
        validated, tested = (errors(factors, division.train, part) for part in (division.validation, division.test))
        for way in WAYS:
            score = float(np.mean(validated[way]))
            if way not in best or score < best[way][0]:
                best[way] = score, {"tasks": tested[way], "validated": score, "settings": settings}
    results: dict[str, Any] = {way: best[way][1] for way in WAYS}
    return {**results, "seconds": (time.perf_counter() - began) / len(method.points)}


def euclidean(train: Letters) -> Factors:
    return dict.fromkeys(range(train.count), np.eye(train.rows.shape[1]))


def pooled(train: Letters, **settings: Any) -> Factors:
    """Return one metric for all tasks."""
    factor = LMNN().set_params(**settings).fit(train.rows, train.labels).weights_[0]
    return dict.fromkeys(range(train.count), factor)


def separate(train: Letters, **settings: Any) -> Factors:
    """Return a metric for each task, learned from its rows alone."""
    tasks = (train.of(task) for task in range(train.count))
    return dict(
        enumerate(LMNN().set_params(**settings).fit(letters.rows, letters.labels).weights_[0] for letters in tasks)
    )


def peer(train: Letters, pull: float) -> Factors:
    """Return the same by metric-learn, from the same rows in the same units."""
    options = {"n_neighbors": 3, "regularization": pull / (1 + pull), "learn_rate": 1e-6, "max_iter": 300}
    tasks = (train.of(task) for task in range(train.count))
    return dict(
        enumerate(peers.fit("LMNN", letters.rows, options, labels=letters.labels).components for letters in tasks)
    )


def several(make: Callable[[], MultiViewLearner]) -> Callable[..., Factors]:
    """Return what fits a learner of several notions, each task a notion."""

    def fit(train: Letters, **settings: Any) -> Factors:
        learner = make().set_params(**settings).fit([train.rows], train.supervision())
        width = train.rows.shape[1]
        embedded = learner.transform(np.vstack([np.zeros(width), np.eye(width)]), view=0)
        metrics = cut(embedded[1:] - embedded[0], learner.widths_of_metrics(0, embedded.shape[1]))
        return {task: metric.T for task, metric in enumerate(metrics)}

    return fit


EUCLIDEAN, POOLED, SEPARATE = "Euclidean", "LMNN, one metric", "LMNN, a metric each"
PEER, MULTI = "metric-learn, a metric each", "MT-LMNN"
JOINT, WIDE = "joint, D = 169", "joint, D = 378"
_LMNN: Mapping[str, Sequence[Any]] = {"pull": (0.3, 1.0), "max_iter": (30, 60)}
"""Few steps leave a metric near the Euclidean one that it starts from: how many is a weight like any other."""
_MULTI: Mapping[str, Sequence[Any]] = {"shared": (0.0003, 0.003), "own": (0.0003, 0.003)}
_JOINT: Mapping[str, Sequence[Any]] = {"alpha": (3e-4, 1e-3, 3e-3)}
METHODS: Mapping[str, Method] = {
    EUCLIDEAN: Method(euclidean),
    POOLED: Method(pooled, _LMNN),
    SEPARATE: Method(separate, _LMNN),
    PEER: Method(peer, {"pull": (0.3, 1.0)}),
    MULTI: Method(several(MultiTaskLMNN), {**_LMNN, **_MULTI}),
    JOINT: Method(several(lambda: JointMetrics(n_components=169)), {**_LMNN, **_JOINT}),
    WIDE: Method(several(lambda: JointMetrics(n_components=378)), {**_LMNN, **_JOINT}),
}
