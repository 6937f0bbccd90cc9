"""Kernel maps: vectors whose inner products are a kernel of rows, which turn linear learners into kernel learners."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.metrics.pairwise import additive_chi2_kernel, euclidean_distances
from sklearn.utils import check_random_state

from crossview.engine.learners.frame.base import MAX_ITEMS
from crossview.engine.learners.frame.capabilities import Capabilities
from crossview.engine.learners.frame.cost import FitCost, FitSize, linear_cost
from crossview.engine.learners.frame.settings import Between, OneView, Positive, Seed
from crossview.engine.learners.frame.step import Step
from crossview.engine.learners.frame.supervision import Supervision
from crossview.engine.learners.frame.view_rows import Rows, present_rows, slices
from crossview.engine.runtime.threads import over

_SMALLEST = 1e-9
"""Share of the largest eigenvalue below which directions are rounding and are dropped."""


@dataclass(eq=False, repr=False)
class KernelMap(Step):
    """Kernel map of each view: the kernel of a row with all training rows, or with fewer landmarks that represent them.

    The kernel matrix of the landmarks is K = V diag(l) V^T, and a row x becomes diag(l)^(-1/2) V^T k(landmarks, x).
    This is the empirical kernel map if every training row is a landmark, and Nystroem's approximation (Williams and
    Seeger, NIPS 2000) if there are fewer. The learner keeps the landmarks, so that it can map queries out of sample.

    The kernels are exp(-d / m) with d the squared Euclidean ("rbf") or the chi-squared distance sum (x - y)^2 / (x + y)
    ("chi2", for histograms) and m its mean over the landmarks times ``bandwidth`` (the mean-distance rule), or x . y
    ("linear"). With "precomputed", a row already contains the kernel's values with the training rows, in their order.

    Args:
        kernel: "rbf", "chi2", "linear" or "precomputed".
        n_landmarks: maximum number of landmarks. With fewer training rows, all of them are landmarks.
        bandwidth: factor of m, > 0.
        landmarks: how to choose landmarks of more training rows: "kmeans", the means of clusters; or "random", randomly
            drawn rows, as "precomputed" always does.
        random_state: seed of the draws; None draws differently each time.
        views: the views to map, counted from 0; rows of other views pass unchanged. None: all views.
        view_slices: widths of the views in a 2-D ``X``; None: one view.

    Attributes:
        landmarks_: list of (m, d_v) arrays; for "precomputed", (m,) columns of the landmarks.
        maps_: list of (m, r_v) arrays, V diag(l)^(-1/2).
        scales_: list of float, the mean distances times the bandwidth; 1 for "linear" and "precomputed".

    Raises:
        ValueError: from ``fit``, for parameters out of range; with "chi2" for negative values, from ``transform`` too;
            with "precomputed" unless there are as many columns as training rows.
    """

    name = "kernel"
    capabilities: ClassVar[Capabilities] = replace(Step.capabilities, main_parameter="kernel")
    max_items = MAX_ITEMS  # a row becomes as many columns as there are landmarks

    landmarks_: list[Rows] = field(init=False)
    maps_: list[Rows] = field(init=False)
    scales_: list[float] = field(init=False)

    kernel: Literal["rbf", "chi2", "linear", "precomputed"] = "rbf"
    n_landmarks: Annotated[int, Between(1, 10_000)] = 1000
    bandwidth: Positive = 1.0
    landmarks: Literal["kmeans", "random"] = "kmeans"
    random_state: Seed = None
    views: Sequence[OneView] | None = None
    view_slices: Sequence[int] | None = None

    def fit_cost(self, size: FitSize) -> FitCost:
        """Return the cost of the kernel's values and of the landmarks."""
        return linear_cost(size, self.embedded_widths(size))

    def embedded_widths(self, size: FitSize) -> tuple[int, ...]:
        """Return the number of landmarks, for the views to map."""
        most = min(self.n_landmarks, size.items)
        return tuple(most if self._is_for(view) else width for view, width in enumerate(size.widths))

    def _fit_view(self, views: list[Rows], supervision: Supervision, view: int) -> dict[str, Any]:
        rows, _ = present_rows(views, supervision, view)
        nothing = np.zeros((0, 0))
        if not self._is_for(view):
            return {"landmarks_": nothing, "maps_": nothing, "scales_": 1.0}
        places, few = np.arange(len(rows)), len(rows) > self.n_landmarks
        random = check_random_state(self.random_state)
        if few:
            places = np.sort(random.permutation(len(rows))[: self.n_landmarks])
        if self.kernel == "precomputed":
            if rows.shape[1] != len(rows):
                raise ValueError(f"a precomputed kernel of {len(rows)} rows must be square, not of shape {rows.shape}")
            return {"landmarks_": places, "maps_": inverse_root(rows[np.ix_(places, places)]), "scales_": 1.0}
        landmarks = cluster_means(rows, places, random) if few and self.landmarks == "kmeans" else rows[places]
        scale = self._scale(landmarks)
        root = inverse_root(self._kernel(landmarks, landmarks, scale))
        return {"landmarks_": landmarks, "maps_": root, "scales_": scale}

    def _map(self, rows: Rows, view: int) -> Rows:
        return np.asarray(self._kernel(rows, self.landmarks_[view], self.scales_[view]) @ self.maps_[view])

    def _scale(self, rows: Rows) -> float:
        if self.kernel == "linear":
            return 1.0
        return self.bandwidth * (float(self._distances(rows, rows).mean()) or 1.0)

    def _kernel(self, rows: Rows, landmarks: NDArray[Any], scale: float) -> Rows:
        if self.kernel == "precomputed":
            return np.asarray(rows[:, landmarks])
        if self.kernel == "linear":
            return np.asarray(rows @ landmarks.T)
        return np.exp(-self._distances(rows, landmarks) / scale)

    def _distances(self, rows: Rows, landmarks: Rows) -> Rows:
        if self.kernel == "rbf":
            middle = landmarks.mean(axis=0)  # far from the origin, products would lose the differences between rows
            return np.asarray(euclidean_distances(rows - middle, landmarks - middle, squared=True), dtype=np.float64)
        if min(rows.min(), landmarks.min()) < 0:
            raise ValueError("kernel chi2 compares histograms, but there are negative values: use kernel rbf")
        parts = slices(len(rows), landmarks.size)  # a block compares each of its values with every value of a column
        return -np.concatenate([additive_chi2_kernel(rows[part], landmarks) for part in parts])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags


