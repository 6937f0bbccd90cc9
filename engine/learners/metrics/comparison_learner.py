"""Learners of comparisons: given ones, or drawn from the classes or from the nearest neighbours in a view."""

from abc import abstractmethod
from dataclasses import astuple
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from crossview.engine.learners.base import LinearLearner, Mask, Rows, SeparateLearner
from crossview.engine.learners.capabilities import Capabilities
from crossview.engine.learners.comparisons import AnyComparisons, Comparisons, Taxonomy
from crossview.engine.learners.metrics.constraints import Constraints
from crossview.engine.learners.metrics.options import Bounds, Sampling, Stopping
from crossview.engine.learners.metrics.relatives import Relatives
from crossview.engine.learners.metrics.sampling import ClassSampler, NearestSampler
from crossview.engine.learners.metrics.tuples import constrained, constraints_of, ordered_only
from crossview.engine.learners.settings import group
from crossview.engine.learners.supervision import Supervision

NEIGHBORS = 10
"""How many nearest rows are similar where ``similar="knn"`` and no number is given."""


class ComparisonLearner(LinearLearner, SeparateLearner):
    """Makes constraints of comparisons, classes or neighbours of a view's rows; a subclass learns from them.

    A subclass defines ``_fit_rows``, and either has the groups of settings ``sampling``, ``bounds`` and ``stopping``
    or redefines the properties of that name.
    """

    capabilities = Capabilities(
        needs_labels=True,
        takes_comparisons=True,
        takes_taxonomy=True,
        adds_views=True,
        main_parameter="n_components",
    )

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

    def _fit_present(self, views: list[Rows], given: Supervision, view: int) -> dict[str, Any]:
        comparisons, sampling = given.comparisons, self._sampling
        if comparisons is None and sampling.similar == "knn":
            neighbor_view = view if sampling.neighbor_view is None else sampling.neighbor_view
            comparisons = self._of_neighbors(views, given.mask, neighbor_view)
        if comparisons is None:
            if given.taxonomy is None:
                return super()._fit_present(views, given, view)
            leaves = given.taxonomy.positions(given.classes.astype(str).tolist()) >= 0
            chosen = given.mask[:, view] & leaves
            return self._fit_relatives(views[view][chosen], given.classes[chosen], given.taxonomy, view)
        present = given.mask[:, view]
        return self._fit_compared(views[view][present], comparisons.among(present, len(present)), view)

    def _fit_relatives(self, rows: Rows, labels: NDArray[Any], taxonomy: Taxonomy, view: int) -> dict[str, Any]:
        """Fits quadruplets that a tree of classes gives, equally many of each kind; all rows are of leaves."""
        sampling, generator = self._sampling, np.random.default_rng([self.random_state, view])
        relatives = Relatives(rows, labels, taxonomy, sampling.neighbors or NEIGHBORS)
        count = (sampling.n_constraints + 1) // 2
        kinds = relatives.same_and_siblings(count, generator), relatives.siblings_and_cousins(count, generator)
        items = generator.permutation(np.concatenate(kinds))
        return self._fit_compared(rows, Comparisons(items), view)

    def _of_neighbors(self, views: list[Rows], mask: Mask, view: int) -> Comparisons:
        """Returns comparisons drawn among items that have a view, where nearest neighbours in it are similar."""
        sampling = self._sampling
        if not 0 <= view < len(views):
            raise ValueError(f"neighbor_view={view!r} but there are {len(views)} views, from 0")
        members = np.flatnonzero(mask[:, view])
        sampler = NearestSampler(views[view][members], NEIGHBORS if sampling.neighbors is None else sampling.neighbors)
        generator = np.random.default_rng([self.random_state, view])
        items, alike = sampler.draw(sampling.constraints, sampling.n_constraints, generator)
        return Comparisons(members[items], alike if sampling.constraints == "pairs" else None)

    def _fit_compared(self, rows: Rows, comparisons: AnyComparisons, view: int) -> dict[str, Any]:
        bounds, stopping = self._bounds, self._stopping
        if len(comparisons) < (1 if stopping.patience is None else 2):
            raise ValueError(f"{len(comparisons)} constraints name only rows of view {view}, too few to learn from")
        learned: AnyComparisons = comparisons
        validation = None
        if stopping.patience is not None:
            count = min(max(round(stopping.validation_fraction * len(comparisons)), 1), len(comparisons) - 1)
            order = np.random.default_rng([self.random_state, view]).permutation(len(comparisons))
            drawn = ordered_only(comparisons.take(order[:count]))
            validation = constraints_of(drawn, *astuple(bounds.of_validation()))
            learned = comparisons.take(order[count:])
        return self._fit_rows(rows, constraints_of(learned, *astuple(bounds)), validation)

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
