"""Commands that copy collections, bring them back, and give their disk space back."""

from pathlib import Path
from typing import Annotated

import typer

from server.commands.common import JsonOption, NameArgument, confirm, print_result
from server.commands.connection import HomeOption
from server.commands.progress import progress_bar

QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")]


def backup(
    name: NameArgument,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Where to write the copy; a file that is not there.")],
    home: HomeOption = None,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Copy a collection into a file, while it is searched and written.

    The copy is one checked file with items, rows, views and spaces, as they are when it begins; without the pictures'
    own files. crossview restore brings it back.
    """
    from engine.home import Home

    with progress_bar(not quiet and not as_json) as progress:
        written = Home(home).backup(name, file, progress)
    size = written.stat().st_size
    print_result({"file": str(written), "bytes": size}, f"wrote {written}: {size / 1e6:,.1f} MB, checked", as_json)


def restore(
    name: NameArgument,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A copy that crossview backup wrote.")],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Replace a collection of this name without asking.")] = False,
    home: HomeOption = None,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Make a collection of a copy, or bring an existing one back to it.

    Whoever has the collection open, a server too, answers from the copy at once.
    """
    from engine.home import Home

    chosen = Home(home)
    if name in chosen.names() and not yes:
        confirm(f"Replace {name}, all that it has now, by {file}?", f"replacing {name} needs --yes")
    with progress_bar(not quiet and not as_json) as progress, chosen.restore(name, file, True, progress) as collection:
        info = collection.info()
    print_result(info, f"restored {name}: {info.items} items, {len(info.spaces)} spaces", as_json)


def compact(name: NameArgument, home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Give the disk space of what was deleted or replaced back; nothing that can be found is changed.

    Searches go on meanwhile, and writers wait. The catalog is written anew, which needs free disk space of up to twice
    its size; without it the catalog stays as it is.
    """
    from engine.home import Home

    with Home(home).open(name) as collection:
        before = collection.info().bytes_on_disk
        collection.compact()
        after = collection.info().bytes_on_disk
    print_result(
        {"bytes_before": before, "bytes_after": after},
        f"{name}: {before / 1e6:,.1f} MB before, {after / 1e6:,.1f} MB now",
        as_json,
    )
