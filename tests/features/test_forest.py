import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import rel_entr

from crossview.features.errors import NotFittedError
from crossview.features.forest import (
    CELLS,
    CHANNELS,
    GRID,
    LEAST_WORDS,
    LUV,
    PATCHES_PER_IMAGE,
    ROOTS,
    TESTS,
    TREES,
    WORKING_SIDE,
    Forest,
    Responses,
    candidates,
    gradient_channels,
    grow_tree,
    integral_image,
    join_trees,
    patches,
)
from crossview.features.registry import extractor


def scene(seed: int, height: int = 100, width: int = 130) -> np.ndarray:
    noise = np.random.default_rng(seed).normal(size=(height, width, 3)).astype(np.float32)
    return cv2.normalize(cv2.GaussianBlur(noise, (0, 0), 2), None, 0, 255, cv2.NORM_MINMAX).astype(np.uint8)


def tinted(seed: int, red: bool) -> np.ndarray:
    """Return clouds of one random brightness: only a slight tint separates the two classes."""
    rng = np.random.default_rng(seed)
    clouds = cv2.GaussianBlur(rng.normal(scale=100, size=(90, 90, 3)), (0, 0), 4)
    image = rng.uniform(50, 200) + clouds
    image[:, :, 2 if red else 1] += 6
    return np.clip(image, 0, 255).astype(np.uint8)


SAMPLES = [Forest().sample(scene(seed)) for seed in range(6)]


@pytest.fixture(scope="module")
def fitted() -> Forest:
    return Forest(words=120).fit(SAMPLES, seed=1)


def test_integral_images_are_running_sums_of_all_channels():
    """The channels are colour as OpenCV converts it, then gradients of the luma, summed from the top left corner."""
    image = scene(0, 20, 30)
    sums = integral_image(image)
    assert sums.shape == (21, 31, CHANNELS)
    assert sums.dtype == np.int32
    assert not sums[0].any()
    assert not sums[:, 0].any()
    assert np.array_equal(sums[1:, 1:], _channels(image).astype(int).cumsum(0).cumsum(1))


def test_gradients_stand_in_the_channel_of_their_direction():
    """A loop over pixels agrees: one channel, the one of the nearest direction, holds the magnitude."""
    luma = np.random.default_rng(0).integers(0, 256, (9, 12)).astype(np.uint8)
    padded = np.pad(luma.astype(float), 1, mode="edge")
    channels = gradient_channels(luma)
    assert channels.shape == (9, 12, CHANNELS - LUV)
    for y, x in np.ndindex(luma.shape):
        across = padded[y + 1, x + 2] - padded[y + 1, x]
        down = padded[y + 2, x + 1] - padded[y, x + 1]
        turns = [abs(np.sin(np.arctan2(down, across) - np.pi * k / 8)) for k in range(8)]
        expected = np.zeros(8)
        expected[np.argmin(turns)] = min(255, round(np.hypot(across, down)))
        assert np.array_equal(channels[y, x], expected)


@given(st.integers(1, 200), st.integers(1, 200))
def test_patches_lie_inside_the_image_and_only_once(height, width):
    """An image of any size has a patch of the least size, if that fits, and otherwise none; margins are equal."""
    found = patches(height, width)
    assert (len(found) > 0) == (min(height, width) >= GRID * min(CELLS))
    assert len(np.unique(found, axis=0)) == len(found)
    for cell in np.unique(found[:, 2]):
        left, top = found[found[:, 2] == cell, :2].T
        for first, last, side in ((left.min(), left.max(), width), (top.min(), top.max(), height)):
            assert 0 <= first <= side - (last + GRID * cell) <= first + 1


def _slow_response(channels: np.ndarray, patch: np.ndarray, channel: int, boxes: np.ndarray) -> int:
    left, top, cell = patch
    inside = channels[top : top + GRID * cell, left : left + GRID * cell, channel].astype(int)
    (x0, y0, x1, y1), (x2, y2, x3, y3) = boxes * cell
    return (inside[y0:y1, x0:x1].sum() - inside[y2:y3, x2:x3].sum()) // cell**2


def _channels(image: np.ndarray) -> np.ndarray:
    luma = cv2.cvtColor(image, cv2.COLOR_BGR2GRAY)
    return np.dstack([cv2.cvtColor(image, cv2.COLOR_BGR2LUV), gradient_channels(luma)])


