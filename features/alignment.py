"""Alignment: where a small picture shows the same as another, and how well the two agree there."""

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple, Self

import cv2
import numpy as np
from numpy.typing import NDArray

from crossview.features.decode import decode
from crossview.features.fingerprint import ORIENTATIONS
from crossview.features.image import Image, grey

_POINTS, _PATCH, _THRESHOLD = 250, 19, 8
"""Number of key points (ORB: Rublee et al., ICCV 2011), side of their patches, and contrast of their corners."""
_RATIO, _FEWEST = 0.8, 5
"""Lowe's ratio of the nearest and second nearest descriptors, and the number of matches that make an alignment, before
and after RANSAC."""
_TOLERANCE, _TRIALS = 2.0, 500
"""Pixels by which matching points may miss each other, and number of trials of RANSAC."""
_SIDE, _CELLS = 128, 8
"""Side of the square that agreement is measured on, and its number of cells a side."""
_SMOOTH, _FLAT, _WHOLE = 1.0, 9.0, 0.98
"""Smoothing in pixels, variance of luma below which a cell is flat, and share that makes a cell whole."""
_SURE, _HOPELESS = 0.99, 0.3
"""Agreements from which on an alignment needs no improvement, and up to which none is worth its time."""
_FIRST_STEPS, _STEPS, _GAIN, _BLUR = 10, 30, 1e-5, 5
"""Numbers of first and further steps of the refinement (ECC: Evangelidis and Psarakis, PAMI 2008), the gain that ends
it, smoothing."""
_DOUBTFUL = 0.5
"""Agreement below which the first steps of the refinement are the last: copies are beyond it from the start."""

Matrix = NDArray[np.float64]
_Points = tuple[NDArray[np.float32], NDArray[np.uint8]]
"""Places (n, 2) and binary descriptors (n, 32) of key points."""
_Cells = tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]
"""Pixels of the cells of a picture minus their means, (64, 256); their means; their variances."""


class Agreement(NamedTuple):
    """How well two aligned pictures agree, cell by cell, in correlations of their luma from -1 to 1."""

    middle: float = 0.0
    """Median over the cells that are not flat."""
    low: float = 0.0
    """The fifth of the cells that agree least has at most this correlation: a mark or a moved object is there."""
    cells: int = 0
    """Number of these cells, of 64."""
    covered: float = 0.0
    """Share of the first picture that the second one shows."""
    light: float = 0.0
    """Mean difference of their luma, in levels of 256."""


class Alignment(NamedTuple):
    """A map of the second picture onto the first, and how well the two agree under it."""

    matrix: Matrix
    """(2, 3) affine map from pixels of the second picture to pixels of the first."""
    agreement: Agreement
    points: int = 0
    """Number of matching key points that the map was found from; 0 for a map of whole pictures."""

    def inverted(self) -> "Alignment":
        """Return the alignment of the first picture with the second; what they agree in is the same."""
        return self._replace(matrix=np.asarray(cv2.invertAffineTransform(self.matrix), np.float64))

    def after(self, second: "Alignment") -> "Alignment":
        """Return the alignment of a third picture with the first: ``second`` is the one with the second picture."""
        whole = np.vstack([self.matrix, [0, 0, 1]]) @ np.vstack([second.matrix, [0, 0, 1]])
        return second._replace(matrix=np.asarray(whole[:2]))

    @property
    def mirrored(self) -> bool:
        """Whether left and right are exchanged."""
        return bool(np.linalg.det(self.matrix[:, :2]) < 0)

    @property
    def degrees(self) -> float:
        """Angle by which the first picture must be turned clockwise, after mirroring, in -180 to 180."""
        (a, b), (c, d) = self.matrix[:, :2]
        # With y downwards, [[cos, -sin], [sin, cos]] turns clockwise; the map goes back from the second picture.
        angle = np.degrees(np.arctan2(-c - b, -a + d) if self.mirrored else np.arctan2(b - c, a + d))
        return float(angle)


