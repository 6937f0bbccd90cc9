"""Partial least squares of two views, by one singular value decomposition."""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from crossview.engine.learners.frame.base import MANY_ITEMS, MultiViewLearner
from crossview.engine.learners.frame.capabilities import Capabilities
from crossview.engine.learners.frame.normalization import Standardize
from crossview.engine.learners.frame.settings import Dimensions
from crossview.engine.learners.frame.supervision import Supervision
from crossview.engine.learners.frame.traits import LinearLearner
from crossview.engine.learners.frame.view_rows import Rows, complete
from crossview.engine.learners.subspace.span import Span


class PartialLeastSquares(LinearLearner, MultiViewLearner):
    """Projections of two views on the directions of unit length along which they covary most (PLS-SVD).

    The directions are the singular vectors of the cross-covariance of the views with standardised columns (Wegelin, A
    survey of partial least squares methods with emphasis on the two-block case, 2000). Unlike canonical correlation, it
    inverts no covariance, so it needs no shrinkage, and directions of little variance have little weight. The learner
    leaves out items that lack a view.

    Args:
        n_components: maximum number of directions; fewer if the cross-covariance has a lower rank.
        view_slices: widths of the two views in a 2-D ``X``; None: two halves.

    Attributes:
        covariances_: (D,) covariance of the two views along each pair of directions, descending.

    Raises:
        ValueError: from ``fit``, for another number of views or ``n_components`` below 1.
    """

    name = "pls"
    max_items = MANY_ITEMS
    capabilities: ClassVar[Capabilities] = Capabilities(
        cross_view=True, least_views=2, most_views=2, main_parameter="n_components"
    )

    covariances_: NDArray[np.float64]

    def __init__(self, n_components: Dimensions = 50, view_slices: Sequence[int] | None = None) -> None:
        self.n_components = n_components
        self.view_slices = view_slices

    def most_dimensions(self, ranks: Sequence[int], classes: int) -> int:
        """Return the rank of the narrowest view."""
        return min(ranks)

    def _fit(self, views: list[Rows], supervision: Supervision) -> None:
        views = complete(views, supervision.mask)
        scaler = Standardize().fit(views)
        first, second = (Span.of(rows) for rows in scaler.transform(views))
        cross = first.rows.T @ second.rows / len(first.rows)
        left, covariances, right = np.linalg.svd(cross, full_matrices=False)
        # Singular vectors beyond the rank are arbitrary, but have unit length like the others.
        rank = int((covariances > max(first.width, second.width) * np.finfo(float).eps * covariances[0]).sum())
        count = min(self.n_components, max(rank, 1))
        self.covariances_ = covariances[:count]
        self.means_: list[NDArray[np.float64]] = scaler.means_
        projections = first.lifted(left[:, :count].T), second.lifted(right[:count])
        self.weights_: list[NDArray[np.float64]] = [
            W / deviation for W, deviation in zip(projections, scaler.deviations_, strict=True)
        ]
