"""The losses that a tree of classes adds to those of the classes."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crossview.engine.learners.frame.comparisons import Taxonomy
from crossview.engine.learners.frame.view_rows import Rows
from crossview.engine.learners.papers.losses.constraints import quadruplets
from crossview.engine.learners.papers.losses.differences import Differences
from crossview.engine.learners.papers.losses.impostors import Impostors, Targets
from crossview.engine.learners.papers.losses.objective import Loss, Objective
from crossview.engine.learners.papers.losses.parameters import Parameters
from crossview.engine.learners.papers.losses.regularizer import Regularizer
from crossview.engine.learners.papers.metrics.options import Hierarchy
from crossview.engine.learners.papers.samplers.relatives import Relatives


@dataclass(frozen=True)
class Kinship:
    """The target neighbours of rows, and the constraints that a tree of their classes adds.

    Attributes:
        targets: target neighbours by the classes alone.
        cousins: the same neighbours, with only cousins as impostors.
        beyond: weight of the loss of the cousins.
        quadruplets: the drawn quadruplets, with the weight of each kind.
    """

    targets: Targets
    cousins: Targets
    beyond: float
    quadruplets: Sequence[tuple[float, NDArray[np.int64]]]

    @classmethod
    def drawn(
        cls,
        rows: Rows,
        labels: NDArray[np.generic],
        taxonomy: Taxonomy,
        targets: Targets,
        how: Hierarchy,
        generator: np.random.Generator,
    ) -> "Kinship":
        """Return the constraints of a tree on rows, (n, d), whose classes, (n,), are leaves; ValueError as
        ``Relatives``."""
        relatives = Relatives(rows, labels, taxonomy, how.near)
        kinds = (
            (how.siblings, relatives.same_and_siblings(how.n_quadruplets, generator)),
            (how.cousins, relatives.siblings_and_cousins(how.n_quadruplets, generator)),
        )
        found = [(weight, items) for weight, items in kinds if weight and len(items)]
        cousins = Targets(targets.neighbors, taxonomy.families[taxonomy.positions(labels.astype(str).tolist())])
        return cls(targets, cousins, how.beyond, found)

    def losses(self, features: Differences, parameters: Parameters, margin: float) -> list[tuple[float, Loss]]:
        """Return the losses to add to the loss of the classes, with their weights."""
        found: list[tuple[float, Loss]] = [
            (weight, Objective(features, quadruplets(items, margin), Regularizer(), parameters))
            for weight, items in self.quadruplets
        ]
        if self.beyond and len(np.unique(self.cousins.classes)) > 1:
            found.append((self.beyond, Impostors(features, self.cousins, 2 * margin, Regularizer(), parameters)))
        return found
