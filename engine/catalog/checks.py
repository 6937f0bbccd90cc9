"""Checks of the content of items: keys, texts, labels, JSON attributes. Every path into the catalog uses them.

Keys are equal if their Unicode normal forms are.
"""

import json
import math
import unicodedata
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from crossview.engine.values.errors import InvalidInputError

MAX_KEY = 1024
"""Maximum number of characters of a key."""
MAX_LABEL = 1024
"""Maximum number of characters of a label."""
MAX_TEXT = 1_000_000
"""Maximum number of characters of a text."""
MAX_SOURCE = 1 << 14
"""Maximum number of characters of the path of a file; each of its bytes can take four characters."""
MAX_ATTRIBUTES = 100_000
"""Maximum number of characters of an item's attributes, written as JSON."""
MAX_NAME = 1024
"""Maximum number of characters of a name."""
MAX_DEPTH = 16
"""Maximum number of levels of nested lists and objects: protobuf refuses messages 100 levels deep, and each JSON level
takes up to 3."""
MAX_INTEGER = 2**53
"""Largest integer of an attribute: servers send numbers as doubles, which round larger integers."""
_QUOTED = 40


def check_key(key: str) -> str:
    """Return the key of an item; InvalidInputError for an invalid key."""
    if not key:
        raise InvalidInputError(f"a key must have 1 to {MAX_KEY:,} characters; this key is empty")
    return check_characters(key, "a key", MAX_KEY)


def normal(key: str) -> str:
    """Return the Unicode normal form C of a key or path: macOS and Linux encode the same letters differently."""
    return key if key.isascii() else unicodedata.normalize("NFC", key)


def check_characters(text: Any, what: str, most: int) -> str:
    """Return a text of at most ``most`` characters, all of them Unicode and none NUL.

    ``what`` is the subject of the InvalidInputError for any other, such as "a label".
    """
    if not isinstance(text, str):
        raise InvalidInputError(f"{what} must be text, not {text!r}")
    if len(text) <= most and text.isascii() and "\0" not in text:
        return text
    quoted = _quoted(text)
    if len(text) > most:
        raise InvalidInputError(f"{what} may have at most {most:,} characters; {quoted} has {len(text):,}")
    if "\0" in text:
        raise InvalidInputError(f"{what} must not contain NUL; {quoted} does at position {text.index(chr(0))}")
    try:
        text.encode().decode()  # NumPy can make code points beyond Unicode, which Python encodes but does not decode
    except UnicodeEncodeError as error:
        raise InvalidInputError(f"{what} must be Unicode; {quoted} is not at position {error.start}") from error
    except UnicodeDecodeError as error:
        place = len(error.object[: error.start].decode())
        raise InvalidInputError(f"{what} must be Unicode; {quoted} is not at position {place}") from error
    return text


def _quoted(text: str) -> str:
    try:
        return repr(text if len(text) <= _QUOTED else text[:_QUOTED] + "...")
    except SystemError:  # the text is not Unicode
        return ascii(text)


def check_source(source: str) -> str:
    """Return the path of a file, or "" for none; InvalidInputError for another text."""
    return check_characters(source, "a source", MAX_SOURCE)


def check_text(text: str) -> str:
    """Return a text that can be stored and sent; InvalidInputError describes the problem of any other text."""
    return check_characters(text, "a text", MAX_TEXT)


def check_label(label: str) -> str:
    """Return a label that can be stored and sent; InvalidInputError describes the problem of any other label."""
    if check_characters(label, "a label", MAX_LABEL) == "":
        raise InvalidInputError("a label must not be empty: leave it out")
    return label


_known_label = lru_cache(1 << 12)(check_label)  # many items share few labels


def check_labels(labels: Iterable[str]) -> tuple[str, ...]:
    """Return the checked labels; InvalidInputError for an invalid label, or for one text instead of a sequence."""
    if isinstance(labels, str):
        raise InvalidInputError(f"labels must be a sequence of texts, not one text: [{labels[:MAX_LABEL]!r}]")
    return tuple(_known_label(label) if type(label) is str else check_label(label) for label in labels)


_ESCAPED, _NUMBER = 12, 3
"""Maximum number of characters of one escaped character in JSON; a number or word takes at most three times as many."""


def check_attribute_name(name: Any) -> str:
    """Return the name of an attribute; InvalidInputError describes the problem of any other value."""
    return check_characters(name, "the name of an attribute", MAX_NAME)


_known_name = lru_cache(1 << 12)(check_attribute_name)


def check_attributes(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return attributes as plain JSON values, tuples as lists; InvalidInputError names the one that cannot be stored.

    A name is any text without NUL, also "". Numbers must be finite, and integers at most ``MAX_INTEGER``.
    """
    if not isinstance(attributes, Mapping):
        raise InvalidInputError(f"attributes must map names to JSON values, not {attributes!r}")
    if all(map(_is_short, attributes.values())):
        checked = [_known_name(name) if type(name) is str else check_attribute_name(name) for name in attributes]
        values = sum([len(value) if type(value) is str else _NUMBER for value in attributes.values()])
        if _ESCAPED * (sum(map(len, checked)) + len(checked) + values) <= MAX_ATTRIBUTES:
            return dict(zip(checked, attributes.values(), strict=True))
    plain = {check_attribute_name(name): _value(value, f"attribute {name!r}", 1) for name, value in attributes.items()}
    if (length := len(json.dumps(plain))) > MAX_ATTRIBUTES:
        longest = max(plain, key=lambda name: len(json.dumps(plain[name])))
        raise InvalidInputError(
            f"an item's attributes may have at most {MAX_ATTRIBUTES:,} characters as JSON, not {length:,}; "
            f"the longest is {longest!r}"
        )
    return plain


def _is_short(value: Any) -> bool:
    """Return whether a value is a short JSON scalar: nearly all values are, and need no further check."""
    match value:
        case None | bool():
            return True
        case int() | float():  # larger floats also need the full check
            return -MAX_INTEGER <= value <= MAX_INTEGER
        case str():
            return len(value) <= MAX_NAME and value.isascii() and "\0" not in value
    return False


def _value(value: Any, what: str, depth: int) -> Any:
    match value:
        case None | bool():
            return value
        case str():
            return check_characters(value, what, MAX_ATTRIBUTES)
        case int() | float():
            return _number(value, what)
        case Mapping() | list() | tuple() if depth > MAX_DEPTH:
            raise InvalidInputError(f"{what} nests lists and objects more than {MAX_DEPTH} levels deep: flatten them")
        case Mapping():
            names = [check_characters(name, f"a name in {what}", MAX_NAME) for name in value]
            return {name: _value(value[name], what, depth + 1) for name in names}
        case list() | tuple():
            return [_value(inner, what, depth + 1) for inner in value]
    raise InvalidInputError(
        f"{what} is a {type(value).__name__}, which JSON does not have: "
        "use text, a number, true, false, null, a list or an object"
    )


def _number(value: float, what: str) -> float:
    if isinstance(value, int) and not -MAX_INTEGER <= value <= MAX_INTEGER:
        raise InvalidInputError(f"{what} is an integer beyond {MAX_INTEGER:,}, which a JSON number may round: use text")
    if not math.isfinite(value):
        raise InvalidInputError(f"{what} is {value}, which is not a JSON number: leave it out or use null")
    return value
