"""Boosting of binary embeddings: stumps, samples of pairs and candidate bits, and the choice of bits one by one."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, repeat
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_expit, softmax

from crossview.engine.learners.frame.view_rows import Rows, slices
from crossview.engine.runtime.cancellation import checkpoint

BitRows = NDArray[np.float32]  # 0 or 1
Codes = NDArray[np.intp]
Distances = NDArray[np.int32]

_PAIRS_AT_ONCE = 1 << 16
"""Number of pairs in a block, whose numbers stay in a processor's cache."""
_NO_SHARE = 1e-3  # classes below this share of a metric's largest are left out, which saves the products of their pairs
_LIKELY = 64  # number of candidates with the highest bounds to compute first
_ROUNDING = 1e-5  # tolerance for float32 rounding, as a share of the largest bound

Likelihoods = NDArray[np.float64]
Chosen = NDArray[np.intp]


@dataclass(frozen=True)
class Stumps:
    """Decision stumps; the bit of a row under a stump is 1 if the value in the stump's column reaches its threshold.

    Attributes:
        columns: (m,) column of each stump.
        thresholds: (m,) float.
    """

    columns: NDArray[np.intp]
    thresholds: NDArray[np.float64]

    @classmethod
    def candidates(cls, rows: Rows, count: int) -> Self:
        """Return up to ``count`` stumps for every column of (n, d) rows, at its quantiles.

        A threshold is midway between neighbouring values, so that rounding does not flip a bit. The lowest threshold of
        a column is above its smallest value, so that rows with a rare word differ from rows without it. A constant
        column has no stump.
        """
        shares = np.arange(1, count + 1) / (count + 1)
        second = np.where(rows > rows.min(axis=0), rows, np.inf).min(axis=0)
        tables = []
        for values in np.maximum(np.quantile(rows, shares, axis=0, method="higher"), second):
            below = np.where(rows < values, rows, -np.inf).max(axis=0)
            columns = np.flatnonzero(np.isfinite(values))
            low, high = below[columns], values[columns]
            middle = low / 2 + high / 2
            tables.append(np.column_stack([columns, np.where(middle > low, middle, high)]))
        table = np.unique(np.concatenate(tables), axis=0)
        return cls(table[:, 0].astype(np.intp), table[:, 1])

    def bits(self, rows: Rows) -> BitRows:
        """Return the (n, m) bits of rows."""
        return (rows[:, self.columns] >= self.thresholds).astype(np.float32)

    def take(self, which: NDArray[np.intp]) -> Self:
        """Return the stumps at the given positions."""
        return type(self)(self.columns[which], self.thresholds[which])


