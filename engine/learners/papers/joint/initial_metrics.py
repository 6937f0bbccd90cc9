"""The start of a descent: initial metrics from the slopes of comparisons at metrics of zero."""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh

from crossview.engine.learners.frame.view_rows import Rows
from crossview.engine.learners.papers.joint.comparison_loss import Notions
from crossview.engine.learners.papers.joint.losses import Loss
from crossview.engine.learners.papers.joint.objectives import Features, Inputs, OverEmbeddings, balanced

_SCALES = 2.0 ** np.arange(-8, 14)  # scales of the start to try
_STIR = 1e-2  # noise, as a share of the largest entry
_WHOLE = 600  # number of columns up to which a dense solver finds the eigenvectors


def first_factors(inputs: Inputs, notions: Notions, loss: Loss, width: int) -> list[Rows]:
    """Return, for each notion, a (H, width) factor of the metric along which the loss falls fastest from zero.

    The derivative of the loss at the metric of zero is X^T S X, with S the Laplacian of the slopes. The factors are the
    leading eigenvectors of its negative, each times the root of its eigenvalue, if that is positive.
    """
    return [_first_factor(inputs, notions.of(notion), loss, width) for notion in range(notions.count)]


def joint_start(
    inputs: Inputs, factors: list[Rows], losses: OverEmbeddings, width: int, seed: int
) -> tuple[Rows, Rows]:
    """Return the (H, D) map and (T, D, D) factors nearest to the factors of the notions, at the scale of the smallest
    loss."""
    factors = [_of_unit_length(inputs, factor) for factor in factors]
    left, _, _ = np.linalg.svd(np.hstack(factors), full_matrices=False)
    basis = left[:, :width]
    common, local = balanced(basis, stirred(basis.T @ np.stack(factors), seed))
    mapped = inputs.project(common)
    scale = _best_scale(lambda times: losses(np.sqrt(times) * (mapped @ local), 0.0)[0])
    return common * scale**0.25, local * scale**0.25


def factor_start(inputs: Inputs, factor: Rows, losses: OverEmbeddings, seed: int) -> Rows:
    """Return a (H, D) factor of one notion at the scale of the smallest loss."""
    factor = stirred(_of_unit_length(inputs, factor), seed)
    mapped = inputs.project(factor)
    scale = _best_scale(lambda times: losses(np.sqrt(times) * mapped[None], 0.0)[0])
    return np.asarray(factor * np.sqrt(scale))


def random_start(inputs: Inputs, losses: OverEmbeddings, width: int, count: int, seed: int) -> tuple[Rows, Rows]:
    """Return a random map L and identities M_t, the start of Algorithm 1, at the scale of the smallest loss."""
    common = np.random.default_rng(seed).normal(size=(inputs.width, width)) / np.sqrt(inputs.width)
    local = np.broadcast_to(np.eye(width), (count, width, width)).copy()
    mapped = inputs.project(common)
    scale = _best_scale(lambda times: losses(np.sqrt(times) * (mapped @ local), 0.0)[0])
    return balanced(common, stirred(local * np.sqrt(scale), seed))


def _first_factor(inputs: Inputs, notion: Notions, loss: Loss, width: int) -> Rows:
    constraints, count = notion.constraints, inputs.count
    zeros = np.zeros(len(constraints))
    losses = loss(zeros, zeros, constraints.margins, 0.0)
    pairs = np.concatenate([constraints.near, constraints.far])
    slopes = np.concatenate([losses.near, losses.far]) * np.tile(constraints.weights, 2)
    first, second = pairs.T
    edges = sp.csr_array((slopes, (first, second)), shape=(count, count))
    degrees = np.bincount(first, slopes, count) + np.bincount(second, slopes, count)
    laplacian = sp.diags_array(degrees) - edges - edges.T
    scatter = inputs.rows.T @ (laplacian @ inputs.rows) if isinstance(inputs, Features) else laplacian
    return _factor(-scatter, min(width, inputs.width))


def _factor(matrix: Any, width: int) -> Rows:
    """Return (H, width) leading eigenvectors times the roots of their eigenvalues, zero for negative eigenvalues."""
    size = matrix.shape[0]
    if size <= _WHOLE or 3 * width > size:
        dense: Any = matrix if isinstance(matrix, np.ndarray) else matrix.toarray()
        values, vectors = eigh((dense + dense.T) / 2, subset_by_index=[size - width, size - 1])
    else:
        start = np.random.default_rng(0).normal(size=size)  # for the same result each time
        values, vectors = sp.linalg.eigsh(matrix, width, which="LA", v0=start, tol=1e-2, maxiter=50 * size)
    order = np.argsort(-values)
    return np.asarray(vectors[:, order] * np.sqrt(np.maximum(values[order], 0.0)))


def _of_unit_length(inputs: Inputs, factor: Rows) -> Rows:
    """Return the factor scaled so that embeddings have a mean squared length of 1."""
    length = float(np.sqrt(np.mean(np.square(inputs.project(factor)).sum(axis=1))))
    return factor / (length or 1.0)


def stirred(factor: Rows, seed: int) -> Rows:
    """Return a factor with a little noise, because a direction in which it is exactly zero would stay zero."""
    noise = np.random.default_rng(seed).normal(size=factor.shape)
    return factor + _STIR * max(float(np.abs(factor).max()), 1e-12) * noise


def _best_scale(loss: Callable[[float], float]) -> float:
    return float(min(_SCALES, key=loss))
