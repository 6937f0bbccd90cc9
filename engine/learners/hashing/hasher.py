"""Hashers, learners whose embeddings are binary codes: the base class, the trait of hashers of embeddings, and Sign."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from crossview.engine.learners.frame.base import MultiViewLearner
from crossview.engine.learners.frame.capabilities import Capabilities
from crossview.engine.learners.frame.settings import Seed
from crossview.engine.learners.frame.supervision import Supervision
from crossview.engine.learners.frame.traits import SeparateLearner
from crossview.engine.learners.frame.view_rows import Rows, present_rows


class Hasher(MultiViewLearner):
    """The base class of learners that map rows to codes of B bits, (n, B) columns of 0 and 1; a bit is 1 if its score
    is positive.

    The squared Euclidean distance of two such embeddings is their Hamming distance, the number of differing bits, so
    code that compares embeddings also ranks codes.

    A subclass defines ``_scores``, and ``_fit`` like any learner. A parameter ``n_bits`` comes first.
    """

    capabilities: ClassVar[Capabilities] = Capabilities(binary=True, codes_of_vectors=True, main_parameter="n_bits")

    def scores(self, rows: ArrayLike, view: int = 0) -> Rows:
        """Return the (n, B) scores of rows of one view, (n, d_view); their signs are the bits.

        Raises:
            sklearn.exceptions.NotFittedError, ValueError: as ``transform``.
        """
        check_is_fitted(self)
        return self._scores(self._checked_rows(rows, view).astype(float, copy=False), view)

    def unhashed(self, rows: ArrayLike, view: int = 0, queries: bool = False) -> Rows:
        """Return the vectors behind the codes, (n, D), which order items with near codes; errors as in ``scores``."""
        check_is_fitted(self)
        return self._vectors(self._checked_rows(rows, view).astype(float, copy=False), view)

    def _vectors(self, rows: Rows, view: int) -> Rows:
        return self._scores(rows, view)  # a bit keeps only the sign of its score

    @abstractmethod
    def _scores(self, rows: Rows, view: int) -> Rows: ...

    def _project(self, rows: Rows, view: int) -> Rows:
        codes: Rows = (self._scores(rows, view) > 0).astype(float)
        return codes


Projection = Callable[[Rows, int | None, np.random.RandomState], NDArray[np.float64]]
"""A function that returns the directions A, (B, d), for (n, d) rows about their mean and a number of bits; None: its
own default. The bits of a row x with the mean row m are the signs of A (x - m)."""


def fitted_projection(rows: Rows, n_bits: int | None, seed: Seed, projection: Projection) -> dict[str, Any]:
    """Return the fitted attributes of one hash: the mean row m and the directions A."""
    center = rows.mean(axis=0)
    return {"offsets_": center, "projections_": projection(rows - center, n_bits, check_random_state(seed))}


class StageHasher(SeparateLearner):
    """The trait of hashers that hash rows about their mean, such as the embeddings of another learner.

    If the rows of all views are vectors of one space, all views share one hash, so that their codes stay comparable;
    otherwise each view has its own hash. The trait precedes :class:`~engine.learners.hashing.hasher.Hasher` among the
    bases. A subclass may add to ``_fit_view`` and ``_scores``, which only centre the rows here.

    Attributes:
        shared_space_: bool, whether all views share one hash.
        offsets_: list of (d,) arrays, the mean row of each view; with ``shared_space_``, of one array, the mean row of
            all views.
    """

    capabilities: ClassVar[Capabilities] = Capabilities(
        adds_views=True,
        keeps_cross_view=True,
        auxiliary=True,
        binary=True,
        codes_of_vectors=True,
        main_parameter="n_bits",
    )

    max_items: int | None = None

    view_widths_: list[int]
    shared_space_: bool
    offsets_: list[NDArray[np.float64]]

    def _fit(self, views: list[Rows], supervision: Supervision) -> None:
        self.shared_space_ = supervision.shared_space
        self._check_widths()
        if self.shared_space_:
            joined = np.vstack([rows[present] for rows, present in zip(views, supervision.mask.T, strict=True)])
            views, supervision = [joined], replace(supervision, mask=np.ones((len(joined), 1), bool))
        super()._fit(views, supervision)

    def _add_view(self, views: list[Rows], supervision: Supervision) -> None:
        if supervision.shared_space != self.shared_space_:
            raise ValueError(
                f"shared_space={supervision.shared_space} but the hasher was fitted with "
                f"shared_space={self.shared_space_}"
            )
        self._check_widths()
        if not self.shared_space_:
            super()._add_view(views, supervision)

    def _check_widths(self) -> None:
        if self.shared_space_ and len(set(self.view_widths_)) > 1:
            raise ValueError(f"one hash for all views needs views of equal width, not {self.view_widths_}")

    def _fit_view(self, views: list[Rows], supervision: Supervision, view: int) -> dict[str, Any]:
        rows, _ = present_rows(views, supervision, view)
        return {"offsets_": rows.mean(axis=0)}

    def _scores(self, rows: Rows, view: int) -> Rows:
        return rows - self.offsets_[self._hash_of(view)]

    def _vectors(self, rows: Rows, view: int) -> Rows:
        return rows  # the rows are embeddings of the learner before it, and the codes approximate their distances

    def _hash_of(self, view: int) -> int:
        """Return the position of a view's hash."""
        return 0 if self.shared_space_ else view


class Sign(StageHasher, Hasher):
    """Codes of as many bits as rows have columns: whether each value is above its column's mean.

    Args:
        view_slices: widths of the views in a 2-D ``X``; None: one view.
    """

    name = "sign"
    capabilities: ClassVar[Capabilities] = replace(StageHasher.capabilities, main_parameter=None)

    def __init__(self, view_slices: Sequence[int] | None = None) -> None:
        self.view_slices = view_slices