class SmallPicture:
    """A small picture, such as a thumbnail, with what its comparisons share."""

    def __init__(self, image: Image) -> None:
        self.image = image
        self.luma: NDArray[np.uint8] = grey(image)
        self._described: dict[bool, _Points] = {}
        self._own: _Cells | None = None

    @classmethod
    def read(cls, data: bytes) -> Self:
        """Decode a small picture; ImageError if it cannot be read."""
        return cls(decode(data).image)

    @cached_property
    def chroma(self) -> float:
        """Mean difference of the strongest and the weakest of red, green and blue: about 0 without colours."""
        red, green, blue = cv2.split(self.image)
        strongest, weakest = cv2.max(cv2.max(red, green), blue), cv2.min(cv2.min(red, green), blue)
        return float(cv2.mean(cv2.subtract(strongest, weakest))[0])

    def _points(self, mirrored: bool = False) -> _Points:
        """Return the key points; if mirrored, with the descriptors that they have in the mirrored picture."""
        # Not cached_property: in Python 3.11, it lets one thread at a time compute any picture's.
        if mirrored not in self._described:
            self._described[mirrored] = _described(self.luma, mirrored)
        return self._described[mirrored]

    def aligned(self, other: "SmallPicture", orientation: int = 0) -> Alignment:
        """Return the best map of another picture onto this one.

        ``orientation`` is the number of the orientation (``features.fingerprint.ORIENTATIONS``) that brings the other
        picture nearest to this one. The whole picture in this orientation is tried first, then matching key points.
        """
        whole = _turned(other.luma.shape, self.luma.shape, orientation)
        best = Alignment(whole, self._agreement(other, whole))
        for mirrored in (False, True)[: 1 + ORIENTATIONS[orientation].mirrored]:
            if best.agreement.middle < _SURE and (by_points := self._by_points(other, mirrored)):
                best = max(best, by_points, key=_quality)
        return best if best.agreement.middle >= _SURE or _quality(best) < _HOPELESS else self._refined(other, best)

    def _by_points(self, other: "SmallPicture", mirrored: bool) -> Alignment | None:
        (own, own_descriptors), (places, descriptors) = self._points(), other._points(mirrored)
        pairs = _matches(descriptors, own_descriptors)
        if len(pairs) < _FEWEST:
            return None
        second, first = np.array(pairs).T
        matrix, inside = cv2.estimateAffine2D(
            places[second], own[first], ransacReprojThreshold=_TOLERANCE, maxIters=_TRIALS
        )
        if matrix is None or inside.sum() < _FEWEST:  # any three points have a map
            return None
        if not 0.05 < abs(np.linalg.det(matrix[:, :2])) < 20:  # a fold, not a photograph
            return None
        return Alignment(matrix, self._agreement(other, matrix), int(inside.sum()))

    def _refined(self, other: "SmallPicture", alignment: Alignment) -> Alignment:
        best = alignment
        for steps in (_FIRST_STEPS, _STEPS):
            start = cv2.invertAffineTransform(best.matrix).astype(np.float32)
            end = cv2.TERM_CRITERIA_EPS | cv2.TERM_CRITERIA_COUNT, steps, _GAIN
            whole = np.full(other.luma.shape, 255, np.uint8)
            try:
                _, back = cv2.findTransformECC(self.luma, other.luma, start, cv2.MOTION_AFFINE, end, whole, _BLUR)
            except cv2.error:  # the pictures do not overlap enough
                break
            matrix = np.asarray(cv2.invertAffineTransform(back), np.float64)
            best = max(best, Alignment(matrix, self._agreement(other, matrix), alignment.points), key=_quality)
            if _quality(best) < _DOUBTFUL:
                break
        return best

    def _agreement(self, other: "SmallPicture", matrix: Matrix) -> Agreement:
        height, width = self.luma.shape
        warped = np.asarray(
            cv2.warpAffine(other.luma, matrix, (width, height), borderMode=cv2.BORDER_REPLICATE), np.uint8
        )
        whole, covered = _shown(other.luma.shape, matrix, self.luma.shape)
        self._own = self._own or _centred(self.luma)
        (first, means, variances), (second, other_means, varied) = self._own, _centred(warped)
        light = float(np.abs(means - other_means)[whole].mean()) if whole.any() else 0.0
        used = whole & (np.maximum(variances, varied) > _FLAT)
        if not used.any():
            return Agreement(covered=covered, light=light)
        scale = np.sqrt(np.maximum(variances, _FLAT / 2) * np.maximum(varied, _FLAT / 2))
        correlations = np.einsum("cp,cp->c", first, second) / first.shape[1] / scale
        middle, low = _quantiles(correlations[used], (0.5, 0.2))
        return Agreement(middle, low, int(used.sum()), covered, light)


