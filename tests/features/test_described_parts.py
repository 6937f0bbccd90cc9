"""The parts of rows that explanations name share the columns, and count the places that rows count."""

from typing import Any

import numpy as np
import pytest
from drawn import CLASSES, draw

from crossview.features.base import ImageExtractor
from crossview.features.registry import extractor

PICTURES = [draw(label, number) for label in CLASSES for number in range(4)]


@pytest.mark.parametrize(
    ("name", "params"),
    [("color", {}), ("lab", {}), ("gist", {"grid": 2, "size": 32}), ("sift", {"words": 8}), ("forest", {"words": 24})],
)
def test_parts_share_the_columns_of_a_row(name: str, params: dict[str, Any]) -> None:
    """Each column is in one part, names differ, and rows have no negative values."""
    made = extractor(name, params)
    assert isinstance(made, ImageExtractor)
    parts = made.parts()
    assert sorted(column for part in parts for column in part.columns) == list(range(made.dim))
    assert len({part.name for part in parts}) == len(parts)
    made.fit([made.sample(one) for one in PICTURES])
    assert (made.row(PICTURES[0]) >= 0).all()
    assert name == "sift" or made.points(PICTURES[0]).shape == (0, 4)


@pytest.mark.parametrize("number", range(64))
def test_the_colour_of_a_bin_is_in_the_bin(number: int) -> None:
    color = extractor("color")
    part = color.parts()[number]
    blue, green, red = reversed(bytes.fromhex(part.color.removeprefix("#")))
    assert color.row(np.full((2, 2, 3), (blue, green, red), np.uint8)).argmax() == number


def test_a_cell_of_gist_has_the_columns_of_its_place() -> None:
    """A picture with detail in one cell alone is strongest in the part of this box."""
    gist = extractor("gist")
    luma = np.full((128, 128, 3), 128, np.uint8)
    luma[32:64, 96:128] = np.random.default_rng(0).integers(0, 256, (32, 32, 1), dtype=np.uint8)
    row = gist.row(luma)
    strengths = [row[list(part.columns)].sum() for part in gist.parts()]
    assert gist.parts()[int(np.argmax(strengths))].box == (0.75, 0.25, 1.0, 0.5)


def test_key_points_are_those_that_the_row_counts() -> None:
    """They have their words, in shares of the picture; a flat picture has none."""
    sift = extractor("sift", {"words": 8})
    assert isinstance(sift, ImageExtractor)
    with pytest.raises(ValueError, match="no visual words yet"):
        sift.points(PICTURES[0])
    sift.fit([sift.sample(one) for one in PICTURES])
    for picture in PICTURES[:3]:
        points = sift.points(picture)
        np.testing.assert_array_equal(np.bincount(points[:, 3].astype(int), minlength=8), sift.row(picture))
        assert (points[:, :2] >= 0).all()
        assert (points[:, :3] <= 1).all()
    assert sift.points(np.zeros((20, 30, 3), np.uint8)).shape == (0, 4)


@pytest.mark.parametrize("model", ["tfidf", "lda"])
def test_weights_of_words_are_shares(model: str) -> None:
    """A rare word weighs more than a frequent one, if words have weights; unknown words have none."""
    text = extractor("text", {"model": model, "dim": 2})
    text.fit(["red rose", "red car", "red house", "blue sea"])
    weights = text.word_weights("A red rose, unheard-of; red")
    assert set(weights) == {"red", "rose"}
    assert sum(weights.values()) == pytest.approx(1)
    times = 1 + np.log(2) if model == "tfidf" else 2
    assert (weights["red"] < times * weights["rose"] * 0.999) == (model == "tfidf")
    assert text.word_weights("nothing known") == {}
