"""Completion of conditions: fields, operators, and values with the numbers of items that have them."""

import json
import re
from dataclasses import dataclass
from typing import Any

from crossview.server.edge.pages.answer import NO_STORE, Answer
from crossview.server.edge.pages.page_calls import PageError
from crossview.server.edge.pages.site import Page
from crossview.server.edge.pages.visit import Visit
from crossview.v1 import collections_pb2 as pb

_FIELDS = ("label", "key", "path", "text", "view", "missing", "match")
_COUNTED = ("key", "path", "text", "missing", "match")
"""Fields whose values are not counted."""
_OPERATORS = ("=", "!=", "<", "<=", ">", ">=", "in", "prefix", "contains", "like", "between", "exists")
_FIELD = r"""(?:[^\W\d][\w-]*|"(?:[^"\\]|\\.)*")(?:\.(?:[^\W\d][\w-]*|"(?:[^"\\]|\\.)*"))*"""
_TEST = r"(?:=|!=|<=|>=|<|>|\b(?:in|prefix|contains|like)\b\s*\[?(?:[^\[\]]*,)?)"
_VALUE = re.compile(rf"({_FIELD})\s*{_TEST}\s*([^\s=<>!\[\](),]*)$", re.IGNORECASE)
_BEGIN = r"(?:^|\band\b|\bor\b|\bnot\b|\()\s*"
_OPERATOR = re.compile(rf"{_BEGIN}({_FIELD})\s+([a-z=<>!]*)$", re.IGNORECASE)
_START = re.compile(rf"{_BEGIN}([\w.\"-]*)$", re.IGNORECASE)
_PLAIN = re.compile(r"[^\s()\[\],=<>!\"']+")
_WORDS = ("and", "or", "not", "true", "false", "null")
_MOST, _COUNTS = 12, 500


@dataclass(frozen=True)
class Options:
    """Texts that can replace the end of a condition, from a position on, each with a note."""

    start: int
    options: tuple[tuple[str, str], ...] = ()


async def complete(visit: Visit) -> Answer:
    """Return the completions of the condition ``text``, up to the caret, as JSON."""
    text = visit.query.text("text") + (" " if visit.query.raw("text").endswith(" ") else "")
    options = await _options(visit, text)
    value = {
        "start": options.start,
        "options": [{"text": option, "note": note} for option, note in options.options[:_MOST]],
    }
    return Answer(json.dumps(value).encode(), "application/json", headers=(NO_STORE,))


async def _options(visit: Visit, text: str) -> Options:
    if match := _VALUE.search(text):
        return Options(match.start(2), await _values(visit, match[1], match[2]))
    if match := _OPERATOR.search(text):
        return Options(
            match.start(2), tuple((f"{word} ", "") for word in _OPERATORS if word.startswith(match[2].lower()))
        )
    if match := _START.search(text):
        return Options(match.start(1), await _fields(visit, match[1]))
    return Options(len(text), tuple((f"{word} ", "") for word in ("and", "or")) if text.endswith(" ") else ())


async def _fields(visit: Visit, begun: str) -> tuple[tuple[str, str], ...]:
    listed = await visit.call("ListAttributes", pb.ListAttributesRequest(parent=visit.collection))
    names = [*((field, "") for field in _FIELDS), *((_quoted(field), "attribute") for field in listed.names)]
    ranked = sorted(names, key=lambda field: not field[0].lower().startswith(begun.lower()))
    return tuple((f"{name} ", note) for name, note in ranked if begun.lower() in name.lower())


async def _values(visit: Visit, field: str, begun: str) -> tuple[tuple[str, str], ...]:
    """Return values of a field, the most frequent first; none for a field that has no countable values."""
    if field.lower() in _COUNTED:
        return ()
    request = pb.CountItemsRequest(parent=visit.collection, field=field, limit=_COUNTS)
    try:
        counted = await visit.call("CountItems", request)
    except PageError as error:
        if error.status >= 500 or error.status == 401:
            raise
        return ()
    values = [(_value(count.value), count.items) for count in counted.counts]
    start = begun.strip("\"'").lower()
    fitting = [(text, items) for text, items in values if text.strip('"').lower().startswith(start)]
    return tuple((f"{text} ", f"{items:,}") for text, items in fitting)


def _value(value: Any) -> str:
    kind = value.WhichOneof("kind")
    if kind == "number":
        return f"{value.number:g}" if abs(value.number) < 1e6 else str(value.number)
    if kind == "boolean":
        return str(value.boolean).lower()
    return "null" if kind in ("null", None) else _quoted(getattr(value, kind), _PLAIN)


def _quoted(text: str, plain: re.Pattern[str] = re.compile(r"[^\W\d][\w-]*(\.[^\W\d][\w-]*)*")) -> str:
    """Return a text as a condition writes it: in quotes if it is not plain."""
    if plain.fullmatch(text) and text.lower() not in _WORDS:
        return text
    return json.dumps(text, ensure_ascii=False)


PAGES = (Page("/c/{collection}/complete", complete),)
