"""The inspection of pictures whose thumbnails agree: whether they also agree where thumbnails are too small to tell."""

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from crossview.engine.findings.duplicates.compared import Compared
from crossview.features.alignment import Alignment
from crossview.features.content import (
    Map,
    Marks,
    extra_share,
    has_even_ground,
    is_drawn,
    is_whole,
    marks,
    same_drawing,
    text_areas,
    unit_map,
)
from crossview.features.image import Image

ALIKE = 0.9
"""Agreement of thumbnails from which on drawn pictures are compared."""
_SAME_SIZE = 0.02
"""Deviation of the sizes of their pixels up to which a drawn picture can be a copy of a part of another one: a letter
in another size is another picture."""
_MARKED, _LETTERED, _ONE_SIDED = 0.1, 0.065, 0.1
"""Share of two photographs that a mark covers at most, and from which on it must look like lettering in one of them
rather than in both; by how much more. This rule refuses none of 250 watermarks of photographs of Corel, and all of 240
pairs of pictures with other texts."""
_ANYTHING, _LETTERING, _BEHIND = 0.0015, 0.15, 0.2
"""Share in which two pictures of an even ground differ at all; least share of this part that looks like lettering in a
picture with a mark, and greatest one in a picture without, of large marks. Copies without a mark differ in .001."""
FULLER = 0.08
"""Share of a picture that another one lacks, from which on it counts."""
_FILES = 24
"""Number of decoded files in memory, of up to 8 MB each."""


class Inspector:
    """Compares previews, and of drawn pictures the files.

    Pages of one layout with other numbers, forms, tables, screenshots and pictures with another text have the same
    thumbnails. A file that differs in content is not a copy.
    """

    def __init__(self, compared: Compared) -> None:
        self._compared = compared
        self.drawn = lru_cache(maxsize=None)(self._is_drawn)
        self._even = lru_cache(maxsize=None)(self._has_even_ground)
        self._text = lru_cache(maxsize=None)(self._text_areas)
        self._whole = lru_cache(_FILES)(compared.whole)
        self.unread: set[int] = set[int]()
        """Places of drawn pictures whose files cannot be read, so that they are not copies."""

    def is_drawn(self, first: int, second: int) -> bool:
        """Return whether one of two pictures is drawn: a page, a drawing, a screenshot or the like."""
        return self.drawn(first) or self.drawn(second)

    def same_drawings(self, first: int, second: int, alignment: Alignment) -> bool:
        """Return whether two drawn pictures have the same content, if their thumbnails are aligned."""
        place = self.place(first, second, alignment)
        if not is_whole(place) and not self._same_size(first, second, place):
            return False
        views = self._compared.preview(first), self._compared.preview(second)
        if views[0] is None or views[1] is None:
            return False
        if _each_shows_more(views[0], views[1], place) or not same_drawing(views[0], views[1], place):
            return False
        images = self._whole(first), self._whole(second)
        if images[0] is None or images[1] is None:
            self.unread |= {picture for picture, image in zip((first, second), images, strict=True) if image is None}
            return False
        return same_drawing(images[0], images[1], place)

    def same_photographs(self, first: int, second: int, alignment: Alignment) -> bool:
        """Return whether two photographs whose thumbnails agree carry no different marks and no different lettering."""
        place = self.place(first, second, alignment)
        views = self._compared.preview(first), self._compared.preview(second)
        if views[0] is None or views[1] is None or _each_shows_more(views[0], views[1], place):
            return False
        marking = marks(views[0], views[1], place)
        if marking.share > _MARKED or (marking.share > _LETTERED and abs(marking.first - marking.second) <= _ONE_SIDED):
            return False
        if marking.share > _ANYTHING and self._even(first) and self._even(second) and not _is_laid(marking):
            return False
        text, other = self._text(first), self._text(second)
        if text is None or other is None:
            return True
        images = self._whole(first), self._whole(second)
        if images[0] is None or images[1] is None:
            return same_drawing(views[0], views[1], place, (text, other))
        return same_drawing(images[0], images[1], place, (text, other))

    def _same_size(self, first: int, second: int, place: Map) -> bool:
        """Return whether the pixels of two pictures, one mapped to the other, have the same size."""
        picture, other = (self._compared.pictures[place] for place in (first, second))
        area = abs(float(np.linalg.det(place[:2, :2]))) * picture.width * picture.height / (other.width * other.height)
        return abs(math.sqrt(area) - 1) <= _SAME_SIZE

    def place(self, first: int, second: int, alignment: Alignment) -> Map:
        """Return the map of the second of two pictures to the first."""
        shapes = [small.luma.shape for item in (first, second) if (small := self._compared.small(item)) is not None]
        return unit_map(alignment.matrix, shapes[1], shapes[0])

    def _is_drawn(self, place: int) -> bool:
        view = self._compared.preview(place)
        return view is not None and is_drawn(view)

    def _has_even_ground(self, place: int) -> bool:
        view = self._compared.preview(place)
        return view is not None and has_even_ground(view)

    def _text_areas(self, place: int) -> NDArray[np.bool_] | None:
        """Return the tiles of a picture with lettering; None without any."""
        view = self._compared.preview(place)
        areas = None if view is None else text_areas(view)
        return areas if areas is not None and areas.any() else None


def _is_laid(differing: Marks) -> bool:
    """Return whether a mark was laid on one of two pictures where they differ: it looks like lettering."""
    less, more = sorted((differing.first, differing.second))
    return more >= _LETTERING and (differing.share <= _LETTERED or less < _BEHIND)


def _each_shows_more(first: Image, second: Image, place: Map) -> bool:
    """Return whether each of two pictures shows a part of a scene that the other lacks, as two parts of a page do."""
    if is_whole(place):
        return False
    back = np.asarray(np.linalg.inv(place), np.float64)
    beside = extra_share(first, second, place), extra_share(second, first, back)
    return all(scene and share >= FULLER for share, scene in beside)
