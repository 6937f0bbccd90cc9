"""The templates of pages and of reports, with the functions that they call. Everything that they insert is escaped.

The door chooses what differs: a page of the server names pictures and items by addresses of the server, and a report
contains its pictures and has neither links nor actions.
"""

import json
import math
from collections.abc import Callable, Iterable, Mapping
from importlib.resources import files
from typing import Any
from urllib.parse import quote, urlencode

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from crossview.engine.values import markup
from crossview.server.edge.pages import shapes

_FOLDER = files("crossview.server.edge.pages")
_LONG = 160
_MOST_DIGITS = 9


def plain(text: object) -> str:
    """Return a text with the escapes of characters that could hide or reorder what it says."""
    return markup.visible(str(text).replace("\r\n", "\n"))


def shortened(text: object, most: int = _LONG) -> str:
    """Return a plain text of at most so many characters, without its end."""
    whole = plain(text)
    return whole if len(whole) <= most else f"{whole[: most - 1]}…"


def name(text: object, most: int = _LONG, whole: str = "") -> Markup:
    """Return a text of a user as HTML: without its middle if it is long, in its own direction; see ``markup.name``."""
    return _marked(markup.name(str(text), most, whole))


def file_name(key: str) -> str:
    """Return the last part of a key."""
    return key.rstrip("/").rpartition("/")[2] or key


def quoted(text: str) -> str:
    """Return a text as a value of a condition."""
    return json.dumps(text, ensure_ascii=False)


def url(path: str, **query: object) -> str:
    """Return an address of this site; None leaves a field out, and a list repeats it."""
    pairs = [
        (field.rstrip("_").replace("__", "."), str(part))
        for field, value in query.items()
        for part in (value if isinstance(value, list | tuple) else (value,))
        if part is not None and part != ""
    ]
    return quote(path, safe="/") + (f"?{urlencode(pairs)}" if pairs else "")


def thumbnail_address(collection: str, key: str, size: str = "small") -> str:
    """Return the address of an item's thumbnail: "small" for tiles, "large" for one picture."""
    return url(f"/c/{collection}/thumbnail", key=key, size=None if size == "small" else size)


def item_address(collection: str, key: str) -> str:
    """Return the address of an item's details."""
    return url(f"/c/{collection}/item", key=key)


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


def style(*sheets: str) -> Markup:
    """Return style sheets of the folder ``static``, for a report that contains them."""
    return Markup("").join(_marked((_FOLDER / "static" / sheet).read_text(encoding="utf-8")) for sheet in sheets)


class Templates:
    """The templates of the folder ``templates``.

    Args:
        thumbnail: returns the address of an item's picture from its collection, its key and "large" or "small"; "" for
            an item without a picture.
        link: returns the address of an item's details; "" without them.
        acts: whether a person can choose items and act on them.
        common: values and functions for all templates.
    """

    def __init__(
        self, thumbnail: Callable[..., str], link: Callable[[str, str], str], acts: bool, **common: object
    ) -> None:
        self._environment = Environment(
            loader=FunctionLoader(lambda file: (_FOLDER / "templates" / file).read_text(encoding="utf-8")),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
            finalize=_safe if acts else _visible,
        )
        self._environment.globals.update(
            common, thumbnail=thumbnail, link=link, acts=acts, name=name, quoted=quoted, url=url, shapes=shapes
        )
        self._environment.filters.update(
            plain=plain, shortened=shortened, file_name=file_name, number=number, among=among, data_uri=markup.data_uri
        )

    def rendered(self, template: str, values: Mapping[str, Any]) -> str:
        """Return a template as text."""
        return self._environment.get_template(template).render(values)

    def fragment(self, template: str, macro: str, *values: Any) -> Markup:
        """Return what a macro of a template writes."""
        return _marked(getattr(self._environment.get_template(template).module, macro)(*values))


def _marked(text: str) -> Markup:
    """Return HTML of this program as the markup of jinja2."""
    return Markup(text)  # noqa: S704 - all that is in it is escaped


def _safe(value: object) -> object:
    """Let the markup of the engine be markup here."""
    return _marked(value) if isinstance(value, markup.Markup) else value


def _visible(value: object) -> object:
    """Show all characters of a text: a report, unlike a form, sends none of them back."""
    value = _safe(value)
    return value if isinstance(value, Markup) else plain(value)
