"""The demo of models: words find pictures without captions, by one model of two towers, or by two models."""

from pathlib import Path

import numpy as np
import pytest
import tiny_models as tiny
from PIL import Image
from terminal import run

from crossview.engine.values.errors import InvalidInputError
from crossview.features.extras import install_command
from crossview.server.client.client import Client
from crossview.server.commands.demo import words
from crossview.server.commands.demo.things import THINGS, write_things
from crossview.server.commands.demo.words import ChosenModels, run_words

pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
MODELS = Path(__file__).parents[5] / "shared" / "models"


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    folder = tmp_path / "pictures"
    folder.mkdir()
    for name, colour in (("poppy", (220, 20, 20)), ("meadow", (20, 200, 20))):
        Image.new("RGB", (32, 32), colour).save(folder / f"{name}.png")
    return folder


def demo(folder: Path, *options: object) -> str:
    result = run("demo", "--out", folder / "out", *options)
    assert result.exit_code == 0, result.output
    with Image.open(folder / "out" / "sheet.png") as sheet:
        assert sheet.width > 500
    return result.stdout


def firsts(printed: str) -> list[str]:
    """Return the name of the first hit of each search."""
    blocks = printed.split("\n$ crossview ")
    return [block.splitlines()[1].split("/")[-1] for block in blocks if block.startswith("search")]


def test_one_model_of_two_towers(tmp_path: Path, pictures: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each text finds the user's picture of its colour, and the home stays with --keep."""
    monkeypatch.setattr(words, "TEXTS", ("red", "green"))
    model = tiny.clip_folder(tmp_path / "clip")
    printed = demo(tmp_path, "--model", model, "--pictures", pictures, "--keep")
    assert firsts(printed) == ["poppy.png", "meadow.png"]
    for line in (f"model add clip {model}", "create things --views clip=onnx:clip", f"index things {pictures}"):
        assert f"\n$ crossview {line}\n" in printed
    assert "clip" in run("model", "list", "--home", tmp_path / "out" / "home").stdout


def test_a_model_of_pictures_and_one_of_texts(tmp_path: Path, pictures: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(words, "TEXTS", ("red", "green"))
    by_class = tiny.picture_folder(tmp_path / "classes", classes=("red", "green", "dog"))
    texts = tiny.text_folder(tmp_path / "texts")
    printed = demo(tmp_path, "--model", texts, "--model", by_class, "--pictures", pictures)
    assert firsts(printed) == ["poppy.png", "meadow.png"]
    assert "create things --views names=conse:pictures:texts\n" in printed


def test_models_by_which_no_text_finds_a_picture_are_refused(tmp_path: Path) -> None:
    """Each message names the folder and the missing part, before anything is written."""
    plain, texts = tiny.picture_folder(tmp_path / "plain"), tiny.text_folder(tmp_path / "texts")
    refused = {
        (tmp_path / "absent",): "absent is not a folder",
        (tmp_path,): "the folder has no model in a known layout",
        (texts,): "or by a model of pictures and one of texts; given are",
        (texts, texts): "given are",
        (plain,): "plain (of pictures)",
        (plain, texts): "plain names no classes",
    }
    for folders, reason in refused.items():
        options = [word for folder in folders for word in ("--model", str(folder))]
        result = run("demo", *options, "--out", tmp_path / "out")
        assert result.exit_code == 1
        assert reason in result.stderr
        assert result.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()
    with pytest.raises(InvalidInputError, match=r"texts \(of texts\)"):
        ChosenModels.of([texts])


def test_without_onnxruntime_the_message_installs_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("crossview.features.models.trial.installed", lambda library: False)
    result = run("demo", "--model", tiny.clip_folder(tmp_path / "clip"), "--out", tmp_path / "out")
    assert (result.exit_code, install_command("onnx") in result.stderr) == (1, True)


def test_options_that_do_not_go_together(tmp_path: Path) -> None:
    alone = run("demo", "--pictures", tmp_path)
    assert (alone.exit_code, "--pictures needs --model FOLDER" in alone.stderr) == (2, True)
    absent = run("demo", "--model", tmp_path, "--pictures", tmp_path / "absent")
    assert (absent.exit_code, "absent is not a folder" in absent.stderr) == (2, True)
    both = run("demo", "--camera", "--model", tmp_path)
    assert (both.exit_code, "are separate demos" in both.stderr) == (2, True)


def test_every_thing_is_drawn_differently_each_time(tmp_path: Path) -> None:
    assert write_things(tmp_path, 2) == 2 * len(THINGS) == len(list(tmp_path.rglob("*.jpg")))
    for name, thing in THINGS.items():
        first, second = (np.asarray(Image.open(tmp_path / name / f"0{number}.jpg"), int) for number in (0, 1))
        assert first.shape == (224, 224, 3)
        assert np.abs(first - second).max() > 100
        assert not set(name.split()) & set(thing.text.split())


@pytest.mark.long
@pytest.mark.skipif(not MODELS.is_dir(), reason="the models for development are not on this machine")
def test_real_models_find_most_of_the_drawn_things(tmp_path: Path) -> None:
    """All hits of these models are right; a rounding of another processor may change a few."""
    lines: list[str] = []
    chosen = ChosenModels.of([MODELS / "lite0", MODELS / "minilm"])
    run_words(tmp_path, tmp_path / "sheet.png", lines.append, Client, chosen)
    (share,) = (line for line in lines if "share of 8 hits" in line)
    assert int(share.split("%")[0].rsplit(" ", 1)[-1]) >= 90
