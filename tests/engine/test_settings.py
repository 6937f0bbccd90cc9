"""For any settings, the engine answers with a space or says which setting is wrong."""

import re

import numpy as np
import pytest

from crossview.engine.learners.frame.stage import parse_stages
from crossview.engine.learners.frame.supervision import Supervision
from crossview.engine.learners.registry import LEARNERS
from crossview.engine.spaces.pipeline import build, fit, vectors
from crossview.engine.values.errors import InvalidInputError, NotReadyError

VIEWS = ("left", "right")
NASTY = (
    "abc",
    "",
    "1",
    None,
    True,
    -1,
    0,
    0.5,
    1,
    2.5,
    10**9,
    10**400,
    1e300,
    -1e300,
    1e-300,
    float("nan"),
    float("inf"),
)
NESTED = ([], [0], [0.5, 0.5], ["abc"], [None], [[1.0]], [[[1.0]]], {}, {"ant": 0}, {"ant": "x"}, {"ant": [1.0, None]})
WRONG = (None, True, -1, float("nan"), [None], {})


def settings(name: str) -> list[str]:
    """Return the settings that users know of a learner."""
    return [setting for setting in LEARNERS[name]().settings() if setting != "view_slices"]


def rows() -> tuple[list[np.ndarray], np.ndarray]:
    """Return views of 24 histograms in four classes, and the classes."""
    generator = np.random.default_rng(0)
    labels = np.repeat(["ant", "bee", "cat", "dog"], 6)
    spread = [np.repeat(generator.uniform(0, 4, (4, width)), 6, axis=0) for width in (4, 5)]
    return [np.float32(view + generator.uniform(0, 1, view.shape)) for view in spread], labels


def learned(spec: str, settings: dict[str, object]) -> None:
    """Build and fit a pipeline, and check that its vectors are finite."""
    views, labels = rows()
    pipeline = build(parse_stages(spec), VIEWS, [(), ()], settings)
    fit(pipeline, views, Supervision(classes=labels))
    for number, view in enumerate(views):
        assert np.isfinite(vectors(pipeline, view, number)).all()


def refusal(spec: str, settings: dict[str, object]) -> str:
    """Return why a pipeline cannot be learned, or "" if it can."""
    try:
        learned(spec, settings)
    except (InvalidInputError, NotReadyError) as error:
        return str(error)
    return ""


@pytest.mark.parametrize("name", LEARNERS)
def test_a_value_of_a_wrong_type_names_its_setting(name: str) -> None:
    """A learner refuses it before anything is learned, or takes it and learns finite vectors."""
    for setting in settings(name):
        for value in WRONG:
            said = refusal(name, {setting: value})
            assert not said or setting in said, (setting, value, said)
        assert re.match(f"{setting}( must be |='abc' is not one of the views)", refusal(name, {setting: "abc"}))


@pytest.mark.long
@pytest.mark.parametrize("name", LEARNERS)
def test_any_value_is_learned_with_or_names_its_setting(name: str) -> None:
    for setting in settings(name):
        for value in (*NASTY, *NESTED):
            said = refusal(name, {setting: value})
            assert not said or setting in said, (setting, value, said)


@pytest.mark.parametrize(
    ("spec", "settings", "words"),
    [
        ("multi-npp", {"eta": "abc"}, "eta must be a number, not 'abc'"),
        ("multi-npp", {"eta": -1}, "eta must be a number from 0 to 1,000,000,000, not -1"),
        ("multi-npp", {"penalty": "l3"}, "penalty must be one of l2, l1, not 'l3'"),
        ("multi-npp", {"nearest": "few"}, "nearest must be a whole number or null, not 'few'"),
        ("multi-npp", {"speed": 1}, "'multi-npp' has no parameter speed; it has: a, batch_size, eta"),
        ("kernel:rbf,cca", {"kernel__bandwidth": "wide"}, "kernel__bandwidth must be a number, not 'wide'"),
        ("kernel:cosine,cca", {}, "kernel must be one of rbf, chi2, linear, precomputed, not 'cosine'"),
        ("kernel,cca", {"kernel__n_landmarks": 10**7}, "kernel__n_landmarks must be a whole number from 1 to 10,000"),
        ("multi-npp", {"frozen": "middle"}, "frozen='middle' is not one of the views left, right"),
        ("multi-npp", {"frozen": 2}, "frozen=2 is not one of the views left, right"),
        ("hybrid", {"frozen": None}, "frozen must be a view or a list, each a view, not None"),
        (
            "kernel@left,cca",
            {"kernel__views": ["middle"]},
            "kernel__views='middle' is not one of the views left, right",
        ),
    ],
)
def test_what_is_wrong_is_said_in_the_users_words(spec: str, settings: dict[str, object], words: str) -> None:
    """The message has the setting's name, its value and the allowed ones, when the pipeline is built."""
    with pytest.raises(InvalidInputError, match=re.escape(words)):
        build(parse_stages(spec), VIEWS, [(), ()], settings)


@pytest.mark.parametrize(
    ("spec", "views", "words"),
    [
        ("sqrt,cca", ("left",), "cca learns from at least 2 views; you named 1 (left)"),
        ("multi-npp,itq:8", ("left",), "multi-npp learns from at least 2 views; you named 1 (left)"),
        ("pls", ("a", "b", "c"), "pls learns from exactly 2 views; you named 3 (a, b, c)"),
    ],
)
def test_too_few_views_are_told_by_the_learner_that_needs_them(spec: str, views: tuple[str, ...], words: str) -> None:
    """The message has the named views, when the pipeline is built."""
    with pytest.raises(InvalidInputError, match=re.escape(words)):
        build(parse_stages(spec), views, [()] * len(views))


def test_what_a_fit_cannot_do_names_the_learner_and_its_settings() -> None:
    """It names the learner that failed, not the last one, with the given settings."""
    assert refusal("kernel:precomputed,cca", {}).startswith("kernel with kernel='precomputed' cannot be fitted: ")
