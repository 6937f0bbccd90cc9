"""The report of important changes: a self-contained HTML page, with its pictures and figures also as files."""

import dataclasses
import io
import json
from collections.abc import Mapping
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PIL import Image, ImageDraw

from crossview.engine.values.markup import Markup, data_uri, element, markup
from crossview.server.commands.drawing.lettering import Lettering
from crossview.server.commands.drawing.page import Page, Section, write_at_once, write_files
from crossview.server.commands.drawing.region_pictures import WIDTH, framed, importance_map, version_picture
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

    ``made`` states how the changes were found.
    """
    important = sorted((one for one in changes.changes if one.important), key=lambda one: -one.importance)[:PAIRS]
    newest = version_picture(items, changes.changes[-1].later)
    pictures = {
        "map.png": (importance_map(newest, changes.importance), "The importance of regions over the newest version."),
        "newest.png": (newest, "The newest version."),
        "timeline.png": (timeline_picture(items, changes.changes), "The importance of each change over time."),
    }
    for number, change in enumerate(important, 1):
        pictures[f"change-{number:02}.png"] = (pair_sheet(items, change), _sentence(change))
    figures = json.dumps(dataclasses.asdict(changes), default=_plain, ensure_ascii=False, indent=1)
    files: dict[str, str | bytes] = {name: _encoded(picture, "PNG") for name, (picture, _) in pictures.items()}
    return write_files(folder, {**files, "changes.json": figures, "index.html": _page(changes, pictures, made or {})})


def pair_sheet(items: Items, change: "Change") -> Image.Image:
    """Return two versions side by side, with a frame around the regions that contribute most to the change."""
    pictures = [framed(version_picture(items, key), change.regions) for key in (change.earlier, change.later)]
    sheet = Image.new("RGB", (2 * WIDTH + GAP, _HEAD + max(one.height for one in pictures)), PAPER)
    draw = ImageDraw.Draw(sheet)
    letters = Lettering(draw, 15)
    letters.line((4, 4), _sentence(change), INK)
    for place, (picture, key) in enumerate(zip(pictures, (change.earlier, change.later), strict=True)):
        left = place * (WIDTH + GAP)
        letters.line((left + 4, 28), letters.shortened(key, WIDTH - 8), INK)
        sheet.paste(picture, (left, _HEAD))
    return sheet


def write_pair(path: Path, items: Items, change: "Change") -> None:
    """Write the picture of a pair, atomically, because a viewer may show the file."""
    sheet = pair_sheet(items, change)
    write_at_once(path, partial(sheet.save, format="PNG"))


def _page(changes: "Changes", pictures: dict[str, tuple[Image.Image, str]], made: Mapping[str, Any]) -> str:
    count = sum(change.important for change in changes.changes)
    summary, *notes = _sentences(changes, count)
    notes += [f"Note: {note}." for note in changes.notes]
    figures = {name: _figure(*shown) for name, shown in pictures.items()}
    drawn = [figure for name, figure in figures.items() if name.startswith("change-")]
    sections = [
        Section("Regions that matter", element("div", figures["map.png"], figures["newest.png"], class_="beside")),
        Section("When", figures["timeline.png"]),
        Section("The most important changes", markup(drawn or element("p", "No change is important."))),
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


def _figure(picture: Image.Image, caption: str) -> Markup:
    size = {"width": picture.width, "height": picture.height}
    source = data_uri(_encoded(picture, "JPEG", quality=88))
    return element(
        "figure", element("img", src=source, alt=caption, **size), element("figcaption", caption), class_="shot"
    )


def _encoded(picture: Image.Image, kind: str, **options: Any) -> bytes:
    data = io.BytesIO()
    picture.save(data, format=kind, **options)
    return data.getvalue()


def _sentence(change: "Change") -> str:
    hours = f"{change.hours:.3g} hour{'' if change.hours == 1 else 's'} after the last"
    words = [f"{change.time:%Y-%m-%d %H:%M}, {hours}: importance {change.importance:.2f}"]
    if change.links is not None and change.images is not None:
        words.append(f"{change.links:.0%} of the links and {change.images:.0%} of the images differ")
    if change.label is not None:
        words.append("labelled important" if change.label else "labelled not important")
    return ", ".join(words)


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    raise TypeError(f"{type(value).__name__} is not a JSON value")
