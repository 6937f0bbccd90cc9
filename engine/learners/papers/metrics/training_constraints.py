"""The constraints that a metric learner learns from, by comparisons, neighbours or classes, and their settings."""

from dataclasses import astuple, dataclass, field, replace
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crossview.engine.learners.frame.comparisons import AnyComparisons, Comparisons, MixedComparisons, Taxonomy
from crossview.engine.learners.frame.settings import Between, Count, OneView, Weight
from crossview.engine.learners.frame.supervision import Supervision
from crossview.engine.learners.frame.view_rows import Rows, present_rows
from crossview.engine.learners.papers.losses.constraints import Bounds, Constraints, constrained, constraints_of
from crossview.engine.learners.papers.samplers.likeness import draw_tuples, likeness_by_class, likeness_by_nearness
from crossview.engine.learners.papers.samplers.relatives import Relatives
from crossview.engine.runtime.cancellation import checkpoint

NEIGHBORS = 10
"""The number of similar nearest rows with ``similar="knn"`` if the setting ``neighbors`` is None."""


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """The constraints that ``fit`` draws.

    Attributes:
        constraints: kind of constraints that ``fit`` draws from the classes: "triplets", "quadruplets" or "pairs".
        n_constraints: number of constraints to draw for a view.
        neighbors: draw only among so many nearest rows of the same class and of other classes; None: among all.
        similar: "labels"; or "knn", without labels: an item is similar to its ``neighbors`` (None: 10) nearest in the
            view ``neighbor_view``, and not to others.
        neighbor_view: the view in which to find neighbours; None: for each view, its own rows.
    """

    constraints: Literal["triplets", "quadruplets", "pairs"] = "triplets"
    n_constraints: Annotated[int, Between(1, 10_000_000)] = 10_000
    neighbors: Count | None = None
    similar: Literal["labels", "knn"] = "labels"
    neighbor_view: OneView | None = None


@dataclass(frozen=True, kw_only=True)
class Hierarchy:
    """The weights of a tree of classes besides the classes, if one is given.

    Attributes:
        beyond: weight of cousins that are nearer to a row than twice the margin beyond its target neighbours: one
            margin from the class to its siblings, and another from siblings to cousins. The loss covers all rows,
            without a draw.
        siblings: weight of quadruplets by which rows of a class are nearer than rows of sibling classes.
        cousins: weight of quadruplets by which rows of sibling classes are nearer than rows of other classes.
        n_quadruplets: number of quadruplets of each kind to draw for a view.
        near: number of nearest rows among which the second row of a quadruplet is drawn.
    """

    beyond: Weight = 10.0
    siblings: Weight = 1.0
    cousins: Weight = 1.0
    n_quadruplets: Annotated[int, Between(1, 10_000_000)] = 20_000
    near: Count = 10


@dataclass(frozen=True)
class Stopping:
    """The rule that stops a fit before the objective stops falling.

    Attributes:
        patience: number of checks without a larger share of satisfied validation constraints after which to stop; None:
            fit until the objective stops falling.
        validation_fraction: number of further constraints that ``fit`` draws to decide when to stop, as a share of
            ``n_constraints``; of given comparisons, the share that it holds out for this.
    """

    patience: Count | None = None
    validation_fraction: Annotated[float, Between(0.001, 0.999)] = 0.2


@dataclass(frozen=True, kw_only=True)
class ConstraintSettings:
    """The settings by which a learner turns supervision into constraints.

    Attributes:
        sampling: which constraints to draw.
        bounds: the bounds that they set on distances.
        stopping: the share of constraints that only stops the fit.
        seed: the seed of the draws. Each view has its own generator, so that a view draws the same constraints
            whichever other views there are.
    """

    sampling: Sampling = field(default_factory=Sampling)
    bounds: Bounds = field(default_factory=Bounds)
    stopping: Stopping = field(default_factory=Stopping)
    seed: int

    def generator(self, view: int) -> np.random.Generator:
        """Return the generator of the draws for a view."""
        return np.random.default_rng([self.seed, view])


class TrainingConstraints(NamedTuple):
    """The rows of a view that a metric learns from, the constraints on them, and constraints that only stop the fit."""

    rows: Rows
    constraints: Constraints
    validation: Constraints | None


