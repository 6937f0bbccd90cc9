"""Real sets, read from the folder of all sets; a folder caches what is extracted once."""

import csv
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.io
from numpy.typing import NDArray
from sklearn.datasets import load_digits

from benchmarks.frame.benchmark import MissingDataError, read_arrays
from benchmarks.photographs import Photographs, photographs, train_and_test
from benchmarks.sets.split import Data, Split, split_of_rows
from crossview.features.color import Color
from crossview.features.decode import decode
from crossview.features.gist import Gist

Loader = Callable[[Path, Path], Data]


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
    return partial(split_of_rows, rows, arrays["y"], same_picture.ravel())


def _pubfig(data: Path, cache: Path) -> Data:
    arrays = read_arrays(data / "pubfig_relattr", "pubfig_relattr.npz", "X", "y")
    rows = {"gist": arrays["X"][:, :512], "lab": arrays["X"][:, 512:]}
    return partial(split_of_rows, rows, arrays["y"], None)


def _isolet(data: Path, cache: Path) -> Data:
    arrays = read_arrays(data / "isolet_g1_g5", "isolet_g1_g5.npz", "X", "y", "speaker")
    half = arrays["X"].shape[1] // 2
    rows = {"first half": arrays["X"][:, :half], "second half": arrays["X"][:, half:]}
    return partial(split_of_rows, rows, arrays["y"], arrays["speaker"])


def _multiview(file: str, data: Path, cache: Path) -> Data:
    path = data / "multiview" / file
    if not path.is_file():
        raise MissingDataError.of(path.parent, file)
    arrays = scipy.io.loadmat(path)
    labels = arrays["Y"].ravel().astype(np.int64)
    rows = {}
    for number, view in enumerate(arrays["X"].ravel()):
        values = view.toarray() if hasattr(view, "toarray") else np.asarray(view)
        rows[f"view {number}"] = values if len(values) == len(labels) else values.T
    return partial(split_of_rows, rows, labels, None)


def _digits(data: Path, cache: Path) -> Data:
    """Return the upper and the lower half of small pictures of digits, which scikit-learn contains."""
    digits: Any = load_digits()
    half = digits.data.shape[1] // 2
    return partial(split_of_rows, {"top": digits.data[:, :half], "bottom": digits.data[:, half:]}, digits.target, None)


def _emoji(data: Path, cache: Path) -> Data:
    """Return the colours and GIST of the drawings of one concept by two artists."""
    path = data / "emoji2" / "items.csv"
    if not path.is_file():
        raise MissingDataError.of(path.parent, path.name)
    with path.open(encoding="utf-8") as file:
        items = list(csv.DictReader(file))
    rows = {artist: _drawings(path.parent / artist, items, cache) for artist in ("google", "twitter")}
    return partial(split_of_rows, rows, np.array([item["category"] for item in items]), None)


def _drawings(folder: Path, items: list[dict[str, str]], cache: Path) -> NDArray[np.float32]:
    path = cache / f"emoji-{folder.name}.npy"
    if not path.is_file():
        cache.mkdir(parents=True, exist_ok=True)
        pictures = [decode((folder / item["category"] / f"{item['key']}.png").read_bytes()).image for item in items]
        np.save(path, np.array([np.concatenate([Color().row(picture), Gist().row(picture)]) for picture in pictures]))
    rows: NDArray[np.float32] = np.load(path)
    return rows


LOADERS: Mapping[str, Loader] = {
    "corel1k": partial(_photographs, "corel1k", ("color", "sift", "gist")),
    "merged20": partial(_photographs, "merged20", ("color", "sift", "gist")),
    "osr8": partial(_photographs, "osr8", ("sift", "gist")),  # the pictures are grey
    "wikipedia": _wikipedia,
    "pubfig": _pubfig,
    "isolet": _isolet,
    "merged10": partial(_photographs, "merged10", ("color", "sift", "gist")),
    "sports texts": partial(_multiview, "bbcsport.mat"),
    "orl faces": partial(_multiview, "orl.mat"),
    "news stories": partial(_multiview, "threesources.mat"),
    "cited papers": partial(_multiview, "citeseer.mat"),
    "fly embryos": partial(_multiview, "bdgp.mat"),
    "scenes": partial(_multiview, "scene15.mat"),
    "digits": _digits,
    "emoji": _emoji,
}
"""By name, what reads a set from the folder of all sets, and a folder for what is extracted once."""
