"""Principal component analysis, view by view."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn import decomposition

from crossview.engine.learners.frame.base import MANY_ITEMS, MultiViewLearner
from crossview.engine.learners.frame.capabilities import Capabilities
from crossview.engine.learners.frame.settings import Between, Dimensions
from crossview.engine.learners.frame.supervision import Supervision
from crossview.engine.learners.frame.traits import LinearLearner, SeparateLearner
from crossview.engine.learners.frame.view_rows import Rows, present_rows


@dataclass(eq=False, repr=False)
class PCA(LinearLearner, SeparateLearner, MultiViewLearner):
    """Projections of each view on its own leading principal components; embeddings of two views are not comparable.

    Args:
        n_components: an int is the maximum number of components (fewer if a view has fewer columns or rows); a float in
            (0, 1) keeps as many as explain that share of the variance; None keeps all.
        whiten: divide each component by its standard deviation.
        view_slices: widths of the views in a 2-D ``X``; None: one view.

    Raises:
        ValueError: from ``fit``, for any other ``n_components``.
    """

    name = "pca"
    max_items = MANY_ITEMS
    capabilities: ClassVar[Capabilities] = Capabilities(adds_views=True, main_parameter="n_components")

    n_components: Dimensions | Annotated[float, Between(0, 1, above=True)] | None = None
    whiten: bool = False
    view_slices: Sequence[int] | None = None

    def _fit_view(self, views: list[Rows], supervision: Supervision, view: int) -> dict[str, Any]:
        rows, _ = present_rows(views, supervision, view)
        weights, mean = principal_components(rows, self.n_components, self.whiten)
        return {"weights_": weights, "means_": mean}


def principal_components(
    rows: Rows, n_components: float | None, whiten: bool = False, solver: str = "full"
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the (D, d) projection and (d,) mean of PCA; ``n_components`` as in :class:`PCA`.

    ``solver`` is scikit-learn's ``svd_solver``.
    """
    if isinstance(n_components, int | np.integer):
        n_components = min(int(n_components), *rows.shape)
    with np.errstate(invalid="ignore"):  # equal rows have no variance, of which scikit-learn divides each share
        pca = decomposition.PCA(n_components=n_components, svd_solver=solver).fit(rows)
    weights = pca.components_
    if whiten:
        deviation = np.sqrt(pca.explained_variance_)
        weights = weights / np.where(deviation > 1e-7 * deviation.max(initial=0.0), deviation, np.inf)[:, None]
    return weights, pca.mean_
