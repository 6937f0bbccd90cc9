"""The hybrid of PCA and Multi-NPP: one view keeps its own geometry, and the other view is mapped into its space."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from crossview.engine.learners.frame.settings import OneView, Positive, Weight
from crossview.engine.learners.papers.npp.alternation import Optimization
from crossview.engine.learners.papers.npp.initial_projections import Start
from crossview.engine.learners.papers.npp.multi_npp import MultiNPP
from crossview.engine.learners.papers.npp.neighborhoods import Neighborhood


@dataclass(eq=False, repr=False)
class Hybrid(MultiNPP):
    """Multi-NPP whose view ``frozen`` is projected by its PCA (Quadrianto and Lampert, ICML 2011, Algorithm 2).

    Use it if you know the view of the queries or the view of the database: distances within the frozen view are those
    of its own space. The parameters are those of :class:`MultiNPP` without ``init``: the other view starts at its ridge
    regression on the mean embedding of its similar items, and one convex optimisation (``max_iter``) follows.
    """

    name = "hybrid"
    groups: ClassVar[Mapping[str, Any]] = {
        "neighborhood": Neighborhood(nearest=20),
        "optimization": Optimization(max_iter=1),
    }

    init: Start = field(default="neighbors", init=False)
    ridge: Weight = field(default=0.1, init=False)
    frozen: OneView | Sequence[OneView] = 0
    spread: Positive | None = 0.5

    def most_dimensions(self, ranks: Sequence[int], classes: int) -> int:
        """Return the rank of the widest view: the frozen view has no more principal components than its rank."""
        return max(ranks)