def test_responses_are_differences_of_box_sums():
    """Every candidate agrees with sums over the pixels, at some patches of each size."""
    image, tests = scene(1), candidates()
    found = patches(*image.shape[:2])
    found, channels = found[:: len(found) // 7], _channels(image)
    responses = Responses(integral_image(image), found, tests).at(*np.ogrid[: len(found), : 2 * TESTS])
    assert set(found[:, 2]) == set(CELLS)
    for number, patch in enumerate(found):
        slow = [_slow_response(channels, patch, *test) for test in zip(*tests, strict=True)]
        assert np.array_equal(responses[number], slow)


def test_candidates_are_one_and_two_box_tests_on_their_own_channels():
    """The first half looks at colour, the second at gradients; boxes are within the patch, two are of one size."""
    channels, boxes = candidates()
    assert set(channels[:TESTS]) == set(range(LUV))
    assert set(channels[TESTS:]) == set(range(LUV, CHANNELS))
    assert candidates().sound(CHANNELS)
    size = boxes[:, :, 2:] - boxes[:, :, :2]
    assert size[:, 0].min() >= 1
    two = size[:, 1].any(axis=1)
    assert 0.3 < two.mean() < 0.6
    assert np.array_equal(size[two, 0], size[two, 1])
    assert (boxes[two, 0] != boxes[two, 1]).any(axis=1).all()


def _slow_counts(view: Forest, image: np.ndarray) -> np.ndarray:
    state, channels, counts = view.to_state(), _channels(image), np.zeros(view.dim)
    for patch in patches(*image.shape[:2]):
        for root in range(ROOTS):
            node = root
            counts[node] += 1
            while state["children"][node]:
                test = state["tests"][node]
                response = _slow_response(channels, patch, state["channels"][test], state["boxes"][test])
                node = state["children"][node] + int(response > state["thresholds"][node])
                counts[node] += 1
    return counts


def test_counts_are_those_of_a_plain_walk(fitted):
    """A walk of one patch and one tree at a time, with sums over pixels, gives the same row."""
    row = fitted.row(scene(7))
    assert row.dtype == np.float32
    assert np.array_equal(row, _slow_counts(fitted, scene(7)))


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 1000), st.integers(1, 120), st.integers(1, 120))
def test_every_node_counts_what_its_children_count(fitted, seed, height, width):
    """A root counts every patch, and every inner node as many as its two children."""
    row, children = fitted.row(scene(seed, height, width)), fitted.to_state()["children"]
    assert (row[:ROOTS] == len(patches(height, width))).all()
    inner = np.flatnonzero(children)
    assert np.array_equal(row[inner], row[children[inner]] + row[children[inner] + 1])


def test_trees_route_as_scikit_learn_s():
    """Joined trees count the training patches at the nodes where the library's own decision paths pass."""
    rows = np.concatenate(SAMPLES)
    classes = np.repeat(np.arange(6), [len(sample) for sample in SAMPLES])
    random = np.random.RandomState(0)
    grown = [(grow_tree(rows[:, first : first + TESTS], classes, 9, random), first) for first in (0, TESTS, 0)]
    trees = join_trees(grown)
    counts = trees.visits(3, len(rows), lambda patch, test: rows[patch, test].astype(np.int32))
    theirs = [tree.n_node_samples for tree, _ in grown]
    assert sorted(counts) == sorted(np.concatenate(theirs))
    assert (counts[:3] == len(rows)).all()
    assert np.array_equal(counts[3:9:2], [tree.n_node_samples[tree.children_left[0]] for tree, _ in grown])
    assert trees.sound(3, 2 * TESTS)


@pytest.mark.parametrize("words", [LEAST_WORDS, 50, 126, 300])
def test_there_are_as_many_words_as_asked_for(words):
    """The trees have nearly equal sizes; half of them test colour, and half gradients."""
    view = Forest(words=words).fit(SAMPLES)
    state = view.to_state()
    assert view.dim == len(view.row(scene(1))) == words
    sizes = np.ones(words, int)
    for node in reversed(range(words)):
        if child := state["children"][node]:
            sizes[node] += sizes[child] + sizes[child + 1]
    assert sizes[:ROOTS].sum() == words
    assert np.ptp(sizes[:ROOTS]) <= 2
    channel = state["channels"][state["tests"][:ROOTS]]
    assert (channel[:TREES] < LUV).all()
    assert (channel[TREES:] >= LUV).all()


def _information(view: Forest) -> float:
    """Return how many nats of information about the class the leaves of new pictures have, on the mean of the trees."""
    leaves = view.to_state()["children"] == 0
    joint = np.array([sum(view.row(tinted(seed, red))[leaves] for seed in range(50, 60)) for red in (False, True)])
    joint /= joint.sum()
    return float(rel_entr(joint, joint.sum(0) * joint.sum(1, keepdims=True)).sum())


def test_labels_make_words_tell_more_of_the_class():
    """Splits that saw the labels separate the classes of unseen pictures better than blind ones."""
    labels = [("red",), ("green",)] * 12
    samples = [Forest().sample(tinted(seed, red)) for seed in range(12) for red in (True, False)]
    informed = [_information(Forest(words=60).fit(samples, seed, labels)) for seed in range(3)]
    blind = [_information(Forest(words=60).fit(samples, seed)) for seed in range(3)]
    assert min(informed) > 1.5 * max(blind)


