"""Commands on models that print hints, by a part of each hint's text in the sources."""

from collections.abc import Callable
from pathlib import Path

from stage import Stage
from tiny_models import DIM, picture_folder


def _model(stage: Stage, dim: int = DIM) -> Path:
    """The home's only model, ``tiny``, by which the only view of ``new`` is made; return the file with its weights."""
    stage.values["FOLDER"] = picture_folder(stage.folder / "tiny", dim=dim)
    stage.says("model", "add", "tiny", stage.values["FOLDER"])
    stage.says("create", "new", "--views", "onnx:tiny")
    stage.says("index", "new", stage.pictures)
    (weights,) = stage.home.path.glob(".models/files/*")
    return weights


def _no_model(stage: Stage) -> str:
    stage.values["FOLDER"] = picture_folder(stage.folder / "tiny")
    return stage.says("model", "show", "tiny")


def _no_models(stage: Stage) -> str:
    stage.says("model", "add", "clip", picture_folder(stage.folder / "tiny"))
    listed = stage.says("model", "remove", "clip", "--yes") + stage.says("model", "list")
    return listed.replace("./clip-folder", str(stage.folder / "tiny"))


def _added_model(stage: Stage) -> str:
    return stage.says("model", "add", "clip", picture_folder(stage.folder / "tiny"))


def _taken_model(stage: Stage) -> str:
    _model(stage)
    return stage.says("model", "add", "tiny", stage.values["FOLDER"])


def _removed_model(stage: Stage) -> str:
    _model(stage)
    stage.says("model", "remove", "tiny", "--yes")
    return stage.says("search", "new", stage.picture)


def _replaced_model(stage: Stage) -> str:
    _model(stage)
    stage.says("model", "remove", "tiny", "--yes")
    stage.says("model", "add", "tiny", picture_folder(stage.folder / "other", dim=7))
    return stage.says("search", "new", stage.picture)


def _got_model(stage: Stage) -> str:
    stage.says("create", "art", "--views", "color")
    return stage.says("model", "get", "lite0")


def _no_package(stage: Stage) -> str:
    for path in stage.folder.glob("index/*.whl"):
        path.unlink()
    stage.values["FOLDER"] = picture_folder(stage.folder / "tiny")
    return stage.says("model", "get", "lite0")


def _added_view(stage: Stage) -> str:
    stage.values["PICTURES"] = stage.pictures
    return stage.says("view", "add", "drawn", "small=gist:grid=2")


def _damaged_model(stage: Stage) -> str:
    _model(stage, dim=6).write_bytes(b"")  # a model that no other test of this process has opened
    return stage.says("search", "new", stage.picture)


HINTS_OF_MODELS: dict[str, tuple[Callable[[Stage], str], ...]] = {
    "add one with: `home.models.add(": (_no_model,),
    "hint('model add'": (_no_models,),
    "hint('view add', 'art'": (_got_model,),
    "hint('index', name, 'PICTURES'": (_added_view,),
    "bring the files of a model, and add their folder with: `home.models.add(": (_no_package,),
    "hint('create', 'art'": (_added_model,),
    "or remove it first with: `home.models.remove(": (_taken_model,),
    "by which the view was made: add it with: `home.models.add(": (_removed_model,),
    "under another name, with: `home.models.add(": (_replaced_model,),
    "is damaged ({}): remove it with: `home.models.remove(": (_damaged_model,),
}
