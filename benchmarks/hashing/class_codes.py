"""The trivial supervised hasher, which shows what a database coded by its labels measures."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from crossview.engine.learners.frame.capabilities import Capabilities
from crossview.engine.learners.frame.settings import Bits, Positive, Seed
from crossview.engine.learners.frame.supervision import Supervision
from crossview.engine.learners.frame.view_rows import Rows
from crossview.engine.learners.hashing.hasher import Hasher
from crossview.engine.learners.subspace.ridge_path import RidgePath

_PENALTIES = np.logspace(-6, 1, 15)


class ClassCodes(Hasher):
    """A random code for each class; the bits of a row are the signs of a ridge regression of each view on the codes.

    Args:
        n_bits: bits of a code.
        alpha: the ridge's penalty per row, in units of a row's mean squared length; None: of 15 from 1e-6 to 10, the
            one of least squared error of predictions that leave the row out.
        random_state: seed of the codes.
        view_slices: widths of the views in a 2-D ``X``; None: two halves.

    Attributes:
        classes_: (K,) the classes.
        class_codes_: (K, B) their codes, 0 and 1.
    """

    name = "class-codes"
    capabilities = Capabilities(
        cross_view=True, needs_labels=True, least_views=2, binary=True, codes_of_vectors=True, main_parameter="n_bits"
    )

    def __init__(
        self,
        n_bits: Bits = 64,
        alpha: Positive | None = None,
        random_state: Seed | None = None,
        view_slices: Sequence[int] | None = None,
    ) -> None:
        self.n_bits = n_bits
        self.alpha = alpha
        self.random_state = random_state
        self.view_slices = view_slices

    def codes_of_classes(self, classes: ArrayLike) -> Rows:
        """Return the (n, B) codes, 0 and 1, of (n,) learned classes."""
        codes: Rows = self.class_codes_[np.searchsorted(self.classes_, classes)]
        return codes

    def _fit(self, views: list[Rows], supervision: Supervision) -> None:
        self.classes_ = np.unique(supervision.classes)
        random = check_random_state(self.random_state)
        self.class_codes_ = random.randint(2, size=(len(self.classes_), self.n_bits)).astype(float)
        targets = 2.0 * self.codes_of_classes(supervision.classes) - 1.0
        self.weights_, self.offsets_ = [], []
        for rows, present in zip(views, supervision.mask.T, strict=True):
            own, own_targets = rows[present], targets[present]
            path = RidgePath.of_rows(own, own_targets)
            unit = float(path.values.sum()) or 1.0
            penalty = path.best_penalty(_PENALTIES * unit) if self.alpha is None else self.alpha * unit
            weights = (own - own.mean(axis=0)).T @ path.coefficients(penalty)
            self.weights_.append(weights.T)
            self.offsets_.append(path.means - own.mean(axis=0) @ weights)

    def _scores(self, rows: Rows, view: int) -> Rows:
        return np.asarray(rows @ self.weights_[view].T + self.offsets_[view])
