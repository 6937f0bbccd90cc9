"""Multi-view neighborhood preserving projections (Multi-NPP)."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from .base import MultiView, Rows
from .linear import LinearLearner
from .pairs import Listed, Others, Pairs, Relation, SameClass, either, nearest
from .pca import principal_components
from .scisd import Scisd
from .start import pulled, ridge, start
from .subproblem import Regularizer, Subproblem, loss, squared_distances

Matrix = NDArray[np.float64]


class MultiNPP(LinearLearner):
    """Projects two views into one space where similar items are near and dissimilar ones a unit apart, in either view.

    Quadrianto and Lampert, "Learning Multi-View Neighborhood Preserving Projections", ICML 2011. Minimises
    1/2 mean over similar inter-view pairs of ||W_1 x - W_2 y||^2 + 1/2 mean over dissimilar ones of SCISD of the
    distance + eta Omega(W_1) + gamma Omega(W_2), by Algorithm 1: in turn, each view's projection minimises the convex
    bound of equation (12) or (13). The objective never rises. Omega is taken with each view centred and scaled to unit
    mean square, so that eta and gamma mean the same for counts and for frequencies.

    Only pairs across the views count, so distances within a view and across views have different scales.

    Args:
        n_components: D. It may exceed the views' widths, unless a view is frozen: then D is at most the number of its
            principal components.
        a: shape of the SCISD loss, > 1.
        lam: its lambda; None: 1 / a, which makes dissimilar items want a distance of 1.
        eta: weight of the first view's regularisation.
        gamma: weight of the second view's.
        penalty: "l2" (squared Frobenius norm) or "l1" (sum of absolute values: sparse projections).
        pairs: "all" dissimilar pairs, weighted so that they weigh as much as the similar ones; or "sampled", as many
            as there are similar ones.
        nearest: of the items similar to an item of the frozen view, only so many are attracted by it, the nearest ones
            in that view; with no view frozen, pairs stay of which either is among the nearest of the other in both
            views together. The other similar pairs neither attract nor repel, so that an item's place within its
            class is kept. None: all attract.
        max_iter: alternations (N), each over the views that are not frozen. The start is regularised and the loss is
            not, so a few generalise better than many.
        inner_iter: steps of each convex sub-problem at most.
        tol: stop when an alternation lowers the objective by less than this share of it.
        init: where to start: "neighbors", "cca", "pca" or "random" (see ``start``), or one (D, d_v) array per view.
        frozen: number of a view whose projection is its PCA and stays (Algorithm 2, "hybrid"); None: learn both.
        spread: with ``frozen``, the PCA is scaled so that the root mean square distance of dissimilar items within the
            frozen view is ``spread`` times a lam, where the loss ends; None leaves the PCA's own scale.
        random_state: seed of sampled pairs and of random starts.
        view_slices: widths of the two views in a 2-D ``X``; None: two halves.

    Attributes:
        objective_: (n_iter_ + 1,) the objective at the start and after each alternation; never rises.
        n_iter_: int, alternations done.
    """

    name = "multi-npp"
    cross_view = True
    needs_labels = True
    view_count = 2
    argument = "n_components"

    objective_: NDArray[np.float64]
    n_iter_: int

    def __init__(
        self,
        n_components: int = 50,
        a: float = 3.7,
        lam: float | None = None,
        eta: float = 1e-6,
        gamma: float = 1e-6,
        penalty: str = "l2",
        pairs: str = "all",
        nearest: int | None = None,
        max_iter: int = 2,
        inner_iter: int = 15,
        tol: float = 1e-4,
        init: str | Sequence[ArrayLike] = "neighbors",
        frozen: int | None = None,
        spread: float | None = None,
        random_state: int | np.random.RandomState | None = None,
        view_slices: Sequence[int] | None = None,
    ) -> None:
        self.n_components = n_components
        self.a = a
        self.lam = lam
        self.eta = eta
        self.gamma = gamma
        self.penalty = penalty
        self.pairs = pairs
        self.nearest = nearest
        self.max_iter = max_iter
        self.inner_iter = inner_iter
        self.tol = tol
        self.init = init
        self.frozen = frozen
        self.spread = spread
        self.random_state = random_state
        self.view_slices = view_slices

    def fit(self, X: MultiView, y: ArrayLike | None = None, neighbors: Any = None) -> Self:
        """Fits the two projections.

        Args:
            X: [(n, d_1), (n, d_2)] rows of the same items in two views, or one (n, d_1 + d_2) array.
            y: (n,) class labels: rows of the same class are similar. Ignored where ``neighbors`` is given.
            neighbors: the rows of the second view that are similar to each row of the first: n sequences of row
                numbers, or a sparse (n, n) matrix, nonzero where similar.

        Raises:
            ValueError: for NaN, wrong shapes, another number of views than two, parameters out of range, neither labels
                nor neighbors, or no similar or no dissimilar pair.
        """
        self._check_parameters()
        views, labels = self._validate(X, y, labels_needed=neighbors is None)
        count = len(views[0])
        similar = (
            SameClass(np.unique(labels, return_inverse=True)[1]) if neighbors is None else Listed(neighbors, count)
        )
        generator = check_random_state(self.random_state)
        pairs = self._pairs(similar, views)
        self._optimize(views, pairs.sampled(generator) if self.pairs == "sampled" else pairs, generator)
        return self

    def _pairs(self, similar: Relation, views: list[Rows]) -> Pairs:
        if self.nearest is None:
            return Pairs(similar, Others(similar))
        measuring = views if self.frozen is None else [views[self.frozen]]
        rows = np.hstack([(x - x.mean(axis=0)) / (np.linalg.norm(x - x.mean(axis=0)) or 1.0) for x in measuring])
        kept = nearest(similar, rows, self.nearest)
        if self.frozen != 0:
            back = nearest(similar.transposed(), rows, self.nearest).transposed()
            kept = back if self.frozen == 1 else either(kept, back)
        return Pairs(kept, Others(similar))

    def _check_parameters(self) -> None:
        if self.n_components < 1 or self.max_iter < 0 or self.inner_iter < 1:
            raise ValueError("n_components and inner_iter must be at least 1, max_iter at least 0")
        if self.eta < 0 or self.gamma < 0:
            raise ValueError(f"eta={self.eta} and gamma={self.gamma} must not be negative")
        if self.penalty not in ("l1", "l2"):
            raise ValueError(f'penalty={self.penalty!r} must be "l1" or "l2"')
        if self.pairs not in ("all", "sampled"):
            raise ValueError(f'pairs={self.pairs!r} must be "all" or "sampled"')
        if self.frozen not in (None, 0, 1):
            raise ValueError(f"frozen={self.frozen!r} must be None, 0 or 1")
        if self.nearest is not None and self.nearest < 1:
            raise ValueError(f"nearest={self.nearest!r} must be at least 1 or None")
        if self.spread is not None and not self.spread > 0:
            raise ValueError(f"spread={self.spread!r} must be positive or None")

    def _optimize(self, views: list[Rows], pairs: Pairs, generator: np.random.RandomState) -> None:
        scisd = Scisd(self.a, 1 / self.a if self.lam is None else self.lam)
        penalties = [Regularizer(self.penalty, self.eta), Regularizer(self.penalty, self.gamma)]
        seen = [pairs, pairs.transposed()]
        self.means_ = [rows.mean(axis=0) for rows in views]
        rows = [x - mean for x, mean in zip(views, self.means_, strict=True)]
        scales = [float(np.sqrt((x * x).mean())) or 1.0 for x in rows]
        rows = [x / scale for x, scale in zip(rows, scales, strict=True)]
        weights = self._start(rows, scales, seen, scisd, generator)

        def objective() -> float:
            first, second = (x @ W.T for x, W in zip(rows, weights, strict=True))
            cost = sum(penalty.value(W) for penalty, W in zip(penalties, weights, strict=True))
            return loss(first, second, pairs, scisd) + cost

        history = [objective()]
        for _ in range(self.max_iter):
            for view in (0, 1):
                if view != self.frozen:
                    other = rows[1 - view] @ weights[1 - view].T
                    problem = Subproblem(rows[view], other, seen[view], scisd, penalties[view], weights[view])
                    weights[view] = problem.solve(self.inner_iter, self.tol / 10)
            history.append(objective())
            if history[-2] - history[-1] <= self.tol * abs(history[-2]):
                break
        self.weights_ = [W / scale for W, scale in zip(weights, scales, strict=True)]
        self.objective_ = np.array(history)
        self.n_iter_ = len(history) - 1

    def _start(
        self,
        rows: list[Rows],
        scales: list[float],
        seen: list[Pairs],
        scisd: Scisd,
        generator: np.random.RandomState,
    ) -> list[Matrix]:
        if self.frozen is not None:
            return self._start_frozen(rows, scales, seen, scisd)
        if not isinstance(self.init, str):
            given = [np.array(W, dtype=np.float64) * scale for W, scale in zip(self.init, scales, strict=True)]
            if [W.shape for W in given] != [(self.n_components, x.shape[1]) for x in rows]:
                raise ValueError(f"init must hold one ({self.n_components}, d_v) array per view")
            return given
        weights = start(self.init, rows, seen[0], self.n_components, generator)
        first, second = (x @ W.T for x, W in zip(rows, weights, strict=True))
        unit = scisd.reach / max(_rms_distance(first, second, seen[0]), np.finfo(np.float64).tiny)
        factors = unit * 2.0 ** np.arange(-4, 3)  # the loss knows a scale, the start does not: try several
        costs = [loss(f * first, f * second, seen[0], scisd) for f in factors]
        return [factors[int(np.argmin(costs))] * W for W in weights]

    def _start_frozen(self, rows: list[Rows], scales: list[float], seen: list[Pairs], scisd: Scisd) -> list[Matrix]:
        """The frozen view's PCA, and for the other view the ridge regression on its similar items' mean embedding."""
        frozen = 1 if self.frozen else 0
        fixed = scales[frozen] * principal_components(rows[frozen], self.n_components)[0]
        embeddings = rows[frozen] @ fixed.T
        if self.spread is not None:
            scale = self.spread * scisd.reach / max(_rms_distance(embeddings, embeddings, seen[0]), 1e-300)
            fixed, embeddings = scale * fixed, scale * embeddings
        moving = ridge(rows[1 - frozen], pulled(embeddings, seen[1 - frozen]), 0.1)
        return [fixed, moving] if frozen == 0 else [moving, fixed]


def _rms_distance(first: Rows, second: Rows, pairs: Pairs) -> float:
    """Root mean square distance of the dissimilar pairs."""
    blocks = pairs.blocks()
    squared = sum(np.vdot(dissimilar, squared_distances(first[rows], second)) for rows, _, dissimilar in blocks)
    return float(np.sqrt(squared))
