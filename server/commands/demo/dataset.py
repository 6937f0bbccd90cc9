"""The data set of the demo: labelled pictures of ten classes, and captions, generated from a seed.

Each class has a pattern and typical colours. No single view separates all classes: several classes share colours, and
several have similar textures. Scale, angle, light and noise vary within a class, and one picture in eight has the
colours of another class.

A caption never names its class: it contains some words of the class, words that several classes share, and sometimes a
word of another class.
"""

import colorsys
import csv
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

SIZE = (208, 156)
"""Width and height of a picture in pixels."""
BORROWED = 0.12
"""Share of pictures in the colours of another class."""

Field = NDArray[np.float64]
Rng = np.random.Generator
Pattern = Callable[[Field, Field, Rng], Field]
"""Draws a pattern of values in [0, 1] at coordinates (u, v) whose unit is one period of the pattern."""


@dataclass(frozen=True)
class Style:
    """The pattern and the colours of a class of pictures."""

    pattern: Pattern
    hue: float
    """Mean hue of the ground, in turns of the colour wheel."""
    accent: float
    """Mean hue of the pattern on the ground."""
    period: float
    """Typical size of one period, in pixels."""


def _wave(phase: Field) -> Field:
    return 0.5 + 0.5 * np.sin(2 * np.pi * phase)


def _edge(distance: Field, width: float = 0.06) -> Field:
    """Return 1 inside (distance < 0), 0 outside, and a soft step between the two."""
    return np.clip(0.5 - distance / width, 0.0, 1.0)


def _cell_noise(columns: Field, rows: Field, rng: Rng) -> Field:
    """Return one random number per cell of a periodic grid, equal for all points of the cell."""
    table = rng.random((61, 59))
    values: Field = table[np.mod(rows.astype(int), 61), np.mod(columns.astype(int), 59)]
    return values


def stripes(u: Field, v: Field, rng: Rng) -> Field:
    """Return straight bands with hard edges."""
    return _edge(np.abs(np.mod(u, 1.0) - 0.5) - rng.uniform(0.15, 0.3))


def waves(u: Field, v: Field, rng: Rng) -> Field:
    """Return bands that swing from side to side."""
    swing = rng.uniform(0.3, 0.8) * np.sin(2 * np.pi * v * rng.uniform(0.25, 0.5) + rng.uniform(0, 6))
    return _wave(u + swing) ** rng.uniform(0.8, 2.0)


def checks(u: Field, v: Field, rng: Rng) -> Field:
    """Return a chess board."""
    board: Field = np.mod(np.floor(u) + np.floor(v), 2.0)
    return 0.85 * board + 0.15 * _cell_noise(np.floor(u), np.floor(v), rng)


def bricks(u: Field, v: Field, rng: Rng) -> Field:
    """Return courses of bricks, each of its own shade, in light mortar."""
    course = np.floor(v * 2)
    along = u + 0.5 * np.mod(course, 2.0)
    gap = np.minimum(0.5 - np.abs(np.mod(along, 1.0) - 0.5), 0.5 * (0.5 - np.abs(np.mod(v * 2, 1.0) - 0.5)))
    stone = 0.35 + 0.4 * _cell_noise(np.floor(along), course, rng)
    mortar = _edge(gap - rng.uniform(0.03, 0.06), 0.03)
    return stone * (1 - mortar) + mortar


def dots(u: Field, v: Field, rng: Rng) -> Field:
    """Return round spots in a grid, or in a staggered one."""
    shifted = u + 0.5 * np.mod(np.floor(v), 2.0) * rng.integers(0, 2)
    radius = rng.uniform(0.22, 0.36) * (0.7 + 0.5 * _cell_noise(np.floor(shifted), np.floor(v), rng))
    return _edge(np.hypot(np.mod(shifted, 1.0) - 0.5, np.mod(v, 1.0) - 0.5) - radius)


def rings(u: Field, v: Field, rng: Rng) -> Field:
    """Return circles around a few centres."""
    centres = rng.uniform([u.min(), v.min()], [u.max(), v.max()], (3, 2))
    nearest = np.min([np.hypot(u - x, v - y) for x, y in centres], axis=0)
    return _wave(nearest * 1.3) ** rng.uniform(0.7, 1.6)


