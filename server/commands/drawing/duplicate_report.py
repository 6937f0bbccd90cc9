"""Duplicates as a self-contained HTML page, and as a contact sheet: a keeper on the left, its copies on the right."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crossview.server.commands.drawing.page import Fragments, Page, Section
from crossview.server.commands.drawing.search_results import Items, Strip, Tile, file_name, thumbnail_of
from crossview.server.commands.drawing.sheet import sheet_bytes, write_sheet

if TYPE_CHECKING:
    from crossview.engine.values.duplicate import DuplicatePicture, Duplicates

GROUPS = 500
"""Maximum number of groups on a page: each picture takes 7 kB."""
_ON_SHEET = 100
_TITLES = {"copies": "Copies", "burst": "Photographs of one moment"}


def page(duplicates: "Duplicates", pictures: Mapping[str, Items], name: str, made: Mapping[str, Any]) -> str:
    """Return the page on duplicates of a collection; ``made`` states how it was made.

    ``pictures`` are the items by collection, "" for the own one.
    """
    fragments = Fragments(lambda collection, key, _: thumbnail_of(pictures[collection], key))
    shown = list(enumerate(duplicates.groups[:GROUPS], 1))
    notes = list(duplicates.notes)
    if len(duplicates.groups) > GROUPS:
        notes.append(f"The page shows {GROUPS} of {len(duplicates.groups):,} groups.")
    members = [member for group in duplicates.groups for member in group.members]
    counts = Counter(relation for picture in members for relation in picture.relations).most_common()
    rows = [[relation, f"{count:,}"] for relation, count in counts]
    table = fragments("tables.html", "table", ["relation to the keeper", ">pictures"], rows)
    sections = [Section("Relations", table)] if duplicates.groups else []
    for kind, title in _TITLES.items():
        if groups := [(number, group) for number, group in shown if group.kind == kind]:
            sections.append(Section(title, fragments("groups.html", "groups", "", groups)))
    how = {**made, "pictures": f"{duplicates.pictures:,}", "groups": f"{len(duplicates.groups):,}"}
    return Page("Duplicates", name, fragments("groups.html", "summary", duplicates), sections, how, notes).html()


def files(
    duplicates: "Duplicates", pictures: Mapping[str, Items], name: str, figures: str, made: Mapping[str, Any]
) -> dict[str, str | bytes]:
    """Return the files of the report by name; ``figures`` is the JSON of the duplicates."""
    written: dict[str, str | bytes] = {
        "index.html": page(duplicates, pictures, name, made),
        "duplicates.json": figures,
    }
    return written | ({"groups.png": sheet_bytes(*_sheet(duplicates, pictures))} if duplicates.groups else {})


def sheet(path: Path, duplicates: "Duplicates", pictures: Mapping[str, Items]) -> str:
    """Write the contact sheet of the first groups; return the characters that no font contains."""
    return write_sheet(path, *_sheet(duplicates, pictures))


def _sheet(duplicates: "Duplicates", pictures: Mapping[str, Items]) -> tuple[list[Strip], str]:
    fragments = Fragments()

    def tile(picture: "DuplicatePicture") -> Tile:
        data, key = thumbnail_of(pictures[picture.collection], picture.key), picture.key
        label, facts = (fragments("groups.html", macro, picture) for macro in ("relations", "facts"))
        return Tile(data, label, name=file_name(key), key=key, note=facts)

    strips = []
    for number, group in enumerate(duplicates.groups[:_ON_SHEET], 1):
        why = group.reason if group.kind == "copies" else "photographs of one moment"
        strips.append(Strip(f"{number}. {why}", tile(group.keeper), list(map(tile, group.members)), badge="keep"))
    shown = f", the first {_ON_SHEET} groups" if len(duplicates.groups) > _ON_SHEET else ""
    return strips, f"Duplicates{shown}"
