"""The files of duplicates: a page, a contact sheet, a table, and a script that moves copies to a folder."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from crossview.server.commands.common import json_text
from crossview.server.commands.output import escaped, write_csv
from crossview.server.commands.report_options import made_now

if TYPE_CHECKING:
    from crossview.engine.values.duplicate import DuplicatePicture, Duplicates
    from crossview.server.commands.backend import Backend, CollectionBackend
    from crossview.server.commands.drawing.search_results import Items

COLUMNS = (
    *("group", "kind", "key", "keeper", "relations", "degrees", "share", "confidence", "width", "height", "size"),
    *("source", "reason"),
)
"""The columns of the CSV: a row for each picture, the keeper of a group first."""
PAGE, TABLE, SCRIPT = ".html", ".csv", ".sh"
_SHEETS = (".png", ".jpg", ".jpeg", ".webp", ".pdf")
_HEAD = """#!/bin/sh
# Moves the copies below to {folder}. It deletes and replaces nothing.
# Read it first: each group names the picture that stays. Remove the lines of files that should stay, too.
# With --undo, it moves them back.
set -eu
to={to}
undo=${{1:-}}
mkdir -p -- "$to"
move() {{
    from=$1 at=$to/$2
    if [ "$undo" = --undo ]; then
        from=$to/$2 at=$1
    fi
    if [ -e "$at" ]; then
        printf '%s\\n' "left: $at exists" >&2
    elif [ -e "$from" ]; then
        mv -- "$from" "$at"
    else
        printf '%s\\n' "left: $from does not exist" >&2
    fi
}}
"""


def check_files(paths: Sequence[Path], to: Path | None) -> None:
    """Raise BadParameter for a file of an unknown kind, a missing folder, and a script without a folder to move to."""
    kinds = (PAGE, TABLE, SCRIPT, *_SHEETS)
    for path in paths:
        if path.suffix.lower() not in kinds:
            raise typer.BadParameter(f"--out {path} is of an unknown kind: end its name in {', '.join(kinds)}")
        if not path.parent.is_dir():
            raise typer.BadParameter(f"--out {path} cannot be written: the folder {path.parent} does not exist")
    scripts = any(path.suffix.lower() == SCRIPT for path in paths)
    if scripts and to is None:
        raise typer.BadParameter("a script needs a folder to move copies to: give --to DIR")
    if to is not None and not scripts:
        raise typer.BadParameter("--to is for a script: give --out FILE.sh as well")


@dataclass(frozen=True)
class Pictures:
    """The collections with the pictures of duplicates: the own one, and the one that a request compares against."""

    name: str
    collection: "CollectionBackend"
    backend: "Backend"
    against: str

    @contextmanager
    def opened(self) -> "Iterator[Mapping[str, Items]]":
        """Give the items by collection, "" for the own one."""
        with self.backend.open(self.against) if self.against else nullcontext() as other:
            yield {"": self.collection.items} | ({} if other is None else {self.against: other.items})


def write_files(paths: Sequence[Path], to: Path | None, duplicates: "Duplicates", where: Pictures) -> list[str]:
    """Write each file, and return a sentence about each."""
    if not paths:
        return []
    with where.opened() as pictures:
        return [_write(path, to, duplicates, pictures, where.name) for path in paths]


def write_report(folder: Path | None, duplicates: "Duplicates", where: Pictures) -> list[str]:
    """Write a report into a folder, and return a sentence about it; without a folder, do nothing."""
    if folder is None:
        return []
    from crossview.server.commands.drawing import page
    from crossview.server.commands.drawing.duplicate_report import files

    with where.opened() as pictures:
        report = files(duplicates, pictures, where.name, json_text(duplicates) + "\n", made_now(against=where.against))
    return [f"wrote {page.write_files(folder, report)}"]


def rows_of(duplicates: "Duplicates") -> "Iterator[list[object]]":
    """Yield the rows of the CSV."""
    for number, group in enumerate(duplicates.groups, 1):
        for picture in (group.keeper, *group.members):
            keeper = picture is group.keeper
            values = {name: getattr(picture, name, "") for name in COLUMNS}
            values |= {"group": number, "kind": group.kind, "keeper": keeper, "reason": group.reason if keeper else ""}
            yield list(values.values())


def _write(path: Path, to: Path | None, duplicates: "Duplicates", pictures: "Mapping[str, Items]", name: str) -> str:
    from crossview.server.commands.drawing.duplicate_report import page, sheet

    suffix = path.suffix.lower()
    if suffix == PAGE:
        path.write_text(page(duplicates, pictures, name, made_now()), encoding="utf-8")
    elif suffix == TABLE:
        with path.open("w", newline="", encoding="utf-8") as file:
            write_csv(file, COLUMNS, rows_of(duplicates))
    elif suffix == SCRIPT and to is not None:
        path.write_text(script(duplicates, to), encoding="utf-8", errors="surrogateescape")
        return f"wrote {path}: read it, then run it with: sh {shlex.quote(str(path))} (--undo moves the files back)"
    else:
        sheet(path, duplicates, pictures)
    return f"wrote {path}"


def script(duplicates: "Duplicates", to: Path) -> str:
    """Return the text of a shell script that moves the files of copies to a folder; bursts stay."""
    folder = to.expanduser().absolute()
    lines = [_HEAD.format(folder=_comment(str(folder)), to=shlex.quote(str(folder)))]
    for number, group in enumerate(duplicates.groups, 1):
        if group.kind == "copies":
            lines.append(f"\n# {number}: keep {_comment(group.keeper.key)}: {_comment(group.reason)}")
            lines += _moves(number, group.members, group.keeper.source)
    return "\n".join(lines) + "\n"


def _moves(number: int, members: "Sequence[DuplicatePicture]", keeper_file: str) -> Iterator[str]:
    for place, picture in enumerate(members, 1):
        if not picture.source or picture.source == keeper_file:
            yield f"# {_comment(picture.key)} has no file of its own"
            continue
        target = f"{number:05}-{place:03}-{Path(picture.source).name}"
        words = f"{', '.join(picture.relations)}, {picture.confidence:.1%}"
        yield f"move {shlex.quote(picture.source)} {shlex.quote(target)}  # {words}"


def _comment(text: str) -> str:
    """Return a text that stays on the line of a comment."""
    return escaped(text).replace("\n", "\\n").replace("\t", " ")
