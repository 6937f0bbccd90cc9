"""Estimates: the mean of a measure over queries or comparisons, its standard error, and differences of spaces."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crossview.engine.values.evaluation import EvaluationDifference, EvaluationRow

Values = NDArray[np.float64]
_DRAWS = 1_000
"""Number of bootstrap samples for a median."""
_DRAWS_OF_PAIRS = 300
"""Number of bootstrap samples for a statistic of pairs, which takes longer."""


@dataclass(frozen=True, eq=False)
class Sample:
    """A measure of each of n queries or comparisons, with the same weights for every measure."""

    values: Values
    """(n,); NaN if there is nothing to measure, as for a query without relevant items."""
    weights: Values | None = None
    """(n,); None: equal weights."""
    overlap: float = 0.0
    """The number of test items over that of training items, if the values are means over overlapping splits. The
    variance of their mean is then the variance of the values times 1/n + overlap instead of 1/n (Nadeau and Bengio,
    "Inference for the generalization error", Machine Learning 52, 2003, the corrected resampled variance)."""

    def moments(self) -> tuple[float, float]:
        """Return the weighted mean and its variance; NaN if the values are too few."""
        weights = np.ones(len(self.values)) if self.weights is None else self.weights
        measured = ~np.isnan(self.values) & (weights > 0)
        values, weights, count = self.values[measured], weights[measured], int(measured.sum())
        if not count:
            return float("nan"), float("nan")
        mean = float(weights @ values / weights.sum())
        if count == 1:
            return mean, float("nan")
        variance = float(weights**2 @ (values - mean) ** 2 / weights.sum() ** 2) * count / (count - 1)
        return mean, variance * (1 + count * self.overlap)


@dataclass(frozen=True, eq=False)
class Estimate:
    """A measure with its standard error.

    Most have one sample. The area under a ROC curve has two, of similar and of dissimilar pairs, with the same mean
    (DeLong, DeLong and Clarke-Pearson, 1988); the variances of their means add up.
    """

    samples: Sequence[Sample]

    @property
    def value(self) -> float:
        """The mean; NaN without a measured value."""
        return self.samples[0].moments()[0]

    @property
    def standard_error(self) -> float | None:
        """The standard error of the mean, for independent queries or comparisons; None if they are too few."""
        variance = sum(sample.moments()[1] for sample in self.samples)
        return None if np.isnan(variance) else float(np.sqrt(variance))

    def less(self, other: "Estimate") -> "Estimate":
        """Return the paired difference to an estimate over the same queries or comparisons."""
        pairs = zip(self.samples, other.samples, strict=True)
        return Estimate([replace(sample, values=sample.values - baseline.values) for sample, baseline in pairs])


@dataclass(frozen=True, eq=False)
class Median:
    """The median of a measure of n queries; with a baseline, less the median of another measure of them."""

    values: Values
    """(n,); NaN if there is nothing to measure."""
    baseline: Values | None = None

    @property
    def value(self) -> float:
        """The median, less that of the baseline."""
        return _difference_of_medians(self._columns())

    @property
    def standard_error(self) -> float | None:
        """The standard error over bootstrap samples of the queries, drawn with a fixed seed; None for one query."""
        columns, random = self._columns(), np.random.default_rng(0)
        if len(columns) < 2:
            return None
        draws = (random.integers(len(columns), size=len(columns)) for _ in range(_DRAWS))
        return float(np.std([_difference_of_medians(columns[drawn]) for drawn in draws], ddof=1))

    def less(self, other: "Median") -> "Median":
        """Return the difference to the median of the same queries."""
        return Median(self.values, other.values)

    def _columns(self) -> Values:
        baseline = np.zeros(len(self.values)) if self.baseline is None else self.baseline
        columns = np.stack([self.values, baseline], axis=1)
        return columns[~np.isnan(columns).any(axis=1)]


@dataclass(frozen=True)
class Statistic:
    """A figure of all hit lists together, without a standard error: a query drawn twice adds no new hit."""

    value: float
    standard_error: None = None

    def less(self, other: "Statistic") -> "Statistic":
        """Return the difference to the figure of the same queries."""
        return Statistic(self.value - other.value)


def _difference_of_medians(columns: Values) -> float:
    first, second = np.median(columns, axis=0)
    return float(first - second)


@dataclass(frozen=True, eq=False)
class OfPairs:
    """A statistic of the distances of similar and other pairs; with a baseline, less that of other distances."""

    statistic: Callable[[Values, Values], float]
    """A function of the distances of similar pairs and of other pairs."""
    similar: Values
    """(n, m): distances of similar pairs; with a baseline m = 2, the second ones are subtracted."""
    others: Values
    """(l, m): distances of other pairs, in the same form."""

    @property
    def value(self) -> float:
        """The statistic, less that of the baseline."""
        return self._of(self.similar, self.others)

    @property
    def standard_error(self) -> float | None:
        """The standard error over bootstrap samples of both kinds, drawn with a fixed seed; None for one pair."""
        if min(len(self.similar), len(self.others)) < 2:
            return None
        random = np.random.default_rng(0)
        draws = [
            self._of(*(kind[random.integers(len(kind), size=len(kind))] for kind in (self.similar, self.others)))
            for _ in range(_DRAWS_OF_PAIRS)
        ]
        return float(np.std(draws, ddof=1))

    def less(self, other: "OfPairs") -> "OfPairs":
        """Return the paired difference to the statistic of other distances of the same pairs."""
        return replace(
            self,
            similar=np.hstack([self.similar[:, :1], other.similar[:, :1]]),
            others=np.hstack([self.others[:, :1], other.others[:, :1]]),
        )

    def _of(self, similar: Values, dissimilar: Values) -> float:
        first, *baseline = (self.statistic(near, far) for near, far in zip(similar.T, dissimilar.T, strict=True))
        return float(first - sum(baseline))


def over_splits(splits: Sequence["Figures"], overlap: float) -> "Figures":
    """Return the means of figures over splits, with ``overlap`` as in ``Sample``; one split stays as it is."""
    if len(splits) == 1:
        return splits[0]
    keys = dict.fromkeys(key for split in splits for key in split)
    values = {key: [split[key].value if key in split else np.nan for split in splits] for key in keys}
    return {key: Estimate([Sample(np.array(numbers), overlap=overlap)]) for key, numbers in values.items()}


def mean_over_views(measured: Sequence["Figures"]) -> "Figures":
    """Return the means over all pairs of views of one split, of figures that every pair has; empty for one pair.

    Each of ``measured`` has the figures of one query view.
    """
    gathered: dict[Key, list[float]] = defaultdict(list)
    for figures in measured:
        for (database, _, metric, k), figure in figures.items():
            gathered[database, "", metric, k].append(figure.value)
    pairs = sum(len({target for _, target, _, _ in figures}) for figures in measured)
    means = {key: Statistic(float(np.mean(values))) for key, values in gathered.items() if len(values) == pairs}
    return means if pairs > 1 else {}


def in_order(near: Values, far: Values, weights: Values | None = None) -> Estimate:
    """Return the share of comparisons whose near distance is below the far one, (n,) each; equal ones count half."""
    return Estimate([Sample(np.heaviside(far - near, 0.5), weights)])


def area_under_curve(distances: Values, similar: NDArray[np.bool_], weights: Values | None = None) -> Estimate:
    """Return how often a similar pair is nearer than a dissimilar one, of (n,) pairs; equal distances count half.

    Some pairs of either kind must have a weight above 0.
    """
    weights = np.ones(len(distances)) if weights is None else weights
    (near, near_weights), (far, far_weights) = ((distances[mask], weights[mask]) for mask in (similar, ~similar))
    of_similar = Sample(1 - _share_below(near, far, far_weights), near_weights)
    return Estimate([of_similar, Sample(_share_below(far, near, near_weights), far_weights)])


def _share_below(values: Values, references: Values, weights: Values) -> Values:
    """Return, for each value, the weighted share of the others below it; those that equal it count half."""
    order = np.argsort(references)
    total = np.concatenate([[0.0], np.cumsum(weights[order])])
    below, up_to = (total[np.searchsorted(references[order], values, side)] for side in ("left", "right"))
    share: Values = (below + up_to) / (2 * total[-1])
    return share


Key = tuple[str, str, str, int | None]
"""Database, view of the items to find, metric, k."""
Figures = Mapping[Key, Any]
"""The figures of one space, each an ``Estimate``, a ``Median``, an ``OfPairs`` or a ``Statistic``."""


def rows(view: str, measured: Mapping[str, Figures]) -> tuple[EvaluationRow, ...]:
    """Return every figure of the spaces, by their names, for queries of a view."""
    return tuple(
        EvaluationRow(**_figure(view, key, figure), space=space)
        for space, figures in measured.items()
        for key, figure in figures.items()
    )


def differences(view: str, measured: Mapping[str, Figures]) -> tuple[EvaluationDifference, ...]:
    """Return the paired differences of every space to the first one, for figures that both have."""
    baseline, *rest = measured
    first = measured[baseline]
    return tuple(
        EvaluationDifference(**_figure(view, key, figure.less(first[key])), space=space, baseline=baseline)
        for space in rest
        for key, figure in measured[space].items()
        if key in first
    )


def _figure(view: str, key: Key, estimate: Estimate | Median | OfPairs | Statistic) -> dict[str, Any]:
    database, target, metric, k = key
    figure = {"query_view": view, "database_view": target, "database": database, "metric": metric, "k": k}
    return figure | {"value": estimate.value, "standard_error": estimate.standard_error}
