"""The keeper of a group: which picture of several copies is proposed to be kept, and why."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath

import numpy as np

from crossview.engine.catalog.fingerprints import StoredPicture
from crossview.engine.findings.duplicates.compared import Compared
from crossview.engine.findings.duplicates.inspection import FULLER
from crossview.engine.values.duplicate import Relation
from crossview.features.alignment import Alignment, SmallPicture
from crossview.features.content import Map, extra_share, marks
from crossview.features.image import Image
from crossview.features.provenance import has_pixels_of, is_enlarged, is_saved_from, is_suffix_right, lossless_format

_STRAIGHT = 0.7
"""Degrees from a quarter turn up to which a picture counts as turned by it."""
_CROPPED, _RESIZED = 0.04, 0.03
"""Shares by which areas, and numbers of pixels, must differ."""
COLOURED, COLOURLESS = 12.0, 6.0
"""Levels of chroma from which on a picture has colours, and up to which it has none."""
_LIGHTER, _MARKED = 2.0, 0.85
"""Levels by which the luma of an edited picture differs, and the agreement that its altered parts have at most."""
_LARGER, _FINER = 1.1, 1.6
"""Factors of the pixels of what both show, from which on they count, and from which on an enlarged picture can be
distinguished."""
_LAID = 0.1
"""Share of a mark that looks like lettering, by which one picture has more than the other."""
_COPIED = re.compile(r"\b(cop(y|ia)|kop(ie|ia))\b|\(\d+\)$|~\d*$", re.IGNORECASE)
_SET_ASIDE = re.compile(r"trash|recycle|thumb|cache|deleted|papierkorb|corbeille|papelera|^te?mp$", re.IGNORECASE)

Signed = float
"""How much better a picture is than another: positive if better, negative if worse, 0 if alike."""


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
    alignment: Alignment,
) -> Look:
    """Return the relations of a picture to its keeper; ``small`` are their thumbnails, in this order, aligned."""
    first, second = small
    degrees = _degrees(alignment.degrees)
    area = abs(float(np.linalg.det(alignment.matrix[:, :2]))) * second.luma.size / first.luma.size
    share = area if abs(area - 1) > _CROPPED else 1.0
    pixels = other.width * other.height / max(1.0, share * keeper.width * keeper.height)
    grey = first.chroma >= COLOURED and second.chroma <= COLOURLESS
    recoloured = not grey and abs(first.chroma - second.chroma) > COLOURED
    signs: dict[Relation, bool] = {
        "resized": abs(pixels - 1) > _RESIZED,
        "greyscale": grey,
        "cropped": share != 1.0,
        "rotated": degrees != 0.0,
        "mirrored": alignment.mirrored,
        "edited": alignment.agreement.light > _LIGHTER or alignment.agreement.low < _MARKED or recoloured,
    }
    relations = tuple(name for name, holds in signs.items() if holds)
    return Look(relations or ("recompressed",), degrees, round(share, 2))


def _degrees(angle: float) -> float:
    quarter = 90 * round(angle / 90)
    straight = float(quarter) if abs(angle - quarter) <= _STRAIGHT else round(angle, 1)
    return 180.0 if straight == -180 else straight + 0.0


@dataclass(frozen=True)
class Keeping:
    """The facts by which pictures are compared, and the comparison.

    ``order`` ranks all pictures by what is known without a comparison of pixels. ``choose`` ranks the pictures of a
    group by their content: a border does not count, an enlarged picture has no more details, and a PNG that was saved
    from a JPEG is not better than it.
    """

    compared: Compared
    dated: frozenset[int] = frozenset()
    """Places of the pictures whose metadata state when they were taken, which alterations often lose."""
    annotated: frozenset[int] = frozenset()
    """Places of the pictures that a person has annotated."""

    def order(self, place: int) -> tuple[float | str, ...]:
        """Return the rank of a picture, the least first: dated, of most pixels, annotated, not named as a copy, the
        oldest, by key."""
        picture = self.compared.pictures[place]
        return (
            place not in self.dated,
            -picture.width * picture.height,
            place not in self.annotated,
            self._untidy(place),
            picture.modified_ns or float("inf"),
            picture.key,
        )

    def choose(self, places: Sequence[int], maps: Mapping[int, Map]) -> list[int]:
        """Return the pictures of a group, the best first; ``maps`` bring those with pixels in common onto one."""
        best: list[int] = []
        for place in sorted(places, key=self.order):
            rank = len(best)
            while rank and self._compare(place, best[rank - 1], maps) > 0:
                rank -= 1
            best.insert(rank, place)
        return best

    def reason(self, keeper: int, members: Sequence[int], maps: Mapping[int, Map]) -> str:
        """Return the first respect in which the keeper comes before all others, or else before some."""
        for enough in (all, any):
            for measure, words in _RESPECTS:
                if enough(measure(self, keeper, other, maps) > 0 for other in members):
                    return words(self, keeper)
        return "the first by name"

    def _compare(self, first: int, second: int, maps: Mapping[int, Map]) -> Signed:
        return next((better for measure, _ in _RESPECTS if (better := measure(self, first, second, maps))), 0.0)

    def _dates(self, first: int, second: int, maps: Mapping[int, Map]) -> Signed:
        return (first in self.dated) - (second in self.dated)

    def _annotations(self, first: int, second: int, maps: Mapping[int, Map]) -> Signed:
        return (first in self.annotated) - (second in self.annotated)

    def _names(self, first: int, second: int, maps: Mapping[int, Map]) -> Signed:
        return self._untidy(second) - self._untidy(first)

    def _suffixes(self, first: int, second: int, maps: Mapping[int, Map]) -> Signed:
        return self._is_suffix_right(first) - self._is_suffix_right(second)

    def _ages(self, first: int, second: int, maps: Mapping[int, Map]) -> Signed:
        older, newer = (self.compared.pictures[place].modified_ns or float("inf") for place in (first, second))
        return 0.0 if older == newer else 1.0 if older < newer else -1.0

    def _scenes(self, first: int, second: int, maps: Mapping[int, Map]) -> Signed:
        """Prefer the one that shows more, apart from an even border."""
        own, other = self._extra(first, second, maps)
        return own[0] * own[1] - other[0] * other[1]

    def _borders(self, first: int, second: int, maps: Mapping[int, Map]) -> Signed:
        """Prefer the one without an even border."""
        own, other = self._extra(first, second, maps)
        return other[0] * (not other[1]) - own[0] * (not own[1])

    def _colours(self, first: int, second: int, maps: Mapping[int, Map]) -> Signed:
        """Prefer the one with colours."""
        small = self.compared.small(first), self.compared.small(second)
        if small[0] is None or small[1] is None:
            return 0.0
        chroma = small[0].chroma, small[1].chroma
        grey = min(chroma) <= COLOURLESS and max(chroma) >= COLOURED
        return chroma[0] - chroma[1] if grey else 0.0

    def _marks(self, first: int, second: int, maps: Mapping[int, Map]) -> Signed:
        """Prefer the one without a mark, such as lettering."""
        views = self.compared.preview(first), self.compared.preview(second)
        if views[0] is None or views[1] is None or first not in maps or second not in maps:
            return 0.0
        marking = marks(views[0], views[1], np.linalg.inv(maps[first]) @ maps[second])
        return 0.0 if abs(marking.first - marking.second) < _LAID else marking.second - marking.first

    def _details(self, first: int, second: int, maps: Mapping[int, Map]) -> Signed:
        """Prefer the one with more pixels of what both show, unless it was enlarged; then the other one."""
        factor = self._factor(first, second, maps)
        finer, other = (first, second) if factor > 1 else (second, first)
        if 1 / _FINER < factor < _FINER:
            return 0.0
        image = self._common(finer, other, maps)
        enlarged = image is not None and is_enlarged(image, float(np.sqrt(min(factor, 1 / factor))))
        return -math.log(factor) if enlarged else math.log(factor)

    def _pixels(self, first: int, second: int, maps: Mapping[int, Map]) -> Signed:
        """Prefer the one with more pixels of what both show."""
        factor = self._factor(first, second, maps)
        return 0.0 if 1 / _LARGER < factor < _LARGER else math.log(factor)

    def _formats(self, first: int, second: int, maps: Mapping[int, Map]) -> Signed:
        """Prefer the one that keeps every pixel, unless it was saved from the other one; of JPEGs, the first saved."""
        lossless = [bool(lossless_format(self.compared.head(place))) for place in (first, second)]
        if first not in maps or second not in maps:
            return 0.0
        if lossless[0] == lossless[1]:
            return float(self._is_saved_from(second, first) - self._is_saved_from(first, second))
        sign, pair = (1.0, (first, second)) if lossless[0] else (-1.0, (second, first))
        images = [self.compared.pixels(place) for place in pair]
        if images[0] is None or images[1] is None:
            return sign
        return -sign if has_pixels_of(images[0], images[1]) else sign

    def _is_saved_from(self, copy: int, original: int) -> bool:
        files = self.compared.file(copy), self.compared.file(original)
        images = self.compared.pixels(copy), self.compared.pixels(original)
        if files[0] is None or files[1] is None or images[0] is None or images[1] is None:
            return False
        return is_saved_from(files[0], images[0], files[1], images[1])

    def _common(self, place: int, other: int, maps: Mapping[int, Map]) -> Image | None:
        """Return the part of a picture that another one shows, without what surrounds it on a screenshot."""
        image = self.compared.pixels(place)
        if image is None:
            return None
        corners = np.linalg.inv(maps[place]) @ maps[other] @ np.array([[0, 1, 0, 1], [0, 0, 1, 1], [1, 1, 1, 1]])
        size = np.array(image.shape[1::-1])
        low, high = (
            np.clip(np.rint(ends * size), 0, size).astype(int) for ends in (corners[:2].min(1), corners[:2].max(1))
        )
        part = image[low[1] : high[1], low[0] : high[0]]
        return part if part.size else image

    def _factor(self, first: int, second: int, maps: Mapping[int, Map]) -> float:
        """Return the number of pixels of what both show, in the first picture for one in the second; 1 if unknown."""
        if first not in maps or second not in maps:
            return 1.0
        picture, other = (self.compared.pictures[place] for place in (first, second))
        areas = [max(abs(float(np.linalg.det(maps[place][:2, :2]))), 1e-9) for place in (first, second)]
        return picture.width * picture.height / areas[0] * areas[1] / (other.width * other.height)

    def _extra(self, first: int, second: int, maps: Mapping[int, Map]) -> list[tuple[float, bool]]:
        if first not in maps or second not in maps or maps[first] is maps[second]:
            return [(0.0, False)] * 2
        views = {place: self.compared.preview(place) for place in (first, second)}
        extras = []
        for place, other in ((first, second), (second, first)):
            own, beside = views[place], views[other]
            if own is None or beside is None:
                return [(0.0, False)] * 2
            share, scene = extra_share(own, beside, np.linalg.inv(maps[place]) @ maps[other])
            extras.append((share if share >= FULLER else 0.0, scene))
        return extras

    def _untidy(self, place: int) -> int:
        path = PurePath(self.compared.pictures[place].key)
        return bool(_COPIED.search(path.stem)) + any(map(_SET_ASIDE.search, path.parts[:-1]))

    def _is_suffix_right(self, place: int) -> bool:
        return is_suffix_right(PurePath(self.compared.pictures[place].key).suffix, self.compared.head(place))


_Measure = Callable[[Keeping, int, int, Mapping[int, Map]], Signed]


def _size(keeping: Keeping, place: int) -> str:
    picture = keeping.compared.pictures[place]
    return f"{picture.width} x {picture.height}"


_RESPECTS: tuple[tuple[_Measure, Callable[[Keeping, int], str]], ...] = (
    (Keeping._dates, lambda keeping, place: "the date of the camera in its metadata"),
    (Keeping._scenes, lambda keeping, place: "shows more than the others"),
    (Keeping._marks, lambda keeping, place: "without a mark"),
    (Keeping._colours, lambda keeping, place: "in colours"),
    (Keeping._details, lambda keeping, place: f"the most details, {_size(keeping, place)}"),
    (Keeping._borders, lambda keeping, place: "has no border"),
    (
        Keeping._formats,
        lambda keeping, place: (
            f"a lossless format, {name}"
            if (name := lossless_format(keeping.compared.head(place)))
            else "the file that the others were saved from"
        ),
    ),
    (Keeping._pixels, lambda keeping, place: f"the most pixels, {_size(keeping, place)}"),
    (Keeping._annotations, lambda keeping, place: "annotated by a person"),
    (Keeping._names, lambda keeping, place: "not named as a copy"),
    (Keeping._suffixes, lambda keeping, place: "named by its format"),
    # Altered copies are newer.
    (Keeping._ages, lambda keeping, place: "the oldest file"),
)
"""The reasons to keep a picture, the weightiest first: a comparison of two pictures, and words."""
