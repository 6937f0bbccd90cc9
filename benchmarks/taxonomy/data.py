"""Data of the taxonomy benchmark: letters, with other speakers in the test, and photographs by kind."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit

from benchmarks.frame.benchmark import read_arrays
from benchmarks.isolet.data import FILE
from benchmarks.photographs import Photographs, photographs
from benchmarks.verification.data import histograms
from crossview.engine.catalog.ingest.taxonomy_file import read_taxonomy
from crossview.engine.learners.frame.chain import Chain
from crossview.engine.learners.frame.comparisons import Taxonomy
from crossview.engine.learners.frame.normalization import Scale
from crossview.engine.learners.frame.view_rows import Rows
from crossview.engine.learners.subspace.pca import PCA
from crossview.engine.spaces.pipeline import Part, own_learners

LETTERS, PHOTOGRAPHS = "letters", "photographs"
FOLDERS = ("merged20", "merged10")
TEST_SPEAKERS = 30
TRAIN_SHARE = 0.6
"""Photographs of every class."""
FOLDS = 3
VARIANCE = 0.95

Positions = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Sample:
    """Rows to learn from, which are the database, and queries, with the classes of both."""

    rows: Rows
    labels: NDArray[np.str_]
    queries: Rows
    query_labels: NDArray[np.str_]


@dataclass(frozen=True, eq=False)
class Trial:
    """One division of a set, and the divisions of its training part that settings are chosen by."""

    taxonomy: Taxonomy
    outer: Sample
    inner: Sequence[Sample]


def tree(name: str) -> Taxonomy:
    """Return the tree of a set."""
    return read_taxonomy(Path(__file__).with_name(f"{name}.txt"))


def letters(folder: Path, seed: int, speakers: int) -> Trial:
    """Return spoken letters to learn from, of so many speakers, and those of 30 others; folds part no speaker.

    MissingDataError names what is missing.
    """
    arrays = read_arrays(folder, FILE, "X", "y", "speaker", "class_names")
    labels, spoken_by = arrays["class_names"][arrays["y"]].astype(str), arrays["speaker"]
    drawn = np.random.default_rng(seed).permutation(np.unique(spoken_by))
    test, train = drawn[:TEST_SPEAKERS], drawn[TEST_SPEAKERS:][:speakers]
    folds = [np.flatnonzero(np.isin(spoken_by, part)) for part in np.array_split(train, FOLDS)]
    return _trial(LETTERS, arrays["X"], labels, folds, np.flatnonzero(np.isin(spoken_by, test)), ())


def pictures(data: Path, cache: Path, seed: int) -> Trial:
    """Return 60 per cent of the photographs of every class to learn from, and the others, in three views.

    The cache has the features, and the words of each seed, whose codebook comes from the training photographs.
    """
    images = all_photographs(data, cache)
    splitter = StratifiedShuffleSplit(1, train_size=TRAIN_SHARE, random_state=seed)
    train, test = next(splitter.split(images.labels, images.labels))
    path = cache / f"words-taxonomy-{images.fingerprint}-{seed}.npy"
    if not path.exists():
        np.save(path, images.words(train, seed))
    views = [view.astype(np.float64) for view in (images.color, np.load(path), images.gist)]
    parting = StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(train, images.labels[train])
    folds = [train[fold] for _, fold in parting]
    return _trial(PHOTOGRAPHS, np.hstack(views), images.labels, folds, test, histograms(views))


def all_photographs(data: Path, cache: Path) -> Photographs:
    """Return the photographs of both folders as one set; MissingDataError where one is missing."""
    sets = [photographs(data / folder, cache) for folder in FOLDERS]
    starts = np.cumsum([0, *(len(part.descriptors) for part in sets)])
    return Photographs(
        labels=np.concatenate([part.labels for part in sets]),
        color=np.concatenate([part.color for part in sets]),
        gist=np.concatenate([part.gist for part in sets]),
        descriptors=np.concatenate([part.descriptors for part in sets]),
        ends=np.concatenate([part.ends + start for part, start in zip(sets, starts, strict=False)]),
        fingerprint="-".join(part.fingerprint for part in sets),
    )


def _trial(
    name: str,
    features: Any,
    labels: NDArray[np.str_],
    folds: Sequence[Positions],
    test: Positions,
    parts: Sequence[Part],
) -> Trial:
    """Return the trial of folds and a test; every division by the principal components of what it learns from."""

    def sample(train: Positions, held_out: Positions) -> Sample:
        chain = Chain([*own_learners([parts]), PCA(VARIANCE), Scale()]).fit([features[train]])
        rows, queries = (chain.transform(features[places], view=0).astype(np.float64) for places in (train, held_out))
        return Sample(rows, labels[train], queries, labels[held_out])

    inner = [sample(np.concatenate([*folds[:place], *folds[place + 1 :]]), fold) for place, fold in enumerate(folds)]
    return Trial(tree(name), sample(np.concatenate(folds), test), inner)
