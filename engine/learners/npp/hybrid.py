"""Hybrid of PCA and Multi-NPP: one view keeps its own geometry, the other is mapped into its space."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from crossview.engine.learners.npp.alternation import Optimization
from crossview.engine.learners.npp.initial_projections import Start
from crossview.engine.learners.npp.multi_npp import MultiNPP
from crossview.engine.learners.npp.neighborhoods import Neighborhood
from crossview.engine.learners.settings import OneView, Positive, Weight


@dataclass(eq=False, repr=False)
class Hybrid(MultiNPP):
    """Multi-NPP whose view ``frozen`` is projected by its PCA (Quadrianto and Lampert, ICML 2011, Algorithm 2).

    For when it is known which view queries come in, or which one the database holds: distances within the frozen view
    are those of its own space. Parameters as in :class:`MultiNPP`, less ``init``: the moving view starts at its ridge
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
        """Return the rank of the widest view: no view has more principal components to stay at."""
        return max(ranks)
