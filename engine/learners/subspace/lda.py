"""Linear discriminant analysis, view by view."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from crossview.engine.learners.frame.base import MANY_ITEMS, MultiViewLearner
from crossview.engine.learners.frame.capabilities import Capabilities
from crossview.engine.learners.frame.normalization import Standardize
from crossview.engine.learners.frame.settings import Dimensions
from crossview.engine.learners.frame.supervision import Supervision, rows_of_classes, shared_classes
from crossview.engine.learners.frame.traits import LinearLearner, SeparateLearner
from crossview.engine.learners.frame.view_rows import Rows, present_rows
from crossview.engine.learners.subspace.cca import Shrinkage, shrinkages, whitener
from crossview.engine.learners.subspace.span import Span

_ROUNDING = 1e-10  # deviations of standardised columns below this are rounding


@dataclass(eq=False, repr=False)
class LinearDiscriminants(LinearLearner, SeparateLearner, MultiViewLearner):
    """Projections of each view on the directions that separate its classes best; embeddings of two views are not
    comparable.

    Discriminant analysis of Fisher (1936) and Rao (1948): the principal directions of the class means, with rows
    whitened by the pooled covariance within classes. Columns are standardised first, and that covariance S is shrunk to
    (1 - s) S + s tr(S)/d I, so columns may be constant, dependent or more than the rows. The learner leaves out rows
    that are alone in their class, as unlabelled rows are.

    Args:
        n_components: maximum number of directions; there are at most the number of classes minus one. None: all.
        shrinkage: s in [0, 1], one for all views or one per view; "auto", which also holds for views added later,
            estimates it per view by Ledoit and Wolf (2004).
        view_slices: widths of the views in a 2-D ``X``; None: one view.

    Attributes:
        classes_: (K,) the classes.
        shrinkage_: list of the shrinkages used, one per view.

    Raises:
        ValueError: from ``fit``, for parameters out of range, missing labels, fewer than two classes of two rows, or a
            view that does not vary within any class.
    """

    name = "lda"
    max_items = MANY_ITEMS
    capabilities: ClassVar[Capabilities] = Capabilities(
        needs_labels=True, adds_views=True, main_parameter="n_components"
    )

    shrinkage_: list[float] = field(init=False)

    n_components: Dimensions | None = None
    shrinkage: Shrinkage = "auto"
    view_slices: Sequence[int] | None = None

    def most_dimensions(self, ranks: Sequence[int], classes: int) -> int:
        """Return the rank of the widest view, at most the number of classes minus one."""
        return min(max(ranks), max(classes - 1, 1))

    def _fit(self, views: list[Rows], supervision: Supervision) -> None:
        if not isinstance(self.shrinkage, str | float | int) and len(self.shrinkage) != len(views):
            raise ValueError(f"shrinkage has {len(self.shrinkage)} numbers: give one, or one for each view")
        self.classes_: NDArray[Any] = shared_classes(supervision.classes)
        super()._fit(views, supervision)

    def _fit_view(self, views: list[Rows], supervision: Supervision, view: int) -> dict[str, Any]:
        rows, labels = present_rows(views, supervision, view)
        rows, codes = rows_of_classes(rows, np.asarray(labels), self.classes_)
        _, codes = np.unique(codes, return_inverse=True)
        count = min(self.n_components or len(self.classes_), len(self.classes_) - 1)
        scaler = Standardize().fit([rows])
        span = Span.of(scaler.transform(rows, view=0))
        members = np.eye(codes.max() + 1)[:, codes]
        means = members @ span.rows / members.sum(axis=1, keepdims=True)
        within = replace(span, rows=span.rows - means[codes])
        shrinkage = shrinkages([within], self._shrinkage(view))[0]
        weights = span.lifted(_discriminants(within, means, np.bincount(codes) / len(codes), shrinkage, count))
        return {"weights_": weights / scaler.deviations_[0], "means_": scaler.means_[0], "shrinkage_": shrinkage}

    def _shrinkage(self, view: int) -> Shrinkage:
        if isinstance(self.shrinkage, str | float | int):
            return self.shrinkage
        return self.shrinkage[view] if view < len(self.shrinkage) else "auto"


def _discriminants(within: Span, means: Rows, shares: NDArray[np.float64], shrinkage: float, count: int) -> Rows:
    """Return the (D, r) directions, D <= count, given deviations from the class means (n, r) and the means (K, r)."""
    if np.abs(within.rows).max() < _ROUNDING:
        raise ValueError(
            "the rows of each class are equal, so there is no scatter within classes: use another view, or pca"
        )
    whitening = whitener(within, shrinkage)
    _, spreads, directions = np.linalg.svd(np.sqrt(shares)[:, None] * means @ whitening, full_matrices=False)
    rank = int((spreads > max(len(means), within.width) * np.finfo(float).eps * spreads[0]).sum())
    return np.asarray(directions[: min(count, max(rank, 1))] @ whitening.T)
