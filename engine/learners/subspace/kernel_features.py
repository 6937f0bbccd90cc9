"""Kernel features of the rows of one view, and maps from rows to embeddings of unit length through them."""

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crossview.engine.learners.frame.kernels import KernelMap
from crossview.engine.learners.frame.normalization import signed_root
from crossview.engine.learners.frame.view_rows import Rows
from crossview.engine.learners.subspace.row_kernel import LandmarkDistances

_FEATURES = 400
"""Maximum number of kernel features of a view, those of greatest variance."""
Scaling = Literal["root", "none"]
"""The scaling of the rows that a kernel compares: their signed square roots, or none."""


class RowsKernel(NamedTuple):
    """A Gaussian kernel of rows, with the factor of its width, see ``KernelMap``."""

    scaling: Scaling
    bandwidth: float


@dataclass(frozen=True, eq=False)
class InstanceMap:
    """The map of one view's rows to instance embeddings of unit length.

    Attributes:
        scaling: of the rows.
        landmarks: (m, d) scaled rows with which a Gaussian kernel compares others.
        scale: the squared distance at which the kernel falls to 1/e.
        weights: (m, D) weights of the kernel's values.
        offsets: (D,) embedding of the mean row, before scaling to unit length.
    """

    scaling: Scaling
    landmarks: Rows
    scale: float
    weights: Rows
    offsets: NDArray[np.float64]

    def embedded(self, rows: Rows) -> Rows:
        """Return the embeddings of (n, d) rows, (n, D)."""
        scaled, landmarks = _scaled(rows, self.scaling), LandmarkDistances(self.landmarks)
        embeddings = np.empty((len(rows), self.weights.shape[1]))
        for part in landmarks.blocks(len(rows)):
            squared = landmarks.squared(scaled[part])
            squared /= -self.scale
            embeddings[part] = np.exp(squared, out=squared) @ self.weights
        return unit_length(embeddings - self.offsets)


@dataclass(frozen=True, eq=False)
class KernelFeatures:
    """The kernel features of the rows of one view.

    Attributes:
        scaling: of the rows that the kernel compares.
        kernel: a fitted kernel map of one view.
        rows: (n, r) features, the r of greatest variance, without their mean; 0 for an item without the view.
        mean: (r,) their mean.
        present: (n,), whether each item has the view.
    """

    scaling: Scaling
    kernel: KernelMap
    rows: Rows
    mean: NDArray[np.float64]
    present: NDArray[np.bool_]

    @classmethod
    def of(
        cls, rows: Rows, present: NDArray[np.bool_], kind: RowsKernel, landmarks: int, random_state: Any
    ) -> "KernelFeatures":
        """Return the features of the present of (n, d) rows by a kernel."""
        own = _scaled(rows[present], kind.scaling)
        kernel = KernelMap(n_landmarks=landmarks, bandwidth=kind.bandwidth, random_state=random_state).fit([own])
        kernel.maps_ = [kernel.maps_[0][:, -_FEATURES:]]
        features = kernel.embedded(own, 0)
        mean = features.mean(axis=0)
        centred = np.zeros((len(rows), features.shape[1]))
        centred[present] = features - mean
        return cls(kind.scaling, kernel, centred, mean, present)

    def map(self, weights: Rows) -> InstanceMap:
        """Return the map of rows whose features have (r, D) weights."""
        root = self.kernel.maps_[0] @ weights
        return InstanceMap(self.scaling, self.kernel.landmarks_[0], self.kernel.scales_[0], root, self.mean @ weights)


def _scaled(rows: Rows, scaling: Scaling) -> Rows:
    return signed_root(rows) if scaling == "root" else rows


def unit_length(rows: Rows) -> Rows:
    """Return rows of unit length; a row of zeros stays."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(lengths > 0, lengths, 1.0))
