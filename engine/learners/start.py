"""Where the alternating optimisation of Multi-NPP starts."""

import numpy as np
from numpy.typing import NDArray

from .base import Rows
from .cca import whitener
from .pairs import Pairs
from .pca import principal_components

Matrix = NDArray[np.float64]
STARTS = ("neighbors", "cca", "pca", "random")


def start(name: str, views: list[Rows], pairs: Pairs, size: int, generator: np.random.RandomState) -> list[Matrix]:
    """Returns one (D, d_v) projection per view of two.

    Args:
        name: "neighbors": the directions in which similar pairs correlate most (CCA over all similar pairs, after
            Rasiwasia et al., "Cluster canonical correlation analysis", 2014); "cca": those in which rows of the same
            number do; "pca": each view's principal components; "random": Gaussian.
        views: two centred (n, d_v) arrays.
        size: D. Directions that the first three cannot fill are small and random.

    Raises:
        ValueError: for another name.
    """
    if name not in STARTS:
        raise ValueError(f"init={name!r} must be one of {', '.join(STARTS)}, or one array per view")
    filled = [generator.standard_normal((size, rows.shape[1])) / np.sqrt(rows.shape[1]) for rows in views]
    if name == "random":
        return filled
    if name == "pca":
        found = [principal_components(rows, size)[0] for rows in views]
    else:
        found = _correlated(views, _pull(views[1], pairs) if name == "neighbors" else views[1], size)
    started = []
    for projection, rows, leading in zip(filled, views, found, strict=True):
        small = 1e-2 * _spread(rows, leading) / max(_spread(rows, projection), np.finfo(np.float64).tiny)
        started.append(np.vstack([leading, small * projection[len(leading) :]]))
    return started


def pulled(embeddings: Rows, pairs: Pairs) -> Rows:
    """Returns, for each row, the mean of the embeddings it is similar to; 0 where there is none."""
    return _pull(embeddings, pairs) / np.maximum(_degrees(pairs), np.finfo(np.float64).tiny)[:, None]


def ridge(rows: Rows, targets: Rows, weight: float) -> Matrix:
    """Returns the (D, d) W with the least mean squared ||W x - t||^2 + weight tr(cov)/d ||W||^2."""
    covariance = rows.T @ rows / len(rows)
    penalty = max(weight * float(np.trace(covariance)) / len(covariance), np.finfo(np.float64).tiny)
    solution = np.linalg.solve(covariance + penalty * np.eye(len(covariance)), rows.T @ targets / len(rows))
    return np.asarray(solution.T, dtype=np.float64)


def _correlated(views: list[Rows], partners: Rows, size: int) -> list[Matrix]:
    """CCA where row i of the first view meets row i of ``partners``, sums of rows of the second view."""
    whiteners = [whitener(rows, 0.1) for rows in views]
    cross = (views[0] @ whiteners[0]).T @ (partners @ whiteners[1])
    left, values, right = np.linalg.svd(cross, full_matrices=False)
    kept = min(size, int((values > 1e-9 * values[0]).sum()))
    return [(whiteners[0] @ left[:, :kept]).T, right[:kept] @ whiteners[1].T]


def _pull(rows: Rows, pairs: Pairs) -> Rows:
    return np.concatenate([similar @ rows for _, similar, _ in pairs.blocks()])


def _degrees(pairs: Pairs) -> NDArray[np.float64]:
    return np.concatenate([similar.sum(axis=1) for _, similar, _ in pairs.blocks()])


def _spread(rows: Rows, projection: Matrix) -> float:
    return float(np.sqrt(((rows @ projection.T) ** 2).mean()))
