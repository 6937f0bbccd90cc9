"""The relations of a copy to its keeper, and the order in which pictures are proposed to be kept."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath

import numpy as np

from crossview.engine.catalog.fingerprints import StoredPicture
from crossview.engine.duplicate import Relation
from crossview.features.alignment import Alignment, SmallPicture

_STRAIGHT = 0.7
"""Degrees from a quarter turn up to which a picture counts as turned by it."""
_CROPPED, _RESIZED = 0.04, 0.03
"""Shares by which areas, and numbers of pixels, must differ."""
_COLOURED, _COLOURLESS = 12.0, 6.0
"""Levels of chroma from which on a picture has colours, and up to which it has none."""
_LIGHTER, _MARKED = 2.0, 0.85
"""Levels by which the luma of an edited picture differs, and the agreement that its altered parts have at most."""
_LOSSLESS = frozenset({".png", ".tif", ".tiff", ".bmp", ".dng"})


@dataclass(frozen=True)
class Look:
    """How a picture looks beside its keeper."""

    relations: tuple[Relation, ...]
    degrees: float = 0.0
    share: float = 1.0
    """Area that the picture shows, as a share of that of the keeper."""


IDENTICAL, JUDGED = Look(("identical",)), Look(("judged",))


def look(
    keeper: StoredPicture,
    other: StoredPicture,
    small: tuple[SmallPicture, SmallPicture],
    found: Alignment,
) -> Look:
    """Return the relations of a picture to its keeper; ``small`` are their thumbnails, in this order, aligned."""
    first, second = small
    degrees = _degrees(found.degrees)
    area = abs(float(np.linalg.det(found.matrix[:, :2]))) * second.luma.size / first.luma.size
    share = area if abs(area - 1) > _CROPPED else 1.0
    pixels = other.width * other.height / max(1.0, share * keeper.width * keeper.height)
    grey = first.chroma >= _COLOURED and second.chroma <= _COLOURLESS
    recoloured = not grey and abs(first.chroma - second.chroma) > _COLOURED
    signs: dict[Relation, bool] = {
        "resized": abs(pixels - 1) > _RESIZED,
        "greyscale": grey,
        "cropped": share != 1.0,
        "rotated": degrees != 0.0,
        "mirrored": found.mirrored,
        "edited": found.agreement.light > _LIGHTER or found.agreement.low < _MARKED or recoloured,
    }
    relations = tuple(name for name, holds in signs.items() if holds)
    return Look(relations or ("recompressed",), degrees, round(share, 2))


def _degrees(angle: float) -> float:
    quarter = 90 * round(angle / 90)
    straight = float(quarter) if abs(angle - quarter) <= _STRAIGHT else round(angle, 1)
    return 180.0 if straight == -180 else straight + 0.0


@dataclass(frozen=True)
class Ranking:
    """The order in which pictures are proposed to be kept."""

    dated: frozenset[int] = field(default_factory=frozenset)
    """Places of the pictures whose EXIF data state when they were taken, which alterations often lose."""
    annotated: frozenset[int] = field(default_factory=frozenset)
    """Places of the pictures that a person has annotated."""

    def order(self, place: int, picture: StoredPicture) -> tuple[float | str, ...]:
        """Return the rank of a picture, the least first: the most pixels, lossless, dated, annotated, the oldest,
        the most bytes, by key."""
        return (*(float(measure(self, place, picture)) for measure, _ in _CRITERIA), picture.key)

    def reason(self, keeper: int, others: Sequence[int], pictures: Sequence[StoredPicture]) -> str:
        """Return the first respect in which the keeper comes before all others."""
        for measure, words in _CRITERIA:
            own = measure(self, keeper, pictures[keeper])
            if all(own < measure(self, one, pictures[one]) for one in others):
                return words(pictures[keeper])
        for measure, words in _CRITERIA:  # none is before all others: name what it is before some in
            own = measure(self, keeper, pictures[keeper])
            if any(own < measure(self, one, pictures[one]) for one in others):
                return words(pictures[keeper])
        return "the first by name"


_Measure = Callable[[Ranking, int, StoredPicture], float]
_CRITERIA: tuple[tuple[_Measure, Callable[[StoredPicture], str]], ...] = (
    (
        lambda ranking, place, one: -one.width * one.height,
        lambda one: f"the most pixels, {one.width} x {one.height}",
    ),
    (
        lambda ranking, place, one: PurePath(one.key).suffix.lower() not in _LOSSLESS,
        lambda one: f"a lossless format, {PurePath(one.key).suffix[1:].upper()}",
    ),
    (lambda ranking, place, one: place not in ranking.dated, lambda one: "the date of the camera in its EXIF data"),
    (lambda ranking, place, one: place not in ranking.annotated, lambda one: "annotated by a person"),
    # Before the bytes: altered copies are newer, and can be larger.
    (lambda ranking, place, one: one.modified_ns or float("inf"), lambda one: "the oldest file"),
    (lambda ranking, place, one: -one.size, lambda one: f"the largest file, {one.size:,} bytes"),
)
"""The reasons to keep a picture, the weightiest first: a measure, smaller for the better one, and words."""
