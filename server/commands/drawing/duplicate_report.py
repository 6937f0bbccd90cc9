"""Duplicates as a self-contained HTML page, and as a contact sheet: a keeper on the left, its copies on the right."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crossview.engine.values.markup import Markup, element
from crossview.server.commands.drawing.page import Page, Section, strip_of, table
from crossview.server.commands.drawing.search_results import Items, thumbnail_of
from crossview.server.commands.drawing.sheet import sheet_bytes, write_sheet
from crossview.server.commands.drawing.strip import Strip, Tile

if TYPE_CHECKING:
    from crossview.engine.values.duplicate import DuplicateGroup, DuplicatePicture, Duplicates

GROUPS = 500
"""Maximum number of groups on a page: each picture takes 7 kB."""
_ON_SHEET = 100
_TITLES = {"copies": "Copies", "burst": "Photographs of one moment"}


def page(found: "Duplicates", pictures: Mapping[str, Items], name: str, made: Mapping[str, Any]) -> str:
    """Return the page on duplicates of a collection; ``made`` states how it was made.

    ``pictures`` are the items by collection, "" for the own one.
    """
    shown = list(enumerate(found.groups[:GROUPS], 1))
    notes = list(found.notes)
    if len(found.groups) > GROUPS:
        notes.append(f"The page shows {GROUPS} of {len(found.groups):,} groups.")
    sections = [Section("Relations", _relations(found))] if found.groups else []
    for kind, title in _TITLES.items():
        groups = [strip_of(_strip(number, one, pictures)) for number, one in shown if one.kind == kind]
        sections += [Section(title, element("div", groups, class_="strips"))] * bool(groups)
    how = {**made, "pictures": f"{found.pictures:,}", "groups": f"{len(found.groups):,}"}
    return Page("Duplicates", name, _summary(found), sections, how, notes).html()


def files(
    found: "Duplicates", pictures: Mapping[str, Items], name: str, figures: str, made: Mapping[str, Any]
) -> dict[str, str | bytes]:
    """Return the files of the report by name; ``figures`` is the JSON of the duplicates."""
    written: dict[str, str | bytes] = {"index.html": page(found, pictures, name, made), "duplicates.json": figures}
    return written | ({"groups.png": sheet_bytes(*_sheet(found, pictures))} if found.groups else {})


def sheet(path: Path, found: "Duplicates", pictures: Mapping[str, Items]) -> str:
    """Write the contact sheet of the first groups; return the characters that no font contains."""
    return write_sheet(path, *_sheet(found, pictures))


def _sheet(found: "Duplicates", pictures: Mapping[str, Items]) -> tuple[list[Strip], str]:
    strips = [_strip(number, group, pictures) for number, group in enumerate(found.groups[:_ON_SHEET], 1)]
    shown = f", the first {_ON_SHEET} groups" if len(found.groups) > _ON_SHEET else ""
    return strips, f"Duplicates{shown}"


def _summary(found: "Duplicates") -> str:
    copies = [one for one in found.groups if one.kind == "copies"]
    members, bursts = sum(len(one.members) for one in copies), len(found.groups) - len(copies)
    if not copies:
        first = f"No copies among {found.pictures:,} pictures"
    else:
        taken = _size(sum(one.size for one in copies))
        first = f"{members:,} of {found.pictures:,} pictures are copies, in {len(copies):,} groups; they take {taken}"
    return f"{first}; {bursts:,} groups of photographs of one moment." if bursts else f"{first}."


def _relations(found: "Duplicates") -> Markup:
    """Return a table of how many pictures have each relation to the keeper of their group."""
    counts: dict[str, int] = {}
    for one in (member for group in found.groups for member in group.members):
        for relation in one.relations:
            counts[relation] = counts.get(relation, 0) + 1
    rows = [[relation, f"{count:,}"] for relation, count in sorted(counts.items(), key=lambda pair: -pair[1])]
    return table(["relation to the keeper", ">pictures"], rows)


def _strip(number: int, group: "DuplicateGroup", pictures: Mapping[str, Items]) -> Strip:
    why = group.reason if group.kind == "copies" else "photographs of one moment"
    members = [_tile(one, pictures) for one in group.members]
    return Strip(f"{number}. {why}", _tile(group.keeper, pictures), members, badge="keep")


def _tile(one: "DuplicatePicture", pictures: Mapping[str, Items]) -> Tile:
    label = ", ".join((*one.relations, f"{one.confidence:.1%}")) if one.relations else ""
    facts = f"{one.width} × {one.height}, {_size(one.size)}"
    key, name = one.key, one.key.rpartition("/")[2] or one.key
    return Tile(thumbnail_of(pictures[one.collection], key), label, name=name, key=key, note=facts)


def _size(count: float) -> str:
    """Return a number of bytes, in words."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "bytes" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"
