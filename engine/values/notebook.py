"""Values as notebooks show them: small pieces of HTML with escaped content, within any theme of the notebook."""

from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import Any, NamedTuple, TypeVar

from crossview.engine.values.errors import CrossviewError
from crossview.engine.values.markup import Markup, data_uri, element, markup, name

SHOWN = 50
"""Maximum number of hits of a list, and of lines of a table."""
SAMPLE, LISTS, LABELS = 12, 12, 20
"""Maximum number of items of a collection, of lists of hits, and of labels."""
_BYTES = 250_000
"""Maximum number of bytes of the pictures of one value."""
_TEXT = 80
_STYLE = Markup(
    "<style>.crossview{font:13px/1.4 system-ui,sans-serif}.crossview h4{font-size:15px;margin:8px 0}"
    ".crossview p{margin:4px 0;font-size:inherit;opacity:.75}"
    ".crossview .tiles{display:flex;flex-wrap:wrap;gap:12px;margin:8px 0}"
    ".crossview figure{margin:0;width:112px;overflow-wrap:anywhere}.crossview figure div{height:112px;display:flex;"
    "align-items:center;justify-content:center;background:rgba(128,128,128,.12);border-radius:8px;overflow:hidden}"
    ".crossview img{max-width:100%;max-height:100%;margin:0}.crossview figcaption span{display:block}"
    ".crossview .bar{height:4px;background:rgba(128,128,128,.25);margin:3px 0}"
    ".crossview .bar i{display:block;height:100%;background:#0a8276}"
    ".crossview table{border-collapse:collapse;margin:8px 0}"
    ".crossview th,.crossview td{padding:4px 16px 4px 0;text-align:left;border-bottom:1px solid rgba(128,128,128,.3)}"
    ".crossview .n{text-align:right;font-variant-numeric:tabular-nums}</style>"
)
_Self = TypeVar("_Self")
Thumbnail = Callable[[str], bytes]


def shown(make: Callable[[_Self], Markup]) -> Callable[[_Self], str | None]:
    """Return a method ``_repr_html_`` that returns None if it fails, so that the notebook shows the text."""

    @wraps(make)
    def run(self: _Self) -> str | None:
        try:
            return str(element("div", _STYLE, make(self), class_="crossview"))
        except Exception:  # noqa: BLE001 - a closed collection or a lost server must not hide the value
            return None

    return run


class Figure(NamedTuple):
    """A figure of an evaluation: its place, metric and k in words, its column and its text."""

    line: tuple[str, str, str]
    column: str
    text: str


def figures_html(title: str, figures: Sequence[Figure], note: str) -> Markup:
    """Return figures as a table with a column for each space, mAP first in each place, and a note below."""
    columns = list(dict.fromkeys(figure.column for figure in figures))
    cells = {(figure.line, figure.column): figure.text for figure in figures}
    lines = sorted(dict.fromkeys(figure.line for figure in figures), key=lambda line: (line[0], line[1] != "mAP"))
    rows = [[*line, *(cells.get((line, column), "–") for column in columns)] for line in lines[:SHOWN]]
    heads = ["queries → items", "metric", ">k", *(f">{column}" for column in columns)]
    return markup(element("h4", title), table(heads, rows), more_of(len(lines) - SHOWN, "figures"), element("p", note))


class Pictures:
    """The pictures of one value, until they take too many bytes."""

    def __init__(self, thumbnail: Thumbnail | None) -> None:
        self._thumbnail, self._left = thumbnail, _BYTES

    def of(self, key: str) -> str:
        """Return the address of an item's picture; "" without one, and if the collection is closed or deleted."""
        if self._thumbnail is None:
            return ""
        try:
            data = self._thumbnail(key)
        except CrossviewError:
            return ""
        if len(data) > self._left:
            return ""
        self._left -= len(data)
        return data_uri(data)


def tile(picture: str, key: str, labels: Iterable[str], text: str, more: Any = None) -> Markup:
    """Return a picture, or the beginning of a text, above the name and the labels of an item."""
    file = key.rpartition("/")[2] or key
    inside = element("img", src=picture, alt=f"picture of {file}") if picture else element("span", text[:_TEXT])
    caption = [element("span", name(file, whole=key)), element("span", name(", ".join(labels))), more]
    return element("figure", element("div", inside), element("figcaption", caption))


def more_of(count: int, words: str) -> Markup:
    """Return how many more there are; nothing if there are none."""
    return element("p", f"and {count:,} more {words}") if count > 0 else Markup("")


def table(heads: Sequence[str], rows: Iterable[Sequence[Any]]) -> Markup:
    """Return a table; heads that begin with > are those of numbers."""
    right = ["n" if head.startswith(">") else None for head in heads]
    head = [element("th", text.lstrip(">"), class_=kind) for text, kind in zip(heads, right, strict=True)]
    lines = [
        element("tr", [element("td", cell, class_=kind) for cell, kind in zip(row, right, strict=True)]) for row in rows
    ]
    return element("table", element("tr", head), lines)
