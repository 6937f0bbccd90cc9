"""Lifting of rows, after which distances rank as inner products do."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from crossview.engine.learners.frame.capabilities import Capabilities
from crossview.engine.learners.frame.step import Step
from crossview.engine.learners.frame.supervision import Supervision
from crossview.engine.learners.frame.view_rows import Rows, present_rows


class InnerProduct(Step):
    """Lifting of rows to unit length, after which an item with a greater inner product with a query is nearer to it.

    A row x of view v becomes (x, 0, ..., sqrt(R^2 - |x|^2), ..., 0) / R with R^2 twice the greatest squared length of
    the view's training rows. The added columns are one for queries and one for the items of each view; a row is zero in
    all of them but its own. The squared distance of a query x of view v and an item y of any view w is therefore 2 - 2
    <x, y> / (R_v R_w), and so is the squared distance of items of two views; a row as an item is not the nearest to
    itself as a query. A view that is added later adds a column of zeros to the rows of other views, and their distances
    stay. After Bachrach et al., "Speeding up the Xbox recommender system using a Euclidean transformation for
    inner-product spaces" (RecSys 2014), who use the greatest length itself: that leaves no room for longer rows, and
    near it the root magnifies rounding.

    The cosine ignores how certain a row is, and the squared distance prefers short rows. The inner product of class
    posteriors is the probability that two items are of the same class, and retrieval is best if it ranks by this
    probability (the probability ranking principle).

    Args:
        view_slices: widths of the views in a 2-D ``X``; None: one view.

    Attributes:
        radii_: list of float, R of each view. Longer rows are shortened to it.
        query_column_: bool, whether there is a column for queries. States of earlier versions without it embed queries
            as items.
    """

    name = "dot"
    capabilities: ClassVar[Capabilities] = replace(Step.capabilities, keeps_cross_view=True)
    views: Sequence[int] | None = None  # always all views: a view that is left out would keep another width

    radii_: list[float]
    query_column_: bool = False

    def __init__(self, view_slices: Sequence[int] | None = None) -> None:
        self.view_slices = view_slices

    def _fit(self, views: list[Rows], supervision: Supervision) -> None:
        super()._fit(views, supervision)
        self.query_column_ = True

    def _fit_view(self, views: list[Rows], supervision: Supervision, view: int) -> dict[str, Any]:
        rows, _ = present_rows(views, supervision, view)
        return {"radii_": float(np.sqrt(2.0) * np.linalg.norm(rows, axis=1).max()) or 1.0}

    def _map(self, rows: Rows, view: int) -> Rows:
        return self._lifted(rows, view, view + self.query_column_)

    def _project_queries(self, rows: Rows, view: int) -> Rows:
        return self._lifted(rows, view, 0 if self.query_column_ else view)

    def _lifted(self, rows: Rows, view: int, column: int) -> Rows:
        """Return rows of a view with the added columns; the given one brings the length to 1."""
        rows = rows / self.radii_[view]
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        rows = rows / np.maximum(lengths, 1.0)
        added = np.zeros((len(rows), len(self.radii_) + self.query_column_))
        added[:, column] = np.sqrt(np.maximum(1.0 - (rows * rows).sum(axis=1), 0.0))
        return np.hstack([rows, added])
