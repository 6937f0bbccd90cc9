"""The relations of a copy to its keeper."""

from dataclasses import dataclass

import numpy as np

from crossview.engine.catalog.fingerprints import StoredPicture
from crossview.engine.values.duplicate import Relation
from crossview.features.alignment import Alignment, SmallPicture

_STRAIGHT = 0.7
"""Degrees from a quarter turn up to which a picture counts as turned by it."""
_CROPPED, _RESIZED = 0.04, 0.03
"""Shares by which areas, and numbers of pixels, must differ."""
COLOURED, COLOURLESS = 12.0, 6.0
"""Levels of chroma from which on a picture has colours, and up to which it has none."""
_LIGHTER, _MARKED = 2.0, 0.85
"""Levels by which the luma of an edited picture differs, and the agreement that its altered parts have at most."""


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
    grey = first.chroma >= COLOURED and second.chroma <= COLOURLESS
    recoloured = not grey and abs(first.chroma - second.chroma) > COLOURED
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
