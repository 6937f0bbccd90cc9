"""The standing of a default beside its rivals on several sets: means, worst sets, and paired differences."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from benchmarks.sets.named import DIVISION, PARTS

Values = Mapping[str, NDArray[np.float64]]
"""A figure over the splits of one set, by method."""


def interval(differences: NDArray[np.float64], overlap: float) -> tuple[float, float]:
    """Return mean and half width of the 95 % interval of paired differences over random splits that overlap."""
    count = len(differences)
    if count < 2:
        return float(differences.mean()), float("inf")
    return float(differences.mean()), float(stats.t.ppf(0.975, count - 1)) * standard_error(differences, overlap)


def standard_error(differences: NDArray[np.float64], overlap: float) -> float:
    """Return that of the mean of two or more paired differences over random splits that overlap.

    Nadeau and Bengio (2003): the variance of the mean is (1 / n + n_test / n_train) times that of the splits.
    """
    return float(np.sqrt((1 / len(differences) + overlap) * differences.var(ddof=1)))


@dataclass(frozen=True, eq=False)
class Standing:
    """A figure of all methods on several sets, of which larger is better."""

    values: Mapping[str, Values]
    """By set."""
    overlaps: Mapping[str, float]
    """Held-out items divided by training items, by set."""
    default: str
    rivals: Sequence[str]

    def on(self, name: str, method: str) -> float | None:
        """Return the mean of a method over the splits of a set; None if it lacks a split."""
        values = self.values[name]
        most = max(map(len, values.values()), default=0)
        return float(values[method].mean()) if method in values and len(values[method]) == most else None

    def mean(self, method: str) -> float | None:
        """Return the mean of a method over the sets; None if it lacks one."""
        means = [self.on(name, method) for name in self.values]
        numbers = [mean for mean in means if mean is not None]
        return float(np.mean(numbers)) if numbers and len(numbers) == len(means) else None

    def worst(self, method: str) -> tuple[str, float] | None:
        """Return the set on which a method is worst, and its mean there."""
        means = [(name, self.on(name, method)) for name in self.values]
        return min(((name, mean) for name, mean in means if mean is not None), key=lambda pair: pair[1], default=None)

    def best(self) -> str | None:
        """Return the rival with the best mean over the sets, of those that have all."""
        return self._best({method: self.mean(method) for method in self.rivals})

    def best_on(self, name: str) -> str | None:
        """Return the best rival on a set."""
        return self._best({method: self.on(name, method) for method in self.rivals})

    def ahead(self, rival: str) -> tuple[float, float]:
        """Return what the default is ahead of a rival on the mean over the sets, and half the width of its interval."""
        leads = [self.ahead_on(name, rival) for name in self.values]
        return float(np.mean([mean for mean, _ in leads])), float(np.linalg.norm([half for _, half in leads])) / len(
            leads
        )

    def ahead_on(self, name: str, rival: str) -> tuple[float, float]:
        """Return what the default is ahead of a rival on a set, and half the width of its interval."""
        values = self.values[name]
        return interval(values[self.default] - values[rival], self.overlaps[name])

    def shortfall(self) -> tuple[str, str, float] | None:
        """Return the set on which the default is least ahead of the best rival there, that rival, and by how much."""
        pairs = [(name, rival) for name in self.values if (rival := self.best_on(name))]
        leads = [(name, rival, self.ahead_on(name, rival)[0]) for name, rival in pairs if self.on(name, self.default)]
        return min(leads, key=lambda lead: lead[2], default=None)

    @staticmethod
    def _best(means: Mapping[str, float | None]) -> str | None:
        numbers = {method: mean for method, mean in means.items() if mean is not None}
        return max(numbers, key=lambda method: numbers[method]) if numbers else None


def points(mean: float, half: float | None = None) -> str:
    """Return a difference in per cent, with half the width of its interval if that is known and finite."""
    text = f"{100 * mean:+.1f}"
    return text if half is None or not np.isfinite(half) else f"{text} ± {100 * half:.1f}"


def of_worst(standing: Standing, method: str) -> str:
    """Return the worst set of a method as a cell."""
    worst = standing.worst(method)
    return "" if worst is None else f"{100 * worst[1]:.1f} ({worst[0]})"


def verdict(standing: Standing) -> list[str]:
    """Return cells: the mean of the default, its worst set, the best rival, its mean, what the default is ahead on the
    mean, and its largest shortfall on a set."""
    ours, best, behind = standing.mean(standing.default), standing.best(), standing.shortfall()
    if ours is None or best is None or behind is None:
        return ["" if ours is None else f"{100 * ours:.1f}", of_worst(standing, standing.default), "", "", "", ""]
    theirs = standing.mean(best) or 0.0
    cells = [f"{100 * ours:.1f}", of_worst(standing, standing.default), best, f"{100 * theirs:.1f}"]
    return [*cells, points(*standing.ahead(best)), f"{points(behind[2])} ({behind[0]}: {behind[1]})"]


VERDICT = ("default", "worst set", "best rival", "its mean", "default is ahead", "largest shortfall")
"""Heads of the cells of a verdict."""


def division_of(sets: Sequence[str], looks: Sequence[Mapping[str, str]]) -> str:
    """Return sentences: which sets are for development and which for reports, and how often the latter had been looked
    at, of which ``looks`` are the dates and reasons."""
    by_part = {part: [name for name in sets if name in DIVISION[part]] for part in PARTS}
    parts = []
    if by_part["development"]:
        parts.append(f"Development sets, on which defaults are chosen: {', '.join(by_part['development'])}.")
    if by_part["report"]:
        reasons = "; ".join(f"{look['date']}, {look['reason']}" for look in looks)
        often = "once" if len(looks) == 1 else f"{len(looks)} times"
        times = f"they had been looked at {often} before" + (f" ({reasons})" if looks else "")
        parts.append(f"Report sets, on which nothing is chosen: {', '.join(by_part['report'])}; {times}.")
    return " ".join(parts)
