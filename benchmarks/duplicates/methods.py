"""Methods that find duplicates: distances between all pictures of a collection, by hashes of others and by views."""

import io
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import imagehash
import numpy as np
import scipy.fft
from numpy.typing import NDArray
from PIL import Image as Pillow

from crossview.features.decode import decode
from crossview.features.fingerprint import fingerprints
from crossview.features.image import thumbnail

Codes = NDArray[np.uint8]
Distances = NDArray[np.float32]
"""(n, n) distances between pictures; smaller is nearer."""
Hash = Callable[[Pillow.Image], NDArray[Any]]


def _grey(picture: Pillow.Image, width: int, height: int) -> NDArray[np.uint8]:
    """Return shades as imagededup makes them: resized by Lanczos in colours, then grey."""
    return np.asarray(picture.resize((width, height), Pillow.Resampling.LANCZOS).convert("L"))


def _dedup_phash(picture: Pillow.Image) -> NDArray[Any]:
    shades = _grey(picture, 32, 32)
    low = scipy.fft.dct(scipy.fft.dct(shades.astype(float), axis=0), axis=1)[:8, :8]
    return np.asarray(low >= np.median(low.ravel()[1:]))


def _dedup_ahash(picture: Pillow.Image) -> NDArray[Any]:
    shades = _grey(picture, 8, 8)
    return np.asarray(shades >= shades.mean())


def _dedup_dhash(picture: Pillow.Image) -> NDArray[Any]:
    shades = _grey(picture, 9, 8)
    return np.asarray(shades[:, 1:] > shades[:, :-1])


def _dedup_whash(picture: Pillow.Image) -> NDArray[Any]:
    low = _grey(picture, 256, 256).reshape(8, 32, 8, 32).sum(axis=(1, 3), dtype=np.int64)  # five steps of Haar's
    return np.asarray(low >= np.median(low))


HASHES: Mapping[str, Hash] = {
    "imagehash phash": lambda picture: imagehash.phash(picture).hash,
    "imagehash dhash": lambda picture: imagehash.dhash(picture).hash,
    "imagehash whash": lambda picture: imagehash.whash(picture).hash,
    "imagededup PHash": _dedup_phash,
    "imagededup AHash": _dedup_ahash,
    "imagededup DHash": _dedup_dhash,
    "imagededup WHash": _dedup_whash,
}
"""Hashes of 64 bits. imagededup installs PyTorch, so that its hashes are computed here as its version 0.3.3 does; they
were compared with those of the package once, and all bits of 100 photographs are equal."""


def by_hash(name: str, files: Sequence[bytes]) -> Distances:
    """Return the numbers of differing bits of a hash in ``HASHES``."""
    codes = [np.packbits(HASHES[name](Pillow.open(io.BytesIO(data)).convert("RGB")).ravel()) for data in files]
    return _hamming(np.stack(codes), np.stack(codes))


def by_fingerprint(files: Sequence[bytes]) -> Distances:
    """Return the least number of differing bits of the fingerprints of thumbnails, over eight orientations."""
    every = np.stack([fingerprints(decode(thumbnail(decode(data).image)).image) for data in files])
    away = [_hamming(every[:, 0], every[:, number]) for number in range(every.shape[1])]
    return np.asarray(np.minimum.reduce(away))


def by_rows(rows: NDArray[np.float32]) -> Distances:
    """Return Euclidean distances between rows of a view, shape (n, dim)."""
    squares = (rows.astype(np.float64) ** 2).sum(axis=1)
    product = rows.astype(np.float64) @ rows.T.astype(np.float64)
    return np.asarray(np.sqrt(np.maximum(squares[:, None] + squares - 2 * product, 0)), np.float32)


def _hamming(codes: Codes, others: Codes) -> Distances:
    left, right = (matrix.view(np.uint64).ravel() for matrix in (codes, others))
    return np.asarray(np.bitwise_count(left[:, None] ^ right), np.float32)