@dataclass(frozen=True)
class Pairs:
    """All ordered pairs (i, j) of n rows: a pair belongs to the class of j, and is positive if i has that class too.

    After t bits a pair at Hamming distance h is positive with probability sigma(alpha (t/2 - h)). The total weight of a
    class's pairs is its number of rows; its positive pairs get one half of the weight and its negative pairs the other
    half. The distances of metrics for few and for many classes therefore have the same scale, and neighbours under two
    metrics are comparable.

    In the paper all pairs weigh the same and the offset in (3) is T/2 from the first bit on. Then most of the weight
    separates negative pairs, and the distance of positive pairs differs between metrics. This class has both variants.
    The weights of all pairs add up to 1; a row makes no pair with itself.

    Attributes:
        codes: (n,) classes, 0 to C - 1.
        count: C.
        alpha: the change of the log odds of a pair, per bit.
        total: T, for the paper's weights and offset; None: the balanced variant.
    """

    codes: Codes
    count: int
    alpha: float
    total: int | None = None

    @cached_property
    def kinds(self) -> NDArray[np.int32]:
        """(n, n) kinds of the pairs (i, j): twice the class of j, plus one if the pair is positive."""
        codes = self.codes.astype(np.int32)
        return np.asarray(2 * codes + (codes[:, None] == codes))

    @cached_property
    def weights(self) -> NDArray[np.float64]:
        """(C, 2): the weights of a negative and of a positive pair of each class."""
        n, sizes = len(self.codes), np.bincount(self.codes, minlength=self.count)
        if self.total is not None:
            return np.full((self.count, 2), 1 / (n * (n - 1)))
        counts = np.column_stack([n - sizes, sizes - 1])
        return np.asarray(0.5 / (n * np.maximum(counts, 1)))

    def likelihoods(self, bits: BitRows) -> NDArray[np.float64]:
        """Return L_c of equation (6), (C,) weighted log likelihoods of the classes' pairs, from (n, t) bits."""
        width = bits.shape[1] + 1
        size = 2 * self.count * width
        totals = sum(np.bincount(cells.ravel(), minlength=size) for _, cells in self._cells(bits))
        counts = np.reshape(totals, (self.count, 2, width))
        counts[:, 1, 0] -= np.bincount(self.codes, minlength=self.count)  # without the pairs of rows with themselves
        margins = self._margins(width)
        log_odds = np.array([log_expit(-margins), log_expit(margins)])
        return np.asarray(np.einsum("cyh,cy,yh->c", counts, self.weights, log_odds))

    def slopes(self, bits: BitRows, shares: NDArray[np.float64]) -> tuple[NDArray[np.float32], Codes]:
        """Return the derivatives of the objective with respect to the pairs' distances, without the factor alpha.

        Their absolute values are the weights of the algorithm's line 3: negative for positive pairs, whose distance
        should fall.

        Args:
            bits: (n, t).
            shares: (C,), the share of the metric in each class.

        Returns:
            (n, m) derivatives, and (m,) the rows j of the classes with a share.
        """
        columns = np.flatnonzero(shares[self.codes] > 0)
        margins = self._margins(bits.shape[1] + 1)
        weights = self.weights * shares[:, None]
        table = (weights[:, :, None] * np.array([expit(margins), -expit(-margins)])).astype(np.float32).ravel()
        slopes = np.empty((len(self.codes), len(columns)), np.float32)
        for part, cells in self._cells(bits, columns):
            np.take(table, cells, out=slopes[part])
        slopes[columns, np.arange(len(columns))] = 0
        return slopes, columns

    def _cells(self, bits: BitRows, columns: Codes | None = None) -> Iterator[tuple[slice, NDArray[np.int32]]]:
        """Yield slices of rows i, and for their pairs with the rows j of some columns (None: all) the kind and the
        distance.

        Both are one number, the kind times t + 1 plus the distance, so that one lookup in a table reads both. Blocks of
        pairs stay in the processor's cache.
        """
        partners, width = bits if columns is None else bits[columns], bits.shape[1] + 1
        for part in slices(len(bits), len(partners), _PAIRS_AT_ONCE):
            kinds = self.kinds[part] if columns is None else self.kinds[part].take(columns, axis=1)
            cells = hamming(bits[part], partners)
            cells += width * kinds
            yield part, cells

    def _margins(self, width: int) -> NDArray[np.float64]:
        """Return the log odds at every possible distance, 0 to ``width`` - 1."""
        offset = (width - 1 if self.total is None else self.total) / 2
        return np.asarray(self.alpha * (offset - np.arange(width)))


def hamming(first: BitRows, second: BitRows) -> Distances:
    """Return the (n, m) Hamming distances of (n, t) and (m, t) bits."""
    distances = first @ (-2 * second.T)
    distances += first.sum(axis=1)[:, None]
    distances += second.sum(axis=1)
    return np.asarray(distances.astype(np.int32))


@dataclass(frozen=True)
class Sample:
    """Rows and their pairs.

    Attributes:
        pairs: all pairs of the rows.
        candidates: (n, M), the bits of the rows under all candidate stumps.
    """

    pairs: Pairs
    candidates: BitRows


@dataclass(frozen=True)
class Training:
    """Training rows with classes, and the settings of their samples.

    Attributes:
        rows: (n, d).
        codes: (n,) classes, 0 to C - 1, each of two rows or more.
        stumps: the candidates.
        alpha, total: see ``Pairs``.
        max_rows: number of rows up to which every round uses all rows.
        generator: generator of the draws.
    """

    rows: Rows
    codes: Codes
    stumps: Stumps
    alpha: float
    total: int | None
    max_rows: int
    generator: np.random.RandomState

    def samples(self) -> Iterator[Sample]:
        """Yield a sample for every round: the same one if it contains all rows, otherwise a new draw each time."""
        if len(self.rows) <= self.max_rows:
            yield from repeat(self._sample(np.arange(len(self.rows))))
        while True:
            yield self._sample(self.draw())

    def draw(self) -> NDArray[np.intp]:
        """Return the sorted positions of about ``max_rows`` rows: the share of each class, at least two."""
        if len(self.rows) <= self.max_rows:
            return np.arange(len(self.rows))
        order = self.generator.permutation(len(self.rows))
        order = order[np.argsort(self.codes[order], kind="stable")]
        sizes = np.bincount(self.codes)
        rank = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        counts = np.maximum(2, np.rint(sizes * (self.max_rows / len(order))))
        return np.sort(order[rank < counts[self.codes[order]]])

    def _sample(self, which: NDArray[np.intp]) -> Sample:
        pairs = Pairs(self.codes[which], int(self.codes.max()) + 1, self.alpha, self.total)
        return Sample(pairs, self.stumps.bits(self.rows[which]))


