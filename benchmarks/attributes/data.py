"""The two sets of the paper: scenes by our GIST, and faces by the features that Parikh and Grauman published."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.frame.benchmark import read_arrays
from benchmarks.more_less.orderings import ranks_of_classes
from benchmarks.photographs import photographs
from crossview.engine.spaces.pipeline import Part

FACES = "pubfig_relattr.npz"
TRAIN = 30
"""Training pictures of each class."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Pictures:
    """Pictures of classes that attributes order.

    Attributes:
        name: of the set.
        rows: (n, d) features.
        codes: (n,) classes, from 0.
        levels: (attributes, K) how much of each attribute each class has; only the order matters.
        parts: widths of the features that are joined, each scaled.
        names: of the classes.
    """

    name: str
    rows: NDArray[np.float64]
    codes: NDArray[np.int64]
    levels: NDArray[np.float64]
    parts: list[Part]
    names: list[str]

    def split(self, seed: int) -> NDArray[np.int64]:
        """Return the positions of the training pictures, 30 of each class."""
        generator = np.random.default_rng(seed)
        drawn = [generator.permutation(np.flatnonzero(self.codes == code))[:TRAIN] for code in np.unique(self.codes)]
        return np.concatenate(drawn)


def scenes(folder: Path, cache: Path) -> Pictures:
    """Return the eight classes of scenes of a folder; MissingDataError where there is none."""
    pictures = photographs(folder, cache)
    names, codes = np.unique(pictures.labels, return_inverse=True)
    ranks = ranks_of_classes()
    levels = np.array([ranks[str(name)] for name in names], np.float64).T
    rows = pictures.gist.astype(np.float64)
    parts = [Part(rows.shape[1])]
    classes = [str(name) for name in names]
    return Pictures(name="osr8", rows=rows, codes=codes.astype(np.int64), levels=levels, parts=parts, names=classes)


def faces(folder: Path) -> Pictures:
    """Return the eight people of a folder's ``pubfig_relattr.npz``; MissingDataError names what is missing."""
    arrays = read_arrays(folder, FACES, "X", "y", "relative_ordering", "view_of_feature")
    codes = arrays["y"].astype(np.int64)
    parts = [Part(width) for width in np.bincount(arrays["view_of_feature"]).tolist()]
    levels = arrays["relative_ordering"].astype(np.float64)
    classes = [str(code) for code in np.unique(codes)]
    rows = arrays["X"].astype(np.float64)
    return Pictures(name="pubfig", rows=rows, codes=codes, levels=levels, parts=parts, names=classes)
