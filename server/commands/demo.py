"""The demo command."""

import tempfile
from pathlib import Path
from typing import Annotated

import typer

from server.commands.common import fail

SHEET = "sheet.png"


def demo(
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where the contact sheet is written.")] = Path("demo-out"),
    keep: Annotated[bool, typer.Option("--keep", help="Keep the pictures and the home there, too.")] = False,
) -> None:
    """Show it all on pictures drawn on the spot.

    Runs create, index, train, serve, search and evaluate, and draws a contact sheet of what was found.
    """
    from server.demo.story import run_demo

    out.mkdir(parents=True, exist_ok=True)
    if not keep:
        with tempfile.TemporaryDirectory(prefix="crossview-demo-") as scratch:
            run_demo(Path(scratch), out / SHEET, typer.echo)
        return
    if (out / "home").exists():
        fail(f"{out} holds an earlier demo; give another --out, or remove it")
    run_demo(out.absolute(), out / SHEET, typer.echo)
    typer.echo(f"kept in {out}; look around with: crossview show demo --home {out / 'home'}")
