"""The sets of the benchmarks of notions: objects, how far apart they are in each, and classes where there are any."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from benchmarks.frame.benchmark import read_arrays
from benchmarks.joint import poses

Table = NDArray[np.float64]

OBJECTS, WIDTH = 200, 10
WIDTHS = (2, 3, 4, 5, 6, 7)
"""Dimension of the random subspaces that are the notions of synthetic objects."""
SENSES, COORDINATES = 5, 4
"""Notions that share coordinates, and how many of these they have in common, and each of its own."""
ATTRIBUTES: Mapping[str, tuple[str, ...]] = {
    "person": ("Male", "White", "Young"),
    "figure": ("Chubby", "RoundFace"),
    "mouth": ("Smiling", "BigLips"),
    "upper face": ("VisibleForehead", "BushyEyebrows", "NarrowEyes", "PointyNose"),
}
"""Groups of our own of PubFig's eleven attributes."""
PUBFIG = "pubfig_relattr.npz"
PICTURES = 25
"""Photographs of each of the eight people, all outside the training of the attributes' predictor."""


@dataclass(frozen=True, eq=False)
class Notions:
    """n objects in T notions.

    Attributes:
        names: T.
        distances: (T, n, n): in notion t, b is nearer to a than c where element (t, a, b) is less than (t, a, c).
        classes: (n,), or None without classes.
    """

    names: tuple[str, ...]
    distances: Table
    classes: NDArray[np.int64] | None = None

    @property
    def count(self) -> int:
        """How many objects there are."""
        return int(self.distances.shape[1])


def uniform(seed: int) -> Notions:
    """Return 200 points of a 10-dimensional unit cube in six random subspaces."""
    generator = np.random.default_rng(seed)
    points = generator.uniform(size=(OBJECTS, WIDTH))
    return Notions(_names(), _projected(points, generator))


def clustered(seed: int) -> Notions:
    """Return 200 points of four normal distributions of variance 1, centres in a cube of side 10, in the same form."""
    generator = np.random.default_rng(seed)
    classes = generator.integers(4, size=OBJECTS)
    points = generator.uniform(0, 10, size=(4, WIDTH))[classes] + generator.normal(size=(OBJECTS, WIDTH))
    return Notions(_names(), _projected(points, generator), classes)


def partly_shared(share: float, seed: int) -> Notions:
    """Return 200 normal points in five notions, which have four coordinates in common and four of their own each.

    The common ones are ``share`` of each squared distance: notions are the more consistent, the greater it is.
    """
    generator = np.random.default_rng([seed, 1])
    common, *own = (
        cdist(points, points, "sqeuclidean") for points in generator.normal(size=(1 + SENSES, OBJECTS, COORDINATES))
    )
    names = tuple(f"notion {number}" for number in range(1, SENSES + 1))
    return Notions(names, np.stack([share * common + (1 - share) * distances for distances in own]))


def aeroplanes(seed: int) -> Notions:
    """Return 200 pictures of a plane by five subsets of its landmarks."""
    return Notions(tuple(poses.SUBSETS), poses.distances(poses.poses(seed)))


def faces(seed: int, folder: Path) -> Notions:
    """Return pictures of PubFig by groups of attribute scores, each of variance 1; classes are the people.

    MissingDataError names what is missing.
    """
    arrays = read_arrays(folder, PUBFIG, "y", "attribute_names", "relative_att_predictions", "used_for_training")
    generator = np.random.default_rng(seed)
    unused, people = ~arrays["used_for_training"], arrays["y"].astype(np.int64)
    drawn = [
        generator.permutation(np.flatnonzero(unused & (people == person)))[:PICTURES] for person in np.unique(people)
    ]
    places = np.concatenate(drawn)
    scores = arrays["relative_att_predictions"][places].astype(np.float64)
    scores = (scores - scores.mean(axis=0)) / scores.std(axis=0)
    columns = {name: column for column, name in enumerate(arrays["attribute_names"].tolist())}
    parts = [scores[:, [columns[name] for name in names]] for names in ATTRIBUTES.values()]
    distances = np.stack([cdist(part, part, "sqeuclidean") for part in parts])
    return Notions(tuple(ATTRIBUTES), distances, people[places])


SYNTHETIC: Mapping[str, Callable[[int], Notions]] = {
    "uniform": uniform,
    "clustered": clustered,
    "poses": aeroplanes,
}
"""Those that need no data, by name."""


def _names() -> tuple[str, ...]:
    return tuple(f"{width} dimensions" for width in WIDTHS)


def _projected(points: Table, generator: np.random.Generator) -> Table:
    """Return squared distances, (6, n, n), of points in random subspaces."""
    bases = [np.linalg.qr(generator.normal(size=(points.shape[1], width)))[0] for width in WIDTHS]
    return np.stack([cdist(points @ basis, points @ basis, "sqeuclidean") for basis in bases])