def inverse_root(matrix: Rows) -> Rows:
    """Return V diag(l)^(-1/2) of a positive semi-definite matrix without vanishing l, with at least one column."""
    values, vectors = np.linalg.eigh(matrix)
    leading = values > max(_SMALLEST * values[-1], np.finfo(np.float64).tiny)
    leading[-1] = True
    return np.asarray(vectors[:, leading] / np.sqrt(np.maximum(values[leading], np.finfo(np.float64).tiny)))


_ROUNDS = 3  # more rounds change neither the clusters nor the accuracy of later learners
_ROWS = 20_000  # the maximum number of rows to cluster, drawn at random


def cluster_means(rows: Rows, places: NDArray[np.intp], random: np.random.RandomState) -> Rows:
    """Return the means of the clusters that form around the chosen rows, (m, d), after a few rounds of Lloyd's k-means.

    Zhang, Tsang and Kwok, "Improved Nystroem low-rank approximation and error analysis" (ICML 2008): the error of
    encoding each row by its nearest landmark, which k-means lowers, bounds the error of Nystroem's approximation. A
    chosen row that is not nearest to any row stays as it is.
    """
    middle = rows[places].mean(axis=0)  # single precision holds rows only near the origin
    means, least, most = rows[places] - middle, rows.min(axis=0), rows.max(axis=0)
    if len(rows) > _ROWS:
        rows = rows[random.permutation(len(rows))[:_ROWS]]
    rows = rows - middle
    single = rows.astype(np.float32)
    blocks = list(slices(len(rows), len(means)))
    for _ in range(_ROUNDS):
        nearest = np.concatenate(over(blocks, partial(_nearest, single, means.astype(np.float32))))
        sizes = np.bincount(nearest, minlength=len(means))
        members = sp.csr_array((np.ones(len(rows)), (nearest, np.arange(len(rows)))), (len(means), len(rows)))
        sums = np.asarray(members @ rows)
        means[sizes > 0] = sums[sizes > 0] / sizes[sizes > 0, None]
    return np.asarray(np.clip(means + middle, least, most))  # rounding takes a mean below 0, which no histogram may be


def _nearest(rows: NDArray[np.float32], means: NDArray[np.float32], block: slice) -> NDArray[np.intp]:
    products = rows[block] @ means.T
    return np.asarray(np.argmin(np.square(means).sum(axis=1) - 2 * products, axis=1))
