"""A supervised cross-view hasher: Multi-NPP with codes in place of embeddings."""

from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
import scipy.optimize
from numpy.typing import ArrayLike, NDArray
from sklearn.linear_model import RidgeCV
from sklearn.utils import check_random_state

from ..base import Mask, MultiView, Rows
from ..neighborhoods import kinds
from ..pca import principal_components
from ..problem import some
from ..relations import SameClass, Similarity, listed, shared_labels
from ..start import groups
from .hasher import Hasher, check_bits
from .itq import rotation
from .relaxed import PairLoss, RelaxedCodes

Matrix = NDArray[np.float64]
Progress = Callable[[int, int], None]

_ALPHAS = np.logspace(-5, 1, 13)


class NPPHash(Hasher):
    """Codes of several views in which similar items differ in few bits and dissimilar ones in half of them.

    Bit b of a row x of view v is whether w_vb (x - m_v) + c_vb > 0. The functions of all views minimise together, by
    L-BFGS on their relaxation tanh, the objective of Multi-NPP in the Hamming distance (see :class:`PairLoss`), over
    the pairs of rows of different views; what Quadrianto and Lampert (ICML 2011) leave as a question: "merging metric
    learning and hash code generation". They start as the rotation by iterative quantisation of each view's regression
    on the classes (or on the groups that similar items form otherwise), and are held to that by ``eta``. Each view is
    centred and scaled to unit mean square for it, so that eta means the same for counts and for frequencies.

    Items may lack views: whatever rows there are take part.

    Args:
        n_bits: B.
        eta: weight of the distance to the start: the noisier the views, the more. The objective alone makes hard
            decisions, the start alone leaves bits where classes are not told apart.
        max_iter: steps of L-BFGS at most.
        max_rows: rows of a view whose pairs are looked at, drawn by chance where there are more. The start is of all
            rows, so that time grows with their number only linearly, as it does with the bits.
        random_state: seed of the rotation's start and of drawn rows.
        view_slices: widths of the views in a 2-D ``X``; None: two halves.

    Attributes:
        weights_: list of (B, d_v) arrays, one per view.
        means_: list of (d_v,) arrays.
        offsets_: list of (B,) arrays, c_v.
        objective_: (n_iter_ + 1,) the objective at the start and after each step, never rising.
        n_iter_: int, steps done.

    Raises:
        ValueError: from ``fit``, for parameters out of range, a single view, neither labels nor neighbors, or no
            similar or no dissimilar pair.
    """

    name = "npp-hash"
    cross_view = True
    needs_labels = True
    multilabel = True
    takes_neighbors = True
    least_views = 2

    weights_: list[Matrix]
    means_: list[NDArray[np.float64]]
    offsets_: list[NDArray[np.float64]]
    objective_: NDArray[np.float64]
    n_iter_: int

    def __init__(
        self,
        n_bits: int = 64,
        eta: float = 1e-2,
        max_iter: int = 30,
        max_rows: int = 4096,
        random_state: int | None = None,
        view_slices: Sequence[int] | None = None,
    ) -> None:
        self.n_bits = n_bits
        self.eta = eta
        self.max_iter = max_iter
        self.max_rows = max_rows
        self.random_state = random_state
        self.view_slices = view_slices

    def fit(
        self,
        X: MultiView,
        y: ArrayLike | None = None,
        mask: ArrayLike | None = None,
        neighbors: Any = None,
        progress: Progress | None = None,
    ) -> Self:
        """Fits the hash functions.

        Args:
            X: list of (n, d_v) rows of the same items, one array per view, or one (n, sum of d_v) array.
            y: as ``MultiNPP.fit``; ignored where ``neighbors`` is given.
            mask: (n, V), which items have which views. None: all of them.
            neighbors: as ``MultiNPP.fit``.
            progress: called with (done, total) steps.
        """
        check_bits(self.n_bits)
        if not self.eta >= 0 or self.max_iter < 0 or self.max_rows < 2:
            raise ValueError("eta and max_iter must not be negative, and max_rows at least 2")
        views, labels, there = self._validate(X, y, mask, neighbors is None)
        self._learn(views, there, _similarity(labels, neighbors, len(there)), progress)
        return self

    def _learn(self, views: list[Rows], there: Mask, similar: Similarity, progress: Progress | None) -> None:
        random = check_random_state(self.random_state)
        items = [np.flatnonzero(column) for column in there.T]
        present = [rows[these] for rows, these in zip(views, items, strict=True)]
        self.means_ = [rows.mean(axis=0) for rows in present]
        centred = [rows - mean for rows, mean in zip(present, self.means_, strict=True)]
        scales = [float(np.sqrt((rows * rows).mean())) or 1.0 for rows in centred]
        scaled = [rows / scale for rows, scale in zip(centred, scales, strict=True)]
        drawn = [some(len(these), self.max_rows, random) for these in items]
        pairs = kinds(similar, [these[few] for these, few in zip(items, drawn, strict=True)])
        targets = groups(similar, self.n_bits, random)
        start = _start(scaled, [targets[these] for these in items], self.n_bits, random)
        relaxed = RelaxedCodes(
            [rows[few] for rows, few in zip(scaled, drawn, strict=True)],
            {(v, w): PairLoss(both) for (v, w), both in pairs.items() if v < w},
            self.eta,
            start,
        )
        functions = relaxed.parted(self._minimized(relaxed, progress))
        self.weights_ = [one[:, :-1] / scale for one, scale in zip(functions, scales, strict=True)]
        self.offsets_ = [one[:, -1].copy() for one in functions]

    def _minimized(self, relaxed: RelaxedCodes, progress: Progress | None) -> Matrix:
        history = [relaxed(relaxed.start)[0]]

        def told(intermediate_result: Any) -> None:
            history.append(float(intermediate_result.fun))
            if progress is not None:
                progress(len(history) - 1, self.max_iter)

        found = relaxed.start
        minimize: Any = scipy.optimize.minimize
        if self.max_iter:
            options = {"maxiter": self.max_iter}
            found = minimize(relaxed, found, jac=True, method="L-BFGS-B", callback=told, options=options).x
        if progress is not None:
            progress(self.max_iter, self.max_iter)
        self.objective_ = np.array(history)
        self.n_iter_ = len(history) - 1
        return np.asarray(found)

    def _scores(self, rows: Rows, view: int) -> Rows:
        scores: Rows = (rows - self.means_[view]) @ self.weights_[view].T + self.offsets_[view]
        return scores


