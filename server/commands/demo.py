"""The demo command."""

import shlex
import tempfile
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from crossview.server.commands.common import fail
from crossview.server.commands.connection_options import ConnectionOptions
from crossview.server.commands.output import say

SHEET = "sheet.png"


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
) -> None:
    """Show all features on pictures that the demo draws.

    The demo runs create, index, train, serve, search and evaluate, and draws a contact sheet of the hits.

    Examples:
        crossview demo
        crossview demo --notions --keep --out notions
    """
    from crossview.server.demo.attributes import NAME as MOODS
    from crossview.server.demo.attributes import run_attributes
    from crossview.server.demo.camera import NAME as CAMERA
    from crossview.server.demo.camera import run_camera
    from crossview.server.demo.notions import NAME as NOTIONS
    from crossview.server.demo.notions import run_notions
    from crossview.server.demo.story import NAME as DEMO
    from crossview.server.demo.story import run_demo

    demos = {NOTIONS: (notions, run_notions), MOODS: (attributes, run_attributes), CAMERA: (camera, run_camera)}
    chosen = [name for name, (wanted, _) in demos.items() if wanted]
    if len(chosen) > 1:
        raise typer.BadParameter("--notions, --attributes and --camera are separate demos: give one of them")
    name = chosen[0] if chosen else DEMO
    run = partial(
        demos[name][1] if chosen else run_demo,
        sheet=out / SHEET,
        echo=say,
        connect=lambda at: ConnectionOptions(server=at).backend(),
    )
    out.mkdir(parents=True, exist_ok=True)
    if not keep:
        with tempfile.TemporaryDirectory(prefix="crossview-demo-") as scratch:
            run(Path(scratch))
        return
    if (out / "home").exists():
        fail(f"{out} contains an earlier demo: remove it, or give another --out")
    run(out.absolute())
    say(f"kept in {out}; look at it with: {shlex.join(['crossview', 'open', name, '--home', str(out / 'home')])}")
