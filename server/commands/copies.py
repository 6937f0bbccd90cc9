"""Commands that copy collections, bring them back, and give their disk space back."""

from pathlib import Path
from typing import Annotated

import typer

from crossview.server.commands.common import JsonOption, NameArgument, confirm, print_result
from crossview.server.commands.connection import HomeOption
from crossview.server.commands.progress import progress_bar

QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Do not show progress.")]


def backup(
    name: NameArgument,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The output file; it must not exist.")],
    home: HomeOption = None,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Copy a collection into a file, while others search and write it.

    The copy is one verified file with items, rows, views and spaces, in their state at the start of the command. It
    does not contain the source files of the pictures. To restore it, use crossview restore.
    """
    from crossview.engine.home import Home

    with progress_bar(not quiet and not as_json) as progress:
        written = Home(home).backup(name, file, progress)
    size = written.stat().st_size
    print_result({"file": str(written), "bytes": size}, f"wrote {written}: {size / 1e6:,.1f} MB, checked", as_json)


def restore(
    name: NameArgument,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Copy written by crossview backup.")],
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Replace an existing collection of this name without asking.")
    ] = False,
    home: HomeOption = None,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Create a collection from a copy, or return an existing collection to the copy.

    Every program that has the collection open, including a server, answers from the copy at once.
    """
    from crossview.engine.home import Home

    chosen = Home(home)
    if name in chosen.names() and not yes:
        confirm(f"Replace {name}, all that it has now, by {file}?", f"replacing {name} needs --yes")
    with progress_bar(not quiet and not as_json) as progress, chosen.restore(name, file, True, progress) as collection:
        info = collection.info()
    print_result(info, f"restored {name}: {info.items} items, {len(info.spaces)} spaces", as_json)


def compact(name: NameArgument, home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Free the disk space of deleted and replaced data; the content of the collection does not change.

    Searches continue meanwhile, and writers wait. The command rewrites the catalog, which needs free disk space of
    up to twice its size. Without this space, the catalog does not change.
    """
    from crossview.engine.home import Home

    with Home(home).open(name) as collection:
        before = collection.info().bytes_on_disk
        collection.storage.compact()
        after = collection.info().bytes_on_disk
    print_result(
        {"bytes_before": before, "bytes_after": after},
        f"{name}: {before / 1e6:,.1f} MB before, {after / 1e6:,.1f} MB now",
        as_json,
    )
