"""The report of important changes: a self-contained HTML page, with its pictures and figures also as files."""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PIL import Image, ImageDraw

from crossview.engine.values.markup import element
from crossview.server.commands.drawing.lettering import Lettering
from crossview.server.commands.drawing.page import Fragments, Page, Section, write_at_once, write_files
from crossview.server.commands.drawing.region_pictures import WIDTH, encoded, framed, importance_map, version_picture
from crossview.server.commands.drawing.search_results import Items
from crossview.server.commands.drawing.sheet import GAP, INK, PAPER
from crossview.server.commands.drawing.timeline import timeline_picture

if TYPE_CHECKING:
    from crossview.engine.values.changes import Change, Changes

PAIRS = 12
"""Maximum number of drawn changes, the most important first."""
_HEAD = 54
"""Height of the titles above a pair of versions, in pixels."""


def write_report(folder: Path, items: Items, changes: "Changes", made: Mapping[str, Any] | None = None) -> Path:
    """Write the report into a folder, and return the path of its page; each file is replaced atomically.

    ``made`` states how the report was made: command, version and so on.
    """
    important = sorted(
        (change for change in changes.changes if change.important), key=lambda change: -change.importance
    )[:PAIRS]
    newest = version_picture(items, changes.changes[-1].later)
    pictures = {
        "map.png": importance_map(newest, changes.importance),
        "newest.png": newest,
        "timeline.png": timeline_picture(items, changes.changes),
    }
    for number, change in enumerate(important, 1):
        pictures[f"change-{number:02}.png"] = pair_sheet(items, change)
    figures = json.dumps(dataclasses.asdict(changes), default=datetime.isoformat, ensure_ascii=False, indent=1)
    files = {name: encoded(picture, "PNG") for name, picture in pictures.items()}
    page = _page(changes, important, items, made or {})
    return write_files(folder, {**files, "changes.json": figures, "index.html": page})


def pair_sheet(items: Items, change: "Change") -> Image.Image:
    """Return two versions side by side, with a frame around the regions that contribute most to the change."""
    pictures = [framed(version_picture(items, key), change.regions) for key in (change.earlier, change.later)]
    sheet = Image.new("RGB", (2 * WIDTH + GAP, _HEAD + max(picture.height for picture in pictures)), PAPER)
    draw = ImageDraw.Draw(sheet)
    letters = Lettering(draw, 15)
    letters.line((4, 4), _sentence(change), INK)
    for left, picture, key in zip((0, WIDTH + GAP), pictures, (change.earlier, change.later), strict=True):
        letters.line((left + 4, 28), letters.shortened(key, WIDTH - 8), INK)
        sheet.paste(picture, (left, _HEAD))
    return sheet


def write_pair(path: Path, items: Items, change: "Change") -> None:
    """Write the picture of a pair, atomically, because a viewer may show the file."""
    sheet = pair_sheet(items, change)
    write_at_once(path, partial(sheet.save, format="PNG"))


def _page(changes: "Changes", important: "Sequence[Change]", items: Items, made: Mapping[str, Any]) -> str:
    fragments = Fragments(lambda _, key, size: encoded(version_picture(items, key), "JPEG", quality=88))
    summary, *notes = _sentences(changes, sum(change.important for change in changes.changes))
    notes += [f"Note: {note}." for note in changes.notes]
    numbered = list(enumerate(important, 1))
    drawn = fragments("change.html", "changes", "", numbered) if numbered else element("p", "No change is important.")
    sections = [
        Section("Regions that matter", fragments("change.html", "where", "", changes)),
        Section("When", fragments("change.html", "time_line", changes)),
        Section("The most important changes", drawn),
    ]
    return Page("Changes", "Important changes", summary, sections, made, notes).html()


def _sentences(changes: "Changes", important: int) -> list[str]:
    """Return the sentences at the top of the report."""
    learned = changes.learned
    labels = f"and from {learned.labels} labels" if learned.labels else "without a label"
    versions = (
        f"{changes.versions} versions from {changes.first:%Y-%m-%d %H:%M} to {changes.last:%Y-%m-%d %H:%M}, by their "
        f"{changes.source}; {important} of {len(changes.changes)} changes are important."
    )
    comparisons = (
        f"The importance of regions was learned from {learned.quadruplets:,} comparisons of pairs of versions, "
        f"{labels}: versions near each other in time differ less than versions {changes.period} apart."
    )
    if learned.order is None:
        return [versions, comparisons]
    order = (
        f"The metric puts {learned.order:.0%} of the comparisons held out in time in order; chance would give half. "
        "The higher this share is, the more reliable is the map."
    )
    return [versions, comparisons, order]


def _sentence(change: "Change") -> str:
    hours = f"{change.hours:.3g} hour{'' if change.hours == 1 else 's'} after the last"
    parts = [f"{change.time:%Y-%m-%d %H:%M}, {hours}: importance {change.importance:.2f}"]
    if change.links is not None and change.images is not None:
        parts.append(f"{change.links:.0%} of the links and {change.images:.0%} of the images differ")
    if change.label is not None:
        parts.append("labelled important" if change.label else "labelled not important")
    return ", ".join(parts)
