"""Content: whether two aligned pictures show the same when they are seen closely.

Thumbnails of pages, forms, tables and screenshots agree where their texts and numbers differ. Here the second picture
is laid on the first, its tones and its sharpness are fitted to it, and what remains is compared window by window.
"""

from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from crossview.features.image import PREVIEW_SIDE, Image, grey, shrink

LONGEST = 1600
"""Longest side, in pixels, at which drawn pictures are compared: letters of 10 points on a page are 14 pixels high."""
_GROUND, _INK, _TEXTURE, _THICK = 0.5, 12, 6.0, 5
"""Share of the pixels that the ground of a drawn picture has at least, levels by which ink differs from it, standard
deviation of textures, and width of strokes of a preview, in pixels, from which on they are areas."""
_EVEN_GROUND, _MOSTLY_EVEN, _PARTLY_EVEN = 3, 0.45, 0.4
"""Levels by which most of the ground varies, and share of the pixels within them in drawn pictures, and in others with
an even ground: the dark of a photograph varies."""
_TEXTURED = 0.05
"""Share of a drawn picture that textures inside of areas have at most: a photograph of one object on white has more."""
_COARSE, _STEPS, _GAIN, _BLUR = 400, (30, 15), 1e-5, 5
"""Longest side of the first refinement of the map, numbers of steps, the gain that ends it, and smoothing (ECC)."""
_KERNEL, _SAMPLE, _TRIMMED, _RIDGE = 5, 6_000, 0.9, 1e-3
"""Side of the fitted filter, number of pixels it is fitted on, share of them that later fits keep, and its penalty."""
_WINDOW, _REMAINS, _UNEXPLAINED, _NOISE = 9, 40.0, 0.3, 30.0
"""Side of windows; root mean square, in levels, and share of the variance that remain where content differs; variance
of noise. Copies of drawn pages, recompressed at quality 30 or halved, leave 23 levels at most; other digits 70."""
_FEWEST, _MARGIN = 5, 0.01
"""Number of pixels that make a difference, and share of the longest side that is left out at edges."""
_WHOLE, _ALIGNED = 0.02, 0.5
"""Largest deviation of a map from one of whole pictures, and share of the windows with content that may differ then."""
_TILE, _STROKES, _FILLED, _STRONG = 48, (0.05, 0.5), 0.1, 40.0
"""Side of the tiles of a preview in which lettering is looked for, in pixels; bounds of the share of its strokes, share
of their pixels that lie in areas, and levels by which they differ from the ground."""
_BORDER, _EVEN, _STEP = 4, 0.95, 0.5
"""Levels by which a border varies; share of the pixels beside a picture from which on they are a border, and share of
the picture's edge that differs from it."""
_COLOUR, _GREY, _GAINS = 30.0, 8.0, (0.6, 1.6)
"""Levels of chroma by which colours differ, and up to which there are none; bounds of the factor by which a copy may be
paler or stronger."""
_BEHIND, _LAID, _UNUSUAL, _SEEN = 41, 80.0, 2.0, 25.0
"""Side of the surroundings that show what lies behind a mark; levels by which marks differ from it; how many times more
pixels of a mark than of the rest do so; levels that remain where photographs differ."""
_LAID_WINDOW, _LAID_FEWEST = 7, 40

Map = NDArray[np.float64]
"""(3, 3) map of places of a second picture to places of a first one; a side of a picture has the length 1."""
_Luma = NDArray[np.uint8]
_Mask = NDArray[np.bool_]
_Levels = NDArray[np.float32]


def unit_map(matrix: NDArray[np.float64], second: tuple[int, int], first: tuple[int, int]) -> Map:
    """Return a (2, 3) map between pixels of two pictures, of shapes (height, width), as one between the wholes."""
    return np.asarray(_to_unit(first) @ np.vstack([matrix, [0, 0, 1]]) @ np.linalg.inv(_to_unit(second)))


def is_whole(place: Map) -> bool:
    """Return whether a map lays a whole picture, as it is, turned or mirrored, on a whole one."""
    return bool(np.abs(place - np.round(place)).max() < _WHOLE)


