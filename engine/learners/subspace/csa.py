"""Canonical similarity analysis: canonical directions, compared by a cosine that weights each by its correlation."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from crossview.engine.learners.frame.base import MANY_ITEMS, MultiViewLearner
from crossview.engine.learners.frame.capabilities import Capabilities
from crossview.engine.learners.frame.settings import Dimensions, Share
from crossview.engine.learners.frame.supervision import Supervision
from crossview.engine.learners.frame.traits import LinearLearner
from crossview.engine.learners.frame.view_rows import Rows, complete
from crossview.engine.learners.subspace.cca import Spectrum, directions_of
from crossview.engine.learners.subspace.instances import contrastive_loss, folds_of
from crossview.engine.learners.subspace.kernel_features import unit_length
from crossview.engine.learners.subspace.ridge_path import downhill
from crossview.engine.learners.subspace.span import Span
from crossview.engine.runtime.cancellation import checkpoint

SHRINKAGES = (0.03, 0.1, 0.3, 0.5, 0.7, 0.9)
"""Shrinkages to choose from."""
_UNMEASURED = 3
"""The position of the shrinkage if there are too few items for folds, and the start of the search for the best."""


@dataclass(eq=False, repr=False)
class CanonicalSimilarity(LinearLearner, MultiViewLearner):
    """Canonical similarity analysis (Li, Chinchali and Topcu, ICLR 2025, arXiv:2410.07610).

    The embeddings are canonical variates of unit length, each multiplied by the root of its correlation. The inner
    product of two of them is the similarity of the paper: the cosine of the variates, in which each direction has its
    correlation as weight. End a pipeline in ``dot`` to rank by it. The learner suits the rows of two pretrained models
    of one kind of input each, of which few pairs are known.

    The paper whitens each view without shrinkage, which needs more pairs than columns. Here each view's covariance S is
    shrunk to (1 - s) S + s tr(S)/d I. The learner compares the views item by item, so it leaves out items that lack a
    view.

    Args:
        n_components: maximum number of directions.
        shrinkage: s in [0, 1], for all views; None: the one of six with the smallest contrastive loss of held-out
            items, see ``Instances``.
        view_slices: widths of the views in a 2-D ``X``; None: two halves.

    Attributes:
        correlations_: (D,) canonical correlations of the shrunk problem, descending.
        shrinkage_: float, the shrinkage.

    Raises:
        ValueError: from ``fit``, for a single view or parameters out of range.
    """

    name = "csa"
    max_items = MANY_ITEMS
    capabilities: ClassVar[Capabilities] = Capabilities(cross_view=True, least_views=2, main_parameter="n_components")

    correlations_: NDArray[np.float64] = field(init=False)
    shrinkage_: float = field(init=False)

    n_components: Dimensions = 100
    shrinkage: Share | None = None
    view_slices: Sequence[int] | None = None

    def most_dimensions(self, ranks: Sequence[int], classes: int) -> int:
        """Return the rank of the narrowest view."""
        return min(ranks)

    def _fit(self, views: list[Rows], supervision: Supervision) -> None:
        groups = None if supervision.groups is None else np.asarray(supervision.groups)[supervision.mask.all(axis=1)]
        views = complete(views, supervision.mask)
        self.shrinkage_ = self._chosen(views, groups) if self.shrinkage is None else self.shrinkage
        self.means_, self.weights_, self.correlations_ = _fitted(_centred(views), self.shrinkage_, self.n_components)

    def _project(self, rows: Rows, view: int) -> Rows:
        return _weighted(super()._project(rows, view), self.correlations_)

    def _chosen(self, views: list[Rows], groups: NDArray[np.generic] | None) -> float:
        """Return the shrinkage with the smallest contrastive loss of held-out items."""
        folds = folds_of(len(views[0]), groups)
        centred = [_centred([view[learned] for view in views]) for learned, _ in folds]

        def loss(number: int) -> float:
            total = 0.0
            for (_, held), of_fold in zip(folds, centred, strict=True):
                checkpoint()
                means, weights, correlations = _fitted(of_fold, SHRINKAGES[number], self.n_components)
                parts = zip(views, means, weights, strict=True)
                embedded = [_weighted((view[held] - mean) @ w.T, correlations) for view, mean, w in parts]
                total += contrastive_loss(embedded, np.ones((len(held), len(views)), bool))
            return total

        return SHRINKAGES[downhill(loss, len(SHRINKAGES), _UNMEASURED) if folds else _UNMEASURED]


_Centred = tuple[list[NDArray[np.float64]], list[Spectrum]]
"""The mean row of each view, and the spectrum of its rows without it."""


def _centred(views: list[Rows]) -> _Centred:
    means = [rows.mean(axis=0) for rows in views]
    return means, [Spectrum.of(Span.of(rows - mean)) for rows, mean in zip(views, means, strict=True)]


def _fitted(
    centred: _Centred, shrinkage: float, size: int
) -> tuple[list[NDArray[np.float64]], list[Rows], NDArray[np.float64]]:
    """Return the means, the canonical directions of each view, and their correlations."""
    means, spectra = centred
    weights, correlations = directions_of(spectra, [shrinkage] * len(spectra), size)
    return means, weights, np.clip(correlations, 0.0, 1.0)


def _weighted(variates: Rows, correlations: NDArray[np.float64]) -> Rows:
    """Return (n, D) variates as embeddings, see ``CanonicalSimilarity``."""
    return np.asarray(unit_length(variates) * np.sqrt(correlations))
