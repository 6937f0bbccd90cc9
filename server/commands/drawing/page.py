"""Reports as self-contained HTML pages: one style for all, no script and nothing to load, in light, dark and print."""

import io
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from importlib.resources import files
from pathlib import Path
from typing import Any

from PIL import Image

from crossview.engine.values.markup import Markup, data_uri, element, name
from crossview.server.commands.drawing.marks import Drawing
from crossview.server.commands.drawing.strip import Strip, Tile

_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_LONG_TEXT = 200
"""Maximum number of characters of an item's text in a tile."""


@dataclass(frozen=True)
class Section:
    """A part of a page below a heading."""

    title: str
    content: Markup


@dataclass(frozen=True)
class Page:
    """A report: what it is, what it shows in a sentence, its sections, and how it was made."""

    kind: str
    """The kind of report, such as "Evaluation"."""
    title: str
    summary: str
    sections: Sequence[Section]
    made: Mapping[str, Any] = field(default_factory=dict)
    """How the report was made: command, version, date and so on, in the order to show."""
    notes: Sequence[str] = ()

    def html(self) -> str:
        """Return the page."""
        heads = [
            element("meta", charset="utf-8"),
            element("meta", name_="viewport", content="width=device-width,initial-scale=1"),
            element("meta", http_equiv="Content-Security-Policy", content=_POLICY),
            element("title", f"{self.kind}: {self.title}"),
            element("style", style()),
        ]
        top = [
            element("p", self.kind, class_="kind"),
            element("h1", name(self.title, 80)),
            element("p", self.summary, class_="summary") if self.summary else None,
            [element("p", one, class_="note") for one in self.notes],
            self._contents(),
        ]
        parts = [
            element("section", element("h2", one.title) if one.title else None, one.content, id=f"part-{number}")
            for number, one in enumerate(self.sections, 1)
        ]
        foot = element("footer", element("h2", "How this was made"), _facts(self.made)) if self.made else None
        body = element("body", element("header", top), element("main", parts), foot)
        return f"<!doctype html>\n{element('html', element('head', heads), body, lang='en')}\n"

    def _contents(self) -> Markup | None:
        if len(self.sections) < 3:
            return None
        links = [
            element("a", one.title, href=f"#part-{number}") for number, one in enumerate(self.sections, 1) if one.title
        ]
        return element("nav", links, aria_label="Contents")


@cache
def style() -> Markup:
    """Return the style of all pages."""
    return Markup(files(__package__).joinpath("page.css").read_text(encoding="utf-8"))


def table(heads: Sequence[str], rows: Iterable[Sequence[Any]], caption: str = "") -> Markup:
    """Return a table; heads that begin with > are those of numbers, and the first cell of a row is its heading."""
    right = ["n" if head.startswith(">") else None for head in heads]
    head = [element("th", one.lstrip(">"), class_=kind, scope="col") for one, kind in zip(heads, right, strict=True)]
    lines = [
        element(
            "tr",
            [
                element("th" if place == 0 else "td", cell, class_=kind, scope="row" if place == 0 else None)
                for place, (cell, kind) in enumerate(zip(row, right, strict=True))
            ],
        )
        for row in rows
    ]
    above = element("caption", caption) if caption else None
    made = element("table", above, element("thead", element("tr", head)), element("tbody", lines))
    return element("div", made, class_="scroll", tabindex="0", role="region", aria_label=caption or "Table")


def charts(drawings: Sequence[Drawing]) -> Markup:
    """Return drawings beside each other."""
    return element("div", [element("figure", one.svg()) for one in drawings], class_="charts")


def strip_of(strip: Strip) -> Markup:
    """Return a row of pictures: the query and its hits."""
    marked = element("span", strip.tally, class_="soft") if strip.tally else None
    hits = [element("li", _tile(hit, str(rank))) for rank, hit in enumerate(strip.hits, 1)]
    listed = element("ol", hits, class_="tiles") if hits else element("p", "no hits", class_="note")
    pair = element("div", _tile(strip.query, strip.badge, query=True), listed, class_="pair")
    return element("div", element("h3", strip.title, " ", marked), pair, class_="strip")


def tiles(shown: Sequence[Tile]) -> Markup:
    """Return pictures beside each other."""
    return element("ul", [element("li", _tile(one, "")) for one in shown], class_="tiles")


def plot(picture: Image.Image, words: str) -> Markup:
    """Return a drawn picture with its description; its background is white in every theme."""
    data = io.BytesIO()
    picture.save(data, format="PNG", optimize=True)
    size = {"width": picture.width, "height": picture.height}
    return element("div", element("img", src=data_uri(data.getvalue()), alt=words, **size), class_="plot")


def _tile(tile: Tile, badge: str, query: bool = False) -> Markup:
    verdict = {True: "right", False: "wrong", None: ""}[tile.correct]
    source = data_uri(tile.picture) if tile.picture else ""
    inside = (
        element("img", src=source, alt=f"picture of {tile.name or 'the query'}", loading="lazy") if source else None
    )
    if inside is None:
        inside = element(
            "span", tile.text[:_LONG_TEXT] or "no picture", class_="text" if tile.text else "soft", dir="auto"
        )
    mark = element("span", badge, class_="badge") if badge else None
    sign = {"right": "✓ right", "wrong": "✗ wrong"}
    lines = [
        element("span", sign[verdict], class_="verdict") if verdict else None,
        element("span", name(tile.name, whole=tile.key)) if tile.name else None,
        element("span", name(tile.label)) if tile.label else None,
        _match(tile.match),
        element("span", tile.figures, class_="soft"),
    ]
    kind = " ".join(filter(None, ("tile", "query" if query else "", verdict)))
    return element("figure", element("div", inside, mark, class_="frame"), element("figcaption", lines), class_=kind)


def _match(match: float | None) -> Markup | None:
    if match is None:
        return None
    width = f"width:{100 * min(max(match, 0.0), 1.0):.0f}%"
    return element("span", element("i", style=width), class_="match", role="img", aria_label=f"match {match:.2f}")


def _facts(made: Mapping[str, Any]) -> Markup:
    shown = [(key, value) for key, value in made.items() if value not in ("", None)]
    pairs = [
        (element("dt", key.capitalize()), element("dd", element("code", value) if key == "command" else value))
        for key, value in shown
    ]
    return element("dl", pairs, class_="made")


def write_files(folder: Path, contents: Mapping[str, str | bytes]) -> Path:
    """Write files into a folder, which is made if necessary, each at once; return the path of ``index.html``.

    Raises InvalidInputError if the folder is a file, and OSError if a file cannot be written.
    """
    from crossview.engine.values.errors import InvalidInputError

    if folder.exists() and not folder.is_dir():
        raise InvalidInputError(f"a report needs a folder, and {folder} is a file: name a folder")
    folder.mkdir(parents=True, exist_ok=True)
    for file, content in contents.items():
        data = content.encode() if isinstance(content, str) else content
        write_at_once(folder / file, partial(Path.write_bytes, data=data))
    return folder / "index.html"


def write_at_once(path: Path, write: Callable[[Path], Any]) -> None:
    """Let a function write a file, and replace the file of the path by it."""
    made = path.with_name(f".{path.name}.part")
    write(made)
    made.replace(path)


def as_json(value: Any) -> str:
    """Return JSON of a value that consists of JSON values."""
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
