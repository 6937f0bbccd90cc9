"""The sets: rows of views, labels, and which items belong together."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import GroupShuffleSplit

from benchmarks.frame.benchmark import read_arrays
from benchmarks.photographs import TEST_SIZE, Photographs, photographs, train_and_test
from crossview.features.base import FeatureRows


@dataclass(frozen=True, kw_only=True)
class Split:
    """Views of all items, and which of these are held out."""

    rows: Mapping[str, FeatureRows]
    """(n, d_v) by view, normalised as the product normalises them."""
    labels: NDArray[Any]
    """(n,)."""
    train: NDArray[np.int64]
    held_out: NDArray[np.int64]
    groups: NDArray[Any] | None = None
    """(n,) what stays on one side, such as speakers; None: nothing."""


Data = Callable[[int], Split]
"""Returns the split of a seed."""


def load(name: str, data: Path, cache: Path) -> Data:
    """Return a set by name; MissingDataError where its files are missing."""
    return LOADERS[name](data, cache)


def _photographs(folder: str, views: tuple[str, ...], data: Path, cache: Path) -> Data:
    return partial(_split_of_photographs, photographs(data / folder, cache), views)


def _split_of_photographs(pictures: Photographs, views: tuple[str, ...], seed: int) -> Split:
    train, held_out = train_and_test(pictures.labels, seed)
    counts = pictures.words(train, seed)
    words = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    rows = {"color": pictures.color, "sift": words, "gist": pictures.gist}
    return Split(rows={view: rows[view] for view in views}, labels=pictures.labels, train=train, held_out=held_out)


def _wikipedia(data: Path, cache: Path) -> Data:
    arrays = read_arrays(
        data / "wikipedia_crossmodal", "wikipedia_crossmodal.npz", "image_sift_bow128", "text_lda10", "y"
    )
    rows = {"image": arrays["image_sift_bow128"], "text": arrays["text_lda10"]}
    _, same_picture = np.unique(rows["image"], axis=0, return_inverse=True)
    return partial(_split_of_rows, rows, arrays["y"], same_picture.ravel())


def _pubfig(data: Path, cache: Path) -> Data:
    arrays = read_arrays(data / "pubfig_relattr", "pubfig_relattr.npz", "X", "y")
    rows = {"gist": arrays["X"][:, :512], "lab": arrays["X"][:, 512:]}
    return partial(_split_of_rows, rows, arrays["y"], None)


def _isolet(data: Path, cache: Path) -> Data:
    arrays = read_arrays(data / "isolet_g1_g5", "isolet_g1_g5.npz", "X", "y", "speaker")
    half = arrays["X"].shape[1] // 2
    rows = {"first half": arrays["X"][:, :half], "second half": arrays["X"][:, half:]}
    return partial(_split_of_rows, rows, arrays["y"], arrays["speaker"])


def _split_of_rows(rows: Mapping[str, Any], labels: NDArray[Any], groups: NDArray[Any] | None, seed: int) -> Split:
    if groups is None:
        train, held_out = train_and_test(labels, seed)
    else:
        splitter = GroupShuffleSplit(1, test_size=TEST_SIZE, random_state=seed)
        train, held_out = next(splitter.split(labels, groups=groups))
    views = {name: np.asarray(view, np.float32) for name, view in rows.items()}
    return Split(rows=views, labels=labels, train=train, held_out=held_out, groups=groups)


LOADERS: Mapping[str, Callable[[Path, Path], Data]] = {
    "corel1k": partial(_photographs, "corel1k", ("color", "sift", "gist")),
    "merged20": partial(_photographs, "merged20", ("color", "sift", "gist")),
    "osr8": partial(_photographs, "osr8", ("sift", "gist")),  # the pictures are grey
    "wikipedia": _wikipedia,
    "pubfig": _pubfig,
    "isolet": _isolet,
}
"""By name, what reads a set from the folder of all sets, and a folder for what is extracted once."""