def test_only_differences_of_labels_count():
    """Other names for the classes give the same trees; labels that are all equal, or empty, count as absent."""
    plain, other = [("a",), ("a", "b"), ("a",), (), ("b",), ()], [("x",), ("y",), ("x",), (), ("z",), ()]
    first, second = (Forest(words=60).fit(SAMPLES, 3, labels).to_state() for labels in (plain, other))
    assert all(np.array_equal(first[name], second[name]) for name in first)
    blind = [Forest(words=60).fit(SAMPLES, 3, labels).to_state() for labels in (None, [()] * 6, [("a",)] * 6)]
    assert all(np.array_equal(blind[0][name], state[name]) for state in blind for name in state)
    assert not np.array_equal(first["thresholds"], blind[0]["thresholds"])


def test_labels_that_are_too_easy_do_not_starve_the_trees():
    """If a few words separate the labels, further splits separate pictures instead: no word is missing."""
    dark, light = np.full((60, 60, 3), 20, np.uint8), np.full((60, 60, 3), 220, np.uint8)
    samples = [Forest().sample(base + scene(seed, 60, 60) // 8) for seed in range(3) for base in (dark, light)]
    easy = Forest(words=300).fit(samples, 0, [("dark",), ("light",)] * 3).to_state()
    blind = Forest(words=300).fit(samples, 0).to_state()
    assert all(np.array_equal(easy[name], blind[name]) for name in blind)


def test_fitting_is_repeatable_and_seeded():
    """Equal samples and seed give equal trees; another seed gives others."""
    first, again, other = (Forest(words=60).fit(SAMPLES, seed).to_state() for seed in (0, 0, 1))
    assert all(np.array_equal(first[name], again[name]) for name in first)
    assert not np.array_equal(first["thresholds"], other["thresholds"])


def test_sample_is_bounded_and_the_same_every_time():
    """One picture gives at most 60 of its patches, as whole numbers; one without patches gives none."""
    image = scene(0, 200, 300)
    sample = Forest().sample(image)
    assert sample.shape == (PATCHES_PER_IMAGE, 2 * TESTS)
    assert sample.dtype == np.float32
    assert np.array_equal(sample, np.rint(sample))
    assert np.array_equal(sample, Forest().sample(image))
    assert Forest().sample(image[:5]).shape == (0, 2 * TESTS)


def test_large_pictures_are_looked_at_in_working_size(fitted):
    """A picture and its reduction to the working size have the same row."""
    image = scene(0, 300, 500)
    small = cv2.resize(image, (WORKING_SIDE, 230), interpolation=cv2.INTER_AREA)
    assert np.array_equal(fitted.row(image), fitted.row(small))


def test_too_few_patches_name_the_remedy():
    """Without enough different patches, fitting names the remedy."""
    flat = Forest().sample(np.full((100, 100, 3), 7, np.uint8))
    with pytest.raises(
        ValueError, match=r"patches for 8 words, not 2000: give more pictures.*such as forest:words=500"
    ):
        Forest().fit([flat, flat])
    for samples in ([], [flat[:0]]):
        with pytest.raises(ValueError, match="patches for 0 words"):
            Forest().fit(samples)


def test_state_round_trip_gives_equal_rows(fitted):
    """``load_state`` takes the value of ``to_state``, and rows are equal."""
    copy = extractor("forest", fitted.params()).load_state(fitted.to_state())
    assert copy.fitted
    assert np.array_equal(copy.row(scene(5)), fitted.row(scene(5)))
    assert Forest().to_state() == {}
    assert not copy.load_state({}).fitted


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("children", lambda array: np.zeros_like(array)),
        ("children", lambda array: np.where(array == ROOTS, 0, array)),
        ("children", lambda array: array[::-1]),
        ("children", lambda array: array[:-2]),
        ("tests", lambda array: array + 1),
        ("tests", lambda array: array - 1),
        ("channels", lambda array: array + CHANNELS),
        ("boxes", lambda array: array + GRID),
        ("boxes", lambda array: array[:, 0]),
    ],
)
def test_a_state_that_is_no_trees_is_refused(fitted, name, change):
    """Other shapes, walks that would not end and tests outside the patch are ValueErrors, and change nothing."""
    state = fitted.to_state()
    view = Forest(words=fitted.words).load_state(state)
    with pytest.raises(ValueError, match="the trees of 120 words"):
        view.load_state({**state, name: change(state[name])})
    assert np.array_equal(view.row(scene(5)), fitted.row(scene(5)))
    with pytest.raises(ValueError, match="the trees of 122 words"):
        Forest(words=122).load_state(state)


def test_rows_before_fitting_are_refused():
    """An unfitted view is an error that states so."""
    with pytest.raises(NotFittedError, match="fit"):
        Forest().row(scene(0))


@pytest.mark.parametrize("words", [0, -2, LEAST_WORDS - 2, 301, 300.0, "300", True, None])
def test_words_must_be_an_even_number_that_gives_every_tree_a_split(words):
    """Others are a ValueError: binary trees have odd numbers of nodes, and there are eight."""
    with pytest.raises(ValueError, match="even number from 24 to 65,536"):
        Forest(words=words)
