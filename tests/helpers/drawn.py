"""Drawn pictures for tests: squares on noise of a class's colour."""

from pathlib import Path

import cv2
import numpy as np

from crossview.engine.values.item import NewItem

VIEWS = ("color", "sift:words=8")
CLASSES = {"red": (40, 40, 200), "green": (40, 200, 40), "blue": (200, 40, 40)}


def draw(label: str, seed: int) -> np.ndarray:
    """Return a 96 x 72 picture: noise of a class's colour with a few rectangles, so that there are key points."""
    rng = np.random.default_rng([seed, list(CLASSES).index(label)])
    image = np.clip(rng.normal(CLASSES[label], 15, size=(72, 96, 3)), 0, 255).astype(np.uint8)
    for _ in range(6):
        x, y, w, h = rng.integers(0, 60), rng.integers(0, 40), rng.integers(8, 30), rng.integers(8, 30)
        cv2.rectangle(image, (int(x), int(y)), (int(x + w), int(y + h)), rng.integers(0, 255, 3).tolist(), -1)
    return image


def encode(image: np.ndarray, suffix: str = ".png") -> bytes:
    return cv2.imencode(suffix, image)[1].tobytes()


def write_pictures(folder: Path, per_class: int) -> list[Path]:
    """Write folder/<label>/<n>.png and return the paths in order."""
    paths = []
    for label in CLASSES:
        (folder / label).mkdir(parents=True, exist_ok=True)
        for number in range(per_class):
            path = folder / label / f"{number}.png"
            path.write_bytes(encode(draw(label, number)))
            paths.append(path)
    return sorted(paths)


def numbered(number: int) -> NewItem:
    """Return an item whose colour row is (number, 0, 0, ...)."""
    row = np.zeros(64, np.float32)
    row[0] = number
    label = "odd" if number % 2 else "even"
    return NewItem(f"item/{number:04}", rows={"color": row}, labels=(label,), attributes={"n": number})