def boost(samples: Iterator[Sample], metrics: int, n_bits: int, r: float) -> tuple[Chosen, Likelihoods]:
    """Learn K metrics together, to find the metric of each class.

    Args:
        samples: the sample of each round; the same one, or a different draw each time.
        metrics: K.
        n_bits: T, the number of rounds.
        r: accuracy of the soft maximum (8), if the weights of all pairs add up to 1.

    Returns:
        (K, T) chosen candidates, and (K, C) log likelihoods of the classes under the metrics.
    """
    picks = np.zeros((metrics, 0), dtype=np.intp)
    last: Sample | None = None
    for sample in islice(samples, n_bits):
        if sample is not last:
            likelihoods, last = likelihoods_under(sample, picks), sample
        picks = np.hstack([picks, np.zeros((metrics, 1), dtype=np.intp)])
        for k, bits in enumerate(picks):
            # All pairs weigh the same at first; metrics differ because shares are computed again before each metric.
            bits[-1] = best_candidate(sample, bits[:-1], softmax(r * likelihoods, axis=0)[k])
            likelihoods[k] = sample.pairs.likelihoods(sample.candidates[:, bits])
    return picks, likelihoods


def boost_assigned(samples: Iterator[Sample], assignment: Codes, metrics: int, n_bits: int) -> Chosen:
    """Learn each of K metrics for its classes, or for all classes if it has none; return (K, T) candidates."""
    shares = (assignment == np.arange(metrics)[:, None]).astype(np.float64)
    shares[shares.sum(axis=1) == 0] = 1.0
    picks = np.zeros((metrics, 0), dtype=np.intp)
    for sample in islice(samples, n_bits):
        bits = [best_candidate(sample, before, share) for before, share in zip(picks, shares, strict=True)]
        picks = np.column_stack([picks, bits])
    return picks


def likelihoods_under(sample: Sample, picks: Chosen) -> Likelihoods:
    """Return the (K, C) log likelihoods of the classes under the metrics of (K, t) chosen candidates."""
    likelihoods = []
    for bits in picks:
        checkpoint()
        likelihoods.append(sample.pairs.likelihoods(sample.candidates[:, bits]))
    return np.array(likelihoods)


def best_candidate(sample: Sample, picks: Chosen, shares: NDArray[np.float64]) -> int:
    """Return the candidate with the smallest error: the one along which the objective rises most.

    As printed, line 4 of the algorithm has h = 1 for a positive pair; but h is a distance, so it should be 0.

    Args:
        sample: the rows and their pairs.
        picks: (t,) candidates of the metric so far.
        shares: (C,), the share of the metric in each class.
    """
    checkpoint()
    shares = np.where(shares > _NO_SHARE * shares.max(), shares / shares.max(), 0.0)
    slopes, columns = sample.pairs.slopes(sample.candidates[:, picks], shares)
    return steepest(sample.candidates, slopes, columns)


def steepest(candidates: BitRows, slopes: NDArray[np.float32], columns: Codes) -> int:
    """Return the position of the candidate with the largest of the ``rises``.

    Only candidates whose bound reaches the best known rise are multiplied out. A rise is the sum of slopes_ij (b_i +
    b_j - 2 b_i b_j), so a row k with b_k = 1 adds at most the sum of slopes_kj and of |slopes_ik|. The bounds exclude
    columns that are 1 in few rows, such as those of rare words.
    """
    bounds = slopes.sum(axis=1)
    bounds[columns] += np.abs(slopes).sum(axis=0)
    most = bounds @ candidates
    likely = np.argpartition(most, -min(_LIKELY, len(most)))[-_LIKELY:]
    least = rises(candidates[:, likely], slopes, columns).max()
    places = np.flatnonzero(most >= least - _ROUNDING * np.abs(most).max())
    return int(places[np.argmax(rises(candidates[:, places], slopes, columns))])


def rises(candidates: BitRows, slopes: NDArray[np.float32], columns: Codes) -> NDArray[np.float32]:
    """Return, for each of (n, M) candidates b, the sum of slopes_ij |b_i - b_j| over pairs, by one product.

    Args:
        candidates: 0 or 1.
        slopes: (n, m) slopes of the pairs (i, j).
        columns: (m,) the rows j.
    """
    partners = candidates[columns]
    both = np.einsum("jM,jM->M", partners, slopes.T @ candidates)
    return np.asarray(slopes.sum(axis=1) @ candidates + slopes.sum(axis=0) @ partners - 2 * both)
