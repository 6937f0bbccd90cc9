"""A folder states its model in a file of its own, or in the files of Hugging Face."""

import json
import os
import re
import shutil
import tomllib
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import tiny_models as tiny
from tiny_models import node, onnx, value

from crossview.features.errors import ModelError
from crossview.features.models.folder import STATEMENT, pixels_from, read_folder
from crossview.features.models.manifest import Manifest, Pixels, Tokens

GUIDE = Path(__file__).resolve().parents[3] / "docs" / "guides" / "models.md"


@pytest.fixture
def stated() -> dict[str, dict[str, Any]]:
    """The example of the guide, which has every key."""
    (block,) = re.findall(r"```toml\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    return tomllib.loads(block)


def folder_of(place: Path, stated: dict[str, dict[str, Any]]) -> Path:
    """Return a folder with a statement, and files of the names in the guide."""
    place.mkdir(exist_ok=True)
    parts = [f"[{part}]\n" + "".join(f"{key} = {_toml(keys[key])}\n" for key in keys) for part, keys in stated.items()]
    (place / STATEMENT).write_text("\n".join(parts))
    picture, words = [value("images", [1, 3, 224, 224])], [value("input_ids", [1, "n"], onnx.TensorProto.INT64)]
    tiny.save(place / "encoder.onnx", [node("Identity", ["images"], ["features"])], picture, [value("features", ["n"])])
    texts = [node("Identity", ["input_ids"], ["last_hidden_state"])]
    tiny.save(place / "words.onnx", texts, words, [value("last_hidden_state", ["n"], onnx.TensorProto.INT64)])
    (place / "tokenizer.json").write_text("{}")
    return place


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_toml(one)}" for key, one in value.items()) + " }"
    return json.dumps(value)


def test_the_example_of_the_guide_has_every_key(tmp_path: Path, stated: dict[str, dict[str, Any]]) -> None:
    """The manifest has each of its values."""
    own = {"file", "output", "pooling"}
    pixels = {one.name for one in fields(Pixels)}
    tokens = {one.name for one in fields(Tokens)} - {"file"}
    assert stated["image"].keys() == own | {"input"} | pixels
    assert stated["text"].keys() == own | {"inputs", "tokenizer"} | tokens
    towers = read_folder(folder_of(tmp_path, stated)).towers
    for kind, tower in towers.items():
        given = {name: tuple(one) if isinstance(one, list) else one for name, one in stated[kind].items()}
        made = vars(tower) | vars(tower.pixels or tower.tokens) | {"file": tower.file}
        assert made.items() >= {name: one for name, one in given.items() if name not in ("input", "tokenizer")}.items()
    assert towers["image"].inputs == {"pixels": stated["image"]["input"]}


@pytest.mark.parametrize(
    ("part", "key", "wrong", "reason"),
    [
        ("image", "height", 0, "sides of a picture"),
        ("image", "width", 1_000_000, "sides of a picture"),
        ("image", "height", "224", "not understood"),
        ("image", "resampling", "sharp", "resampling is one of nearest"),
        ("image", "mean", [0.5], "red, green and blue"),
        ("image", "std", [1.0, 0.0, 1.0], "std no 0"),
        ("image", "pooling", "max", "pooling is none, first, mean"),
        ("image", "file", 5, "are texts"),
        ("image", "file", "../encoder.onnx", "leads out of the folder"),
        ("image", "file", "/etc/passwd", "leads out of the folder"),
        ("image", "file", "absent.onnx", "absent.onnx cannot be read"),
        ("image", "color", "rgb", "color"),
        ("text", "longest", 0, "longest is 1 to"),
        ("text", "padded", 1_000, "padded at most that"),
        ("text", "inputs", {"idx": "input_ids"}, "inputs name ids"),
        ("text", "inputs", "input_ids", "not understood"),
        ("text", "inputs", {"ids": 5}, "are texts"),
    ],
)
def test_a_wrong_statement_is_refused_by_name(
    tmp_path: Path, stated: dict[str, dict[str, Any]], part: str, key: str, wrong: object, reason: str
) -> None:
    stated[part][key] = wrong
    with pytest.raises(ModelError, match=reason):
        read_folder(folder_of(tmp_path, stated))


