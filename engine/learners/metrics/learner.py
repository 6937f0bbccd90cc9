"""Learners of one Mahalanobis metric per view, from classes or from comparisons."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.validation import check_is_fitted

from ..base import Rows
from ..linear import LinearLearner
from ..separate import SeparateLearner
from . import tuples as shapes
from .constraints import Constraints
from .sampling import ClassSampler


class MetricLearner(LinearLearner, SeparateLearner):
    """Embeds a row as L (x - m), so that Euclidean distance there is D(x, y)^2 = (x - y)^T M (x - y), M = L^T L.

    A subclass defines ``_learn`` and has the parameters ``constraints``, ``n_constraints``, ``neighbors``, ``margin``,
    ``upper``, ``lower``, ``patience``, ``validation_fraction`` and ``random_state``. Distances of two views are not
    comparable. Rows are centred and divided by their root mean square length before anything is learned, so that
    parameters mean the same whatever the units; matrices and embeddings are of the rows as they were given, and so are
    distances, to which ``margin``, ``upper`` and ``lower`` refer (squared).
    """

    needs_labels = True

    constraints: str
    n_constraints: int
    neighbors: int | None
    margin: float
    upper: float
    lower: float
    patience: int | None
    validation_fraction: float
    random_state: int

    def fit_constraints(self, X: ArrayLike, constraints: Constraints, validation: Constraints | None = None) -> Self:
        """Fits the metric of one view to explicit constraints.

        Args:
            X: (n, d) rows.
            constraints: over the positions of the rows.
            validation: constraints whose satisfied share stops the fit, where ``patience`` is set; their margins say
                what counts as satisfied, so 0 for an order and the threshold for pairs.

        Raises:
            ValueError: for NaN, parameters out of range, several views, or constraints on rows that there are not.
        """
        views, _, _ = self._validate(X, None, None, needs_labels=False)
        if len(views) != 1:
            raise ValueError(f"explicit constraints are on the rows of one view; view_slices makes {len(views)}")
        for name, value in self._fit_rows(views[0], constraints, validation).items():
            setattr(self, name, [value])
        return self

    def fit_tuples(
        self, tuples: ArrayLike, y: ArrayLike | None = None, preprocessor: shapes.Preprocessor | None = None
    ) -> Self:
        """Fits the metric of one view to pairs, triplets or quadruplets in metric-learn's shapes.

        Args:
            tuples: (n, t, d) rows, t = 2, 3 or 4; or (n, t) names, for a preprocessor. Of triplets (a, b, c) b is
                nearer to a than c; of quadruplets (a, b, c, d) a and b are nearer than c and d.
            y: (n,) for pairs, 1 where similar, -1 where not.
            preprocessor: (m, d) rows that tuples name by position, or a function from (n,) names to (n, d) rows.

        Raises:
            ValueError: for other shapes, and as ``fit_constraints``.
        """
        rows, items = shapes.unpack(tuples, preprocessor)
        return self.fit_constraints(rows, shapes.constrained(items, y, self.margin, self.upper, self.lower))

    def get_mahalanobis_matrix(self, view: int = 0) -> NDArray[np.float64]:
        """Returns M of a view, (d, d), positive semidefinite."""
        check_is_fitted(self)
        weights = self.weights_[view]
        matrix: NDArray[np.float64] = weights.T @ weights
        return matrix

    def pair_distance(
        self, pairs: ArrayLike, preprocessor: shapes.Preprocessor | None = None, view: int = 0
    ) -> NDArray[np.float64]:
        """Returns the (n,) distances, not squared, of (n, 2, d) pairs of rows, or (n, 2) names for a preprocessor.

        Raises:
            ValueError: for other shapes, NaN or an unknown view.
        """
        rows, items = shapes.unpack(pairs, preprocessor)
        if items.shape[1] != 2:
            raise ValueError(f"pairs are of 2 rows, not {items.shape[1]}")
        embedded = self.transform(rows, view=view)
        distances: NDArray[np.float64] = np.linalg.norm(embedded[items[:, 0]] - embedded[items[:, 1]], axis=1)
        return distances

    def score(
        self, X: ArrayLike, y: ArrayLike | None = None, preprocessor: shapes.Preprocessor | None = None, view: int = 0
    ) -> float:
        """Returns how well distances agree with what is known, larger is better.

        Of quadruplets and triplets the share in the right order; of pairs, whose y is 1 where similar and -1 where not,
        the area under the ROC curve; of (n, d) rows with classes y the leave-one-out accuracy of the nearest neighbour.

        Args:
            X: tuples as in ``fit_tuples``; or rows as in ``transform``.
            y: what is known of pairs or rows.
            preprocessor: as in ``fit_tuples``.
            view: which view tuples are of.

        Raises:
            ValueError: for other shapes, or pairs or rows without y.
        """
        if preprocessor is None and np.ndim(X) == 2:
            return self._nearest_score(X, y)
        rows, items = shapes.unpack(X, preprocessor)
        if items.shape[1] == 2:
            if y is None:
                raise ValueError("pairs need y: 1 where they are similar, -1 where they are not")
            return float(roc_auc_score(np.asarray(y) > 0, -self.pair_distance(items, rows, view)))
        near = self.pair_distance(items[:, :2], rows, view)
        far = self.pair_distance(items[:, [0, 2]] if items.shape[1] == 3 else items[:, 2:4], rows, view)
        return float(np.mean(near < far))

    def _nearest_score(self, X: ArrayLike, y: ArrayLike | None) -> float:
        if y is None:
            raise ValueError("rows need y, their classes, to be scored by")
        embedded, labels = self.transform(X), np.asarray(y)
        near = NearestNeighbors(n_neighbors=1).fit(embedded).kneighbors(return_distance=False)[:, 0]
        return float(np.mean(labels[near] == labels))

    def _fit_view(self, rows: Rows, labels: NDArray[Any] | None, view: int) -> dict[str, Any]:
        if not 0.0 < self.validation_fraction < 1.0:
            raise ValueError(f"validation_fraction={self.validation_fraction} must be between 0 and 1")
        generator = np.random.default_rng([self.random_state, view])
        sampler = ClassSampler(np.asarray(labels), rows, self.neighbors)
        drawn = sampler.draw(self.constraints, self.n_constraints, generator)
        learned = shapes.constrained(*drawn, self.margin, self.upper, self.lower)
        if self.patience is None:
            return self._fit_rows(rows, learned, None)
        count = max(round(self.validation_fraction * self.n_constraints), 1)
        middle = (self.upper + self.lower) / 2
        held = shapes.constrained(*sampler.draw(self.constraints, count, generator), 0.0, middle, middle)
        return self._fit_rows(rows, learned, held)

    def _fit_rows(self, rows: Rows, constraints: Any, validation: Constraints | None) -> dict[str, Any]:
        mean = rows.mean(axis=0)
        # Contiguous, so that a view's metric does not depend on whether it came as a part of a wider array.
        centred = np.ascontiguousarray(rows - mean)
        scale = float(np.sqrt(np.mean(np.square(centred).sum(axis=1)))) or 1.0
        factor, fitted = self._learn(centred / scale, constraints, validation)
        return {"weights_": factor / scale, "means_": mean, **fitted}

    def _learn(
        self, rows: Rows, constraints: Constraints, validation: Constraints | None
    ) -> tuple[Rows, dict[str, Any]]:
        """Returns the (r, d) factor L of the metric, r >= 1, and further fitted attributes of the view."""
        raise NotImplementedError
