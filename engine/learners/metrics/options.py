"""Settings of metric learners that belong together."""

from dataclasses import dataclass
from typing import Annotated, Literal

from crossview.engine.learners.settings import Between, Count, OneView, Weight


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """Which constraints ``fit`` draws.

    Attributes:
        constraints: what ``fit`` draws from the classes: "triplets", "quadruplets" or "pairs".
        n_constraints: how many it draws for a view.
        neighbors: draw only among so many nearest rows of the same and of other classes; None: among all.
        similar: "labels"; or "knn", without labels: an item is similar to its ``neighbors`` (None: 10) nearest in the
            view ``neighbor_view``, and to none beyond.
        neighbor_view: the view in which neighbours are sought; None: each view's own rows.
    """

    constraints: Literal["triplets", "quadruplets", "pairs"] = "triplets"
    n_constraints: Annotated[int, Between(1, 10_000_000)] = 10_000
    neighbors: Count | None = None
    similar: Literal["labels", "knn"] = "labels"
    neighbor_view: OneView | None = None


@dataclass(frozen=True, kw_only=True)
class Hierarchy:
    """How much a tree of classes counts beside the classes, where one is given.

    Attributes:
        beyond: weight of cousins that are nearer to a row than twice the margin beyond its target neighbours: a margin
            from the class to its siblings, and another from these to cousins. All rows are looked at, none is drawn.
        siblings: weight of quadruplets by which rows of a class are nearer than rows of sibling classes.
        cousins: weight of quadruplets by which rows of sibling classes are nearer than rows of other classes.
        n_quadruplets: how many of each are drawn for a view.
        near: the first two rows of a quadruplet are among so many nearest.
    """

    beyond: Weight = 10.0
    siblings: Weight = 1.0
    cousins: Weight = 1.0
    n_quadruplets: Annotated[int, Between(1, 10_000_000)] = 20_000
    near: Count = 10


@dataclass(frozen=True)
class Stopping:
    """When to stop before the objective stops falling.

    Attributes:
        patience: stop after so many checks without a larger share of satisfied validation constraints; None: fit until
            the objective stops falling.
        validation_fraction: how many more constraints ``fit`` draws to stop by, as a share of ``n_constraints``; of
            given ones, the share that it stops by.
    """

    patience: Count | None = None
    validation_fraction: Annotated[float, Between(0.001, 0.999)] = 0.2
