"""Learners of one Mahalanobis metric per view, from classes or from comparisons."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import astuple
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from crossview.engine.learners.frame.base import MultiViewLearner
from crossview.engine.learners.frame.capabilities import Capabilities
from crossview.engine.learners.frame.comparisons import Comparisons
from crossview.engine.learners.frame.supervision import Supervision
from crossview.engine.learners.frame.traits import LinearLearner, SeparateLearner
from crossview.engine.learners.frame.view_rows import Rows
from crossview.engine.learners.papers.losses.constraints import Constraints, constrained
from crossview.engine.learners.papers.metrics.training_constraints import ConstraintSettings, training_constraints
from crossview.engine.learners.papers.solvers.threshold import calibrate

Preprocessor = ArrayLike | Callable[[NDArray[Any]], ArrayLike]
"""(m, d) rows that tuples name by position, or a function from (n,) names to (n, d) rows."""


def unpack(tuples: ArrayLike, preprocessor: Preprocessor | None = None) -> tuple[Rows, NDArray[np.int64]]:
    """Return rows, and tuples of positions among them, from metric-learn's shapes.

    Args:
        tuples: (n, t, d) tuples of rows; or (n, t) of names, with a preprocessor.
        preprocessor: rows or function for the names; None: the tuples contain rows.

    Returns:
        (m, d) float64 rows and (n, t) positions.

    Raises:
        ValueError: for another shape, no tuples, NaN, or names that the preprocessor does not know.
    """
    if preprocessor is None:
        array: NDArray[Any] = check_array(tuples, dtype=np.float64, allow_nd=True)
        if array.ndim != 3:
            raise ValueError(
                f"tuples have shape (n, t, d), not {array.shape}; with positions of rows, give the rows as preprocessor"
            )
        return array.reshape(-1, array.shape[2]), np.arange(array.shape[0] * array.shape[1]).reshape(array.shape[:2])
    table = np.asarray(tuples)
    if table.ndim != 2 or not table.size:
        raise ValueError(f"with a preprocessor, tuples have shape (n, t) and are not empty; got {table.shape}")
    if callable(preprocessor):
        names, places = np.unique(table, return_inverse=True)
        rows = check_array(preprocessor(names), dtype=np.float64)
        if len(rows) != len(names):
            raise ValueError(f"the preprocessor made {len(rows)} rows of {len(names)} names")
        return rows, places.reshape(table.shape).astype(np.int64)
    rows = check_array(preprocessor, dtype=np.float64)
    if not np.issubdtype(table.dtype, np.integer) or table.min() < 0 or table.max() >= len(rows):
        raise ValueError(f"tuples name rows by position, which must be whole numbers from 0 to {len(rows) - 1}")
    return rows, table.astype(np.int64)


class MetricLearner(LinearLearner, SeparateLearner, MultiViewLearner):
    """The base class of learners that embed a row as L (x - m), with D(x, y)^2 = (x - y)^T M (x - y) and M = L^T L.

    A subclass states the settings of its constraints (``_constraint_settings``) and learns from them (``_fit_rows``).
    Distances of two views are not comparable. The learner centres rows and divides them by their root mean square
    length first, so that parameters have the same meaning in any unit. Matrices, embeddings and distances refer to the
    given rows, and so do ``margin``, ``upper`` and ``lower`` (as squared distances).

    Attributes:
        threshold_: list, the distance, not squared, up to which a pair of each view is similar. For a metric learned
            from pairs, its square is halfway between the bounds; otherwise it is None until it is calibrated or set.
        steps_: list of the numbers of steps.
    """

    capabilities: ClassVar[Capabilities] = Capabilities(
        needs_labels=True,
        takes_comparisons=True,
        takes_taxonomy=True,
        adds_views=True,
        main_parameter="n_components",
    )

    threshold_: list[float | None]
    steps_: list[int]

    @property
    def needs_labels(self) -> bool:
        """Whether ``fit`` needs class labels; with ``similar="knn"`` it does not, because nearest neighbours in a view
        count as similar."""
        return self._constraint_settings().sampling.similar != "knn"

    @property
    def n_iter_(self) -> int:
        """The number of steps of the view with the most steps."""
        return max(self.steps_)

    def fit_constraints(self, X: ArrayLike, constraints: Constraints, validation: Constraints | None = None) -> Self:
        """Fit the metric of one view to explicit constraints.

        Args:
            X: (n, d) rows.
            constraints: constraints on the rows by position.
            validation: with ``patience``, constraints whose satisfied share stops the fit. Their margins define
                satisfaction: 0 for an order, and the threshold for pairs.

        Raises:
            ValueError: for NaN, parameters out of range, several views, or constraints on rows that do not exist.
        """
        views, _ = self._validated_views(X)
        if len(views) != 1:
            raise ValueError(f"explicit constraints need rows of one view; view_slices makes {len(views)}")
        for name, value in self._fit_rows(views[0], constraints, validation).items():
            setattr(self, name, [value])
        return self

    def fit_tuples(
        self, tuples: ArrayLike, y: ArrayLike | None = None, preprocessor: Preprocessor | None = None
    ) -> Self:
        """Fit the metric of one view to pairs, triplets or quadruplets in metric-learn's shapes.

        Args:
            tuples: (n, t, d) rows, t = 2, 3 or 4; or (n, t) names, with a preprocessor. In triplets (a, b, c), b is
                nearer to a than c; in quadruplets (a, b, c, d), a and b are nearer than c and d.
            y: (n,) for pairs, 1 for similar, -1 for dissimilar.
            preprocessor: (m, d) rows that tuples name by position, or a function from (n,) names to (n, d) rows.

        Raises:
            ValueError: for other shapes, and as ``fit_constraints``.
        """
        rows, items = unpack(tuples, preprocessor)
        return self.fit_constraints(rows, constrained(items, y, *astuple(self._constraint_settings().bounds)))

    def get_mahalanobis_matrix(self, view: int = 0) -> NDArray[np.float64]:
        """Return M of a view, (d, d), positive semidefinite."""
        check_is_fitted(self)
        weights = self.weights_[view]
        return np.asarray(weights.T @ weights)

    def pair_distance(
        self, pairs: ArrayLike, preprocessor: Preprocessor | None = None, view: int = 0
    ) -> NDArray[np.float64]:
        """Return the (n,) distances, not squared, of (n, 2, d) pairs of rows, or (n, 2) names with a preprocessor.

        Raises:
            ValueError: for other shapes, NaN or an unknown view.
        """
        rows, items = unpack(pairs, preprocessor)
        if items.shape[1] != 2:
            raise ValueError(f"pairs have 2 rows, not {items.shape[1]}")
        embedded = self.transform(rows, view=view)
        return np.asarray(np.linalg.norm(embedded[items[:, 0]] - embedded[items[:, 1]], axis=1))

    def predict_pairs(
        self, pairs: ArrayLike, preprocessor: Preprocessor | None = None, view: int = 0
    ) -> NDArray[np.int64]:
        """Return the kind of each pair, (n,): 1 for similar, at or below the threshold, otherwise -1; pairs as in
        ``pair_distance``.

        Raises:
            ValueError: as ``pair_distance``, or without a threshold.
        """
        distances = self.pair_distance(pairs, preprocessor, view)
        threshold = self.threshold_[view]
        if threshold is None:
            raise ValueError(
                "a metric that is not learned from pairs has no threshold: call calibrate_threshold or set_threshold"
            )
        return np.where(distances <= threshold, 1, -1)

    def calibrate_threshold(
        self,
        pairs: ArrayLike,
        y: ArrayLike,
        strategy: str = "accuracy",
        preprocessor: Preprocessor | None = None,
        view: int = 0,
        *,
        beta: float = 1.0,
        min_rate: float = 0.0,
    ) -> Self:
        """Set the threshold of a view that verifies known pairs best.

        Give pairs that the metric was not learned from, because it separates its training pairs further than others.

        Args:
            pairs: as in ``pair_distance``.
            y: (n,) 1 for similar, -1 for dissimilar.
            strategy: "accuracy", "balanced_accuracy", "f_beta", "max_tpr" or "max_tnr", see
                :func:`~engine.learners.papers.solvers.threshold.calibrate`.
            preprocessor: as in ``fit_tuples``.
            view: the view of the pairs.
            beta: setting of "f_beta".
            min_rate: setting of "max_tpr" and "max_tnr".

        Raises:
            ValueError: as ``pair_distance``, and as :func:`~engine.learners.papers.solvers.threshold.calibrate`.
        """
        distances = self.pair_distance(pairs, preprocessor, view)
        return self.set_threshold(calibrate(distances, y, strategy, beta, min_rate), view)

    def set_threshold(self, threshold: float, view: int = 0) -> Self:
        """Set the distance, not squared, up to which pairs of a view are similar.

        Raises:
            ValueError: if it is not finite, or the view is unknown.
        """
        check_is_fitted(self)
        if not np.isfinite(threshold):
            raise ValueError(f"threshold={threshold} must be a finite distance")
        if not 0 <= view < len(self.threshold_):
            raise ValueError(f"view={view} is unknown: {len(self.threshold_)} views were fitted, counted from 0")
        self.threshold_[view] = float(threshold)
        return self

    def score(
        self, X: ArrayLike, y: ArrayLike | None = None, preprocessor: Preprocessor | None = None, view: int = 0
    ) -> float:
        """Return how well distances agree with known relations; larger is better.

        For quadruplets and triplets, it is the share in the right order; for pairs, with y 1 for similar and -1 for
        dissimilar, the area under the ROC curve; for (n, d) rows with classes y, the leave-one-out accuracy of the
        nearest neighbour.

        Args:
            X: tuples as in ``fit_tuples``; or rows as in ``transform``.
            y: the known kinds of pairs, or classes of rows.
            preprocessor: as in ``fit_tuples``.
            view: the view of tuples.

        Raises:
            ValueError: for other shapes, or pairs or rows without y.
        """
        if preprocessor is None and np.ndim(X) == 2:
            return self._nearest_score(X, y)
        rows, items = unpack(X, preprocessor)
        if items.shape[1] == 2:
            if y is None:
                raise ValueError("pairs need y: 1 for similar pairs, -1 for dissimilar ones")
            return Comparisons(items, np.asarray(y) > 0).agreement(self.transform(rows, view=view))
        return Comparisons(items).agreement(self.transform(rows, view=view))

    def _nearest_score(self, X: ArrayLike, y: ArrayLike | None) -> float:
        if y is None:
            raise ValueError("a score of rows needs y, their classes")
        embedded, labels = self.transform(X), np.asarray(y)
        near = NearestNeighbors(n_neighbors=1).fit(embedded).kneighbors(return_distance=False)[:, 0]
        return float(np.mean(labels[near] == labels))

    def _fit_view(self, views: list[Rows], supervision: Supervision, view: int) -> dict[str, Any]:
        return self._fit_rows(*training_constraints(views, supervision, view, self._constraint_settings()))

    @abstractmethod
    def _constraint_settings(self) -> ConstraintSettings:
        """Return the settings by which supervision becomes constraints."""

    @abstractmethod
    def _fit_rows(self, rows: Rows, constraints: Constraints, validation: Constraints | None) -> dict[str, Any]:
        """Return the fitted attributes of a view, learned from constraints; ``validation`` stops the fit early."""


def fitted_metric(
    rows: Rows, learn: Callable[[Rows], tuple[Rows, dict[str, Any]]], threshold: float | None = None
) -> dict[str, Any]:
    """Return the fitted attributes of a view.

    Args:
        rows: (n, d) rows in their own unit.
        learn: function that takes the rows about their mean, with a root mean square length of 1, and returns the
            (r, d) factor L of their metric, r >= 1, and further attributes.
        threshold: the distance up to which a pair is similar; a threshold among the further attributes replaces it.
    """
    mean = rows.mean(axis=0)
    # Contiguous, because sums over the columns of a wider array round differently: the metric of a view must not depend
    # on the form in which a program gives the rows.
    centred = np.ascontiguousarray(rows - mean)
    scale = float(np.sqrt(np.mean(np.square(centred).sum(axis=1)))) or 1.0
    factor, fitted = learn(centred / scale)
    return {"weights_": factor / scale, "means_": mean, "threshold_": threshold, **fitted}