def is_drawn(image: Image) -> bool:
    """Return whether a picture is a page, a drawing, a screenshot or the like: strokes or even areas on a ground."""
    luma = grey(shrink(image, PREVIEW_SIDE))
    counts = np.bincount(luma.ravel(), minlength=256) / luma.size
    shares = np.convolve(counts, np.ones(2 * _INK + 1), "same")
    ground = int(shares.argmax())
    if shares[ground] < _GROUND or _near(counts, int(counts.argmax()), _EVEN_GROUND) < _MOSTLY_EVEN:
        return False
    ink = (np.abs(luma.astype(np.int16) - ground) > _INK).astype(np.uint8)
    areas = cv2.erode(ink, np.ones((_THICK, _THICK), np.uint8)) > 0
    textured = np.sqrt(_variance(luma.astype(np.float32), _THICK)) >= _TEXTURE
    return bool((areas & textured).mean() < _TEXTURED)


def has_even_ground(image: Image) -> bool:
    """Return whether much of a picture is an even ground, as of a screenshot or of an object before a wall."""
    luma = grey(shrink(image, PREVIEW_SIDE))
    counts = np.bincount(luma.ravel(), minlength=256) / luma.size
    return _near(counts, int(counts.argmax()), _EVEN_GROUND) >= _PARTLY_EVEN