def _quality(alignment: Alignment) -> float:
    return alignment.agreement.middle


def _described(luma: NDArray[np.uint8], mirrored: bool) -> _Points:
    """Return the places of key points, and their descriptors in the picture or in its mirror image."""
    if mirrored:
        places, codes = _described(np.ascontiguousarray(luma[:, ::-1]), False)
        return places * np.array([-1, 1], np.float32) + np.array([luma.shape[1] - 1, 0], np.float32), codes
    detector = cv2.ORB.create(_POINTS, patchSize=_PATCH, edgeThreshold=_PATCH // 2 + 2, fastThreshold=_THRESHOLD)
    points, descriptors = detector.detectAndCompute(luma, None)
    if descriptors is None:
        return np.empty((0, 2), np.float32), np.empty((0, 32), np.uint8)
    return np.asarray(cv2.KeyPoint.convert(points), np.float32), np.asarray(descriptors, np.uint8)


def _matches(descriptors: NDArray[np.uint8], targets: NDArray[np.uint8]) -> Sequence[tuple[int, int]]:
    """Return the places of descriptors beside those of the nearest known ones, where the second is far behind."""
    if len(descriptors) < _FEWEST or len(targets) < _FEWEST:
        return []
    matches = cv2.BFMatcher(cv2.NORM_HAMMING).knnMatch(descriptors, targets, k=2)
    return [(best.queryIdx, best.trainIdx) for best, next_ in matches if best.distance < _RATIO * next_.distance]


def _cells(luma: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Return the pixels of the cells of a picture, (64, 256), after smoothing and resizing to a square."""
    square = cv2.resize(luma, (_SIDE, _SIDE), interpolation=cv2.INTER_AREA).astype(np.float32)
    smooth = np.asarray(cv2.GaussianBlur(square, (0, 0), _SMOOTH), np.float32)
    step = _SIDE // _CELLS
    return smooth.reshape(_CELLS, step, _CELLS, step).swapaxes(1, 2).reshape(_CELLS * _CELLS, -1)


def _centred(luma: NDArray[np.uint8]) -> _Cells:
    """Return the cells of a picture minus their means, their means, and their variances."""
    cells = _cells(luma)
    means = cells.mean(axis=1)
    cells -= means[:, None]
    return cells, means, np.einsum("cp,cp->c", cells, cells) / cells.shape[1]


def _shown(shape: Sequence[int], matrix: Matrix, onto: Sequence[int]) -> tuple[NDArray[np.bool_], float]:
    """Return which cells a mapped picture of a shape covers, and the share of all pixels that it covers."""
    inside = cv2.warpAffine(np.full(shape, 255, np.uint8), matrix, (onto[1], onto[0])) > 127
    if inside.all():
        return np.ones(_CELLS * _CELLS, bool), 1.0
    shown = _cells(255 * inside.astype(np.uint8))
    return shown.mean(axis=1) >= 255 * _WHOLE, float(inside.mean())


def _quantiles(values: NDArray[np.float32], shares: Sequence[float]) -> list[float]:
    """Return quantiles between neighbouring values, as ``np.quantile`` does, which takes ten times as long."""
    places = np.arange(len(values))
    return np.interp([share * (len(values) - 1) for share in shares], places, np.sort(values)).tolist()


def _turned(shape: Sequence[int], onto: Sequence[int], orientation: int) -> Matrix:
    """Return the map of a whole picture of a shape, turned to an orientation, onto a picture of another shape."""
    height, width = shape
    corners = np.array([[0, 0], [width, 0], [0, height]], np.float32)
    turned, (mirrored, degrees) = corners.copy(), ORIENTATIONS[orientation]
    if mirrored:
        turned[:, 0] = width - turned[:, 0]
    for _ in range(degrees // 90):  # a quarter, clockwise: the left edge comes to the top
        turned = np.column_stack([height - turned[:, 1], turned[:, 0]])
        height, width = width, height
    turned *= np.array([onto[1] / width, onto[0] / height], np.float32)
    return np.asarray(cv2.getAffineTransform(corners - 0.5, turned.astype(np.float32) - 0.5), np.float64)
