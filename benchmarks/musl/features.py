"""The pictures of the MuSL benchmark, described by forest words that are learned from training pictures alone."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.photographs import pictures_by_class
from crossview.features.decode import decode
from crossview.features.forest import Forest

LEAST_CLASSES = 3
"""Classes of a kind, at least: with fewer, the part before a name's first underscore is not a kind."""

Labels = NDArray[np.str_]
Positions = NDArray[np.intp]


@dataclass(frozen=True)
class Pictures:
    """Files and their classes.

    Attributes:
        paths: n files.
        labels: (n,) class names.
    """

    paths: tuple[Path, ...]
    labels: Labels

    @property
    def classes(self) -> Labels:
        """(C,) the class names, sorted."""
        return np.unique(self.labels)

    @property
    def kinds(self) -> Labels:
        """(C,) what the class names begin with, up to the underscore; all one where fewer than 3 classes share one."""
        kinds = np.array([name.partition("_")[0] for name in self.classes])
        shared = np.unique(kinds, return_counts=True)[1].min() >= LEAST_CLASSES
        return kinds if shared else np.full(len(kinds), "")

    def words(self, train: Positions, seed: int) -> NDArray[np.float64]:
        """Return (n, 2000) counts of forest words; the trees are grown on the pictures ``train`` and their classes."""
        samples = [Forest().sample(self._image(i)) for i in train]
        forest = Forest().fit(samples, seed, [(str(self.labels[i]),) for i in train])
        return np.array([forest.row(self._image(i)) for i in range(len(self.paths))], dtype=np.float64)

    def _image(self, position: int | np.intp) -> NDArray[Any]:
        return decode(self.paths[position].read_bytes()).image


def pictures(data: Path) -> Pictures:
    """Return the pictures under ``data/images/<class>/`` or ``data/<class>/``; MissingDataError if there are none."""
    paths = pictures_by_class(data)
    return Pictures(tuple(paths), np.array([path.parent.name for path in paths]))
