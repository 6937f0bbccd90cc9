"""The demo command."""

import os
import shlex
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from crossview.server.commands.common import fail
from crossview.server.commands.connection_options import ConnectionOptions
from crossview.server.commands.output import say

SHEET = "sheet.png"
HTTP_PORT = 8080
"""The port of the page in the printed command."""


def demo(
    out: Annotated[Path, typer.Option(metavar="DIR", help="Output folder for the contact sheet.")] = Path("demo-out"),
    keep: Annotated[bool, typer.Option("--keep", help="Keep the pictures and the home in the output folder.")] = False,
    notions: Annotated[
        bool, typer.Option("--notions", help="Show two notions of similarity, color and texture, learned from answers.")
    ] = False,
    attributes: Annotated[
        bool, typer.Option("--attributes", help="Show searches for more or less of an attribute of pictures.")
    ] = False,
    camera: Annotated[
        bool, typer.Option("--camera", help="Show the important changes in ten days of a camera's pictures.")
    ] = False,
    model: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FOLDER",
            help="Show how words find pictures without captions, by a model of pictures and texts in this folder, or, "
            "given twice, by a model of pictures that names its classes and a model of texts.",
        ),
    ] = None,
    pictures: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="With --model: a folder of your own pictures [default: drawn pictures].",
        ),
    ] = None,
) -> None:
    """Show all features on pictures that the demo draws.

    The demo runs create, index, train, serve, search and evaluate, and draws a contact sheet of the hits.

    Examples:
        crossview demo
        crossview demo --notions --keep --out notions
        crossview demo --model ./clip-folder --pictures photos/
    """
    if pictures is not None and not model:
        raise typer.BadParameter("--pictures needs --model FOLDER: the other demos draw their pictures")
    if pictures is not None and not pictures.is_dir():
        raise typer.BadParameter(f"--pictures {pictures} is not a folder")
    import crossview.features.decode  # noqa: F401 - a client without the engine fails here, before it draws

    story = _chosen(notions, attributes, camera, model or [], pictures)
    run = partial(story.run, sheet=out / SHEET, echo=say, connect=lambda at: ConnectionOptions(server=at).backend())
    out.mkdir(parents=True, exist_ok=True)
    if not keep:
        with tempfile.TemporaryDirectory(prefix="crossview-demo-") as scratch:
            run(Path(scratch))
        return
    if (out / "home").exists():
        fail(f"{out} contains an earlier demo: remove it, or give another --out")
    run(out.absolute())
    for line in lines_to_try(story.name, out, story.to_try):
        say(line)


@dataclass(frozen=True)
class _Demo:
    """The name of the collection of a demo, the function that runs the demo, and commands to try after it."""

    name: str
    run: Callable[..., None]
    to_try: Sequence[str]


def _chosen(notions: bool, attributes: bool, camera: bool, models: list[Path], pictures: Path | None) -> _Demo:
    """Return the demo that the options choose."""
    if sum((notions, attributes, camera, bool(models))) > 1:
        raise typer.BadParameter("--notions, --attributes, --camera and --model are separate demos: give one of them")
    if models:
        from crossview.server.commands.demo import words

        run = partial(words.run_words, models=words.ChosenModels.of(models), pictures=pictures)
        return _Demo(words.NAME, run, words.TO_TRY)
    from crossview.server.commands.demo import attributes as moods
    from crossview.server.commands.demo import camera as street
    from crossview.server.commands.demo import notions as alike
    from crossview.server.commands.demo import story

    if notions:
        return _Demo(alike.NAME, alike.run_notions, alike.TO_TRY)
    if attributes:
        return _Demo(moods.NAME, moods.run_attributes, moods.TO_TRY)
    if camera:
        return _Demo(street.NAME, street.run_camera, street.TO_TRY)
    return _Demo(story.NAME, story.run_demo, story.TO_TRY)


def lines_to_try(name: str, folder: Path, commands: Sequence[str]) -> Iterator[str]:
    """Yield lines that name the address of the page of a collection and the command for it, then commands to try.

    The lines that start with spaces are commands for a shell in the working folder, which need no variable.

    Args:
        name: name of the collection.
        folder: output folder of the demo; its home is ``folder/home``.
        commands: commands without the program and ``--home``, in which ``{folder}`` is the output folder, quoted.
    """
    program, home = shlex.quote(_program()), shlex.quote(str(folder / "home"))
    yield f"\nThe demo keeps its collection in {folder}."
    yield f"Open its page at http://127.0.0.1:{HTTP_PORT}/c/{name}, which this command serves until Ctrl-C:"
    yield f"    {program} open {name} --http-port {HTTP_PORT} --home {home}"
    yield "Three things to try:"
    for command in commands:
        yield f"    {program} {command.format(folder=shlex.quote(str(folder)))} --home {home}"


def _program() -> str:
    """Return ``crossview`` if a shell finds this installation, or its path from the working folder."""
    installed = Path(sys.executable).with_name("crossview")
    on_path = shutil.which("crossview")
    if not installed.exists() or (on_path is not None and Path(on_path).resolve() == installed.resolve()):
        return "crossview"
    return os.path.relpath(installed) if installed.is_relative_to(Path.cwd()) else str(installed)