def training_constraints(
    views: list[Rows], supervision: Supervision, view: int, how: ConstraintSettings
) -> TrainingConstraints:
    """Return the constraints that the metric of a view learns from.

    Given comparisons take precedence, then nearest neighbours if the settings name them similar, then a tree of
    classes, then classes.

    Raises:
        ValueError: for too few constraints, an unknown view of neighbours, or classes without comparable rows.
    """
    comparisons, sampling = supervision.comparisons, how.sampling
    if comparisons is None and sampling.similar == "knn":
        comparisons = _of_neighbors(views, supervision, view, how)
    if comparisons is not None:
        return from_comparisons(views, supervision, comparisons, view, how)
    if supervision.taxonomy is None:
        checkpoint()
        rows, labels = present_rows(views, supervision, view)
        return _of_classes(rows, labels, view, how)
    rows, labels = rows_of_leaves(views, supervision, supervision.taxonomy, view)
    generator = how.generator(view)
    relatives = Relatives(rows, labels, supervision.taxonomy, sampling.neighbors or NEIGHBORS)
    count = (sampling.n_constraints + 1) // 2  # equally many of each kind
    kinds = relatives.same_and_siblings(count, generator), relatives.siblings_and_cousins(count, generator)
    return _with_validation(rows, Comparisons(generator.permutation(np.concatenate(kinds))), view, how)


def from_comparisons(
    views: list[Rows], supervision: Supervision, comparisons: AnyComparisons, view: int, how: ConstraintSettings
) -> TrainingConstraints:
    """Return the constraints of those comparisons whose items all have the view.

    Raises:
        ValueError: if these are too few.
    """
    present = supervision.mask[:, view]
    return _with_validation(views[view][present], comparisons.among(present, len(present)), view, how)


def rows_of_leaves(views: list[Rows], supervision: Supervision, tree: Taxonomy, view: int) -> tuple[Rows, NDArray[Any]]:
    """Return the rows of a view whose classes are leaves of a tree, and these classes."""
    mask = supervision.mask[:, view] & (tree.positions(supervision.classes.astype(str).tolist()) >= 0)
    return views[view][mask], supervision.classes[mask]


def _of_neighbors(views: list[Rows], supervision: Supervision, view: int, how: ConstraintSettings) -> Comparisons:
    """Return comparisons drawn from nearest neighbours in a view, as positions among all items."""
    sampling = how.sampling
    view = view if sampling.neighbor_view is None else sampling.neighbor_view
    if not 0 <= view < len(views):
        raise ValueError(f"neighbor_view={view!r} but there are {len(views)} views, counted from 0")
    members = np.flatnonzero(supervision.mask[:, view])
    neighbors = NEIGHBORS if sampling.neighbors is None else sampling.neighbors
    likeness = likeness_by_nearness(views[view][members], neighbors)
    items, alike = draw_tuples(likeness, sampling.constraints, sampling.n_constraints, how.generator(view))
    return Comparisons(members[items], alike if sampling.constraints == "pairs" else None)


def _of_classes(rows: Rows, labels: NDArray[Any] | None, view: int, how: ConstraintSettings) -> TrainingConstraints:
    """Return constraints drawn from the classes of rows, and further ones that stop the fit."""
    sampling, stopping, generator = how.sampling, how.stopping, how.generator(view)
    likeness = likeness_by_class(np.asarray(labels), rows, sampling.neighbors)
    learned = constrained(
        *draw_tuples(likeness, sampling.constraints, sampling.n_constraints, generator), *astuple(how.bounds)
    )
    if stopping.patience is None:
        return TrainingConstraints(rows, learned, None)
    count = max(round(stopping.validation_fraction * sampling.n_constraints), 1)
    further = draw_tuples(likeness, sampling.constraints, count, generator)
    return TrainingConstraints(rows, learned, constrained(*further, *astuple(how.bounds.of_validation())))


def _with_validation(
    rows: Rows, comparisons: AnyComparisons, view: int, how: ConstraintSettings
) -> TrainingConstraints:
    """Return the constraints of comparisons, of which a share only stops the fit.

    From classes, further constraints are drawn for this. Comparisons cannot be drawn: people made a fixed number.
    """
    bounds, stopping = how.bounds, how.stopping
    if len(comparisons) < (1 if stopping.patience is None else 2):
        raise ValueError(f"{len(comparisons)} constraints name only rows of view {view}, too few to learn from")
    if stopping.patience is None:
        return TrainingConstraints(rows, constraints_of(comparisons, *astuple(bounds)), None)
    count = min(max(round(stopping.validation_fraction * len(comparisons)), 1), len(comparisons) - 1)
    order = how.generator(view).permutation(len(comparisons))
    validation = constraints_of(_without_margins(comparisons.take(order[:count])), *astuple(bounds.of_validation()))
    return TrainingConstraints(rows, constraints_of(comparisons.take(order[count:]), *astuple(bounds)), validation)


def _without_margins(comparisons: AnyComparisons) -> AnyComparisons:
    """Return comparisons without margins of their own: a validation constraint only states an order."""
    sets = tuple(replace(part, margins=None) for part in comparisons.sets)
    return sets[0] if len(sets) == 1 else MixedComparisons(sets)