def text_areas(image: Image) -> _Mask:
    """Return which tiles of a picture, rows by columns, hold lettering: strong thin strokes on an even ground."""
    luma = grey(shrink(image, PREVIEW_SIDE))
    height, width = (max(1, side // _TILE) for side in luma.shape)
    tiles = [np.array_split(rows, width, axis=1) for rows in np.array_split(luma, height)]
    return np.array([[_is_text(tile) for tile in row] for row in tiles])


def same_drawing(first: Image, second: Image, place: Map, areas: tuple[_Mask, _Mask] | None = None) -> bool:
    """Return whether two drawn pictures have the same content, apart from noise, sharpness, tones and what is cut off.

    ``place`` maps the second to the first; it is refined if little agrees. With ``areas``, the ``text_areas`` of both,
    only these are compared, in other pictures, too.
    """
    if is_whole(place):
        # Pages of one layout are mostly laid on each other as wholes: what differs then is not a matter of the map.
        pair = _Pair.of(first, second, np.round(place), LONGEST, areas)
        differing, content = pair.differing()
        if differing < _ALIGNED * content or not content:
            return differing < _FEWEST and pair.same_colours()
    pair = _Pair.of(first, second, place, LONGEST, areas)
    for longest, steps in ((_COARSE, _STEPS[0]), (LONGEST, _STEPS[1])):
        pair = pair.refined(longest, steps)
        if pair.differing()[0] < _FEWEST:
            return pair.same_colours()
    return False


class Marks(NamedTuple):
    """The places at which two similar photographs differ, such as in a lettering that was laid on one of them."""

    share: float = 0.0
    """Share of the common part in which they differ."""
    first: float = 0.0
    """Share of this part in which the first picture differs strongly from its surroundings, as lettering does."""
    second: float = 0.0


def marks(first: Image, second: Image, place: Map) -> Marks:
    """Return where two photographs differ; ``place`` maps the second to the first."""
    pair = _Pair.of(first, second, place, PREVIEW_SIDE)
    if pair.marked().sum() < _LAID_FEWEST:
        return Marks()
    pair = pair.refined(LONGEST, _STEPS[1])
    marked = pair.marked()
    if marked.sum() < _LAID_FEWEST:
        return Marks()
    free = pair.inside & ~marked
    share = float(marked.sum() / pair.inside.sum())
    return Marks(share, *(_laid(luma, marked, free) for luma in (pair.first, pair.second)))


class _Remains(NamedTuple):
    """The rest of a picture after the subtraction of a fitted one."""

    values: _Levels
    fitted: _Levels
    wanted: _Levels

    def content(self, side: int) -> _Levels:
        return np.maximum(_variance(self.fitted, side), _variance(self.wanted, side))

    def differs(self, side: int, levels: float) -> _Mask:
        """Return the middles of the windows in which more than ``levels`` remain."""
        energy = cv2.blur(self.values * self.values, (side, side))
        unexplained = energy > _UNEXPLAINED * (self.content(side) + _NOISE)
        return np.asarray((energy > levels * levels) & unexplained)


class _Pair:
    """Two pictures in the frame of the first, neither of them enlarged."""

    def __init__(self, images: tuple[Image, Image], place: Map, areas: tuple[_Mask, _Mask] | None) -> None:
        """``images`` are not larger than they are compared; ``place`` maps pixels of the second to the first."""
        self._images, self._place, self._areas = images, place, areas
        self.first, other = grey(images[0]), grey(images[1])
        height, width = self.first.shape
        matrix = place[:2]
        self.second: _Luma = np.asarray(
            cv2.warpAffine(other, matrix, (width, height), borderMode=cv2.BORDER_REPLICATE), np.uint8
        )
        shown = cv2.warpAffine(np.full(other.shape, 255, np.uint8), matrix, (width, height)) > 127
        margin = 2 * max(4, round(_MARGIN * max(height, width))) + 1
        # Outside the frame counts as not shown: maps are least exact at edges.
        eroded = cv2.erode(
            shown.astype(np.uint8),
            np.ones((margin, margin), np.uint8),
            borderType=cv2.BORDER_CONSTANT,
            borderValue=(0, 0, 0, 0),
        )
        self.inside: _Mask = eroded > 0
        if areas is not None:
            first, second = (
                cv2.resize(area.astype(np.uint8), image.shape[1::-1], interpolation=cv2.INTER_NEAREST)
                for area, image in zip(areas, images, strict=True)
            )
            self.inside &= (first > 0) & (cv2.warpAffine(second, matrix, (width, height)) > 0)

    @classmethod
    def of(
        cls, first: Image, second: Image, place: Map, longest: int, areas: tuple[_Mask, _Mask] | None = None
    ) -> "_Pair":
        """Shrink both pictures to the same scale, the longest side of the first at most ``longest``."""
        pixels = np.linalg.inv(_to_unit(first.shape)) @ place @ _to_unit(second.shape)
        scale = float(np.sqrt(abs(np.linalg.det(pixels[:2, :2]))))
        small = _scaled(first, min(1.0, longest / max(first.shape), 1 / max(scale, 1e-6)))
        other = _scaled(second, min(1.0, scale * small.shape[1] / first.shape[1]))
        return cls((small, other), np.linalg.inv(_to_unit(small.shape)) @ place @ _to_unit(other.shape), areas)

    def refined(self, longest: int, steps: int) -> "_Pair":
        """Return the pair with a better map, found at a size; itself if there is none."""
        lumas = tuple(shrink(luma, longest) for luma in map(grey, self._images))
        (to, of) = (_to_unit(luma.shape) for luma in lumas)
        (large, other) = (_to_unit(image.shape) for image in self._images)
        start = np.linalg.inv(to) @ large @ self._place @ np.linalg.inv(other) @ of
        back = np.asarray(cv2.invertAffineTransform(start[:2]), np.float32)
        end = cv2.TERM_CRITERIA_EPS | cv2.TERM_CRITERIA_COUNT, steps, _GAIN
        whole = np.full(lumas[1].shape, 255, np.uint8)
        try:
            _, matrix = cv2.findTransformECC(lumas[0], lumas[1], back, cv2.MOTION_AFFINE, end, whole, _BLUR)
        except cv2.error:  # the pictures do not overlap enough
            return self
        place = np.vstack([cv2.invertAffineTransform(matrix), [0, 0, 1]])
        return _Pair(self._images, np.linalg.inv(large) @ to @ place @ np.linalg.inv(of) @ other, self._areas)

    def differing(self) -> tuple[int, int]:
        """Return the number of pixels around which the contents differ, and of those around which there is content."""
        remains = self.remains()
        differs, content = remains.differs(_WINDOW, _REMAINS), remains.content(_WINDOW) > _NOISE
        return int((differs & self.inside).sum()), int((content & self.inside).sum())

    def marked(self) -> _Mask:
        """Return the pixels in which the pictures differ strongly, and those beside them."""
        remains = self.remains()
        differs = remains.differs(_LAID_WINDOW, _SEEN) & (np.abs(remains.values) > _SEEN)
        return (cv2.dilate(differs.astype(np.uint8), np.ones((3, 3), np.uint8)) > 0) & self.inside

    def remains(self) -> _Remains:
        """Return what remains of one picture when the other is fitted to it, in the direction that leaves less."""
        both = [self._remains_of(*lumas) for lumas in ((self.first, self.second), (self.second, self.first))]
        return min(both, key=lambda rest: float(np.mean(rest.values**2)) / max(float(rest.wanted.std()) ** 2, 1e-6))

    def _remains_of(self, source: _Luma, target: _Luma) -> _Remains:
        wanted = target.astype(np.float32)
        fitted = _filtered(_toned(source, target, self.inside), wanted, self.inside)
        return _Remains(np.where(self.inside, fitted - wanted, 0).astype(np.float32), fitted, wanted)

    def same_colours(self) -> bool:
        """Return whether the colours of both are the same, wherever more than a few pixels have one.

        A picture without any colour has those of every other one.
        """
        height, width = self.first.shape
        moved = cv2.warpAffine(self._images[1], self._place[:2], (width, height), borderMode=cv2.BORDER_REPLICATE)
        first, second = (_chroma(np.asarray(image, np.uint8)) for image in (self._images[0], moved))
        colours = first[self.inside], second[self.inside]
        if any(not (np.abs(colour) > _GREY).any() for colour in colours):
            return True
        factor = float((colours[0] * colours[1]).sum() / max(float((colours[0] ** 2).sum()), 1e-6))
        away = np.abs(second - float(np.clip(factor, *_GAINS)) * first).max(axis=2)
        return bool(((away > _COLOUR) & self.inside).sum() < _FEWEST)


def extra_share(first: Image, second: Image, place: Map) -> tuple[float, bool]:
    """Return the share of a picture that another one does not show, and whether more than an even border is there.

    An even part beside an even ground of the other picture, as of an object on white, is not a border.
    """
    height, width = first.shape[:2]
    pixels = np.linalg.inv(_to_unit(first.shape)) @ place @ _to_unit(second.shape)
    shown = cv2.warpAffine(np.full(second.shape[:2], 255, np.uint8), pixels[:2], (width, height)) > 127
    if shown.all():
        return 0.0, False
    # Maps are inexact by some pixels: what lies there belongs to the other picture, too, and not to a border.
    luma, reach = grey(first), 2 * max(2, round(_MARGIN * max(height, width))) + 1
    near, around = shown.astype(np.uint8), np.ones((reach, reach), np.uint8)
    beside = cv2.dilate(near, around) == 0
    counts = np.bincount(luma[beside], minlength=256)
    shares = np.convolve(counts, np.ones(2 * _BORDER + 1), "same") / max(1, counts.sum())
    level, edge = int(shares.argmax()), luma[shown & (cv2.erode(near, around) == 0)]
    ends = np.abs(edge.astype(np.int16) - level) > 2 * _BORDER
    border = not beside.any() or (shares[level] >= _EVEN and ends.mean() >= _STEP)
    return float((~shown).mean()), not border


def _to_unit(shape: tuple[int, ...]) -> Map:
    """Return the map from pixels to the picture as a whole; a pixel's place is its middle."""
    height, width = shape[:2]
    return np.array([[1 / width, 0, 0.5 / width], [0, 1 / height, 0.5 / height], [0, 0, 1]])


def _near(counts: NDArray[np.float64], level: int, away: int) -> float:
    return float(counts[max(0, level - away) : level + away + 1].sum())


def _is_text(tile: _Luma) -> bool:
    counts = np.bincount(tile.ravel(), minlength=256)
    shares = np.convolve(counts, np.ones(2 * _INK + 1), "same") / tile.size
    ground = int(shares.argmax())
    away = np.abs(tile.astype(np.int16) - ground)
    ink = away > _INK
    if shares[ground] < _GROUND or not _STROKES[0] <= ink.mean() <= _STROKES[1] or away[ink].mean() < _STRONG:
        return False
    return bool(cv2.erode(ink.astype(np.uint8), np.ones((_THICK, _THICK), np.uint8)).sum() <= _FILLED * ink.sum())


def _scaled(image: Image, scale: float) -> Image:
    if scale >= 1:
        return image
    size = max(1, round(image.shape[1] * scale)), max(1, round(image.shape[0] * scale))
    return np.asarray(cv2.resize(image, size, interpolation=cv2.INTER_AREA), np.uint8)


def _variance(values: _Levels, side: int) -> _Levels:
    means = cv2.blur(values, (side, side))
    return np.asarray(np.maximum(cv2.blur(values * values, (side, side)) - means * means, 0), np.float32)


def _toned(source: _Luma, target: _Luma, inside: _Mask) -> _Levels:
    """Return the source with each of its levels replaced by the mean of the target there, smoothed over levels."""
    levels, wanted = source[inside], target[inside].astype(np.float64)
    near = np.exp(-0.5 * (np.arange(-8, 9) / 3) ** 2)
    counts, sums = (
        np.convolve(np.bincount(levels, weights, minlength=256).astype(np.float64), near, "same")
        for weights in (None, wanted)
    )
    present = np.flatnonzero(counts > 1e-6)
    if not len(present):
        return source.astype(np.float32)
    tones = np.interp(np.arange(256), present, sums[present] / counts[present])
    return np.asarray(tones[source], np.float32)


def _filtered(source: _Levels, wanted: _Levels, inside: _Mask) -> _Levels:
    """Return the source after the linear filter that brings it nearest to what is wanted, by least squares."""
    side = _KERNEL // 2
    contrast = cv2.dilate(source, np.ones((_KERNEL, _KERNEL))) - cv2.erode(source, np.ones((_KERNEL, _KERNEL)))
    places = np.flatnonzero(inside & (contrast > _INK))
    if len(places) < _KERNEL**2:
        return source
    if len(places) > _SAMPLE:
        places = np.random.default_rng(0).choice(places, _SAMPLE, replace=False)
    rows, columns = np.unravel_index(places, source.shape)
    padded = cv2.copyMakeBorder(source, side, side, side, side, cv2.BORDER_REPLICATE)
    moves = [(down, across) for down in range(_KERNEL) for across in range(_KERNEL)]
    around = np.stack([padded[rows + down, columns + across] for down, across in moves] + [np.ones(len(places))], 1)
    around, values, inliers = around.astype(np.float64), wanted[rows, columns], np.ones(len(places), bool)
    for _ in range(3):  # later fits leave out what differs
        some = around[inliers]
        penalty = _RIDGE * len(some) * np.eye(around.shape[1])
        weights = np.linalg.solve(some.T @ some + penalty, some.T @ values[inliers])
        away = np.abs(around @ weights - values)
        inliers = away <= np.quantile(away, _TRIMMED)
    kernel = weights[:-1].reshape(_KERNEL, _KERNEL)
    return np.asarray(cv2.filter2D(source, -1, kernel, borderType=cv2.BORDER_REPLICATE) + weights[-1], np.float32)


def _chroma(image: Image) -> _Levels:
    """Return the two chroma channels, smoothed, (height, width, 2), 0 for grey."""
    channels = cv2.cvtColor(image, cv2.COLOR_BGR2YCrCb)[:, :, 1:].astype(np.float32) - 128
    return np.asarray(cv2.blur(channels, (_WINDOW, _WINDOW)), np.float32)


def _laid(luma: _Luma, marked: _Mask, free: _Mask) -> float:
    """Return the share of marked pixels that differ strongly from what their surroundings say lies behind them.

    0 for a picture in which many pixels elsewhere differ as strongly from their surroundings.
    """
    unmarked, side = (~marked).astype(np.float32), (_BEHIND, _BEHIND)
    weight = cv2.blur(unmarked, side)
    behind = np.where(weight > 0.02, cv2.blur(luma * unmarked, side) / np.maximum(weight, 1e-6), luma)
    strong = np.abs(behind - luma) > _LAID
    share, usual = float(strong[marked].mean()), float(strong[free].mean()) if free.any() else 0.0
    return share if share > _UNUSUAL * usual else 0.0
