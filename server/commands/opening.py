"""The open command."""

import os
import sys
import webbrowser
from typing import Annotated
from urllib.parse import quote

import typer

from crossview.engine.collections.home import Home
from crossview.server.commands.connection_options import HomeOption
from crossview.server.commands.output import say
from crossview.server.commands.serve import run_server
from crossview.server.core.succession import pages_of
from crossview.server.wire.settings import ServerSettings


def open_(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="Collection [default: the list of all].")] = None,
    http_port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port for HTTP; 0 selects a free port. It needs crossview[http].")
    ] = 0,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Whether to open a browser.")] = True,
    home: HomeOption = None,
) -> None:
    """Open the page of a collection in a browser.

    If no server with pages runs on this home, the command starts one that only this machine can reach, and serves until
    Ctrl-C.

    Examples:
        crossview open pets
        crossview open --no-browser --http-port 8080
    """
    if name is not None:
        Home(home).open(name).close()
    path = "/" if name is None else f"/c/{quote(name)}"
    running = pages_of(Home(home).path)
    if running is not None:
        _show(running.rstrip("/") + path, browser)
        return
    settings = ServerSettings(home=home, port=0, http_port=http_port, web=True, workers=os.cpu_count() or 1)
    run_server(settings, lambda address: _show(address.rstrip("/") + path, browser))


def _show(address: str, browser: bool) -> None:
    """Print an address and, on a machine with a screen, open it in a browser."""
    say(f"open {address}")
    has_screen = sys.platform in ("darwin", "win32") or bool({"DISPLAY", "WAYLAND_DISPLAY"} & set(os.environ))
    if browser and has_screen:
        webbrowser.open(address)
