import multiprocessing
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crossview.features.base import ImageExtractor
from crossview.features.checks import check_extractor
from crossview.features.inputs import INPUTS, MODELS
from crossview.features.registry import EXTRACTORS, extractor


def scene(seed: int) -> np.ndarray:
    noise = np.random.default_rng(seed).normal(size=(100, 130, 3)).astype(np.float32)
    return cv2.normalize(cv2.GaussianBlur(noise, (0, 0), 2), None, 0, 255, cv2.NORM_MINMAX).astype(np.uint8)


IMAGES = {name: one for name, one in EXTRACTORS.items() if issubclass(one, ImageExtractor) and name not in MODELS}
"""The extractors that need no model of a user; tests/features/models has the others."""


WORDS = {"sift": 12, "forest": 60}


def ready(name: str) -> ImageExtractor:
    view = IMAGES[name](**({"words": WORDS[name]} if name in WORDS else {}))
    return view if view.fitted else view.fit([view.sample(scene(seed)) for seed in range(3)])


VIEWS = {name: ready(name) for name in IMAGES}


@pytest.mark.parametrize("name", IMAGES)
@settings(max_examples=30, deadline=None)
@given(st.integers(1, 40), st.integers(1, 40), st.integers(0, 2**32 - 1), st.booleans())
def test_any_picture_gives_a_sound_row(name, height, width, seed, flat):
    """A picture of any size from one pixel up, noise or flat, gives a row of dim finite floats, none negative."""
    rng = np.random.default_rng(seed)
    image = rng.integers(0, 256, (height, width, 3), dtype=np.uint8)
    row = VIEWS[name].row(np.full_like(image, image[0, 0]) if flat else image)
    assert row.shape == (VIEWS[name].dim,)
    assert row.dtype == np.float32
    assert np.isfinite(row).all()
    assert row.min() >= 0


def _row(name: str, threads: int) -> np.ndarray:
    cv2.setNumThreads(threads)
    return ready(name).row(scene(9))


def test_rows_are_identical_in_every_thread_and_process():
    """Threads, spawned processes and OpenCV's own thread count change nothing, neither in rows nor in fitting."""
    expected = {name: VIEWS[name].row(scene(9)) for name in IMAGES}
    for name in IMAGES:
        with ThreadPoolExecutor(4) as pool:
            for row in pool.map(lambda _, view=VIEWS[name]: view.row(scene(9)), range(8)):
                assert np.array_equal(row, expected[name])
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        for name in IMAGES:
            for threads in (1, 2):
                assert np.array_equal(pool.submit(_row, name, threads).result(), expected[name])


@pytest.mark.parametrize("name", IMAGES)
def test_every_registered_extractor_keeps_the_contract(name):
    """It has its registered name, and is sound by the check that authors of packages use."""
    assert VIEWS[name].name == name
    check_extractor(IMAGES[name](**VIEWS[name].params()))


def test_extractors_that_learn_nothing_are_ready():
    """Colour and GIST are fitted from the start, learn nothing and keep no state."""
    for name in ("color", "gist"):
        view = extractor(name)
        assert view.fitted
        assert view.fit([]) is view
        assert view.sample(scene(0)).shape == (0, 0)
        assert view.to_state() == {}
        with pytest.raises(ValueError, match="learns nothing"):
            view.load_state({"centres": np.zeros(1)})


def test_unknown_names_list_the_known():
    """A wrong extractor or parameter is a ValueError that lists the ones that exist."""
    with pytest.raises(ValueError, match="no extractor 'colour'; there are: color, conse, forest, gist, lab"):
        extractor("colour")
    with pytest.raises(ValueError, match="'sift' has no parameter 'size'; it has: words"):
        extractor("sift", {"size": 3})
    with pytest.raises(ValueError, match="'color' has no parameter 'words'; it has none"):
        extractor("color", {"words": 3})
    with pytest.raises(ValueError, match="'vectors' needs dim, such as vectors:dim=512"):
        extractor("vectors")


def test_every_extractor_says_what_its_rows_are_computed_from():
    """They are computed from pictures, from texts, or outside."""
    inputs = {name: set(one.inputs) for name, one in EXTRACTORS.items()}
    assert {name for name, kinds in inputs.items() if kinds == {"image"}} == {"color", "lab", "sift", "forest", "gist"}
    assert (inputs["text"], inputs["vectors"]) == ({"text"}, set())
    with pytest.raises(TypeError, match="vectors does not compute rows"):
        extractor("vectors", {"dim": 3}).row([1.0])


def test_inputs_are_known_without_the_extractors():
    assert {name: kind.inputs for name, kind in EXTRACTORS.items() if name != "onnx"} == INPUTS
