"""Learners of comparisons: given ones, or drawn from classes, or from who is near whom in a view."""

from abc import abstractmethod
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.learners.base import LinearLearner, Mask, Rows, SeparateLearner
from engine.learners.capabilities import Capabilities
from engine.learners.comparisons import Comparisons
from engine.learners.metrics.constraints import Constraints
from engine.learners.metrics.sampling import ClassSampler, NearestSampler
from engine.learners.metrics.tuples import constrained, constraints_of
from engine.learners.supervision import Supervision

NEIGHBORS = 10
"""How many nearest rows are similar where ``similar="knn"`` and no number is given."""


class ComparisonLearner(LinearLearner, SeparateLearner):
    """Makes constraints of what is known of the rows of a view; a subclass learns from them by ``_fit_rows``."""

    capabilities = Capabilities(
        needs_labels=True, takes_comparisons=True, adds_views=True, main_parameter="n_components"
    )

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

    def _fit_present(self, views: list[Rows], given: Supervision, view: int) -> dict[str, Any]:
        comparisons = given.comparisons
        if comparisons is None and self.similar == "knn":
            comparisons = self._drawn_near(
                views, given.mask, view if self.neighbor_view is None else self.neighbor_view
            )
        if comparisons is None:
            return super()._fit_present(views, given, view)
        there = given.mask[:, view]
        return self._fit_compared(views[view][there], comparisons.among(there, len(there)), view)

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
            held = constraints_of(replace(comparisons.take(order[:count]), margins=None), *self._bounds_held())
            learned = comparisons.take(order[count:])
        return self._fit_rows(rows, constraints_of(learned, self.margin, self.upper, self.lower), held)

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
