"""The report of important changes: a self-contained HTML page, with its pictures and figures also as files."""

import base64
import dataclasses
import io
import json
from collections.abc import Callable
from datetime import datetime
from functools import partial
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PIL import Image, ImageDraw

from crossview.server.drawing.lettering import Lettering
from crossview.server.drawing.region_pictures import WIDTH, framed, importance_map, version_picture
from crossview.server.drawing.search_results import Items
from crossview.server.drawing.sheet import GAP, INK, PAPER
from crossview.server.drawing.timeline import timeline_picture

if TYPE_CHECKING:
    from crossview.engine.changes.request import Change, Changes

PAIRS = 12
"""Maximum number of drawn changes, the most important first."""
_HEAD = 54
"""Height of the titles above a pair of versions, in pixels."""
_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;color:#26282c;background:#fafaf8;max-width:1200px;margin:2em auto;"
    "padding:0 1em}img{max-width:100%;height:auto}figure{margin:1.5em 0}figcaption{color:#555}"
    ".beside{display:flex;flex-wrap:wrap;gap:1em}.beside figure{flex:1 1 320px;margin:0}h1,h2{line-height:1.2}"
    "@media print{figure{break-inside:avoid}}"
)


def write_report(folder: Path, items: Items, changes: "Changes") -> Path:
    """Write the report into a folder, and return the path of its page; each file is replaced atomically."""
    folder.mkdir(parents=True, exist_ok=True)
    important = sorted((one for one in changes.changes if one.important), key=lambda one: -one.importance)[:PAIRS]
    newest = version_picture(items, changes.changes[-1].later)
    pictures = {
        "map.png": (importance_map(newest, changes.importance), "The importance of regions over the newest version."),
        "newest.png": (newest, "The newest version."),
        "timeline.png": (timeline_picture(items, changes.changes), "The importance of each change over time."),
    }
    for number, change in enumerate(important, 1):
        pictures[f"change-{number:02}.png"] = (pair_sheet(items, change), _sentence(change))
    for name, (picture, _) in pictures.items():
        _write(folder / name, partial(picture.save, format="PNG"))
    figures = json.dumps(dataclasses.asdict(changes), default=_plain, ensure_ascii=False, indent=1)
    _write(folder / "changes.json", lambda path: path.write_text(figures, encoding="utf-8"))
    page = folder / "index.html"
    text = _page(changes, pictures)
    _write(page, lambda path: path.write_text(text, encoding="utf-8"))
    return page


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
    _write(path, partial(sheet.save, format="PNG"))


def _page(changes: "Changes", pictures: dict[str, tuple[Image.Image, str]]) -> str:
    count = sum(change.important for change in changes.changes)
    sentences = _sentences(changes, count)
    sentences += [f"Note: {note}." for note in changes.notes]
    parts = [
        "<h1>Important changes</h1>",
        *(f"<p>{escape(one)}</p>" for one in sentences),
        '<h2>Where changes matter</h2><div class="beside">',
        _figure(*pictures["map.png"]),
        _figure(*pictures["newest.png"]),
        "</div><h2>When</h2>",
        _figure(*pictures["timeline.png"]),
        "<h2>The most important changes</h2>" if count else "<p>No change is important.</p>",
        *(_figure(*shown) for name, shown in pictures.items() if name.startswith("change-")),
    ]
    head = '<meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">'
    title = f"<title>Important changes</title><style>{_STYLE}</style>"
    return f'<!doctype html>\n<html lang="en"><head>{head}{title}</head><body>\n{chr(10).join(parts)}\n</body></html>\n'


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


def _figure(picture: Image.Image, caption: str) -> str:
    data = io.BytesIO()
    picture.save(data, format="JPEG", quality=88)
    source = base64.b64encode(data.getvalue()).decode()
    text = escape(caption, quote=True)
    return (
        f'<figure><img src="data:image/jpeg;base64,{source}" alt="{text}" width="{picture.width}" '
        f'height="{picture.height}"><figcaption>{text}</figcaption></figure>'
    )


def _sentence(change: "Change") -> str:
    hours = f"{change.hours:.3g} hour{'' if change.hours == 1 else 's'} after the last"
    words = [f"{change.time:%Y-%m-%d %H:%M}, {hours}: importance {change.importance:.2f}"]
    if change.links is not None and change.images is not None:
        words.append(f"{change.links:.0%} of the links and {change.images:.0%} of the images differ")
    if change.label is not None:
        words.append("labelled important" if change.label else "labelled not important")
    return ", ".join(words)


def _write(path: Path, write: Callable[[Path], Any]) -> None:
    made = path.with_name(f".{path.name}")
    write(made)
    made.replace(path)


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    raise TypeError(f"{type(value).__name__} is not a JSON value")
