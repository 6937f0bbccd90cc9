"""The forest view: patches at the nodes of randomised trees (Babenko, Branson & Belongie, ICCV 2009, section 3.1.1)."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any, ClassVar, NamedTuple, Self

import cv2
import numpy as np
from numpy.typing import NDArray

from crossview.features.base import FeatureRows, ImageExtractor, Labels, Part
from crossview.features.errors import NotFittedError
from crossview.features.image import Image, check_image, grey, shrink
from crossview.features.words import word_parts

TRIES = 20
"""Random tests with random thresholds, of which a split is the best."""

Integers = NDArray[np.int32]
Respond = Callable[[NDArray[np.intp], Integers], Integers]
"""A function of patches and tests by number that returns the patches' responses to the tests."""


class Trees(NamedTuple):
    """Binary trees, their nodes numbered level by level: the roots first, the two children of a node side by side."""

    children: Integers
    """(nodes,) each node's first child; the second child is the next node; 0 for a leaf."""
    tests: Integers
    """(nodes,) the test of an inner node; 0 for a leaf."""
    thresholds: Integers
    """(nodes,) thresholds: a patch with a response above goes to the second child; 0 for a leaf."""

    def sound(self, roots: int, tests: int) -> bool:
        """Return whether ``join_trees`` can make this from the trees and tests, so that every walk ends."""
        (inner,) = np.nonzero(self.children)
        children = roots + 2 * np.arange(len(inner))
        numbered = len(self.children) == roots + 2 * len(inner) and (self.children[inner] == children).all()
        return bool(numbered and (children > inner).all() and (self.tests >= 0).all() and (self.tests < tests).all())

    def visits(self, roots: int, patches: int, respond: Respond) -> NDArray[np.intp]:
        """Return how many patches pass each node, (nodes,), if each starts at each root."""
        counts = np.zeros(len(self.children), np.intp)
        patch = np.repeat(np.arange(patches), roots)
        node: NDArray[np.integer[Any]] = np.tile(np.arange(roots), patches)
        while len(node):
            counts += np.bincount(node, minlength=len(counts))
            inner = self.children[node] > 0
            patch, node = patch[inner], node[inner]
            node = self.children[node] + (respond(patch, self.tests[node]) > self.thresholds[node])
        return counts


def grow_tree(
    responses: NDArray[np.float32], classes: NDArray[np.intp], splits: int, random: np.random.RandomState
) -> Any:
    """Return a ``tree_`` of scikit-learn with ``splits`` splits, or fewer if all patches are separated.

    ``responses`` is (patches, tests) of whole numbers, ``classes`` (patches,). The next split is the one that lowers
    the entropy of the classes most; its test is the best of 20, each with a random threshold.
    """
    # deferred, because the import takes half a second and only fitting needs it
    from sklearn.tree import ExtraTreeClassifier

    tree = ExtraTreeClassifier(
        criterion="entropy", max_features=min(TRIES, responses.shape[1]), max_leaf_nodes=splits + 1, random_state=random
    )
    return tree.fit(responses, classes).tree_


def join_trees(grown: Iterable[tuple[Any, int]]) -> Trees:
    """Return the nodes of scikit-learn's trees, each with the number of its first test."""
    nodes = [(tree, first, 0) for tree, first in grown]
    rows = []
    for tree, first, node in nodes:  # the loop appends to the list
        left, right = tree.children_left[node], tree.children_right[node]
        if left < 0:
            rows.append((0, 0, 0))
            continue
        # Responses are whole numbers, so rounding the threshold down keeps every decision.
        rows.append((len(nodes), first + tree.feature[node], np.floor(tree.threshold[node])))
        nodes += [(tree, first, left), (tree, first, right)]
    return Trees(*np.array(rows, np.int32).reshape(-1, 3).T.copy())


LUV, ORIENTATIONS = 3, 8
CHANNELS = LUV + ORIENTATIONS
_LEVELS = 511
"""Number of differences of two grey levels, -255 to 255."""


def integral_image(image: Image) -> NDArray[np.int32]:
    """Return running sums of an image's channels, (height + 1, width + 1, 11) int32; four of them give a box's sum.

    Channels 0 to 2 are L, u and v, channels 3 to 10 the directions of ``gradient_channels``. Exact up to 2^23 pixels.
    """
    luv = np.asarray(cv2.cvtColor(image, cv2.COLOR_BGR2LUV), dtype=np.uint8)
    channels = np.concatenate([luv, gradient_channels(grey(image))], axis=2)
    return np.asarray(cv2.integral(channels, sdepth=cv2.CV_32S), dtype=np.int32)


