"""Duplicates as a self-contained HTML page, and as a contact sheet: a keeper on the left, its copies on the right."""

import base64
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from crossview.server.drawing.search_results import Items, thumbnail_of
from crossview.server.drawing.sheet import Strip, Tile, write_sheet

if TYPE_CHECKING:
    from crossview.engine.duplicate import DuplicateGroup, DuplicatePicture, Duplicates

GROUPS = 500
"""Maximum number of groups on a page: each picture takes 7 kB."""
_ON_SHEET = 100
_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;color:#26282c;background:#fafaf8;max-width:1200px;margin:2em auto;"
    "padding:0 1em}section{border-top:1px solid #dedfdc;padding:.6em 0 1em}h1,h2{line-height:1.2}h2{font-size:1em}"
    ".beside{display:flex;flex-wrap:wrap;gap:.9em}figure{margin:0;width:150px;overflow-wrap:anywhere}"
    "figcaption{font-size:.8em;color:#555}img{max-width:100%;border:3px solid #dedfdc;border-radius:4px}"
    ".keep img{border-color:#26945a}.keep b{color:#26945a}@media print{section{break-inside:avoid}}"
)


def page(found: "Duplicates", pictures: Mapping[str, Items]) -> str:
    """Return the page; ``pictures`` are the items by collection, "" for the own one."""
    shown = found.groups[:GROUPS]
    more = [f"The page shows {GROUPS} of {len(found.groups):,} groups."] if len(found.groups) > GROUPS else []
    parts = ["<h1>Duplicates</h1>"]
    parts += [f"<p>{escape(one)}</p>" for one in (_summary(found), *found.notes, *more)]
    for kind, title in (("copies", "Copies"), ("burst", "Photographs of one moment")):
        numbered = [(number, one) for number, one in enumerate(shown, 1) if one.kind == kind]
        if numbered:
            parts += [f"<h1>{title}</h1>", *(_section(number, group, pictures) for number, group in numbered)]
    head = '<meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">'
    title = f"<title>Duplicates</title><style>{_STYLE}</style>"
    body = "\n".join(parts)
    return f'<!doctype html>\n<html lang="en"><head>{head}{title}</head><body>\n{body}\n</body></html>\n'


def sheet(path: Path, found: "Duplicates", pictures: Mapping[str, Items]) -> str:
    """Write the contact sheet of the first groups; return the characters that no font contains."""
    strips = [_strip(number, group, pictures) for number, group in enumerate(found.groups[:_ON_SHEET], 1)]
    shown = f", the first {_ON_SHEET} groups" if len(found.groups) > _ON_SHEET else ""
    return write_sheet(path, strips, f"Duplicates{shown}")


def _summary(found: "Duplicates") -> str:
    copies = [one for one in found.groups if one.kind == "copies"]
    members = sum(len(one.members) for one in copies)
    return (
        f"{found.pictures:,} pictures; {members:,} copies in {len(copies):,} groups; "
        f"{len(found.groups) - len(copies):,} groups of photographs of one moment."
    )


def _section(number: int, group: "DuplicateGroup", pictures: Mapping[str, Items]) -> str:
    why = f"{number}. Keep {group.keeper.key}: {group.reason}"
    if group.kind == "burst":
        why = f"{number}. Beside {group.keeper.key}"
    figures = [_figure(group.keeper, pictures, "keep"), *(_figure(one, pictures, "") for one in group.members)]
    return f'<section><h2>{escape(why)}</h2><div class="beside">{"".join(figures)}</div></section>'


def _figure(one: "DuplicatePicture", pictures: Mapping[str, Items], kind: str) -> str:
    data = thumbnail_of(pictures[one.collection], one.key) or b""
    source = base64.b64encode(data).decode()
    words = "<b>keep</b>" if kind == "keep" else escape(f"{', '.join(one.relations)}, {one.confidence:.1%}")
    facts = escape(f"{one.width} x {one.height}, {one.size:,} bytes")
    key = escape(one.key, quote=True)
    return (
        f'<figure class="{kind}"><img src="data:image/jpeg;base64,{source}" alt="{key}">'
        f"<figcaption>{words}<br>{key}<br>{facts}</figcaption></figure>"
    )


def _strip(number: int, group: "DuplicateGroup", pictures: Mapping[str, Items]) -> Strip:
    why = group.reason if group.kind == "copies" else "photographs of one moment"
    hits = [_tile(one, pictures, ", ".join(one.relations)) for one in group.members]
    return Strip(f"{number}: {why}", _tile(group.keeper, pictures, ""), hits, badge="keep")


def _tile(one: "DuplicatePicture", pictures: Mapping[str, Items], label: str) -> Tile:
    name = one.key.rpartition("/")[2] or one.key
    return Tile(thumbnail_of(pictures[one.collection], one.key), label, name=name)
