"""Hashers of another learner's embeddings."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from engine.learners.base import Mask, MultiView, Rows
from engine.learners.hashing.hasher import Hasher
from engine.learners.separate import SeparateLearner


class StageHasher(Hasher, SeparateLearner):
    """Hashes rows about their mean: all views by one hash where their rows are of one space, else each by its own.

    A subclass may define ``_fit_view`` and ``_scores`` beyond the centring that they do here.

    Attributes:
        joint_: bool, whether one hash is for all views.
        offsets_: list of (d,) arrays, the mean row by view; of one array, that of all views' rows, where ``joint_``.
    """

    stage = True
    keeps_space = True
    takes_joint = True

    joint_: bool
    offsets_: list[NDArray[np.float64]]

    def fit(self, X: MultiView, y: ArrayLike | None = None, mask: ArrayLike | None = None, joint: bool = False) -> Self:
        """Fits the hasher.

        Args:
            X: list of (n, d_v) arrays, or one (n, d) array.
            y: ignored.
            mask: (n, V), which items have which views. None: all of them.
            joint: whether the rows of all views are of one space, so that their codes should be comparable, too.

        Raises:
            ValueError: as any learner, or for views of different widths where ``joint``.
        """
        self.joint_ = joint
        return super().fit(X, y, mask)

    def add_view(
        self, X: MultiView, y: ArrayLike | None = None, mask: ArrayLike | None = None, joint: bool = False
    ) -> Self:
        """Fits one further view, the last of ``X``, or hashes it as the others where they are ``joint``."""
        check_is_fitted(self)
        if joint != self.joint_:
            raise ValueError(f"joint={joint} but the hasher was fitted with joint={self.joint_}")
        if not joint:
            return super().add_view(X, y, mask)
        self._validate_added(X, y, mask, self.needs_labels)
        return self

    def unhashed(self, rows: ArrayLike, view: int = 0) -> Rows:
        """Returns the rows themselves, checked, as float64."""
        check_is_fitted(self)
        return self._checked_rows(rows, view).astype(float, copy=False)

    def _validate(self, X: MultiView, y: ArrayLike | None, mask: ArrayLike | None, needs_labels: bool) -> Any:
        validated = super()._validate(X, y, mask, needs_labels)
        if self.joint_ and len(set(self.view_widths_)) > 1:
            raise ValueError(f"one hash for all views needs rows of one width, not {self.view_widths_}")
        return validated

    def _fit(self, views: list[Rows], labels: Any, mask: Mask) -> None:
        if self.joint_:
            joined = np.vstack([rows[there] for rows, there in zip(views, mask.T, strict=True)])
            views, mask = [joined], np.ones((len(joined), 1), bool)
        super()._fit(views, labels, mask)

    def _fit_view(self, rows: Rows, labels: NDArray[Any] | None, view: int) -> dict[str, Any]:
        return {"offsets_": rows.mean(axis=0)}

    def _scores(self, rows: Rows, view: int) -> Rows:
        return rows - self.offsets_[self._hash_of(view)]

    def _hash_of(self, view: int) -> int:
        """Returns the position of a view's hash."""
        return 0 if self.joint_ else view
