"""HTML that is safe by construction: text becomes markup only by escaping, and pages and notebooks share its pieces."""

import base64
import re
from collections.abc import Iterable
from html import escape
from typing import Any

_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters except tab and newline, characters that change the direction of text, and lone surrogates."""
_EMPTY = frozenset(("br", "img", "link", "meta", "source"))
_KINDS = {b"\xff\xd8\xff": "jpeg", b"\x89PNG\r\n\x1a\n": "png", b"RIFF": "webp"}
"""The formats of embedded pictures, by their first bytes."""
NAME_SHOWN = 40
"""Default number of characters of a name; longer names lose their middle."""
_TITLE_SHOWN = 300


class Markup(str):
    """A piece of HTML; every other string is text."""

    __slots__ = ()


def element(name: str, *children: Any, **attributes: Any) -> Markup:
    """Return an element.

    Children are ``Markup``, text, which is escaped, or iterables of both; None is nothing. The names of attributes
    lose a ``_`` at their end and have - for every other one. The value True is an attribute without a value, and None
    and False leave the attribute out.
    """
    pairs = "".join(f" {_attribute(key, value)}" for key, value in attributes.items() if value not in (None, False))
    start = f"<{name}{pairs}>"
    return Markup(start if name in _EMPTY else f"{start}{markup(*children)}</{name}>")


def markup(*children: Any) -> Markup:
    """Return children one after the other; see ``element``."""
    return Markup("".join(map(_child, children)))


def visible(text: str) -> str:
    """Return a text with its unsafe characters as escapes, such as ``\\u202e``."""
    return _UNSAFE.sub(lambda match: ascii(match[0])[1:-1], text)


def name(text: str, shown: int = NAME_SHOWN, whole: str = "") -> Markup:
    """Return a name of a user, in its own direction and without its middle if it is long.

    ``whole`` is what hovering shows [default: the name, if it lost its middle].
    """
    clear = visible(text)
    short = elided(clear, shown)
    title = visible(whole) or clear
    return element("bdi", short, title=None if title == short else elided(title, _TITLE_SHOWN))


def elided(text: str, shown: int = NAME_SHOWN) -> str:
    """Return a text of at most ``shown`` characters; two thirds are from its end, because names differ there."""
    if len(text) <= shown:
        return text
    head = (shown - 1) // 3
    return f"{text[:head]}…{text[len(text) - (shown - 1 - head) :]}"


def data_uri(data: bytes) -> str:
    """Return a picture as an address that contains it; "" for bytes that are not JPEG, PNG or WebP."""
    kind = next((kind for start, kind in _KINDS.items() if data.startswith(start)), "")
    return f"data:image/{kind};base64,{base64.b64encode(data).decode()}" if kind else ""


def _attribute(key: str, value: Any) -> str:
    spelled = key.rstrip("_").replace("_", "-")
    return spelled if value is True else f'{spelled}="{escape(visible(str(value)), quote=True)}"'


def _child(child: Any) -> str:
    if child is None:
        return ""
    if isinstance(child, Markup):
        return str(child)
    if isinstance(child, Iterable) and not isinstance(child, str):
        return "".join(map(_child, child))
    return escape(visible(str(child)), quote=False)
