"""Captions for the demo's pictures, drawn from a seed.

A caption never names its class: it takes some words of the class, words that several classes share, and now and then
one of another class.
"""

import csv
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from crossview.server.demo.pictures import Rng

MISTAKEN = 0.1
"""Share of the words of a caption that are of another class."""

WORDS: Mapping[str, tuple[str, ...]] = {
    "bricks": ("wall", "masonry", "mortar", "courses", "clay", "builder"),
    "checks": ("chess", "board", "squares", "tiles", "tablecloth", "chequered"),
    "clouds": ("sky", "haze", "mist", "overcast", "fog", "weather"),
    "dots": ("spots", "polka", "speckled", "confetti", "beads", "freckles"),
    "leaves": ("foliage", "garden", "hedge", "plants", "autumn", "forest"),
    "pebbles": ("gravel", "beach", "shingle", "rocks", "riverbed", "cobbles"),
    "rings": ("circles", "ripples", "target", "concentric", "vinyl", "hoops"),
    "stripes": ("bands", "flag", "zebra", "barcode", "awning", "shirt"),
    "waves": ("sea", "surf", "swell", "tide", "ocean", "undulating"),
    "weave": ("fabric", "basket", "threads", "textile", "wicker", "cloth"),
}
"""Words of each class's captions."""
SHARED: Mapping[str, tuple[str, ...]] = {
    "straight": ("bricks", "checks", "stripes", "weave"),
    "round": ("dots", "rings", "pebbles"),
    "soft": ("clouds", "waves", "weave"),
    "outdoors": ("leaves", "pebbles", "clouds", "waves", "bricks"),
    "grid": ("checks", "dots", "weave", "bricks"),
    "lines": ("stripes", "waves", "rings"),
    "small": ("pebbles", "dots", "leaves", "checks"),
}
"""Words that the captions of several classes share."""
FILLERS = ("a", "picture of", "with", "some", "the", "seen from above", "close-up,", "old", "nice", "in daylight")


def caption(name: str, rng: Rng) -> str:
    """Return one caption of a class of ``STYLES``; each call makes another one."""
    others = [other for other in WORDS if other != name]
    words = []
    for word in rng.choice(WORDS[name], int(rng.integers(2, 4)), replace=False):
        mistaken = rng.random() < MISTAKEN
        words.append(str(rng.choice(WORDS[str(rng.choice(others))]) if mistaken else word))
    shared = [word for word, classes in SHARED.items() if name in classes]
    words += [str(rng.choice(shared)), *(str(word) for word in rng.choice(FILLERS, 3, replace=False))]
    return " ".join(str(word) for word in rng.permutation(words))


def write_captions(path: Path, pictures: Path, seed: int = 0) -> int:
    """Write lines ``path,caption`` of the pictures that ``write_pictures`` wrote; return how many."""
    files = sorted(pictures.rglob("*.jpg"))
    rng = np.random.default_rng([seed, len(WORDS)])
    with path.open("w", newline="", encoding="utf-8") as file:
        lines = csv.writer(file)
        lines.writerow(("path", "caption"))
        lines.writerows((picture.relative_to(pictures), caption(picture.parent.name, rng)) for picture in files)
    return len(files)
