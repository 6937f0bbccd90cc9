"""Groups of related settings of metric learners."""

from dataclasses import dataclass
from typing import Annotated, Literal

from crossview.engine.learners.frame.settings import Between, Count, OneView, Weight


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
