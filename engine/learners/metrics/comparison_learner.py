"""Learners of comparisons: given ones, or drawn from the classes or from the nearest neighbours in a view."""

from abc import abstractmethod
from dataclasses import astuple, replace
from typing import Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine.learners.base import Mask, MultiView, Rows
from engine.learners.groups import group
from engine.learners.metrics.comparisons import Comparisons
from engine.learners.metrics.constraints import Constraints
from engine.learners.metrics.options import Bounds, Sampling, Stopping
from engine.learners.metrics.sampling import ClassSampler, NearestSampler
from engine.learners.metrics.tuples import constrained
from engine.learners.separate import SeparateLearner
from engine.learners.subspace.linear import LinearLearner

NEIGHBORS = 10
"""How many nearest rows are similar where ``similar="knn"`` and no number is given."""


class ComparisonLearner(LinearLearner, SeparateLearner):
    """Makes constraints of comparisons, classes or neighbours of a view's rows; a subclass learns from them.

    A subclass defines ``_fit_rows``, and either has the groups of settings ``sampling``, ``bounds`` and ``stopping``
    or redefines the properties of that name.
    """

    needs_labels = True

    random_state: int

    @property
    def _sampling(self) -> Sampling:
        return cast(Sampling, group(self, "sampling"))

    @property
    def _bounds(self) -> Bounds:
        return cast(Bounds, group(self, "bounds"))

    @property
    def _stopping(self) -> Stopping:
        return cast(Stopping, group(self, "stopping"))

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
        sampling = self._sampling
        if sampling.similar == "knn" and not isinstance(labels, Comparisons):
            labels = self._of_neighbors(views, mask, view if sampling.neighbor_view is None else sampling.neighbor_view)
        if not isinstance(labels, Comparisons):
            return super()._fit_present(views, labels, mask, view)
        there = mask[:, view]
        return self._fit_compared(views[view][there], labels.among(there, len(there)), view)

    def _of_neighbors(self, views: list[Rows], mask: Mask, view: int) -> Comparisons:
        """Returns comparisons drawn among items that have a view, where nearest neighbours in it are similar."""
        sampling = self._sampling
        if not 0 <= view < len(views):
            raise ValueError(f"neighbor_view={view!r} but there are {len(views)} views, from 0")
        there = np.flatnonzero(mask[:, view])
        sampler = NearestSampler(views[view][there], NEIGHBORS if sampling.neighbors is None else sampling.neighbors)
        generator = np.random.default_rng([self.random_state, view])
        items, alike = sampler.draw(sampling.constraints, sampling.n_constraints, generator)
        return Comparisons(there[items], alike if sampling.constraints == "pairs" else None)

    def _fit_compared(self, rows: Rows, comparisons: Comparisons, view: int) -> dict[str, Any]:
        bounds, stopping = self._bounds, self._stopping
        if len(comparisons) < (1 if stopping.patience is None else 2):
            raise ValueError(f"{len(comparisons)} constraints name only rows of view {view}, too few to learn from")
        learned, validation = comparisons, None
        if stopping.patience is not None:
            count = min(max(round(stopping.validation_fraction * len(comparisons)), 1), len(comparisons) - 1)
            order = np.random.default_rng([self.random_state, view]).permutation(len(comparisons))
            drawn = replace(comparisons.take(order[:count]), margins=None)
            validation = drawn.constraints(*astuple(bounds.of_validation()))
            learned = comparisons.take(order[count:])
        return self._fit_rows(rows, learned.constraints(*astuple(bounds)), validation)

    def _fit_view(self, rows: Rows, labels: NDArray[Any] | None, view: int) -> dict[str, Any]:
        sampling, bounds, stopping = self._sampling, self._bounds, self._stopping
        generator = np.random.default_rng([self.random_state, view])
        sampler = ClassSampler(np.asarray(labels), rows, sampling.neighbors)
        drawn = sampler.draw(sampling.constraints, sampling.n_constraints, generator)
        learned = constrained(*drawn, *astuple(bounds))
        if stopping.patience is None:
            return self._fit_rows(rows, learned, None)
        count = max(round(stopping.validation_fraction * sampling.n_constraints), 1)
        drawn = sampler.draw(sampling.constraints, count, generator)
        return self._fit_rows(rows, learned, constrained(*drawn, *astuple(bounds.of_validation())))

    @abstractmethod
    def _fit_rows(self, rows: Rows, constraints: Constraints, validation: Constraints | None) -> dict[str, Any]:
        """Returns the fitted attributes of a view, learned from constraints on its rows; others say when to stop."""