def gradient_channels(luma: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return gradient magnitudes by direction, (height, width, 8) uint8; each pixel has its magnitude in one channel.

    The gradient is the difference of the neighbours on either side, the edge repeated; its magnitude is cut at 255.
    Channel k has the directions, signs aside, that are nearest to k / 8 of half a turn.
    """
    across = cv2.Sobel(luma, cv2.CV_16S, 1, 0, ksize=1, borderType=cv2.BORDER_REPLICATE)
    down = cv2.Sobel(luma, cv2.CV_16S, 0, 1, ksize=1, borderType=cv2.BORDER_REPLICATE)
    pairs = (down.astype(np.int32) + 255) * _LEVELS + (across + np.int32(255))
    return _by_pair()[pairs].view(np.uint8).reshape(*luma.shape, ORIENTATIONS)


@cache
def _by_pair() -> NDArray[np.uint64]:
    """Return the eight channels of every pair of differences as bytes of one number, so a pixel needs one look-up."""
    differences = np.arange(-255, 256)
    down, across = differences[:, None], differences[None, :]
    direction = np.rint(np.arctan2(down, across) * (ORIENTATIONS / np.pi)).astype(np.intp) % ORIENTATIONS
    magnitude = np.minimum(np.rint(np.hypot(down, across)), 255).astype(np.uint8)
    channels = np.zeros((_LEVELS * _LEVELS, ORIENTATIONS), np.uint8)
    channels[np.arange(len(channels)), direction.ravel()] = magnitude.ravel()
    return channels.view(np.uint64).ravel()


GRID = 8
"""Cells of a side of a patch; the tests' boxes have their corners on cell corners."""
CELLS = (2, 4)
"""Pixels of a side of a cell: patches are 16 and 32 pixels wide."""
STRIDE = 4
"""Cells from one patch to the next of its size, so that they overlap by half."""
_SIGNS = (1, -1, -1, 1, -1, 1, 1, -1)
"""Signs of the corners of both boxes: the first sum minus the second, each from four running sums."""


def patches(height: int, width: int) -> NDArray[np.int32]:
    """Return the patches of an image of this size, (n, 3) int32: left, top, pixels of a cell; small patches first.

    Patches of one size form a grid with equal margins. An image lower or narrower than 16 pixels has no patches.
    """
    return np.concatenate([_grid(height, width, cell) for cell in CELLS]).astype(np.int32)


def _grid(height: int, width: int, cell: int) -> NDArray[np.intp]:
    left, top = np.meshgrid(_starts(width, cell), _starts(height, cell))
    return np.column_stack([left.ravel(), top.ravel(), np.full(left.size, cell)])


def _starts(side: int, cell: int) -> NDArray[np.intp]:
    spare, stride = side - GRID * cell, STRIDE * cell
    return np.arange(spare % stride // 2, spare + 1, stride)


class HaarTests(NamedTuple):
    """n tests, each the sum of one channel over a first box less its sum over a second."""

    channels: Integers
    """(n,) the channels."""
    boxes: Integers
    """(n, 2, 4) left, top, right and bottom edges of the boxes, in cells of the patch; an empty box sums to 0."""

    def sound(self, channels: int) -> bool:
        """Return whether the tests are within a patch of so many channels."""
        within = (self.boxes >= 0).all() and (self.boxes <= GRID).all()
        return bool(within and (self.channels >= 0).all() and (self.channels < channels).all())


def draw_tests(count: int, channels: Sequence[int], generator: np.random.Generator) -> HaarTests:
    """Return random tests on the channels: every other test has one box, the others two boxes of equal size."""
    boxes = np.zeros((count, 2, 4), np.int32)
    for number in range(count):
        size = generator.integers(1, GRID + 1, 2)
        first, second = generator.integers(0, GRID - size + 1, (2, 2))
        boxes[number, 0] = *first, *(first + size)
        if number % 2 and (first != second).any():
            boxes[number, 1] = *second, *(second + size)
    return HaarTests(generator.choice(np.array(channels, np.int32), count), boxes)


class Responses:
    """Responses of tests in the patches of one image, in whole numbers, so that no sum depends on its order."""

    def __init__(self, integral: Integers, patches: Integers, tests: HaarTests) -> None:
        width, channels = integral.shape[1:]
        left, top, right, bottom = np.moveaxis(tests.boxes, 2, 0)
        corners = [y * width + x for y in (top, bottom) for x in (left, right)]
        self._sums = integral.ravel()
        self._corners = np.concatenate(np.moveaxis(np.array(corners), 2, 0)) * channels
        self._channels = tests.channels
        self._origins = (patches[:, 1] * width + patches[:, 0]) * channels
        self._cells = patches[:, 2]

    def at(self, patch: NDArray[np.intp], test: NDArray[np.integer[Any]]) -> Integers:
        """Return the responses of the patches to the tests with these numbers, broadcast together, int32.

        They are divided by the area of a cell and rounded down, so that they are comparable at every scale.
        """
        cells, start = self._cells[patch], self._origins[patch] + self._channels[test]
        total = np.zeros(start.shape, np.int32)
        for sign, corner in zip(_SIGNS, self._corners, strict=True):
            total += np.int32(sign) * self._sums[start + cells * corner[test]]
        return np.asarray(total // cells**2, dtype=np.int32)


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
        integral, cells = _patched(image)
        if len(cells) > PATCHES_PER_IMAGE:
            places = np.random.default_rng(len(cells)).choice(len(cells), PATCHES_PER_IMAGE, replace=False)
            cells = cells[np.sort(places)]
        responses = Responses(integral, cells, candidates()).at(*np.ogrid[: len(cells), : 2 * TESTS])
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
        integral, cells = _patched(image)
        return trees.visits(ROOTS, len(cells), Responses(integral, cells, tests).at).astype(np.float32)

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
        own_shapes = {name: array.shape for name, array in state.items()}
        arrays = {name: np.ascontiguousarray(array, dtype=np.int32) for name, array in state.items()}
        if own_shapes == shapes:
            trees = Trees(*(arrays[name] for name in Trees._fields))
            tests = HaarTests(*(arrays[name] for name in HaarTests._fields))
            if trees.sound(ROOTS, count) and tests.sound(CHANNELS):
                self._forests = trees, tests
                return self
        text = ", ".join(f"{name} {shape}" for name, shape in sorted(own_shapes.items()))
        raise ValueError(f"forest: the state must contain the trees of {self.words} words, not {text}")

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
    names = [label or number for number, label in enumerate(labels)]
    numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
    return [numbers[name] for name in names]
