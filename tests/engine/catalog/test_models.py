"""The models of a home: one is registered as it ran, and a folder that is not safe to use is refused with a reason."""

import json
import pickle
import shutil
from pathlib import Path

import numpy as np
import pytest
import tiny_models as tiny
from tiny_models import node, value, weights

from crossview.engine.catalog.models import Models
from crossview.engine.values.errors import AlreadyExistsError, InvalidInputError, NotFoundError
from crossview.features.errors import ModelError

pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")


@pytest.fixture
def models(tmp_path: Path) -> Models:
    return Models(home(tmp_path))


def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A model with a tower for pictures, which has classes, and one for texts, in one space."""
    return tiny.text_folder(tiny.picture_folder(tmp_path / "both", classes=("red", "green", "blue")))


def test_a_model_is_registered_as_it_ran(models: Models, folder: Path) -> None:
    (folder / "LICENSE").write_text("\nApache License 2.0\nmore")
    made, trials = models.add("both", folder)
    shutil.rmtree(folder)  # the home has its own copy
    assert (made, models.all(), models.get("both")) == (made, [made], made)
    assert (made.inputs, made.manifest.shared, made.manifest.licence) == (("image", "text"), True, "Apache License 2.0")
    assert {kind: one.dim for kind, one in trials.items()} == {"image": tiny.DIM, "text": tiny.DIM}
    assert made.manifest.class_count == trials["image"].class_count == 3
    assert models.check("both")[1]["text"].norms == trials["text"].norms


def test_names_and_contents_are_unique(models: Models, folder: Path, tmp_path: Path) -> None:
    made, _ = models.add("one", folder)
    with pytest.raises(AlreadyExistsError, match=r"home\.models\.remove\('one'\)"):
        models.add("one", folder)
    again, _ = models.add("two", folder)
    assert again.digest == made.digest
    assert len(tiny.left(home(tmp_path))) == 2 + len(made.manifest.files)
    models.remove("one")
    assert models.check("two")[0] == again  # its files stay
    models.remove("two")
    assert tiny.left(home(tmp_path)) == set()
    for missing in (models.get, models.remove, models.check):
        with pytest.raises(NotFoundError, match=r"home\.models\.add"):
            missing("two")


@pytest.mark.parametrize("name", ["", "a/b", "../x", "A", "x" * 64])
def test_wrong_names_are_refused(models: Models, folder: Path, name: str) -> None:
    with pytest.raises(InvalidInputError, match="cannot name a model"):
        models.add(name, folder)


def nan(folder: Path) -> None:
    vision(folder, [node("Log", ["negative"], ["image_embeds"])], [weights("negative", -np.ones((1, 4), np.float32))])


def random(folder: Path) -> None:
    vision(folder, [node("RandomNormal", [], ["image_embeds"], shape=[1, 4])], [])


def huge(folder: Path) -> None:
    vision(
        folder,
        [node("Expand", ["one", "shape"], ["image_embeds"])],
        [weights("one", np.ones(1, np.float32)), weights("shape", np.array([1, 1_000_000]))],
    )


def vision(folder: Path, nodes: list[object], held: list[object]) -> None:
    """Replace the tower for pictures."""
    keep = node("Identity", ["pixel_values"], ["kept"])
    side = ["n", 3, tiny.SIDE, tiny.SIDE]
    outputs = [value("image_embeds", ["n", "d"]), value("kept", side)]
    tiny.save(folder / "vision_model.onnx", [*nodes, keep], [value("pixel_values", side)], outputs, held)


def other_input(folder: Path) -> None:
    save = [node("Add", ["pixel_values", "secret"], ["image_embeds"])]
    both = [value("pixel_values", [1]), value("secret", [1])]
    tiny.save(folder / "vision_model.onnx", save, both, [value("image_embeds", [1])])


def no_preprocessing(folder: Path) -> None:
    (folder / "preprocessor_config.json").unlink()


def strange_preprocessing(folder: Path) -> None:
    (folder / "preprocessor_config.json").write_text(json.dumps({"size": "large"}))


def another_size(folder: Path) -> None:
    (folder / "preprocessor_config.json").write_text(json.dumps({"size": 99}))


def no_tokenizer(folder: Path) -> None:
    (folder / "tokenizer.json").unlink()


def wrong_tokenizer(folder: Path) -> None:
    (folder / "tokenizer.json").write_text("{}")


def pickled(folder: Path) -> None:
    (folder / "vision_model.onnx").write_bytes(pickle.dumps({"weights": [1]}))


def linked(folder: Path) -> None:
    (folder / "tokenizer.json").unlink()
    (folder / "tokenizer.json").symlink_to("/etc/passwd")


def two_spaces(folder: Path) -> None:
    tiny.text_folder(folder, dim=7)


def wrong_classes(folder: Path) -> None:
    (folder / "classes.txt").write_text("one\ntwo\n")


def empty(folder: Path) -> None:
    for one in folder.iterdir():
        one.unlink()


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (nan, "not finite"),
        (random, "different rows for equal inputs"),
        (huge, "rows of the model have the shapes"),
        (other_input, "also needs secret"),
        (no_preprocessing, "no preprocessor_config.json"),
        (strange_preprocessing, "preprocessor_config.json is not understood"),
        (another_size, "the model fails"),
        (no_tokenizer, "no tokenizer.json"),
        (wrong_tokenizer, "not a tokenizer"),
        (pickled, "vision_model.onnx: the file is not an ONNX model"),
        (linked, "leads out of the folder"),
        (two_spaces, "register them as two models"),
        (wrong_classes, "its list names 2"),
        (empty, "no model in a known layout"),
    ],
)
def test_a_damaged_folder_is_refused_and_leaves_nothing(
    models: Models, folder: Path, tmp_path: Path, damage, reason: str
) -> None:
    damage(folder)
    with pytest.raises(ModelError, match=reason):
        models.add("bad", folder)
    assert models.all() == []
    assert tiny.left(home(tmp_path)) == set()
