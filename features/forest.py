"""The forest view: patches at the nodes of randomised trees (Babenko, Branson & Belongie, ICCV 2009, section 3.1.1)."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from crossview.features.base import FeatureRows, ImageExtractor, Labels, Part
from crossview.features.channels import CHANNELS, LUV, integral_image
from crossview.features.errors import NotFittedError
from crossview.features.haar import HaarTests, Responses, draw_tests, patches
from crossview.features.image import Image, check_image, shrink
from crossview.features.trees import Trees, grow_tree, join_trees
from crossview.features.words import word_parts

WORDS = 2000
MAX_WORDS = 65_536
TREES = 4
"""Number of trees of each of the two forests."""
TESTS = 400
"""Number of random tests from which each forest's trees draw."""
PATCHES_PER_IMAGE = 60
"""Maximum number of patches of one training picture."""
WORKING_SIDE = 384
"""Longest side of an image for patches, so that a word covers the same share of every picture."""

ROOTS = 2 * TREES
LEAST_WORDS = 3 * ROOTS
"""The least number of words, one split in every tree."""


class Forest(ImageExtractor):
    """Counts of an image's patches that pass each node of two forests, one on CIE-LUV colour and one on gradients.

    Every node is a word, also an inner one: a root's count is the number of patches, an inner node's the sum of its
    children's. Half of the trees use colour (roots 0 to 3), half at gradients (roots 4 to 7).
    """

    name: ClassVar[str] = "forest"
    learns_labels: ClassVar[bool] = True
    steps: ClassVar[tuple[str, ...]] = ("l1", "sqrt")
    """Shares of nested words differ by orders of magnitude: distances would be those of the few near the roots."""

    def __init__(self, *, words: int = WORDS) -> None:
        if isinstance(words, bool) or not isinstance(words, int) or not LEAST_WORDS <= words <= MAX_WORDS or words % 2:
            raise ValueError(f"forest: words must be an even number from {LEAST_WORDS} to {MAX_WORDS:,}, not {words!r}")
        self.words = words
        self._forests: tuple[Trees, HaarTests] | None = None

    @property
    def dim(self) -> int:
        """The number of words."""
        return self.words

    @property
    def fitted(self) -> bool:
        """Whether there are trees."""
        return self._forests is not None

    def parts(self) -> tuple[Part, ...]:
        """Return the visual words, by number."""
        return word_parts(self.words)

    def params(self) -> dict[str, Any]:
        """Return ``words``: the number of nodes of all trees, 2,000 by default."""
        return {"words": self.words}

    def sample(self, image: Image) -> FeatureRows:
        """Return responses of at most 60 of the image's patches to all tests, (n, 800) float32, always the same."""
        integral, found = _patched(image)
        if len(found) > PATCHES_PER_IMAGE:
            chosen = np.random.default_rng(len(found)).choice(len(found), PATCHES_PER_IMAGE, replace=False)
            found = found[np.sort(chosen)]
        responses = Responses(integral, found, candidates()).at(*np.ogrid[: len(found), : 2 * TESTS])
        return responses.astype(np.float32)

    def fit(self, samples: Sequence[FeatureRows], seed: int = 0, labels: Labels | None = None) -> Self:
        """Grow the trees on the results of ``sample``, so that their nodes separate the pictures' sets of labels.

        A picture without labels is a class of its own, and so is every picture where labels are too easily separated
        for so many words. Raises ValueError if the patches are too few or too similar.
        """
        trees = self._grow(samples, _classes(labels or [()] * len(samples)), seed)
        if labels and len(trees.children) < self.words:
            trees = self._grow(samples, list(range(len(samples))), seed)
        if len(trees.children) < self.words:
            raise ValueError(
                f"the {len(samples)} pictures have patches for {len(trees.children)} words, not {self.words}: "
                f"give more pictures, or use fewer words, such as forest:words={max(self.words // 4, LEAST_WORDS)}"
            )
        used, tests = np.unique(trees.tests, return_inverse=True)
        needed = HaarTests(*(array[used] for array in candidates()))
        self._forests = trees._replace(tests=tests.astype(np.int32)), needed
        return self

    def row(self, image: Image) -> FeatureRows:
        """Count, (words,) float32: all zero for an image smaller than a patch."""
        if self._forests is None:
            raise NotFittedError("the forest view has no trees yet: fit it on pictures first")
        trees, tests = self._forests
        integral, found = _patched(image)
        return trees.visits(ROOTS, len(found), Responses(integral, found, tests).at).astype(np.float32)

    def to_state(self) -> dict[str, NDArray[Any]]:
        """Return ``children``, ``tests`` and ``thresholds`` of the trees, ``channels`` and ``boxes`` of the tests."""
        return {name: array.copy() for part in self._forests or () for name, array in part._asdict().items()}

    def load_state(self, state: Mapping[str, NDArray[Any]]) -> Self:
        """Load trees, or none from {}; ValueError unless they have as many nodes as words."""
        if not state:
            self._forests = None
            return self
        count = len(state.get("channels", ()))
        shapes = {**dict.fromkeys(Trees._fields, (self.words,)), "channels": (count,), "boxes": (count, 2, 4)}
        found = {name: array.shape for name, array in state.items()}
        arrays = {name: np.ascontiguousarray(array, dtype=np.int32) for name, array in state.items()}
        if found == shapes:
            trees = Trees(*(arrays[name] for name in Trees._fields))
            tests = HaarTests(*(arrays[name] for name in HaarTests._fields))
            if trees.sound(ROOTS, count) and tests.sound(CHANNELS):
                self._forests = trees, tests
                return self
        given = ", ".join(f"{name} {shape}" for name, shape in sorted(found.items()))
        raise ValueError(f"forest: the state must contain the trees of {self.words} words, not {given}")

    def _grow(self, samples: Sequence[FeatureRows], classes: Sequence[int], seed: int) -> Trees:
        """Return trees that share the words: a root is one, and every split adds two."""
        responses = np.concatenate([np.zeros((0, 2 * TESTS), np.float32), *samples])
        of_patches = np.repeat(classes, [len(sample) for sample in samples])
        splits, random = (self.words - ROOTS) // 2, np.random.RandomState(seed)
        grown = []
        for number in range(ROOTS if len(responses) else 0):
            first, share = TESTS * (number // TREES), (splits + number) // ROOTS
            grown.append((grow_tree(responses[:, first : first + TESTS], of_patches, share, random), first))
        return join_trees(grown)


@cache
def candidates() -> HaarTests:
    """Return the tests that trees are grown from: 400 on the colour channels, then 400 on the gradients'."""
    generator = np.random.default_rng(0)
    forests = draw_tests(TESTS, range(LUV), generator), draw_tests(TESTS, range(LUV, CHANNELS), generator)
    return HaarTests(*map(np.concatenate, zip(*forests, strict=True)))


def _patched(image: Image) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the integral image and the patches of a picture in working size."""
    image = shrink(check_image(image), WORKING_SIDE)
    return integral_image(image), patches(*image.shape[:2])


def _classes(labels: Labels) -> list[int]:
    """Return the number of each picture's class, in the order of their first pictures."""
    names = [known or number for number, known in enumerate(labels)]
    numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
    return [numbers[name] for name in names]
