"""The demo command."""

import tempfile
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from server.commands.common import fail
from server.commands.connection import ConnectionOptions

SHEET = "sheet.png"


def demo(
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder for the contact sheet.")] = Path("demo-out"),
    keep: Annotated[bool, typer.Option("--keep", help="Keep the pictures and the home in that folder.")] = False,
    notions: Annotated[
        bool, typer.Option("--notions", help="Show two notions of similarity, color and texture, learned from answers.")
    ] = False,
    attributes: Annotated[
        bool, typer.Option("--attributes", help="Show searches for more or less of an attribute of pictures.")
    ] = False,
) -> None:
    """Show everything on pictures that the demo draws itself.

    Runs create, index, train, serve, search and evaluate, and draws a contact sheet of the hits.
    """
    from server.demo.attributes import NAME as MOODS
    from server.demo.attributes import run_attributes
    from server.demo.notions import NAME as NOTIONS
    from server.demo.notions import run_notions
    from server.demo.story import NAME as DEMO
    from server.demo.story import run_demo

    if notions and attributes:
        raise typer.BadParameter("--notions and --attributes are two demos: give one of them")
    run = partial(
        run_notions if notions else run_attributes if attributes else run_demo,
        sheet=out / SHEET,
        echo=typer.echo,
        connect=lambda at: ConnectionOptions(server=at).backend(),
    )
    out.mkdir(parents=True, exist_ok=True)
    if not keep:
        with tempfile.TemporaryDirectory(prefix="crossview-demo-") as scratch:
            run(Path(scratch))
        return
    if (out / "home").exists():
        fail(f"{out} holds an earlier demo: remove it, or give another --out")
    run(out.absolute())
    name = NOTIONS if notions else MOODS if attributes else DEMO
    typer.echo(f"kept in {out}; explore with: crossview show {name} --home {out / 'home'}")