def pebbles(u: Field, v: Field, rng: Rng) -> Field:
    """Return round stones side by side, by the distance to the nearest of scattered points."""
    shift_u, shift_v, shade = (rng.random((61, 59)) for _ in range(3))
    columns, rows = np.floor(u).astype(int), np.floor(v).astype(int)
    best, tone = np.full(u.shape, np.inf), np.zeros(u.shape)
    for right in (-1, 0, 1):
        for down in (-1, 0, 1):
            cell = np.mod(rows + down, 61), np.mod(columns + right, 59)
            away = np.hypot(columns + right + shift_u[cell] - u, rows + down + shift_v[cell] - v)
            tone = np.where(away < best, shade[cell], tone)
            best = np.minimum(best, away)
    return _edge(best - 0.48, 0.25) * (0.55 + 0.45 * tone)


def leaves(u: Field, v: Field, rng: Rng) -> Field:
    """Return pointed leaves in all directions, with a middle rib."""
    picture = np.zeros(u.shape)
    count = int(2.2 * np.ptp(u) * np.ptp(v)) + 4
    for x, y in rng.uniform([u.min(), v.min()], [u.max(), v.max()], (min(count, 160), 2)):
        angle, length = rng.uniform(0, np.pi), rng.uniform(0.5, 0.9)
        along = ((u - x) * np.cos(angle) + (v - y) * np.sin(angle)) / length
        across = ((v - y) * np.cos(angle) - (u - x) * np.sin(angle)) / length
        blade = np.abs(across) - 0.35 * (1 - along**2)
        inside = (blade < 0) & (np.abs(along) < 1)
        rib = 0.35 * (np.abs(across) < 0.04)
        picture = np.where(inside, rng.uniform(0.55, 1.0) - rib, picture)
    return picture


