"""The open command."""

import os
import re
import sys
import unicodedata
import webbrowser
from contextlib import suppress
from pathlib import Path
from typing import Annotated
from urllib.parse import quote

import typer

from crossview.engine.collections.home import Home
from crossview.engine.values.errors import CrossviewError
from crossview.server.commands.common import fail
from crossview.server.commands.connection_options import HomeOption
from crossview.server.commands.import_report import show_report
from crossview.server.commands.output import say
from crossview.server.commands.progress_bar import progress_bar
from crossview.server.commands.serve import run_server
from crossview.server.core.succession import pages_of
from crossview.server.wire.settings import ServerSettings

_JOBS = 2
"""Number of jobs at once: a map or a training does not wait until all pictures of the folder are described."""
_LETTERS = 60


def open_(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME|FOLDER]", help="Collection, or folder of pictures to index [default: the list of all]."
        ),
    ] = None,
    http_port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port for HTTP; 0 selects a free port. It needs crossview[http].")
    ] = 0,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Whether to open a browser.")] = True,
    home: HomeOption = None,
) -> None:
    """Open the page of a collection or of a folder in a browser.

    If no server with pages runs on this home, the command starts one that only this machine can reach, and serves until
    Ctrl-C. A folder becomes a collection of the same name, or continues the one that follows it already: the page shows
    its pictures as they are described.

    Examples:
        crossview open pets
        crossview open photos/
        crossview open --no-browser --http-port 8080
    """
    opened = Home(home)
    folder = None if name is None else _folder(opened, name)
    if folder is not None:
        name = _following(opened, folder)
    elif name is not None:
        opened.open(name).close()
    path = "/" if name is None else f"/c/{quote(name)}"
    running = pages_of(opened.path)
    if running is not None:
        _show(running.rstrip("/") + path, browser)
        if folder is not None and name is not None:
            with opened.open(name) as collection, progress_bar(unit="images") as progress:
                show_report(collection.index([folder], progress=progress), name)
        return
    settings = ServerSettings(home=home, port=0, http_port=http_port, web=True, workers=os.cpu_count() or 1, jobs=_JOBS)
    index = None if folder is None or name is None else (name, folder)
    run_server(settings, lambda address: _show(address.rstrip("/") + path, browser), index)


def _folder(home: Home, name: str) -> Path | None:
    """Return the folder that a person names; None for the name of a collection."""
    if name in home.names() or name in home.aliases():
        return None
    path = Path(name).expanduser().absolute()
    if not path.is_dir() and (os.sep in name or path.exists()):
        fail(f"{name} is not a folder of pictures" if path.exists() else f"the folder {name} does not exist")
    return path if path.is_dir() else None


def _following(home: Home, folder: Path) -> str:
    """Return the collection that follows a folder, or an empty one with its name; create one if there is none."""
    from crossview.engine.catalog.ingest.walk import readable
    from crossview.engine.catalog.roots import free_alias

    folded = unicodedata.normalize("NFKD", folder.name).encode("ascii", "ignore").decode().lower()
    name = re.sub(r"[^a-z0-9_]+", "-", folded).strip("-_")[:_LETTERS] or "pictures"
    names = home.names()
    for known in sorted(names, key=lambda known: known != name):
        # a damaged collection, or one that was just deleted, does not follow the folder
        with suppress(CrossviewError), home.open(known) as collection:
            with collection.opened.read() as tx:
                roots = tx.roots.aliases()
            if readable(folder) in roots or (known == name and not roots and not collection.items.count()):
                return known
    with home.create(free_alias(name, (*names, *home.aliases()))) as collection:
        say(f"created {collection.name} with views {', '.join(view.name for view in collection.views())}")
        return collection.name


def _show(address: str, browser: bool) -> None:
    """Print an address and, on a machine with a screen, open it in a browser."""
    say(f"open {address}")
    has_screen = sys.platform in ("darwin", "win32") or bool({"DISPLAY", "WAYLAND_DISPLAY"} & set(os.environ))
    if browser and has_screen:
        webbrowser.open(address)
