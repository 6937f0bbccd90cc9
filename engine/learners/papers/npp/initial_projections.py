"""The start of Multi-NPP: initial projections of the views."""

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from crossview.engine.learners.frame.view_rows import Rows
from crossview.engine.learners.papers.npp.problem import Problem
from crossview.engine.learners.papers.npp.similarity import Numbers, Similarity
from crossview.engine.learners.papers.npp.subproblem import squared_distances
from crossview.engine.learners.subspace.cca import correlated, whitener
from crossview.engine.learners.subspace.pca import principal_components
from crossview.engine.learners.subspace.span import Span
from crossview.engine.runtime.cancellation import checkpoint

Matrix = NDArray[np.float64]
Start = Literal["neighbors", "labels", "cca", "pca", "random"]
_SHRINKAGE = 0.1
"""Shrinkage of the covariances for the starts by correlation."""
_ITERATIONS = 10
"""Rounds of subspace iteration, which only has to come near the leading eigenvectors."""
_ROWS = 5000
"""Maximum number of rows that serve to estimate the distance of dissimilar rows."""


def random_projections(widths: Sequence[int], size: int, generator: np.random.RandomState) -> list[Matrix]:
    """Return one Gaussian (D, d_v) projection per view, where D is ``size``."""
    return [generator.standard_normal((size, width)) / np.sqrt(width) for width in widths]


def start(
    name: Start,
    problem: Problem,
    similar: Similarity,
    filled: Sequence[Matrix],
    weight: float,
    generator: np.random.RandomState,
) -> list[Matrix]:
    """Return one projection per view, (D, d_v), in the coordinates of the problem.

    Args:
        name: "neighbors": the directions in which similar rows correlate most (CCA over all similar pairs, after
            Rasiwasia et al., "Cluster canonical correlation analysis", 2014); "labels": each view's ridge regression on
            one-hot classes, or without classes on the groups that similar items form; "cca": the directions in which
            rows of the same item correlate most; "pca": each view's principal components; "random": Gaussian.
        similar: pairs of items.
        filled: random projections, one per view. They fill, at a small scale, the directions that the first four starts
            leave.
        weight: weight of the penalty of the ridge regressions, in units of a column's mean square.
    """
    rows = [view.rows for view in problem.views]
    size = len(filled[0])
    if name == "random":
        return list(filled)
    if name == "pca":
        directions = [_components(view.span, size) for view in problem.views]
    elif name == "labels":
        targets = groups(similar, size, generator)
        directions = [_ridge(view.span, targets[view.items], weight) for view in problem.views]
    else:
        directions = _correlated(name, problem, size)
    started = []
    for projection, x, leading in zip(filled, rows, directions, strict=True):
        small = _small(projection, x, _spread(x @ leading.T))
        started.append(np.vstack([leading, small[len(leading) :]]))
    return started


def start_from_fixed(
    problem: Problem,
    fixed: Mapping[int, Matrix | None],
    size: int,
    spread: float | None,
    weight: float,
    similar: Similarity,
    generator: np.random.RandomState,
    drawn: Mapping[int, Matrix],
) -> list[Matrix]:
    """Return the projections of the frozen views, and for every other view a projection fitted to them.

    Args:
        fixed: the (D, d_v) projection of each frozen view; None for its first ``size`` principal components.
        spread: the root mean square distance of dissimilar rows of the view to which the principal components are
            scaled, in units of the loss's reach. None: they keep their scale.
        weight: weight of the penalty of the ridge regressions, in units of a column's mean square.
        similar: pairs of items.
        drawn: random projections of views, which replace fitted ones. They are scaled to a hundredth of the spread of
            the frozen views, because one optimisation adds to its start, which must not outweigh what it learns.

    Raises:
        ValueError: if no row of a view is similar to a row of a frozen view.
    """
    projections: dict[int, Matrix] = {}
    for view, projection in fixed.items():
        if projection is not None:
            projections[view] = projection
            continue
        span, items, scale = problem.views[view]
        W = scale * principal_components(span.rows, size)[0]
        if spread is not None:
            apart = _dissimilar_distance(span.rows @ W.T, items, similar, generator)
            W *= spread * problem.scisd.reach / max(apart, 1e-300)
        projections[view] = W
    common = min(len(W) for W in projections.values())
    projections = {view: W[:common] for view, W in projections.items()}
    embedded = {view: problem.views[view].rows @ W.T for view, W in projections.items()}
    frozen_spread = max(map(_spread, embedded.values()))
    projections |= {view: _small(W[:common], problem.views[view].rows, frozen_spread) for view, W in drawn.items()}
    for number in set(range(len(problem.views))) - set(projections):
        partners = [(rows, problem.relations[number, other].attracted) for other, rows in embedded.items()]
        projections[number] = _fitted_to(problem.views[number].span, partners, weight)
    return [projections[number] for number in range(len(problem.views))]