def _similarity(labels: Any, neighbors: Any, count: int) -> Similarity:
    if neighbors is not None:
        return listed(neighbors, count)
    if np.ndim(labels) == 2:
        return shared_labels(labels)
    return SameClass(np.unique(labels, return_inverse=True)[1])


def _start(views: Sequence[Rows], targets: Sequence[Rows], n_bits: int, random: np.random.RandomState) -> list[Matrix]:
    """Returns (B, d_v + 1) per view: its ridge regression on the targets, turned so that it is near its own signs."""
    regressions = [_ridge(rows, wanted) for rows, wanted in zip(views, targets, strict=True)]
    predicted = np.vstack([rows @ W.T for rows, W in zip(views, regressions, strict=True)])
    lengths = np.linalg.norm(predicted, axis=1, keepdims=True)
    directions = predicted / np.where(lengths > 0, lengths, 1.0)
    components, _ = principal_components(directions, min(n_bits, *directions.shape))
    padded = np.zeros((len(directions), n_bits))
    padded[:, : len(components)] = directions @ components.T
    turned = rotation(padded, random)[: len(components)].T @ components
    size = float(np.abs(predicted @ turned.T).mean()) or 1.0
    return [np.column_stack([turned @ W / size, np.zeros(n_bits)]) for W in regressions]


def _ridge(rows: Rows, targets: Rows) -> Matrix:
    """Returns the (K, d) projection of ridge regression, the penalty by leave-one-out, to unit mean square."""
    model = RidgeCV(alphas=_ALPHAS * len(rows)).fit(rows, targets)
    weights = np.atleast_2d(model.coef_)
    size = float(np.sqrt(((rows @ weights.T) ** 2).mean())) or 1.0
    return np.asarray(weights / size)
