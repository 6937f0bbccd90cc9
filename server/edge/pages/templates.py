"""The templates of pages, with the functions that they call. Everything that they insert is escaped."""

import json
import math
from collections.abc import Callable, Iterable, Mapping
from importlib.resources import files
from typing import Any
from urllib.parse import quote, urlencode

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

_CONTROLS = {number: "\ufffd" for number in (*range(32), *range(127, 160)) if number not in (9, 10, 13)}
_BIDI = {ord(one): None for one in "\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"}
"""Controls of direction: a name could otherwise show another ending than it has."""
_LONG = 160
_MOST_DIGITS = 9


def plain(text: object) -> str:
    """Return a text without control characters and controls of direction."""
    return str(text).translate(_CONTROLS).translate(_BIDI)


def shortened(text: object, most: int = _LONG) -> str:
    """Return a plain text of at most so many characters."""
    found = plain(text)
    return found if len(found) <= most else f"{found[: most - 1]}…"


def name(text: object, most: int = _LONG) -> Markup:
    """Return a text of a user as HTML: shortened, and isolated from the direction of the text around it."""
    return Markup('<bdi dir="auto">{}</bdi>').format(shortened(text, most))


def file_name(key: str) -> str:
    """Return the last part of a key."""
    return key.rstrip("/").rpartition("/")[2] or key


def quoted(text: str) -> str:
    """Return a text as a value of a condition."""
    return json.dumps(text, ensure_ascii=False)


def url(path: str, **query: object) -> str:
    """Return an address of this site; None leaves a field out, and a list repeats it."""
    pairs = [
        (field.rstrip("_").replace("__", "."), str(one))
        for field, value in query.items()
        for one in (value if isinstance(value, list | tuple) else (value,))
        if one is not None and one != ""
    ]
    return quote(path, safe="/") + (f"?{urlencode(pairs)}" if pairs else "")


def number(value: float) -> str:
    """Return a whole number with commas, or a fraction with three digits."""
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:.3g}"


def among(value: float, values: Iterable[float]) -> str:
    """Return a value with so many digits that it differs from the others where two digits of their spread do."""
    finite = [distance for distance in values if math.isfinite(distance)]
    spread = max(finite, default=0.0) - min(finite, default=0.0)
    if not spread or not math.isfinite(value):
        return f"{value:.2g}"
    return f"{value:,.{min(_MOST_DIGITS, max(0, 1 - math.floor(math.log10(spread))))}f}"


class Templates:
    """The templates of the folder ``templates``; ``common`` has values and functions for all of them."""

    def __init__(self, static: Callable[[str], str], **common: object) -> None:
        folder = files("crossview.server.edge.pages") / "templates"
        self._environment = Environment(
            loader=FunctionLoader(lambda name: (folder / name).read_text(encoding="utf-8")),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
        )
        self._environment.globals.update(common, static=static, name=name, quoted=quoted, url=url)
        self._environment.filters.update(
            plain=plain, shortened=shortened, file_name=file_name, number=number, among=among
        )

    def rendered(self, template: str, values: Mapping[str, Any]) -> str:
        """Return a template as text."""
        made = {"csrf": lambda: Markup('<input type="hidden" name="csrf" value="{}">').format(values["token"])}
        return self._environment.get_template(template).render(made | dict(values))