@pytest.mark.parametrize("key", ["file", "output", "input", "height"])
def test_a_necessary_key_is_named(tmp_path: Path, stated: dict[str, dict[str, Any]], key: str) -> None:
    del stated["image"][key]
    with pytest.raises(ModelError, match=key):
        read_folder(folder_of(tmp_path, stated))


@pytest.mark.parametrize("text", ["[image", "[sound]\nfile = 1", "image = 5", "[image]", "\ufeff\0"])
def test_a_garbage_statement_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / STATEMENT).write_text(text)
    with pytest.raises(ModelError, match=STATEMENT):
        read_folder(tmp_path)


def test_places_without_a_model(tmp_path: Path) -> None:
    """A file, an empty folder, a pipe instead of the model, and a path that does not exist."""
    (tmp_path / "file").write_text("x")
    (tmp_path / "empty").mkdir()
    (tmp_path / "pipe").mkdir()
    os.mkfifo(tmp_path / "pipe" / "model.onnx")
    for name, reason in {
        "file": "is not a folder",
        "absent": "is not a folder",
        "empty": "no model in a known layout",
        "pipe": "no model in a known layout",
    }.items():
        with pytest.raises(ModelError, match=reason):
            read_folder(tmp_path / name)


def test_a_folder_of_links_is_refused_with_the_way_out(tmp_path: Path) -> None:
    """The cache of Hugging Face consists of such links; a link inside the folder is followed."""
    tiny.picture_folder(tmp_path / "blobs")
    (tmp_path / "snapshot").mkdir()
    for one in (tmp_path / "blobs").iterdir():
        (tmp_path / "snapshot" / one.name).symlink_to(one)
    with pytest.raises(ModelError, match=f"cp -RL {tmp_path}/snapshot NEW"):
        read_folder(tmp_path / "snapshot")
    shutil.copytree(tmp_path / "snapshot", tmp_path / "copy")
    (tmp_path / "copy" / "model.onnx").symlink_to("vision_model.onnx")
    assert read_folder(tmp_path / "copy").towers.keys() == {"image"}


def test_a_tokenizer_without_a_limit_gets_one(tmp_path: Path) -> None:
    """Its file states a number of thirty digits for "any length"."""
    tiny.text_folder(tmp_path)
    (tmp_path / "config.json").unlink()
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"model_max_length": 10**30}))
    tokens = read_folder(tmp_path).towers["text"].tokens
    assert tokens is not None
    assert tokens.longest == 512


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    tiny.picture_folder(tmp_path)
    with (tmp_path / "vision_model.onnx").open("wb") as file:
        file.truncate(3 << 30)  # the disk holds no block of the file
    with pytest.raises(ModelError, match="may have at most 2,147,483,647"):
        read_folder(tmp_path)


@pytest.mark.parametrize("value", ["1" + "0" * 400, "1e999", "NaN", '"many"', "[1]"])
@pytest.mark.parametrize("key", ["image_mean", "rescale_factor", "size", "crop_size"])
def test_numbers_that_are_none_are_errors_of_the_model(key: str, value: str) -> None:
    """JSON has numbers of any size, which no float holds."""
    found = json.loads(value)
    with pytest.raises(ModelError, match=r"preprocessor_config\.json is not understood"):
        pixels_from({key: [found] * 3 if key == "image_mean" else found})


def test_a_licence_of_one_long_line_is_cut(tmp_path: Path, stated: dict[str, dict[str, Any]]) -> None:
    """A manifest travels in the arguments of a process."""
    folder = folder_of(tmp_path, stated)
    (folder / "LICENSE").write_text("\n\n" + "x" * 200_000)
    assert read_folder(folder).licence == "x" * 200


@pytest.mark.parametrize(
    "change", [{"dim": 10**12}, {"dim": -1}, {"dim": "many"}, {"pixels": {"height": 10**30, "width": 1}}, {"pixels": 3}]
)
def test_a_damaged_manifest_is_an_error_of_the_model(
    tmp_path: Path, stated: dict[str, dict[str, Any]], change: dict[str, Any]
) -> None:
    manifest = json.loads(json.dumps(read_folder(folder_of(tmp_path, stated)).to_json()))
    manifest["towers"]["image"].update(change)
    with pytest.raises(ModelError, match="the manifest of the model is damaged"):
        Manifest.from_json(manifest)
