"""Pairs to verify: kinship of faces in given folds, and photographs of classes that training has not seen."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.frame.benchmark import read_arrays
from benchmarks.photographs import Photographs, photographs
from crossview.engine.learners.frame.chain import Chain
from crossview.engine.learners.frame.normalization import L1, Scale, Sqrt
from crossview.engine.learners.frame.view_rows import Rows
from crossview.engine.learners.papers.samplers.likeness import draw_tuples, likeness_by_class
from crossview.engine.learners.subspace.pca import PCA
from crossview.engine.spaces.pipeline import Part, own_learners

KINSHIP = "kinfacew_I"
KINSHIP_FILE = "kinfacew_I.npz"
RELATIONS = ("fd", "fs", "md", "ms")
TRAIN_SHARE = 0.6  # of the classes
FOLDS = 3  # of the training classes


@dataclass(frozen=True)
class Pairs:
    """(n, 2) positions of rows, and (n,) whether the two are alike."""

    items: NDArray[np.int64]
    alike: NDArray[np.bool_]


@dataclass(frozen=True)
class Split:
    """Rows, the pairs of them to learn from, and other pairs to verify."""

    rows: Rows
    fit: Pairs
    check: Pairs
    parts: Sequence[Part] = ()
    """The views that are joined in the rows, as they are extracted; empty if the rows are ready."""

    @property
    def known_items(self) -> NDArray[np.int64]:
        """The positions, ascending, of the rows that are learned from."""
        return np.unique(self.fit.items)

    @property
    def known(self) -> Rows:
        """The rows that are learned from."""
        return self.rows[self.known_items]

    def reduced(self, variance: float | None = None) -> "Split":
        """Return the split on the principal components of the known rows with a share of variance; None: on all.

        The views are joined as in a space that learns from the known rows. Divided by the known rows' root mean square
        length, so that bounds on distances mean the same everywhere.
        """
        chain = Chain([*own_learners([self.parts]), PCA(variance), Scale()]).fit([self.known])
        return Split(chain.transform(self.rows, view=0), self.fit, self.check)


@dataclass(frozen=True)
class Trial:
    """One training and test, and the splits of its training part that choose settings."""

    name: str
    outer: Split
    inner: Sequence[Split]
    classes: NDArray[np.str_] | None = None
    """(n,) of the rows; None without classes."""


def kinship(data: Path) -> list[Trial]:
    """Return a trial for each relation and test fold; MissingDataError if the file is missing.

    Two of the other folds, then the other two, validate what the remaining ones teach.
    """
    arrays = read_arrays(data, KINSHIP_FILE)
    return [trial for relation in RELATIONS for trial in _relation(relation, arrays)]


def _relation(relation: str, file: Any) -> list[Trial]:
    views = [file[f"{relation}_{view}"].astype(np.float64) for view in ("HOG", "LBP")]
    rows, parts = np.hstack(views), histograms(views)
    items = np.column_stack([file[f"{relation}_idxa"], file[f"{relation}_idxb"]]).astype(np.int64)
    alike, folds = file[f"{relation}_match"].astype(bool).ravel(), file[f"{relation}_fold"].ravel()

    def split(fit: NDArray[np.bool_], check: NDArray[np.bool_]) -> Split:
        return Split(rows, Pairs(items[fit], alike[fit]), Pairs(items[check], alike[check]), parts)

    trials = []
    for test in np.unique(folds):
        training = folds != test
        halves = [training & np.isin(folds, part) for part in np.array_split(np.unique(folds[training]), 2)]
        inner = [split(training & ~half, half) for half in halves]
        trials.append(Trial(f"{relation} {test}", split(training, ~training), inner))
    return trials


def unseen(data: Path, cache: Path, seed: int, pairs: int) -> Trial:
    """Return the trial of a seed: pairs of images of the same or of two classes, those of the test unseen in training.

    So many pairs, half of each kind, to learn from, and so many to test on, of a folder of images by class, whose
    features are computed once and cached; MissingDataError if it has none.
    """
    images = photographs(data, cache)
    codes = np.unique(images.labels, return_inverse=True)[1]
    generator = np.random.default_rng(seed)
    classes = generator.permutation(np.unique(images.labels))
    train_classes = classes[: round(TRAIN_SHARE * len(classes))]
    views = _views(images, np.flatnonzero(np.isin(images.labels, train_classes)), cache, seed)
    rows, parts = np.hstack(views), histograms(views)

    def draw(names: NDArray[np.str_]) -> Pairs:
        inside = np.flatnonzero(np.isin(images.labels, names))
        items, alike = draw_tuples(likeness_by_class(codes[inside]), "pairs", pairs, generator)
        return Pairs(inside[items], alike)

    outer = Split(rows, draw(train_classes), draw(np.setdiff1d(classes, train_classes)), parts)
    inner = [
        Split(rows, draw(np.setdiff1d(train_classes, fold)), draw(fold), parts)
        for fold in np.array_split(train_classes, FOLDS)
    ]
    return Trial(f"seed {seed}", outer, inner, images.labels)


def histograms(views: Sequence[Rows]) -> tuple[Part, ...]:
    """Return views as parts of a joined one: histograms, whose rows are divided by their sums and rooted."""
    return tuple(Part(rows.shape[1], (L1.name, Sqrt.name)) for rows in views)


def _views(images: Photographs, training: NDArray[np.int64], cache: Path, seed: int) -> list[Rows]:
    """Return the rows of every view; the words' codebook is of the training classes, so it is cached by seed."""
    path = cache / images.fingerprint / f"words-verification-{seed}.npy"
    if not path.exists():
        np.save(path, images.words(training, seed))
    return [view.astype(np.float64) for view in (images.color, np.load(path), images.gist)]
