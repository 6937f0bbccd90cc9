"""Distances of two versions of a page: by its source, and by its picture in each region of a grid."""

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from crossview.engine.learners.frame.view_rows import Rows
from crossview.features.page import Page


def source_distances(one: Page, other: Page) -> tuple[float, float]:
    """Return the Jaccard distances of the links and of the images (section 5.2 of the paper)."""
    return jaccard(one.links, other.links), jaccard(one.images, other.images)


def jaccard(one: Collection[object], other: Collection[object]) -> float:
    """Return 1 minus the common share of two sets; 0 for two empty sets."""
    union = len({*one, *other})
    return 1 - (len(one) + len(other) - union) / union if union else 0.0


def region_distances(rows: NDArray[np.float32], pairs: NDArray[np.int64], grid: int) -> Rows:
    """Return the squared Euclidean distances of pairs of versions, cell by cell.

    Args:
        rows: (n, c g^2) GIST rows on a grid of g x g cells, cell by cell within each of the c filters.
        pairs: (p, 2) positions in ``rows``.
        grid: g.

    Returns:
        (p, g^2) float64, row by row of the grid (section 5.2 of the paper).

    Raises:
        ValueError: for rows of another length than such a grid has.
    """
    if rows.ndim != 2 or rows.shape[1] % grid**2:
        raise ValueError(f"rows of {rows.shape[-1]} numbers do not fit a grid of {grid} x {grid} cells")
    cells = rows.astype(np.float64).reshape(len(rows), -1, grid * grid)
    found = np.empty((len(pairs), grid * grid))
    for start in range(0, len(pairs), 256):  # differences of all pairs at once would be gigabytes
        part = slice(start, start + 256)
        gaps = cells[pairs[part, 0]] - cells[pairs[part, 1]]
        found[part] = np.einsum("pcg,pcg->pg", gaps, gaps)
    return found
