"""Semantic correlation maximisation, a hasher of the literature that the hashing benchmark compares with."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import svds

from crossview.engine.learners.frame.capabilities import Capabilities
from crossview.engine.learners.frame.settings import Bits
from crossview.engine.learners.frame.supervision import Supervision
from crossview.engine.learners.frame.view_rows import Rows, complete
from crossview.engine.learners.hashing.hasher import Hasher
from crossview.engine.learners.subspace.cca import Shrinkage, shrinkages, whitener
from crossview.engine.learners.subspace.span import Span


class SemanticCorrelation(Hasher):
    """Two views' codes whose products approximate the similarity of the labels, bit after bit.

    Zhang and Li, "Large-Scale Supervised Multimodal Hashing with Semantic Correlation Maximization" (AAAI 2014), the
    sequential variant SCM-seq: with S = 1 for two items of one class and -1 else, bit t is the pair of unit-variance
    directions of largest covariance w^T X^T R Y v, where R = B S less the products of the bits before. The directions'
    variance is shrunk as that of CCA is; the paper adds 1e-6 to it.

    Args:
        n_bits: B.
        shrinkage: as of ``CanonicalCorrelation``.
        view_slices: widths of the views in a 2-D ``X``; None: two halves.
    """

    name = "scm"
    capabilities = Capabilities(
        cross_view=True,
        needs_labels=True,
        least_views=2,
        most_views=2,
        binary=True,
        codes_of_vectors=True,
        main_parameter="n_bits",
    )

    def __init__(
        self, n_bits: Bits = 64, shrinkage: Shrinkage = "auto", view_slices: Sequence[int] | None = None
    ) -> None:
        self.n_bits = n_bits
        self.shrinkage = shrinkage
        self.view_slices = view_slices

    def _fit(self, views: list[Rows], supervision: Supervision) -> None:
        count = self.n_bits
        classes = np.unique(np.asarray(supervision.classes)[supervision.mask.all(axis=1)], return_inverse=True)[1]
        members = np.eye(classes.max() + 1)[classes]
        views = complete(views, supervision.mask)
        self.means_ = [rows.mean(axis=0) for rows in views]
        spans = [Span.of(rows - mean) for rows, mean in zip(views, self.means_, strict=True)]
        shrunk = shrinkages(spans, self.shrinkage)
        whiteners = [whitener(span, s) for span, s in zip(spans, shrunk, strict=True)]
        first, second = (span.rows @ W for span, W in zip(spans, whiteners, strict=True))
        residual = count * (2 * (first.T @ members) @ (second.T @ members).T - np.outer(first.sum(0), second.sum(0)))
        directions: list[list[NDArray[np.float64]]] = [[], []]
        for _ in range(count):
            left, right = _leading(residual)
            residual -= np.outer(first.T @ np.sign(first @ left), second.T @ np.sign(second @ right))
            directions[0].append(left)
            directions[1].append(right)
        factors = zip(spans, directions, whiteners, strict=True)
        self.weights_ = [span.lifted(np.array(vectors) @ W.T) for span, vectors, W in factors]

    def _scores(self, rows: Rows, view: int) -> Rows:
        scores: Rows = (rows - self.means_[view]) @ self.weights_[view].T
        return scores


def _leading(matrix: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the pair of unit vectors of the largest singular value."""
    if min(matrix.shape) == 1:
        left, _, right = np.linalg.svd(matrix, full_matrices=False)
    else:
        left, _, right = svds(matrix, k=1, rng=0)
    return left[:, 0], right[0]
