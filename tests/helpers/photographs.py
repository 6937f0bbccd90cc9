"""Drawn photographs with much detail, and their copies, for tests of duplicates."""

import io
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
from PIL import Image, ImageEnhance, ImageFilter, ImageOps


def photograph(seed: int, size: tuple[int, int] = (240, 180)) -> Image.Image:
    """Return a picture of coloured spots of many sizes, which no other seed resembles."""
    draws = np.random.default_rng(seed)
    layers = []
    for blocks in (5, 11, 23):
        noise = draws.integers(0, 256, (blocks, blocks, 3), dtype=np.uint8)
        layers.append(np.asarray(Image.fromarray(noise).resize(size, Image.Resampling.BICUBIC), np.float32))
    mixed = np.clip(np.tensordot([0.5, 0.3, 0.2], layers, axes=1) * 1.4 - 50, 0, 255)
    return Image.fromarray(mixed.astype(np.uint8)).filter(ImageFilter.SHARPEN)


def _cropped(image: Image.Image) -> Image.Image:
    width, height = image.size
    return image.crop((width // 10, 0, width, height - height // 10))


COPIES: Mapping[str, Callable[[Image.Image], Image.Image]] = {
    "recompressed": lambda image: image,
    "resized": lambda image: image.resize((image.width // 2, image.height // 2), Image.Resampling.LANCZOS),
    "greyscale": lambda image: ImageOps.grayscale(image).convert("RGB"),
    "cropped": _cropped,
    "rotated": lambda image: image.transpose(Image.Transpose.ROTATE_270),
    "mirrored": ImageOps.mirror,
    "edited": lambda image: ImageEnhance.Brightness(image).enhance(1.3),
}
"""The copies of a photograph, by the relation that they must have."""


def encoded(image: Image.Image, quality: int = 95) -> bytes:
    """Return a picture as JPEG."""
    file = io.BytesIO()
    image.save(file, "JPEG", quality=quality)
    return file.getvalue()


def write_photographs(folder: Path, count: int, first: int = 0) -> None:
    """Write photographs as NUMBER.jpg, named by their seeds."""
    folder.mkdir(parents=True)
    for seed in range(first, first + count):
        (folder / f"{seed}.jpg").write_bytes(encoded(photograph(seed)))


def write_copies(folder: Path, seed: int) -> None:
    """Write the copies of a photograph as RELATION.jpg, and the file itself as identical.jpg."""
    folder.mkdir(parents=True)
    image = photograph(seed)
    (folder / "identical.jpg").write_bytes(encoded(image))
    for relation, copy in COPIES.items():
        (folder / f"{relation}.jpg").write_bytes(encoded(copy(image), 75))
