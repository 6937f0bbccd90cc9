"""Canonical correlation analysis of two or more views, solved exactly."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from crossview.engine.learners.frame.base import MANY_ITEMS, MultiViewLearner
from crossview.engine.learners.frame.capabilities import Capabilities
from crossview.engine.learners.frame.settings import Between, Dimensions, Share
from crossview.engine.learners.frame.supervision import Supervision
from crossview.engine.learners.frame.traits import LinearLearner
from crossview.engine.learners.frame.view_rows import Rows, complete
from crossview.engine.learners.subspace.span import Span

Shrinkage = Literal["auto"] | Share | Sequence[Share]


@dataclass(eq=False, repr=False)
class CanonicalCorrelation(LinearLearner, MultiViewLearner):
    """Projections of the views on the directions in which they are most correlated (Hotelling 1936).

    The solution is that of whitened views, with each view's covariance S shrunk to (1 - s) S + s tr(S)/d I, which
    avoids amplifying directions of little variance: two views by singular values, more by MAXVAR (see ``correlated``).
    The learner compares the views item by item, so it leaves out items that lack a view.

    Args:
        n_components: maximum number of directions; fewer if a view has fewer columns or the rows fewer dimensions.
        shrinkage: s in [0, 1], one for all views or one per view; "auto" estimates it per view by Ledoit and Wolf
            (2004).
        power: power of the canonical correlation that scales each direction: 0 gives every direction unit (shrunk)
            variance, larger values give more weight to well correlated directions.
        view_slices: widths of the views in a 2-D ``X``; None: two halves.

    Attributes:
        correlations_: (D,) canonical correlations of the shrunk problem, descending.
        shrinkage_: list of the values used, one per view.

    Raises:
        ValueError: from ``fit``, for a single view or parameters out of range.
    """

    name = "cca"
    max_items = MANY_ITEMS
    capabilities: ClassVar[Capabilities] = Capabilities(cross_view=True, least_views=2, main_parameter="n_components")

    n_components: Dimensions = 50
    shrinkage: Shrinkage = "auto"
    power: Annotated[float, Between(0, 100)] = 1.0
    view_slices: Sequence[int] | None = None

    def most_dimensions(self, ranks: Sequence[int], classes: int) -> int:
        """Return the rank of the narrowest view."""
        return min(ranks)

    def _fit(self, views: list[Rows], supervision: Supervision) -> None:
        views = complete(views, supervision.mask)
        self.means_: list[NDArray[np.float64]] = [rows.mean(axis=0) for rows in views]
        spectra = [Spectrum.of(Span.of(rows - mean)) for rows, mean in zip(views, self.means_, strict=True)]
        self.shrinkage_: list[float] = shrinkages([spectrum.span for spectrum in spectra], self.shrinkage)
        directions, correlations = directions_of(spectra, self.shrinkage_, self.n_components)
        self.correlations_: NDArray[np.float64] = np.clip(correlations, 0.0, 1.0)
        self.weights_: list[NDArray[np.float64]] = [
            self.correlations_[:, None] ** self.power * rows for rows in directions
        ]


def shrinkages(views: Sequence[Span], shrinkage: Shrinkage) -> list[float]:
    """Return one shrinkage per view of centred rows, from the parameter; "auto" is Ledoit and Wolf's estimate."""
    if isinstance(shrinkage, str):
        return [ledoit_wolf(span) for span in views]
    values = np.asarray(shrinkage, dtype=np.float64)
    if values.ndim and len(values) != len(views):
        raise ValueError(f"shrinkage={shrinkage} has {len(values)} numbers: give one, or one for each view")
    return [float(value) for value in np.broadcast_to(values, len(views))]


