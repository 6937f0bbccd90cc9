"""One trial of the verification benchmark: settings chosen in the training part, figures of the test, and curves."""

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from benchmarks import verification_methods as methods
from benchmarks.verification_data import Pairs, Split, Trial
from benchmarks.verification_methods import Factor, Method, Settings
from engine.learners.metrics.features import Differences
from engine.learners.metrics.spectrum import RANK_TOLERANCE
from engine.learners.metrics.threshold import calibrate

ITERATED = (methods.NONE, methods.FANTOPE, methods.PCCA)
ITERATIONS = (10, 100, 1_000, 10_000)
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
    """A trial on its principal components; remembers what was validated.

    Args:
        trial: what is learned, tested and validated.
        variance: share of the variance that the principal components keep; for the Euclidean distance all do.
    """

    def __init__(self, trial: Trial, variance: float) -> None:
        self._trial, self._variance = trial, variance
        self._splits: dict[bool, tuple[Split, list[Split]]] = {}
        self._known: dict[str, Values] = {}

    @property
    def width(self) -> int:
        """Columns of the rows that methods learn from the whole training part."""
        return int(self._of(methods.METHODS[-1])[0].rows.shape[1])

    def run(self, chosen_from: Sequence[Method]) -> dict[str, dict[str, Any]]:
        """Returns the figures of methods, each with the settings that verify most validation pairs."""
        chosen: dict[str, Settings] = {}
        figures = {}
        for method in chosen_from:
            began = time.perf_counter()
            best = max(
                (self.validated(method, point) for point in method.grid(chosen)), key=lambda found: found.accuracy
            )
            chosen[method.name] = best.settings
            tuning = time.perf_counter() - began
            figures[method.name] = {**self.tested(method, best), "tuning": tuning}
        return figures

    def validated(self, method: Method, settings: Settings) -> Validated:
        """Returns how well settings verify the pooled validation pairs of all inner splits."""
        inner = self._of(method)[1]
        key = json.dumps([method.fit.__name__, settings], sort_keys=True)
        if key not in self._known:
            self._known[key] = np.concatenate(
                [_distances(method.fit(split, **settings).factor, split) for split in inner]
            )
        alike = np.concatenate([split.check.alike for split in inner])
        threshold = calibrate(self._known[key], alike)
        return Validated(settings, float(np.mean((self._known[key] <= threshold) == alike)), threshold)

    def tested(self, method: Method, found: Validated) -> dict[str, Any]:
        """Returns the figures of the test pairs, after learning from the whole training part."""
        split = self._of(method)[0]
        began = time.perf_counter()
        fitted = method.fit(split, **found.settings)
        seconds = time.perf_counter() - began
        distances, alike = _distances(fitted.factor, split), split.check.alike
        sizes = np.linalg.svd(fitted.factor, compute_uv=False) ** 2
        return {
            "accuracy": float(np.mean((distances <= found.threshold) == alike)),
            "fixed": float(np.mean((distances <= methods.THRESHOLD) == alike)) if method.bounded else None,
            "auc": float(roc_auc_score(alike, -distances)),
            "rank": int((sizes > RANK_TOLERANCE * sizes[0]).sum()),
            "full rank": fitted.full_rank,
            "taken": fitted.taken,
            "validation": found.accuracy,
            "settings": dict(found.settings),
            "seconds": seconds,
        }

    def iterations(self, figures: Mapping[str, Any], steps: Sequence[int]) -> dict[str, list[dict[str, Any]]]:
        """Returns the figures of methods with their settings but for the steps, table 4 of the paper.

        Ours go on until ten steps lower the objective by less than 1e-6 of it. The threshold is that of the first
        validation part.
        """
        found = {}
        for method in methods.METHODS:
            if method.name in ITERATED and method.name in figures:
                tight = {} if method.name == methods.PCCA else {"tol": 1e-6}
                settings = {**figures[method.name]["settings"], **tight}
                found[method.name] = [self._point(method, {**settings, "steps": count}) for count in steps]
        return found

    def weights(self, figures: Mapping[str, Any], mus: Sequence[float]) -> list[dict[str, Any]]:
        """Returns accuracy and rank against mu, at the rank chosen for the Fantope: figure 2 of the paper."""
        (method,) = (method for method in methods.METHODS if method.name == methods.FANTOPE)
        settings = figures[methods.FANTOPE]["settings"]
        return [{**self._point(method, {**settings, "mu": mu}), "mu": mu} for mu in mus]

    def amounts(self, figures: Mapping[str, Any], counts: Sequence[int]) -> dict[str, list[dict[str, Any]]]:
        """Returns the figures of methods with their settings from fewer training pairs."""
        found: dict[str, list[dict[str, Any]]] = {}
        for method in methods.METHODS:
            if method.name in THINNED and method.name in figures:
                settings = figures[method.name]["settings"]
                found[method.name] = [{**self._point(method, settings, count), "pairs": count} for count in counts]
        return found

    def _point(self, method: Method, settings: Settings, pairs: int | None = None) -> dict[str, Any]:
        """The figures of a point of a curve, whose threshold is that of the first validation part."""
        outer, inner = self._of(method)
        one = Bench(self._trial, self._variance)
        fewer = (_thinned(outer, pairs), [_thinned(inner[0], pairs)])
        one._splits = {True: fewer, False: fewer}
        return one.tested(method, one.validated(method, settings))

    def _of(self, method: Method) -> tuple[Split, list[Split]]:
        whole = method.name == methods.EUCLID
        if whole not in self._splits:
            variance = None if whole else self._variance
            splits = [split.reduced(variance) for split in (self._trial.outer, *self._trial.inner)]
            self._splits[whole] = splits[0], splits[1:]
        return self._splits[whole]


def _thinned(split: Split, pairs: int | None) -> Split:
    """The split with so many of its training pairs, as many of each kind as there were in proportion."""
    if pairs is None or pairs >= len(split.fit.alike):
        return split
    kept = np.linspace(0, len(split.fit.alike) - 1, pairs).round().astype(int)
    return Split(split.rows, Pairs(split.fit.items[kept], split.fit.alike[kept]), split.check)


def _distances(factor: Factor, split: Split) -> Values:
    return Differences(split.rows).distances(factor, split.check.items)
