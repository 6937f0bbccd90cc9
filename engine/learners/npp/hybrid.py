"""Hybrid of PCA and Multi-NPP: one view keeps its own geometry, the other is mapped into its space."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from engine.learners.npp.alternation import Optimization
from engine.learners.npp.multi_npp import MultiNPP
from engine.learners.npp.neighborhoods import Neighborhood
from engine.learners.settings import Between, Dimensions, OneView, Positive, Seed, Weight


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

    def most_dimensions(self, ranks: Sequence[int], classes: int) -> int:
        """Returns the rank of the widest view: no view has more principal components to stay at."""
        return max(ranks)

    def __init__(
        self,
        n_components: Dimensions = 50,
        a: Annotated[float, Between(1, 1e3, above=True)] = 3.7,
        lam: Positive | None = None,
        eta: Weight = 1e-6,
        gamma: Weight = 1e-6,
        penalty: Literal["l2", "l1"] = "l2",
        neighborhood: Neighborhood | None = None,
        optimization: Optimization | None = None,
        frozen: OneView | Sequence[OneView] = 0,
        spread: Positive | None = 0.5,
        random_state: Seed | np.random.RandomState | None = None,
        view_slices: Sequence[int] | None = None,
    ) -> None:
        super().__init__(
            n_components=n_components,
            a=a,
            lam=lam,
            eta=eta,
            gamma=gamma,
            penalty=penalty,
            neighborhood=neighborhood,
            optimization=optimization,
            frozen=frozen,
            spread=spread,
            random_state=random_state,
            view_slices=view_slices,
        )
