"""Type checks of dataclass values, for JSON from untrusted files."""

import types
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, Union, get_args, get_origin, get_type_hints


def mistyped(value: Any, kind: Any = None) -> str:
    """Return the name of a dataclass field whose value has another type than annotated; "" if all types are right.

    The annotations are those of ``kind`` [default: the class of ``value``].
    """
    hints = get_type_hints(kind or type(value))
    names = [one.name for one in fields(kind or value)]
    return next((name for name in names if not _is(getattr(value, name), hints[name])), "")


def _is(value: Any, hint: Any) -> bool:
    kind, inner = get_origin(hint), get_args(hint)
    if hint is Any:
        return True
    if kind in (Union, types.UnionType):
        return any(_is(value, one) for one in inner)
    if kind is tuple:  # of any length
        return isinstance(value, tuple) and all(_is(one, inner[0]) for one in value)
    if kind is Mapping:
        return isinstance(value, dict) and all(_is(key, inner[0]) and _is(one, inner[1]) for key, one in value.items())
    if isinstance(hint, type) and is_dataclass(hint):
        return isinstance(value, hint) and not mistyped(value)
    if hint is float:
        return type(value) in (int, float)
    return type(value) is hint