def _components(span: Span, size: int) -> Matrix:
    """Return the principal components with signs that depend on all columns, so that a basis does not change them."""
    components, _ = principal_components(span.rows, size)
    columns = span.lifted(components)
    largest = np.take_along_axis(columns, np.abs(columns).argmax(axis=1, keepdims=True), axis=1)
    return np.asarray(components * np.sign(largest))


def _fitted_to(span: Span, partners: Sequence[tuple[Rows, Similarity]], weight: float) -> Matrix:
    """Return the (D, d) projection of a view by ridge regression on the mean embedding of the rows' partners.

    ``partners`` contains, for each frozen view, its (m, D) embeddings and the pairs of rows that attract each other,
    (n, m).
    """
    targets: Rows = np.zeros((len(span.rows), partners[0][0].shape[1]))
    counts = np.zeros((len(span.rows), 1))
    for embeddings, similar in partners:
        targets += similar.sums(embeddings)
        counts += similar.sums(np.ones((len(embeddings), 1)))
    reached = np.flatnonzero(counts)
    if not len(reached):
        raise ValueError("no row of the learned view is similar to a row of a frozen view")
    return _ridge(span.take(reached), targets[reached] / counts[reached], weight)


def _ridge(span: Span, targets: Rows, weight: float) -> Matrix:
    """Return the (D, d) projection of ridge regression, in coordinates of the span."""
    rows = span.rows
    covariance = rows.T @ rows / len(rows)
    penalty = max(weight * float(np.trace(covariance)) / span.width, np.finfo(np.float64).tiny)
    solution = np.linalg.solve(covariance + penalty * np.eye(len(covariance)), rows.T @ targets / len(rows))
    return np.asarray(solution.T, dtype=np.float64)


def groups(similar: Similarity, size: int, generator: np.random.RandomState) -> Rows:
    """Return (n, at most D) centred rows, spectral embeddings in which items with equal neighbours have equal rows.

    The leading eigenvectors of the similarity by subspace iteration, with rows scaled to unit length before centring
    (Ng, Jordan and Weiss, On spectral clustering, 2001). For up to D classes these are one-hot classes, up to a
    rotation.
    """
    basis = generator.standard_normal((similar.shape[0], min(size, similar.shape[0])))
    back = similar.transposed()
    for _ in range(_ITERATIONS):
        checkpoint()
        basis = np.linalg.qr(similar.sums(basis) + back.sums(basis))[0]
    values, vectors = np.linalg.eigh(basis.T @ (similar.sums(basis) + back.sums(basis)))
    rows = basis @ vectors[:, values > 1e-9 * values[-1]]
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    rows = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 1e-9)
    return np.asarray(rows - rows.mean(axis=0))


def _correlated(name: Start, problem: Problem, size: int) -> list[Matrix]:
    views = problem.views
    whiteners = [whitener(view.span, _SHRINKAGE) for view in views]
    white = [view.rows @ whitening for view, whitening in zip(views, whiteners, strict=True)]
    cross = {}
    for (v, w), relations in problem.relations.items():
        if v > w:
            continue
        if name == "cca":
            _, first, second = np.intersect1d(views[v].items, views[w].items, return_indices=True)
            cross[v, w] = white[v][first].T @ white[w][second] / max(len(first), 1)
        else:
            total = relations.attracted.sums(np.ones((len(white[w]), 1))).sum()
            cross[v, w] = white[v].T @ relations.attracted.sums(white[w]) / max(total, 1.0)
    directions, values = correlated(cross, size)
    correlating = values > 1e-9 * values[0]
    return [(whitening @ basis[:, correlating]).T for whitening, basis in zip(whiteners, directions, strict=True)]


def _dissimilar_distance(
    embeddings: Rows, items: Numbers, similar: Similarity, generator: np.random.RandomState
) -> float:
    """Return the root mean square distance of dissimilar rows of one view, from at most 5,000 randomly drawn rows."""
    if len(items) > _ROWS:
        places = generator.permutation(len(items))[:_ROWS]
        embeddings, items = embeddings[places], items[places]
    dissimilar = ~similar.cut(items, items).block(slice(0, len(items)))
    squared = squared_distances(embeddings, embeddings)
    return float(np.sqrt(squared[dissimilar].mean())) if dissimilar.any() else 0.0


def _small(projection: Matrix, rows: Rows, spread: float) -> Matrix:
    """Return a projection scaled so that rows have a hundredth of a spread."""
    return np.asarray(1e-2 * spread / max(_spread(rows @ projection.T), np.finfo(np.float64).tiny) * projection)


def _spread(embeddings: Rows) -> float:
    return float(np.sqrt((embeddings**2).mean()))
