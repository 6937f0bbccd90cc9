"""Vectors as points in a plane: by principal components, or by t-SNE."""

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA

from crossview.engine.runtime.cancellation import checkpoint, report_progress
from crossview.engine.runtime.threads import one_blas_thread
from crossview.engine.values.errors import NotReadyError, lacking

LEAST_ITEMS = 10
"""Fewer items have no neighbourhoods to keep: their principal components place them with any method."""
_COMPONENTS, _PERPLEXITY = 50, 30.0
"""Number of principal components that t-SNE reads, and its perplexity (van der Maaten and Hinton, 2008)."""
_EARLY, _LATER, _EXAGGERATION = 250, 500, 12.0
_STEPS_BETWEEN = 10
"""Number of steps between two checks for cancellation."""


class Plane(NamedTuple):
    """The places of items in a plane."""

    method: str
    """The method that has placed them."""
    points: NDArray[np.float32]
    """(n, 2)"""
    explained: float | None
    """For principal components: share of the variance that the plane explains."""


def default_method() -> str:
    """Return ``tsne`` if openTSNE is installed, otherwise ``pca``."""
    return "pca" if find_spec("openTSNE") is None else "tsne"


def check_installed(method: str) -> None:
    """Raise NotReadyError, which names the extra, if the library of a method is missing."""
    if method == "tsne" and find_spec("openTSNE") is None:
        raise lacking(NotReadyError, "use method pca, because t-SNE needs openTSNE", "map")


def placed(vectors: NDArray[np.float32], method: str, seed: int) -> Plane:
    """Return the places of vectors, (n, d) with n >= 1; equal input and seed give equal places.

    With ``pca``, these are the first two principal components, with zeros for the components that vectors lack. With
    ``tsne`` (openTSNE, Poličar, Stražar and Zupan, 2019), they start from these, and follow the neighbours in the first
    50 components: exact for fewer than 1,000 items, by random trees (Annoy) for more; forces by Barnes-Hut trees for
    fewer than 10,000 items, by interpolation for more (FIt-SNE, Linderman and others, 2019).
    """
    tsne = method == "tsne" and len(vectors) >= LEAST_ITEMS
    with one_blas_thread():  # more threads round differently
        components, explained = _components(vectors, _COMPONENTS if tsne else 2, seed)
    checkpoint()
    if not tsne:
        return Plane("pca", components[:, :2].astype(np.float32), explained)
    points = _by_neighbors(components, seed)
    return Plane("tsne", (points - points.mean(axis=0)).astype(np.float32), None)


def _components(vectors: NDArray[np.float32], count: int, seed: int) -> tuple[NDArray[np.float64], float]:
    """Return at least two principal components of vectors, (n, c), and the share of variance of the first two."""
    if bool((vectors == vectors[0]).all()):
        return np.zeros((len(vectors), 2)), 0.0
    fitted = PCA(min(count, *vectors.shape), random_state=seed)
    found = np.asarray(fitted.fit_transform(vectors), np.float64)
    missing = max(0, 2 - found.shape[1])
    return np.pad(found, ((0, 0), (0, missing))), min(float(fitted.explained_variance_ratio_[:2].sum()), 1.0)


def _by_neighbors(rows: NDArray[np.float64], seed: int) -> NDArray[np.float64]:
    from openTSNE import TSNEEmbedding, affinity, initialization

    perplexity = min(_PERPLEXITY, (len(rows) - 1) / 3)
    spread = rows[:, :2] if rows[:, :2].std() > 0 else np.random.default_rng(seed).normal(size=(len(rows), 2))
    near = affinity.PerplexityBasedNN(rows, perplexity, method=_neighbor_method(len(rows)), random_state=seed, n_jobs=1)
    checkpoint()
    start = initialization.rescale(spread, inplace=False)
    embedding = TSNEEmbedding(start, near, random_state=seed, n_jobs=1)
    options: dict[str, Any] = {"callbacks_every_iters": _STEPS_BETWEEN, "inplace": True}
    embedding.optimize(_EARLY, exaggeration=_EXAGGERATION, momentum=0.5, callbacks=_checked(0), **options)
    embedding.optimize(_LATER, momentum=0.8, callbacks=_checked(_EARLY), **options)
    return np.asarray(embedding, np.float64)


def _neighbor_method(count: int) -> str:
    return "exact" if count < 1_000 else "annoy"


def _checked(first: int) -> Callable[[int, float, Any], None]:
    """Return a callback that reports the steps of t-SNE, after ``first`` earlier ones, and raises if cancelled."""

    def check(step: int, error: float, embedding: Any) -> None:
        checkpoint()
        report_progress(first + step, _EARLY + _LATER)

    return check
