"""Pairs to verify: kinship of faces in given folds, and photographs of classes that training has not seen."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.frame.benchmark import read_arrays
from benchmarks.photographs import Photographs, photographs
from engine.learners.metrics.sampling import ClassSampler
from engine.learners.subspace.pca import principal_components

KINSHIP = "kinfacew_I"
KINSHIP_FILE = "kinfacew_I.npz"
RELATIONS = ("fd", "fs", "md", "ms")
TRAIN_SHARE = 0.6  # of the classes
FOLDS = 3  # of the training classes

Rows = NDArray[np.float64]


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

    @property
    def known(self) -> Rows:
        """The rows that are learned from."""
        return self.rows[np.unique(self.fit.items)]

    def reduced(self, variance: float | None = None) -> "Split":
        """Returns the split on the principal components of the known rows with a share of variance; None: on all.

        Divided by the known rows' root mean square length, so that bounds on distances mean the same everywhere.
        """
        known = self.known
        weights, mean = principal_components(known, variance)
        scale = np.sqrt(np.square((known - mean) @ weights.T).sum(axis=1).mean())
        return Split((self.rows - mean) @ weights.T / scale, self.fit, self.check)


@dataclass(frozen=True)
class Trial:
    """What is learned and tested once, and the splits of its training part by which settings are chosen."""

    name: str
    outer: Split
    inner: Sequence[Split]


def kinship(data: Path) -> list[Trial]:
    """Returns a trial for each relation and test fold; MissingDataError if the file is missing.

    Two of the other folds, then the other two, validate what the remaining ones teach.
    """
    arrays = read_arrays(data, KINSHIP_FILE)
    return [trial for relation in RELATIONS for trial in _relation(relation, arrays)]


def _relation(relation: str, file: Any) -> list[Trial]:
    rows = np.hstack([histograms(file[f"{relation}_{view}"]) for view in ("HOG", "LBP")])
    items = np.column_stack([file[f"{relation}_idxa"], file[f"{relation}_idxb"]]).astype(np.int64)
    alike, folds = file[f"{relation}_match"].astype(bool).ravel(), file[f"{relation}_fold"].ravel()

    def split(fit: NDArray[np.bool_], check: NDArray[np.bool_]) -> Split:
        return Split(rows, Pairs(items[fit], alike[fit]), Pairs(items[check], alike[check]))

    trials = []
    for test in np.unique(folds):
        training = folds != test
        halves = [training & np.isin(folds, part) for part in np.array_split(np.unique(folds[training]), 2)]
        inner = [split(training & ~half, half) for half in halves]
        trials.append(Trial(f"{relation} {test}", split(training, ~training), inner))
    return trials


def unseen(data: Path, cache: Path, seed: int, pairs: int) -> Trial:
    """Returns the trial of a seed: pairs of images of the same or of two classes, those of the test unseen in training.

    So many pairs, half of each kind, to learn from, and so many to test on, of a folder of images by class, whose
    features are computed once and cached; MissingDataError if it has none.
    """
    images = photographs(data, cache)
    codes = np.unique(images.labels, return_inverse=True)[1]
    generator = np.random.default_rng(seed)
    classes = generator.permutation(np.unique(images.labels))
    known = classes[: round(TRAIN_SHARE * len(classes))]
    rows = _joined(images, np.flatnonzero(np.isin(images.labels, known)), cache, seed)

    def draw(names: NDArray[np.str_]) -> Pairs:
        inside = np.flatnonzero(np.isin(images.labels, names))
        items, alike = ClassSampler(codes[inside]).draw("pairs", pairs, generator)
        return Pairs(inside[items], alike)

    outer = Split(rows, draw(known), draw(np.setdiff1d(classes, known)))
    inner = [Split(rows, draw(np.setdiff1d(known, part)), draw(part)) for part in np.array_split(known, FOLDS)]
    return Trial(f"seed {seed}", outer, inner)


def histograms(rows: NDArray[Any]) -> Rows:
    """Returns the element-wise square root of rows that are divided by their sums; rows of zeros stay so."""
    rows = np.maximum(rows.astype(np.float64), 0.0)
    roots: Rows = np.sqrt(rows / np.maximum(rows.sum(axis=1, keepdims=True), np.finfo(float).tiny))
    return roots


def _joined(images: Photographs, training: NDArray[np.int64], cache: Path, seed: int) -> Rows:
    """All views beside each other; the words' codebook is of the training classes, so it is cached by seed."""
    path = cache / images.fingerprint / f"words-verification-{seed}.npy"
    if not path.exists():
        np.save(path, images.words(training, seed))
    return np.hstack([histograms(view) for view in (images.color, np.load(path), images.gist)])
