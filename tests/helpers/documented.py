"""Checks that a JSON value has the type that the reference of a command documents."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from crossview.server.commands.result_types import field_types, named


def unlike(value: Any, annotation: Any, where: str = "result") -> Iterator[str]:
    """Yield the places at which a JSON value is not of a type."""
    origin, parts = get_origin(annotation), get_args(annotation)
    if annotation is Any:
        return
    if origin in (Union, UnionType):
        found = [list(unlike(value, part, where)) for part in parts]
        yield from () if [] in found else found[0]
    elif origin is Literal:
        yield from () if value in parts else [f"{where}: {value!r}"]
    elif is_dataclass(annotation):
        yield from _unlike_fields(value, annotation, where)
    elif isinstance(origin, type) and issubclass(origin, Mapping):
        for key, one in value.items():
            yield from unlike(one, parts[1], f"{where}.{key}")
    elif isinstance(origin, type) and issubclass(origin, Sequence):
        if not isinstance(value, list):
            yield f"{where}: {value!r} is not a list"
            return
        for number, one in enumerate(value):
            yield from unlike(one, parts[0], f"{where}[{number}]")
    else:
        kinds: Any = {bool: bool, int: int, float: (int, float), NoneType: NoneType}.get(annotation, str)
        if not isinstance(value, kinds) or (isinstance(value, bool) and annotation is not bool):
            yield f"{where}: {value!r} is not {named(annotation)}"


def _unlike_fields(value: Any, annotation: Any, where: str) -> Iterator[str]:
    hints = field_types(annotation)
    names = {field.name for field in fields(annotation)}
    if not isinstance(value, dict) or set(value) != names:
        yield f"{where}: {value!r} has not the fields of {annotation}"
        return
    for name in names:
        yield from unlike(value[name], hints[name], f"{where}.{name}")