def ledoit_wolf(span: Span) -> float:
    """Return the shrinkage of Ledoit and Wolf (2004, lemma 3.2 and following) for centred rows.

    scikit-learn's function takes the width of its input as the width of the data, but coordinates have fewer columns.
    """
    rows, width = span.rows, span.width
    gram = rows.T @ rows if len(rows) > rows.shape[1] else rows @ rows.T
    count, mean = len(rows), float(np.trace(gram)) / len(rows) / width
    size = float(np.vdot(gram, gram)) / count**2  # squared Frobenius norm of the covariance
    apart = size / width - mean**2
    error = (float(np.square(np.square(rows).sum(axis=1)).sum()) / count - size) / (width * count)
    return min(error, apart) / apart if min(error, apart) > 0 else 0.0


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Centred rows of one view with the eigenvalues of their covariance, (r,), and its eigenvectors, (r, r)."""

    span: Span
    values: NDArray[np.float64]
    vectors: Rows

    @classmethod
    def of(cls, span: Span) -> Self:
        """Return the spectrum of coordinates of (n, d) centred rows."""
        return cls(span, *np.linalg.eigh(span.rows.T @ span.rows / len(span.rows)))

    def whitener(self, shrinkage: float) -> NDArray[np.float64]:
        """Return (r, k) T with T^T ((1 - s) S + s tr(S)/d I) T = I for coordinates of the rows, of covariance S.

        Directions without variance are dropped (k < r).
        """
        values = (1 - shrinkage) * self.values + shrinkage * self.values.sum() / self.span.width
        varying = values > self.span.width * np.finfo(np.float64).eps * max(values[-1], np.finfo(np.float64).tiny)
        return np.asarray(self.vectors[:, varying] / np.sqrt(values[varying]))


def whitener(span: Span, shrinkage: float) -> NDArray[np.float64]:
    """Return the whitener of coordinates at one shrinkage, see ``Spectrum.whitener``."""
    return Spectrum.of(span).whitener(shrinkage)


Matrix = NDArray[np.float64]


def directions_of(
    spectra: Sequence[Spectrum], shrinkage: Sequence[float], size: int
) -> tuple[list[Matrix], NDArray[np.float64]]:
    """Return the (D, d_v) canonical directions of each view, of unit shrunk variance, and their correlations, (D,).

    ``shrinkage`` has a number for each view; ``size`` is the maximum number of directions.
    """
    whiteners = [spectrum.whitener(s) for spectrum, s in zip(spectra, shrinkage, strict=True)]
    white = [spectrum.span.rows @ whitener for spectrum, whitener in zip(spectra, whiteners, strict=True)]
    pairs = combinations(range(len(spectra)), 2)
    bases, correlations = correlated({(v, w): white[v].T @ white[w] / len(white[v]) for v, w in pairs}, size)
    parts = zip(spectra, whiteners, bases, strict=True)
    return [spectrum.span.lifted((whitener @ directions).T) for spectrum, whitener, directions in parts], correlations


def correlated(cross: Mapping[tuple[int, int], Matrix], size: int) -> tuple[list[Matrix], NDArray[np.float64]]:
    """Return the directions in which whitened views correlate most, one (d_v, K) array per view, and their
    correlations, (K,).

    The solution for two views is by singular values (Hotelling 1936); for more views, by the leading eigenvectors of
    the block matrix of their cross-covariances (MAXVAR; Kettenring, Canonical analysis of several sets of variables,
    1971), of which two views are the special case. The correlation of more than two views is the mean over their pairs.

    Args:
        cross: (d_v, d_w) covariance of the whitened views v < w.
        size: maximum number of directions, strongest first.
    """
    count = max(w for _, w in cross) + 1
    if count == 2:
        left, values, right = _singular(cross[0, 1])
        return [left[:, :size], right[:size].T], values[:size]
    widths = [cross[0, 1].shape[0], *(cross[0, v].shape[1] for v in range(1, count))]
    ends = np.cumsum(widths)
    blocks = np.zeros((ends[-1], ends[-1]), np.result_type(*cross.values()))
    for (v, w), block in cross.items():
        blocks[ends[v] - widths[v] : ends[v], ends[w] - widths[w] : ends[w]] = block
    directions = min(size, *widths)
    # eigh reads only the upper triangle
    solution = scipy.linalg.eigh(blocks, lower=False, subset_by_index=(len(blocks) - directions, len(blocks) - 1))
    values, vectors = solution[0][::-1], solution[1][:, ::-1]
    return np.split(vectors * np.sqrt(count), ends[:-1]), values / (count - 1)


def _singular(matrix: Matrix) -> tuple[Matrix, NDArray[np.float64], Matrix]:
    """Return the thin singular value decomposition of a finite matrix."""
    try:
        return np.linalg.svd(matrix, full_matrices=False)
    except np.linalg.LinAlgError:  # LAPACK's divide and conquer (gesdd) can fail to converge; QR iteration does not
        factors: tuple[Matrix, NDArray[np.float64], Matrix] = scipy.linalg.svd(
            matrix, full_matrices=False, lapack_driver="gesvd"
        )
        return factors
