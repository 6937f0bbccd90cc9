"""Hashers of another learner's embeddings."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crossview.engine.learners.capabilities import Capabilities
from crossview.engine.learners.supervision import Supervision
from crossview.engine.learners.traits import SeparateLearner
from crossview.engine.learners.view_rows import Rows, present_rows


class StageHasher(SeparateLearner):
    """A trait of a hasher: hashes rows about their mean.

    If the rows of all views are vectors of one space, all views have one hash, so that their codes stay comparable;
    else each view has its own. The trait stands before :class:`~engine.learners.hashing.hasher.Hasher` among the bases.
    A subclass may define ``_fit_view`` and ``_scores`` beyond the centring that they do here.

    Attributes:
        shared_space_: bool, whether one hash is for all views.
        offsets_: list of (d,) arrays, the mean row by view; of one array, that of all views' rows, if
            ``shared_space_``.
    """

    capabilities = Capabilities(
        adds_views=True,
        keeps_cross_view=True,
        auxiliary=True,
        binary=True,
        codes_of_vectors=True,
        main_parameter="n_bits",
    )

    view_widths_: list[int]
    shared_space_: bool
    offsets_: list[NDArray[np.float64]]

    def _fit(self, views: list[Rows], given: Supervision) -> None:
        self.shared_space_ = given.shared_space
        self._check_widths()
        if self.shared_space_:
            joined = np.vstack([rows[present] for rows, present in zip(views, given.mask.T, strict=True)])
            views, given = [joined], replace(given, mask=np.ones((len(joined), 1), bool))
        super()._fit(views, given)

    def _add_view(self, views: list[Rows], given: Supervision) -> None:
        if given.shared_space != self.shared_space_:
            raise ValueError(
                f"shared_space={given.shared_space} but the hasher was fitted with shared_space={self.shared_space_}"
            )
        self._check_widths()
        if not self.shared_space_:
            super()._add_view(views, given)

    def _check_widths(self) -> None:
        if self.shared_space_ and len(set(self.view_widths_)) > 1:
            raise ValueError(f"one hash for all views needs rows of one width, not {self.view_widths_}")

    def _fit_view(self, views: list[Rows], given: Supervision, view: int) -> dict[str, Any]:
        rows, _ = present_rows(views, given, view)
        return {"offsets_": rows.mean(axis=0)}

    def _scores(self, rows: Rows, view: int) -> Rows:
        return rows - self.offsets_[self._hash_of(view)]

    def _vectors(self, rows: Rows, view: int) -> Rows:
        return rows  # the embeddings of the learner before it, whose distances the codes approximate

    def _hash_of(self, view: int) -> int:
        """Return the position of a view's hash."""
        return 0 if self.shared_space_ else view
