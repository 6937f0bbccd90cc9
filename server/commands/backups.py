"""Commands that copy and restore collections, and free their disk space."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from crossview.server.commands.common import (
    JsonOption,
    NameArgument,
    NewNameArgument,
    YesOption,
    confirm,
    print_result,
)
from crossview.server.commands.connection_options import HERE, ConnectionOptions, HomeOption
from crossview.server.commands.hints import hint
from crossview.server.commands.key_notes import key_names, lost_keys, note_keys
from crossview.server.commands.progress_bar import progress_bar


@dataclass(frozen=True)
class Copy:
    """The file of a copy, and its size."""

    file: Path
    bytes: int


@dataclass(frozen=True)
class Compacted:
    """The size of a collection before and after."""

    bytes_before: int
    bytes_after: int


QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Do not show progress.")]


def backup(
    name: NameArgument,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The output file; it must not exist.")],
    home: HomeOption = None,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Copy a collection into a file, to restore it from.

    The copy is one verified file with items, rows, views and spaces, in their state at the start of the command, while
    others write. It does not contain the source files of the pictures. To restore it, use crossview restore.

    Examples:
        crossview backup pets pets.db
        crossview backup pets pets.db --quiet --json
    """
    from crossview.engine.collections.home import Home

    with progress_bar(not quiet and not as_json) as progress:
        written = Home(home).backup(name, file, progress)
    size = written.stat().st_size
    print_result(Copy(written, size), f"wrote {written}: {size / 1e6:,.1f} MB, checked", as_json)


def copy(
    name: NameArgument,
    new: NewNameArgument,
    connection: ConnectionOptions = HERE,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Copy a collection to a second one, to try changes on.

    The copy contains everything except the indexes, which its first search builds. Others can write meanwhile, and
    later changes of one do not change the other.

    Examples:
        crossview copy pets pets-2
        crossview copy pets pets-2 --server localhost:50051
    """
    with connection.backend() as backend, progress_bar(not quiet and not as_json) as progress:
        collection = backend.copy(name, new, progress)
        try:
            info = collection.info()
        finally:
            collection.close()
    print_result(info, f"copied {name} to {new}: {info.items} items, {len(info.spaces)} spaces", as_json)


def restore(
    name: NameArgument,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Copy written by crossview backup.")],
    yes: YesOption = False,
    home: HomeOption = None,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Create a collection from a copy, or return to the copy.

    Every program that has the collection open, including a server, answers from the copy at once. Keys keep a
    collection that returns to a copy. No key has a new collection, even one with the name of a deleted one.

    Examples:
        crossview restore pets pets.db
        crossview restore pets pets.db --yes
    """
    from crossview.engine.collections.home import Home

    local = Home(home)
    keys = key_names(local, name)
    if name in local.names() and not yes:
        confirm(f"Replace {name}, all that it has now, by {file}?", f"replacing {name} needs --yes")
    with progress_bar(not quiet and not as_json) as progress, local.restore(name, file, True, progress) as collection:
        info = collection.info()
    print_result(info, f"restored {name}: {info.items} items, {len(info.spaces)} spaces", as_json)
    note_keys(keys, "keep it")
    if not keys:
        note_keys(
            lost_keys(local, name), f"for a deleted one, not for this copy; {hint('key grant', 'KEY-NAME', name)}"
        )


def compact(name: NameArgument, home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Free the disk space of deleted and replaced data.

    The content of the collection does not change. Searches continue meanwhile, and writers wait. The command rewrites
    the catalog, which needs free disk space of up to twice its size. Without this space, the catalog does not change.

    Examples:
        crossview compact pets
        crossview compact pets --json
    """
    from crossview.engine.collections.home import Home

    with Home(home).open(name) as collection:
        before = collection.info().bytes_on_disk
        collection.storage.compact()
        after = collection.info().bytes_on_disk
    sizes = Compacted(before, after)
    sentence = f"{name}: {sizes.bytes_before / 1e6:,.1f} MB before, {sizes.bytes_after / 1e6:,.1f} MB now"
    print_result(sizes, sentence, as_json)
