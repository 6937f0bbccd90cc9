"""The SIFT view: counts of visual words of colour SIFT descriptors."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from crossview.features.base import FeatureRows, ImageExtractor, Labels, Part
from crossview.features.descriptors import DESCRIPTOR_SIZE, color_sift, key_points
from crossview.features.errors import NotFittedError
from crossview.features.image import Image, check_image, grey
from crossview.features.words import count_words, fit_words, nearest_words, word_parts

WORDS = 300
MAX_WORDS = 65_536
DESCRIPTORS_PER_IMAGE = 100
"""Maximum number of descriptors of one training picture."""


class Sift(ImageExtractor):
    """Counts of an image's colour SIFT descriptors by the nearest visual word of a fitted codebook."""

    words: int
    half_chroma: bool

    name: ClassVar[str] = "sift"
    steps: ClassVar[tuple[str, ...]] = ("l1",)
    earlier_params: ClassVar[Mapping[str, Any]] = {"half_chroma": False}

    def __init__(self, *, words: int = WORDS, half_chroma: bool = True) -> None:
        if isinstance(words, bool) or not isinstance(words, int) or not 1 <= words <= MAX_WORDS:
            raise ValueError(f"sift: words must be a whole number from 1 to {MAX_WORDS:,}, not {words!r}")
        if not isinstance(half_chroma, bool):
            raise ValueError(f"sift: half_chroma must be true or false, not {half_chroma!r}")
        self.words, self.half_chroma = words, half_chroma
        self._centres: NDArray[np.float32] | None = None

    @property
    def dim(self) -> int:
        """The number of words."""
        return self.words

    @property
    def fitted(self) -> bool:
        """Whether there is a codebook."""
        return self._centres is not None

    def params(self) -> dict[str, Any]:
        """Return ``words``, the codebook's size [default: 300]; ``half_chroma`` of ``color_sift`` [default: true]."""
        return {"words": self.words, "half_chroma": self.half_chroma}

    def sample(self, image: Image) -> FeatureRows:
        """Return at most 100 of the image's descriptors, (n, 384) float32, the same ones every time."""
        descriptors = color_sift(image, self.half_chroma)
        if len(descriptors) <= DESCRIPTORS_PER_IMAGE:
            return descriptors
        places = np.random.default_rng(len(descriptors)).choice(len(descriptors), DESCRIPTORS_PER_IMAGE, replace=False)
        return descriptors[np.sort(places)]

    def fit(self, samples: Sequence[FeatureRows], seed: int = 0, labels: Labels | None = None) -> Self:
        """Learn the codebook from the results of ``sample``; ValueError for fewer descriptors than words."""
        self._centres = fit_words(samples, self.words, seed)
        return self

    def row(self, image: Image) -> FeatureRows:
        """Return the counts, (words,) float32, whose sum is the number of key points; all zero without key points."""
        if self._centres is None:
            raise NotFittedError("the sift view has no visual words yet: fit it on pictures first")
        return count_words(color_sift(image, self.half_chroma), self._centres)

    def parts(self) -> tuple[Part, ...]:
        """Return the visual words, by number."""
        return word_parts(self.words)

    def points(self, image: Image) -> FeatureRows:
        """Return the key points with their words, (n, 4) float32; see ``ImageExtractor.points``."""
        if self._centres is None:
            raise NotFittedError("the sift view has no visual words yet: fit it on pictures first")
        points = key_points(grey(check_image(image)))
        if not points:
            return super().points(image)
        places = np.array([(*point.pt, point.size) for point in points])
        height, width = image.shape[:2]
        words = nearest_words(color_sift(image, self.half_chroma), self._centres)
        return np.column_stack([places / (width, height, max(width, height)), words]).astype(np.float32)

    def to_state(self) -> dict[str, NDArray[Any]]:
        """Return ``centres``: (words, 384) float32; {} before fitting."""
        return {} if self._centres is None else {"centres": self._centres.copy()}

    def load_state(self, state: Mapping[str, NDArray[Any]]) -> Self:
        """Load a codebook, or none from {}; ValueError unless its shape is (words, 384)."""
        if not state:
            self._centres = None
            return self
        if set(state) != {"centres"} or state["centres"].shape != (self.words, DESCRIPTOR_SIZE):
            shapes = ", ".join(f"{name} {array.shape}" for name, array in sorted(state.items()))
            raise ValueError(f"sift: the state must contain centres ({self.words}, {DESCRIPTOR_SIZE}), not {shapes}")
        self._centres = np.ascontiguousarray(state["centres"], dtype=np.float32)
        return self