def clouds(u: Field, v: Field, rng: Rng) -> Field:
    """Return smooth noise, coarse and fine together."""
    height, width = u.shape
    total = np.zeros(u.shape)
    for octave in range(2, 7):
        cells = 2**octave
        grid = rng.random((cells * 3 // 4, cells)).astype(np.float32)
        total += np.asarray(Image.fromarray(grid).resize((width, height), Image.Resampling.BICUBIC)) / cells**0.8
    return np.asarray((total - total.min()) / np.ptp(total))


def weave(u: Field, v: Field, rng: Rng) -> Field:
    """Return threads going over and under each other."""
    over = np.mod(np.floor(u) + np.floor(v), 2.0)
    round_u, round_v = _wave(np.mod(u, 1.0) / 2), _wave(np.mod(v, 1.0) / 2)
    fibre = 0.12 * _wave(over * u * 6 + (1 - over) * v * 6)
    return np.asarray(np.clip(over * (2 * round_v - 1) * 0.9 + (1 - over) * (2 * round_u - 1) * 0.55 + fibre, 0, 1))


STYLES: Mapping[str, Style] = {
    "bricks": Style(bricks, hue=0.02, accent=0.08, period=44),
    "checks": Style(checks, hue=0.62, accent=0.15, period=22),
    "clouds": Style(clouds, hue=0.56, accent=0.54, period=40),
    "dots": Style(dots, hue=0.92, accent=0.15, period=30),
    "leaves": Style(leaves, hue=0.34, accent=0.27, period=40),
    "pebbles": Style(pebbles, hue=0.09, accent=0.07, period=28),
    "rings": Style(rings, hue=0.77, accent=0.84, period=26),
    "stripes": Style(stripes, hue=0.66, accent=0.00, period=26),
    "waves": Style(waves, hue=0.47, accent=0.50, period=26),
    "weave": Style(weave, hue=0.15, accent=0.13, period=20),
}


def _colour(hue: float, saturation: float, value: float) -> NDArray[np.float64]:
    return np.array(colorsys.hsv_to_rgb(hue % 1.0, min(saturation, 1.0), min(value, 1.0))) * 255


def _palette(style: Style, rng: Rng) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the colours of ground and accent, with clearly different lightness; sometimes the ground is lighter."""
    dark, light = rng.uniform(0.2, 0.45), rng.uniform(0.7, 1.0)
    if rng.random() < 0.15:
        dark, light = light, dark
    ground = _colour(style.hue + rng.normal(0, 0.02), rng.uniform(0.55, 0.95), dark)
    accent = _colour(style.accent + rng.normal(0, 0.02), rng.uniform(0.4, 0.9), light)
    return ground, accent


def _coordinates(period: float, rng: Rng) -> tuple[Field, Field]:
    """Return rotated and shifted coordinates of the pixels, in periods."""
    width, height = SIZE
    y, x = np.mgrid[0:height, 0:width].astype(np.float64)
    angle = rng.normal(0, 0.15)
    scale = period * np.exp(rng.normal(0, 0.18))
    u = (x * np.cos(angle) + y * np.sin(angle)) / scale + rng.uniform(50, 60)
    v = (y * np.cos(angle) - x * np.sin(angle)) / scale + rng.uniform(50, 60)
    return u, v


def _light(rng: Rng) -> Field:
    """Return the brightness of a picture with a lamp at one side."""
    width, height = SIZE
    y, x = np.mgrid[-1 : 1 : height * 1j, -1 : 1 : width * 1j]
    slope = rng.normal(0, 0.15, 2)
    return np.asarray(np.clip(rng.uniform(0.8, 1.05) + slope[0] * x + slope[1] * y, 0.4, 1.3))


def draw(name: str, rng: Rng) -> Image.Image:
    """Return a picture of a class of ``STYLES``, SIZE pixels; each call draws a new one."""
    style = STYLES[name]
    colours = STYLES[str(rng.choice(list(STYLES)))] if rng.random() < BORROWED else style
    return painted(style, colours, rng)


def painted(style: Style, colours: Style, rng: Rng) -> Image.Image:
    """Return a picture of SIZE pixels with the pattern of one style and the colours of another; each call varies."""
    pattern = style.pattern(*_coordinates(style.period, rng), rng)
    ground, accent = _palette(colours, rng)
    picture = ground + pattern[..., None] * (accent - ground)
    picture = picture * _light(rng)[..., None] + rng.normal(0, rng.uniform(2, 7), (*pattern.shape, 1))
    return Image.fromarray(np.clip(picture, 0, 255).astype(np.uint8))


def write_pictures(folder: Path, per_class: int, seed: int = 0) -> int:
    """Write ``folder/CLASS/CLASS-NN.jpg`` for every class, and return the number; a seed determines the pictures."""
    for position, name in enumerate(STYLES):
        rng = np.random.default_rng([seed, position])
        (folder / name).mkdir(parents=True, exist_ok=True)
        for number in range(per_class):
            draw(name, rng).save(folder / name / f"{name}-{number:02d}.jpg", quality=90)
    return per_class * len(STYLES)


MISTAKEN = 0.1
"""Probability that a word of a caption comes from another class."""

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
"""Words for the captions of each class."""
SHARED: Mapping[str, tuple[str, ...]] = {
    "straight": ("bricks", "checks", "stripes", "weave"),
    "round": ("dots", "rings", "pebbles"),
    "soft": ("clouds", "waves", "weave"),
    "outdoors": ("leaves", "pebbles", "clouds", "waves", "bricks"),
    "grid": ("checks", "dots", "weave", "bricks"),
    "lines": ("stripes", "waves", "rings"),
    "small": ("pebbles", "dots", "leaves", "checks"),
}
"""Words for the captions of several classes."""
FILLERS = ("a", "picture of", "with", "some", "the", "seen from above", "close-up,", "old", "nice", "in daylight")


def caption(name: str, rng: Rng) -> str:
    """Return a caption for a class of ``STYLES``; each call makes a new one."""
    other_classes = [other for other in WORDS if other != name]
    words = []
    for word in rng.choice(WORDS[name], int(rng.integers(2, 4)), replace=False):
        mistaken = rng.random() < MISTAKEN
        words.append(str(rng.choice(WORDS[str(rng.choice(other_classes))]) if mistaken else word))
    shared = [word for word, classes in SHARED.items() if name in classes]
    words += [str(rng.choice(shared)), *(str(word) for word in rng.choice(FILLERS, 3, replace=False))]
    return " ".join(str(word) for word in rng.permutation(words))


def write_captions(path: Path, pictures: Path, seed: int = 0) -> int:
    """Write lines ``path,caption`` for the pictures of ``write_pictures``, and return the number."""
    files = sorted(pictures.rglob("*.jpg"))
    rng = np.random.default_rng([seed, len(WORDS)])
    with path.open("w", newline="", encoding="utf-8") as file:
        lines = csv.writer(file)
        lines.writerow(("path", "caption"))
        lines.writerows((picture.relative_to(pictures), caption(picture.parent.name, rng)) for picture in files)
    return len(files)
