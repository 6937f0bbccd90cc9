"""Hybrid of PCA and Multi-NPP: one view keeps its own geometry, the other learns to meet it."""

from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np

from engine.learners.npp.multi_npp import MultiNPP
from engine.learners.settings import Between, Count, Dimensions, OneView, Positive, Seed, Steps, Weight


class Hybrid(MultiNPP):
    """Multi-NPP whose view ``frozen`` is projected by its PCA (Quadrianto and Lampert, ICML 2011, Algorithm 2).

    For when it is known which view queries come in, or which one the database holds: distances within the frozen view
    are those of its own space. Parameters as in :class:`MultiNPP`, less ``init``: the moving view starts at its ridge
    regression on the mean embedding of its similar items, and one convex optimisation (``max_iter``) follows.
    """

    name = "hybrid"

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
        pairs: Literal["all", "sampled"] = "all",
        similar: Literal["labels", "knn"] = "labels",
        neighbor_view: OneView = 0,
        n_neighbors: Count = 10,
        nearest: Count | None = 20,
        max_iter: Steps = 1,
        inner_iter: Count = 15,
        tol: Weight = 1e-4,
        frozen: OneView | Sequence[OneView] = 0,
        spread: Positive | None = 0.5,
        batch_size: Count | Literal["auto"] | None = "auto",
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
            pairs=pairs,
            similar=similar,
            neighbor_view=neighbor_view,
            n_neighbors=n_neighbors,
            nearest=nearest,
            max_iter=max_iter,
            inner_iter=inner_iter,
            tol=tol,
            frozen=frozen,
            spread=spread,
            batch_size=batch_size,
            random_state=random_state,
            view_slices=view_slices,
        )
