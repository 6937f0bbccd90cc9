"""The views of the Multi-NPP benchmark: colour histograms, colour SIFT words and GIST of a folder of classes."""

import hashlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.progress import track
from sklearn.model_selection import StratifiedShuffleSplit

from benchmarks.frame.benchmark import MissingDataError
from crossview.features.color import Color
from crossview.features.decode import decode
from crossview.features.descriptors import color_sift
from crossview.features.gist import Gist
from crossview.features.sift import DESCRIPTORS_PER_IMAGE, Sift
from crossview.features.words import count_words

TEST_SIZE = 0.2
SUFFIXES = {".jpg", ".jpeg", ".png", ".webp", ".bmp", ".tif", ".tiff", ".gif"}


@dataclass(frozen=True, kw_only=True)
class Photographs:
    """The features extracted once: all except the codebook, which belongs to a trial."""

    labels: NDArray[np.str_]
    """(n,) class names."""
    color: NDArray[np.float32]
    """(n, 64) histograms."""
    gist: NDArray[np.float32]
    """(n, 512) rows."""
    descriptors: NDArray[Any]
    """(m, 384) whole numbers: the descriptors of all images, one image after another."""
    ends: NDArray[np.int64]
    """(n,) where each image's descriptors end."""
    fingerprint: str
    """Names the files and how they were described."""

    def words(self, train: NDArray[np.int64], seed: int) -> NDArray[np.float32]:
        """Return (n, 300) counts of visual words, the codebook fitted on the images ``train`` alone."""
        generator = np.random.default_rng(seed)
        sift = Sift().fit([_sample(self._of(i), generator) for i in train], seed)
        centres = sift.to_state()["centres"]
        return np.stack([count_words(self._of(i), centres) for i in range(len(self.labels))])

    def _of(self, image: int | np.int64) -> NDArray[np.float32]:
        start = self.ends[image - 1] if image else 0
        return self.descriptors[start : self.ends[image]].astype(np.float32)


def pictures_by_class(data: Path) -> list[Path]:
    """Return the pictures under ``data/images/<class>/`` or ``data/<class>/`` by path; MissingDataError if none."""
    root = data / "images" if (data / "images").is_dir() else data
    files = [path for path in sorted(root.glob("*/*")) if path.suffix.lower() in SUFFIXES]
    if not files:
        raise MissingDataError.of(root, "pictures in class folders")
    return files


def train_and_test(labels: NDArray[Any], seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the positions of 80 % of every class, to train on, and those of the rest, to query with."""
    train, test = next(StratifiedShuffleSplit(1, test_size=TEST_SIZE, random_state=seed).split(labels, labels))
    return train, test


def photographs(data: Path, cache: Path) -> Photographs:
    """Extract the images under ``data/images/<class>/`` or ``data/<class>/``, or reads what an earlier run extracted.

    Raises:
        MissingDataError: if there are no classes with images.
        features.errors.ImageError: if an image cannot be read.
    """
    files = pictures_by_class(data)
    labels = np.array([path.parent.name for path in files])
    fingerprint = _fingerprint(files)
    folder = cache / fingerprint
    if not (folder / "ends.npy").exists():
        _extract(files, folder)
    arrays = {name: np.load(folder / f"{name}.npy") for name in ("color", "gist", "ends")}
    descriptors = np.load(folder / "descriptors.npy", mmap_mode="r")  # trials in several processes share the pages
    return Photographs(**arrays, labels=labels, descriptors=descriptors, fingerprint=fingerprint)


def _extract(files: Sequence[Path], folder: Path) -> None:
    with ThreadPoolExecutor(2) as pool:
        rows = list(track(pool.map(_views, files), "Describing images", total=len(files)))
    folder.mkdir(parents=True, exist_ok=True)
    np.save(folder / "color.npy", np.stack([color for color, _, _ in rows]))
    np.save(folder / "gist.npy", np.stack([gist for _, gist, _ in rows]))
    descriptors = np.concatenate([descriptors for _, _, descriptors in rows])
    np.save(folder / "descriptors.npy", descriptors.astype(np.min_scalar_type(descriptors.max(initial=0))))
    np.save(folder / "ends.npy", np.cumsum([len(descriptors) for _, _, descriptors in rows]))


def _views(path: Path) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.uint16]]:
    image = decode(path.read_bytes()).image
    return Color().row(image), Gist().row(image), color_sift(image).astype(np.uint16)


def _sample(descriptors: NDArray[np.float32], generator: np.random.Generator) -> NDArray[np.float32]:
    count = min(DESCRIPTORS_PER_IMAGE, len(descriptors))
    return descriptors[generator.choice(len(descriptors), count, replace=False)]


def _fingerprint(files: Sequence[Path]) -> str:
    """Change with the files, and with the extractors: they show in the first image."""
    digest = hashlib.sha256()
    for path in files:
        digest.update(f"{path.relative_to(path.parents[1])} {path.stat().st_size}\n".encode())
    for rows in _views(files[0]):
        digest.update(rows.tobytes())
    return digest.hexdigest()[:16]
