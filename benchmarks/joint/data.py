"""Objects, views of them, and the triplets that these order: section "Synthetic data" of the paper."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from crossview.engine.learners.frame.comparisons import Comparisons
from crossview.engine.learners.frame.view_rows import Rows

Kind = Literal["uniform", "clustered"]
KINDS: tuple[Kind, ...] = ("uniform", "clustered")

OBJECTS, WIDTH, DIMENSIONS = 200, 10, (2, 3, 4, 5, 6, 7)
CENTERS, SIDE = 4, 10.0


@dataclass(frozen=True)
class Synthetic:
    """N objects: their views, (N, d_t) each, and the (N,) centre that each was drawn about, 0 for uniform ones."""

    views: Sequence[Rows]
    classes: NDArray[np.int64]


def synthetic(kind: Kind, seed: int, count: int = OBJECTS, dimensions: Sequence[int] = DIMENSIONS) -> Synthetic:
    """Return objects uniform in a unit cube of 10 dimensions, or of four Gaussians of variance 1, and their views.

    The Gaussians' centres are uniform in a cube of side 10. Each view is a projection onto a random subspace.
    """
    generator = np.random.default_rng([seed, KINDS.index(kind)])
    classes = np.zeros(count, np.int64)
    if kind == "uniform":
        rows = generator.uniform(size=(count, WIDTH))
    else:
        classes = generator.integers(CENTERS, size=count)
        rows = generator.uniform(0, SIDE, (CENTERS, WIDTH))[classes] + generator.normal(size=(count, WIDTH))
    bases = [np.linalg.qr(generator.normal(size=(WIDTH, size)))[0] for size in dimensions]
    return Synthetic([rows @ basis for basis in bases], classes)


def triplets(views: Sequence[Rows], counts: Sequence[int], generator: np.random.Generator) -> Comparisons:
    """Return so many triplets of three different objects in each view, ordered by it; notions are "0", "1" ..."""
    parts = [_ordered(view, count, generator) for view, count in zip(views, counts, strict=True)]
    notions = np.repeat(np.arange(len(views)).astype(str), counts)
    return Comparisons(np.concatenate(parts), notions=notions)


def of(comparisons: Comparisons, notion: int) -> NDArray[np.int64]:
    """Return the triplets of a notion, (n, 3)."""
    return np.asarray(comparisons.items[np.asarray(comparisons.notions) == str(notion)])


def _ordered(view: Rows, count: int, generator: np.random.Generator) -> NDArray[np.int64]:
    objects = len(view)
    first = generator.integers(objects, size=count)
    second = (first + generator.integers(1, objects, size=count)) % objects
    third = (first + generator.integers(1, objects - 1, size=count)) % objects
    third = np.where((third - first) % objects >= (second - first) % objects, (third + 1) % objects, third)
    items = np.column_stack([first, second, third]).astype(np.int64)
    near, far = (np.square(view[first] - view[ends]).sum(axis=1) for ends in (second, third))
    swapped = near > far
    items[swapped] = items[swapped][:, [0, 2, 1]]
    return items
