"""Multi-NPP's objective on relaxed codes: numbers in [-1, 1] whose signs are the bits."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from engine.learners.base import Rows
from engine.learners.blocks import slices
from engine.learners.cancellation import checkpoint
from engine.learners.npp.problem import PairRelations

Matrix = NDArray[np.float64]

_PAIRS_AT_ONCE = 1 << 17  # a block of their distances stays in the processor's cache


class PairLoss:
    """Half the mean of d^2 over similar pairs and of max(1 - d, 0)^2 over dissimilar ones, of the rows of two views.

    d is the relaxed Hamming distance |g - h|^2 / (2 B) of g and h in [-1, 1]^B: the number of differing bits in units
    of half of them, which is how many differ by chance. The least value for a pair that is similar with probability p
    and dissimilar with probability q is at d = q / (p + q), so that distances grade pairs by how sure they are.

    This is equation (2) of Quadrianto and Lampert (ICML 2011) with that distance in place of the Euclidean one, and of
    SCISD only its inverted squared deviation, weighing as much as the attraction. SCISD itself is clipped near 0, and
    a - 1 times as light: confusable classes fell into one code.

    Args:
        relations: the pairs.
    """

    def __init__(self, relations: PairRelations) -> None:
        self._slices = list(slices(*relations.attracted.shape, _PAIRS_AT_ONCE))
        self._near = [np.asarray(relations.attracted.block(block)) for block in self._slices]
        self._weights = 0.5 / max(relations.attracted.size, 1), 0.5 / max(relations.repelled.size, 1)

    def __call__(self, first: Rows, second: Rows) -> tuple[float, Matrix, Matrix]:
        """Returns the loss and its gradients with respect to both, (n, B) and (m, B)."""
        unit = 2.0 * first.shape[1]
        value, slopes = 0.0, (np.empty_like(first), np.zeros_like(second))
        squares = (second * second).sum(axis=1)
        near_weight, far_weight = self._weights
        for block, near in zip(self._slices, self._near, strict=True):
            checkpoint()
            part = first[block]
            distance = ((part * part).sum(axis=1)[:, None] + squares - 2.0 * part @ second.T) / unit
            missing = np.maximum(1.0 - distance, 0.0)
            deviation = np.where(near, near_weight * distance, -far_weight * missing)
            value += float(np.vdot(deviation, np.where(near, distance, -missing)))
            springs = deviation * (4.0 / unit)
            slopes[0][block] = springs.sum(axis=1)[:, None] * part - springs @ second
            slopes[1][:] += springs.sum(axis=0)[:, None] * second - springs.T @ part
        return value, *slopes


class RelaxedCodes:
    """The objective of the hash functions tanh(W x + b) of several views.

    The sum over pairs of views of :class:`PairLoss`, + eta / B times the sum of |W - W_0|^2 + |b - b_0|^2 over the
    views, W_0 and b_0 being the start: the pairs move the functions, and what they leave open stays. Offsets
    that are not penalised lose accuracy where rows have a kernel: codes of rows learned from hardly need them.

    Args:
        views: (n_v, d_v) centred rows of each view.
        losses: by pair of views, the earlier first, those with fixed codes before the others.
        eta: weight of the regularisation.
        start: (B, d_v + 1) of each view, the last column b.
        fixed_codes: (n, B) codes, -1 and 1, of views whose functions stay.
    """

    def __init__(
        self,
        views: Sequence[Rows],
        losses: Mapping[tuple[int, int], PairLoss],
        eta: float,
        start: Sequence[Matrix],
        fixed_codes: Sequence[Matrix] = (),
    ) -> None:
        self.fixed_codes = list(fixed_codes)
        self.views = [np.column_stack([rows, np.ones(len(rows))]) for rows in views]
        self.losses = losses
        self.start = np.concatenate([one.ravel() for one in start])
        self._shapes = [one.shape for one in start]
        self._penalty = np.concatenate([np.full(one.size, eta / len(one)) for one in start])

    def split(self, flat: Matrix) -> list[Matrix]:
        """Returns the (B, d_v + 1) of each view."""
        ends = np.cumsum([rows * columns for rows, columns in self._shapes])[:-1]
        return [part.reshape(shape) for part, shape in zip(np.split(flat, ends), self._shapes, strict=True)]

    def __call__(self, flat: Matrix) -> tuple[float, Matrix]:
        """Returns the objective and its gradient at the functions of all views, one after another."""
        relaxed = [np.tanh(rows @ one.T) for rows, one in zip(self.views, self.split(flat), strict=True)]
        codes = self.fixed_codes + relaxed
        moved = flat - self.start
        value = float(self._penalty @ (moved * moved))
        slopes = [np.zeros_like(one) for one in codes]
        for (v, w), loss in self.losses.items():
            found, *pair = loss(codes[v], codes[w])
            value += found
            for view, slope in zip((v, w), pair, strict=True):
                slopes[view] += slope
        free = slopes[len(self.fixed_codes) :]
        chained = (slope * (1.0 - one * one) for slope, one in zip(free, relaxed, strict=True))
        gradients = [(slope.T @ rows).ravel() for slope, rows in zip(chained, self.views, strict=True)]
        return value, 2.0 * self._penalty * moved + np.concatenate(gradients)
