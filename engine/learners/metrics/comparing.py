"""Learners of comparisons: given ones, or drawn from classes, or from who is near whom in a view."""

from abc import abstractmethod
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine.learners.base import Mask, MultiView, Rows
from engine.learners.metrics.comparisons import Comparisons
from engine.learners.metrics.constraints import Constraints
from engine.learners.metrics.sampling import ClassSampler, NearestSampler
from engine.learners.metrics.tuples import constrained
from engine.learners.separate import SeparateLearner
from engine.learners.subspace.linear import LinearLearner

NEIGHBORS = 10
"""How many nearest rows are similar where ``similar="knn"`` and no number is given."""


class ComparisonLearner(LinearLearner, SeparateLearner):
    """Makes constraints of what is known of the rows of a view; a subclass learns from them by ``_fit_rows``."""

    needs_labels = True

    constraints: str
    n_constraints: int
    neighbors: int | None
    margin: float
    upper: float
    lower: float
    similar: str = "labels"
    neighbor_view: int | None = None
    patience: int | None
    validation_fraction: float
    random_state: int

    def fit(
        self,
        X: MultiView,
        y: ArrayLike | None = None,
        mask: ArrayLike | None = None,
        constraints: Comparisons | None = None,
    ) -> Self:
        """Fits the metric of every view.

        Args:
            X: list of (n, d_v) arrays, or one (n, d) array.
            y: (n,) classes that constraints are drawn from; ignored where they are given.
            mask: (n, V), which items have which views. None: all of them.
            constraints: comparisons of the items. Each view's metric learns from those that name only its rows.

        Raises:
            ValueError: for NaN, wrong shapes, parameters out of range, missing labels, classes that tell nothing apart,
                or constraints that name no rows of a view.
        """
        if constraints is None:
            return super().fit(X, y, mask)
        views, _, there = self._validate(X, None, mask, needs_labels=False)
        self._fit(views, constraints, there)
        return self

    def add_view(
        self,
        X: MultiView,
        y: ArrayLike | None = None,
        mask: ArrayLike | None = None,
        constraints: Comparisons | None = None,
    ) -> Self:
        """Fits the metric of one further view, the last of ``X``; arguments and errors as in ``fit``."""
        if constraints is None:
            return super().add_view(X, y, mask)
        views, _, there = self._validate_added(X, None, mask, needs_labels=False)
        self._append(self._fit_present(views, constraints, there, len(views) - 1))
        return self

    def _fit_present(self, views: list[Rows], labels: Any, mask: Mask, view: int) -> dict[str, Any]:
        if self.similar == "knn" and not isinstance(labels, Comparisons):
            labels = self._drawn_near(views, mask, view if self.neighbor_view is None else self.neighbor_view)
        if not isinstance(labels, Comparisons):
            return super()._fit_present(views, labels, mask, view)
        there = mask[:, view]
        return self._fit_compared(views[view][there], labels.among(there, len(there)), view)

    def _drawn_near(self, views: list[Rows], mask: Mask, view: int) -> Comparisons:
        """Returns comparisons of items of which some are near in a view."""
        if not 0 <= view < len(views):
            raise ValueError(f"neighbor_view={view!r} but there are {len(views)} views, from 0")
        there = np.flatnonzero(mask[:, view])
        sampler = NearestSampler(views[view][there], NEIGHBORS if self.neighbors is None else self.neighbors)
        generator = np.random.default_rng([self.random_state, view])
        items, alike = sampler.draw(self.constraints, self.n_constraints, generator)
        return Comparisons(there[items], alike if self.constraints == "pairs" else None)

    def _fit_compared(self, rows: Rows, comparisons: Comparisons, view: int) -> dict[str, Any]:
        if len(comparisons) < (1 if self.patience is None else 2):
            raise ValueError(f"{len(comparisons)} constraints name only rows of view {view}, too few to learn from")
        learned, held = comparisons, None
        if self.patience is not None:
            count = min(max(round(self.validation_fraction * len(comparisons)), 1), len(comparisons) - 1)
            order = np.random.default_rng([self.random_state, view]).permutation(len(comparisons))
            held = replace(comparisons.take(order[:count]), margins=None).constraints(*self._bounds_held())
            learned = comparisons.take(order[count:])
        return self._fit_rows(rows, learned.constraints(self.margin, self.upper, self.lower), held)

    def _bounds_held(self) -> tuple[float, float, float]:
        """Returns the margin and the bounds by which held-out constraints count as satisfied: an order, a threshold."""
        middle = (self.upper + self.lower) / 2
        return 0.0, middle, middle

    def _fit_view(self, rows: Rows, labels: NDArray[Any] | None, view: int) -> dict[str, Any]:
        generator = np.random.default_rng([self.random_state, view])
        sampler = ClassSampler(np.asarray(labels), rows, self.neighbors)
        drawn = sampler.draw(self.constraints, self.n_constraints, generator)
        learned = constrained(*drawn, self.margin, self.upper, self.lower)
        if self.patience is None:
            return self._fit_rows(rows, learned, None)
        count = max(round(self.validation_fraction * self.n_constraints), 1)
        held = constrained(*sampler.draw(self.constraints, count, generator), *self._bounds_held())
        return self._fit_rows(rows, learned, held)

    @abstractmethod
    def _fit_rows(self, rows: Rows, constraints: Constraints, validation: Constraints | None) -> dict[str, Any]:
        """Returns the fitted attributes of a view, learned from constraints on its rows; others say when to stop."""
