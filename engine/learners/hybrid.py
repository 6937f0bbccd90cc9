"""Hybrid of PCA and Multi-NPP: one view keeps its own geometry, the other learns to meet it."""

from collections.abc import Sequence

import numpy as np

from .multi_npp import MultiNPP


class Hybrid(MultiNPP):
    """Multi-NPP whose view ``frozen`` is projected by its PCA (Quadrianto and Lampert, ICML 2011, Algorithm 2).

    For when it is known which view queries come in, or which one the database holds: distances within the frozen view
    are those of its own space. Parameters as in :class:`MultiNPP`, less ``init``: the moving view starts at its ridge
    regression on the mean embedding of its similar items, and one convex optimisation (``max_iter``) follows.
    """

    name = "hybrid"

    def __init__(
        self,
        n_components: int = 50,
        a: float = 3.7,
        lam: float | None = None,
        eta: float = 1e-6,
        gamma: float = 1e-6,
        penalty: str = "l2",
        pairs: str = "all",
        similar: str = "labels",
        neighbor_view: int = 0,
        n_neighbors: int = 10,
        nearest: int | None = 20,
        max_iter: int = 1,
        inner_iter: int = 15,
        tol: float = 1e-4,
        frozen: int | Sequence[int] = 0,
        spread: float | None = 0.5,
        batch_size: int | str | None = "auto",
        random_state: int | np.random.RandomState | None = None,
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

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.frozen is None:
            raise ValueError("frozen=None: the hybrid needs a frozen view, 0 or 1")
