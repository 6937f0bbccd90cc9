"""One trial of the verification benchmark: settings chosen in the training part, figures of the test, and curves."""

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from benchmarks.verification import methods
from benchmarks.verification.data import Pairs, Split, Trial
from benchmarks.verification.methods import Factor, Method, Settings
from crossview.engine.learners.papers.losses.differences import Differences
from crossview.engine.learners.papers.losses.parameters import RANK_TOLERANCE
from crossview.engine.learners.papers.solvers.threshold import calibrate

ITERATED = (methods.FANTOPE, methods.PCCA)
ITERATIONS = (10, 100, 1_000, 10_000)
FIXED = ", settings kept"
MUS = (0.0, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
THINNED = (methods.NONE, methods.TRACE, methods.FANTOPE, methods.PCCA)
COUNTS = (500, 1_000, 2_000)  # of training pairs, beside all

Values = NDArray[np.float64]


@dataclass(frozen=True)
class Validated:
    """Settings, how many validation pairs they verify, and the threshold on squared distances at which they do."""

    settings: Settings
    accuracy: float
    threshold: float


class Bench:
    """Chooses settings by inner splits and tests them on the outer one; remembers what was validated."""

    def __init__(self, outer: Split, inner: Sequence[Split]) -> None:
        self.outer, self.inner = outer, inner
        self._known: dict[str, Values] = {}

    @classmethod
    def of(cls, trial: Trial, variance: float | None) -> Self:
        """Return the bench of a trial, each split on principal components with a share of variance; None: on all."""
        return cls(trial.outer.reduced(variance), [split.reduced(variance) for split in trial.inner])

    def run(self, chosen_from: Sequence[Method]) -> dict[str, dict[str, Any]]:
        """Return the figures of methods, each with the settings that verify most validation pairs."""
        settings: dict[str, Settings] = {}
        figures = {}
        for method in chosen_from:
            began = time.perf_counter()
            best = self.best(method, method.grid(settings))
            settings[method.name] = best.settings
            tuning = time.perf_counter() - began
            figures[method.name] = {**self.tested(method, best), "tuning": tuning}
        return figures

    def best(self, method: Method, points: Sequence[Settings]) -> Validated:
        """Return the settings that verify most validation pairs, of equally good ones the first."""
        return max((self.validated(method, point) for point in points), key=lambda validated: validated.accuracy)

    def validated(self, method: Method, settings: Settings) -> Validated:
        """Return how well settings verify the pooled validation pairs of all inner splits."""
        key = json.dumps([method.fit.__name__, settings], sort_keys=True)
        if key not in self._known:
            self._known[key] = np.concatenate(
                [_distances(method.fit(split, **settings).factor, split) for split in self.inner]
            )
        alike = np.concatenate([split.check.alike for split in self.inner])
        threshold = calibrate(self._known[key], alike)
        return Validated(settings, float(np.mean((self._known[key] <= threshold) == alike)), threshold)

    def tested(self, method: Method, validated: Validated) -> dict[str, Any]:
        """Return the figures of the test pairs, after learning from all of the training part."""
        began = time.perf_counter()
        fitted = method.fit(self.outer, **validated.settings)
        seconds = time.perf_counter() - began
        distances, alike = _distances(fitted.factor, self.outer), self.outer.check.alike
        sizes = np.linalg.svd(fitted.factor, compute_uv=False) ** 2
        return {
            "accuracy": float(np.mean((distances <= validated.threshold) == alike)),
            "fixed": float(np.mean((distances <= methods.THRESHOLD) == alike)) if method.bounded else None,
            "auc": float(roc_auc_score(alike, -distances)),
            "rank": int((sizes > RANK_TOLERANCE * sizes[0]).sum()),
            "full rank": fitted.full_rank,
            "taken": fitted.taken,
            "validation": validated.accuracy,
            "settings": dict(validated.settings),
            "seconds": seconds,
        }

    def iterations(self, figures: Mapping[str, Any], steps: Sequence[int]) -> dict[str, list[dict[str, Any]]]:
        """Return the figures of methods after at most so many steps, table 4 of the paper.

        At the rank chosen with all validation parts; mu and beta are chosen again for every number of steps, or stay as
        they were chosen above. Ours go on until ten steps lower the objective by less than the share 1e-6.
        """
        curves = {}
        for method in _named(ITERATED, figures):
            settings = figures[method.name]["settings"]
            grid = [point for point in method.grid({}) if point["rank"] == settings["rank"]]
            tight = {} if method.name == methods.PCCA else {"tol": 1e-6}
            for name, points in ((method.name, grid), (f"{method.name}{FIXED}", [settings])):
                curves[name] = [
                    {**self._point(method, [{**point, **tight, "steps": count} for point in points]), "steps": count}
                    for count in steps
                ]
        return curves

    def weights(self, figures: Mapping[str, Any], mus: Sequence[float]) -> list[dict[str, Any]]:
        """Return accuracy and rank against mu, at the rank chosen for the Fantope: figure 2 of the paper."""
        (method,) = _named([methods.FANTOPE], figures)
        settings = figures[methods.FANTOPE]["settings"]
        return [{**self._point(method, [{**settings, "mu": mu}]), "mu": mu} for mu in mus]

    def amounts(self, figures: Mapping[str, Any], counts: Sequence[int]) -> dict[str, list[dict[str, Any]]]:
        """Return the figures of methods with their settings from fewer training pairs."""
        curves: dict[str, list[dict[str, Any]]] = {}
        for method in _named(THINNED, figures):
            points = [figures[method.name]["settings"]]
            curves[method.name] = [{**self._point(method, points, count), "pairs": count} for count in counts]
        return curves

    def _point(self, method: Method, points: Sequence[Settings], pairs: int | None = None) -> dict[str, Any]:
        """Return the figures of a point of a curve; the first validation part chooses settings and threshold."""
        bench = Bench(_thinned(self.outer, pairs), [_thinned(self.inner[0], pairs)])
        return bench.tested(method, bench.best(method, points))


def _thinned(split: Split, pairs: int | None) -> Split:
    """Return the split with so many of its training pairs, similar and dissimilar ones in proportion."""
    if pairs is None or pairs >= len(split.fit.alike):
        return split
    positions = np.linspace(0, len(split.fit.alike) - 1, pairs).round().astype(int)
    return Split(split.rows, Pairs(split.fit.items[positions], split.fit.alike[positions]), split.check)


def _named(names: Sequence[str], figures: Mapping[str, Any]) -> list[Method]:
    return [method for method in methods.METHODS if method.name in names and method.name in figures]


def _distances(factor: Factor, split: Split) -> Values:
    return Differences(split.rows).distances(factor, split.check.items)
