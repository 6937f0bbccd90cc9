"""The demo of notions draws pictures, and answers like a person who sees colors and textures."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from crossview.engine.values.comparisons import Question
from crossview.server.client.client import Client
from crossview.server.commands.demo import notions
from crossview.server.commands.demo.notions import (
    HUES,
    NOTIONS,
    TEXTURES,
    answer_to,
    feature_of,
    run_notions,
    write_combinations,
)

KEYS = ("pictures/dots/red-00.jpg", "pictures/dots/blue-01.jpg", "pictures/weave/red-02.jpg")


def test_every_texture_is_drawn_in_every_color(tmp_path: Path) -> None:
    """The pictures of a color have its hue, and the others do not."""
    assert write_combinations(tmp_path, 1) == len(TEXTURES) * len(HUES) == len(list(tmp_path.rglob("*.jpg")))
    for texture in TEXTURES:
        red, blue = (np.asarray(Image.open(tmp_path / texture / f"{color}-00.jpg"), float) for color in ("red", "blue"))
        assert red[..., 0].mean() > red[..., 2].mean()
        assert blue[..., 2].mean() > blue[..., 0].mean()


def test_who_answers_goes_by_the_notion(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notions, "MISTAKES", 0.0)
    assert [[feature_of(key, notion) for key in KEYS] for notion in NOTIONS] == [
        ["red", "blue", "red"],
        ["dots", "dots", "weave"],
    ]
    for notion, near in (("color", KEYS[2]), ("texture", KEYS[1])):
        question = Question(notion=notion, anchor=KEYS[0], candidates=KEYS[1:])
        assert answer_to(question, "ann", np.random.default_rng(0)).near == (near,)


@pytest.mark.long
def test_the_same_picture_has_other_neighbours_by_color_than_by_texture(tmp_path: Path) -> None:
    """Answers teach both, and gRPC finds both; they are right far more often than by chance, a fifth."""
    lines: list[str] = []
    run_notions(tmp_path, tmp_path / "sheet.png", lines.append, Client)
    by_color, by_texture = (
        [int(word.rstrip("%,")) for word in line.split() if "%" in word] for line in lines if line.startswith("  by ")
    )
    assert by_color[0] > 80
    assert by_color[1] < 50
    assert by_texture[1] > 55
    assert by_texture[0] < 65
    with Image.open(tmp_path / "sheet.png") as sheet:
        assert sheet.width > 1000
