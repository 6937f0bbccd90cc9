"""Conversion of messages to values of the engine and back, by the names that their fields share.

Repeated fields become tuples, maps dicts in the order of keys, structs JSON values, enums words in lower case, and
absent optional fields None.
"""

import re
from collections.abc import Callable, Hashable, Iterable
from dataclasses import fields
from functools import cache
from operator import attrgetter
from typing import Any, TypeVar, cast, is_typeddict

from google.protobuf.message import Message
from google.protobuf.struct_pb2 import Struct

from crossview.engine.values.errors import Argument, Call, InvalidInputError, Remedy, Text
from crossview.server.wire.structs import from_struct, to_struct
from crossview.v1 import types_pb2 as pb

_WORD = re.compile(r"(?<=[a-z])(?=[A-Z])")
_Value = TypeVar("_Value")
_Message = TypeVar("_Message", bound=Message)


def to_value(kind: type[_Value], message: Message, /, **others: Any) -> _Value:
    """Return a dataclass, or a typed dictionary, from the fields of a message with the same names.

    ``others`` gives the fields with other names or meanings, and the fields that are messages themselves. Raises
    InvalidInputError for a struct with values that are not JSON.
    """
    same = {
        name: read(message) for name, read in _readers(cast(Hashable, kind), message.DESCRIPTOR) if name not in others
    }
    if remedies := getattr(message, "remedies", ()):
        for name, one in same.items():
            if isinstance(one, str):
                same[name] = text_of(one, remedies)
            elif isinstance(one, tuple):
                same[name] = tuple(text_of(text, remedies) if isinstance(text, str) else text for text in one)
    return cast(Callable[..., _Value], kind)(**same, **others)


@cache
def _readers(kind: Any, descriptor: Any) -> tuple[tuple[str, Callable[[Message], Any]], ...]:
    """Return the fields that a dataclass or a typed dictionary shares with a message, each with its reader."""
    names = kind.__annotations__.keys() if is_typeddict(kind) else {one.name for one in fields(kind)}
    return tuple((one.name, _reader(one)) for one in descriptor.fields if one.name in names)


def _reader(field: Any) -> Callable[[Message], Any]:
    get = attrgetter(field.name)
    if _is_struct(field):
        return lambda message: from_struct(get(message))
    if field.enum_type is not None:
        return _enum_reader(field)
    if field.is_repeated and field.message_type:
        return lambda message: dict(sorted(get(message).items()))
    if field.is_repeated:
        return lambda message: tuple(get(message))
    if field.has_presence:
        return lambda message: get(message) if message.HasField(field.name) else None
    return get


def to_message(kind: type[_Message], value: object, /, **others: Any) -> _Message:
    """Return a message from the fields of a dataclass with the same names; ``others`` as in ``to_value``.

    Raises InvalidInputError for JSON values that a struct cannot represent.
    """
    known = kind.DESCRIPTOR.fields_by_name
    same = {name: one for name, one in vars(value).items() if name in known and name not in others}
    if "remedies" in known:
        texts = [one if isinstance(one, tuple) else (one,) for one in same.values()]
        others["remedies"] = remedies_of(text for several in texts for text in several)
    return kind(**{name: _field_value(known[name], one) for name, one in same.items()}, **others)


def _field_value(field: Any, value: Any) -> Any:
    if _is_struct(field):
        return to_struct(value)
    if field.enum_type is None:
        return value
    return [enum_number(field, one) for one in value] if field.is_repeated else enum_number(field, value)


def _enum_reader(field: Any) -> Callable[[Message], Any]:
    get = attrgetter(field.name)
    if field.is_repeated:
        return lambda message: tuple(enum_text(field, one) for one in get(message))
    return lambda message: enum_text(field, get(message))


def enum_text(field: Any, number: int) -> str:
    """Return the engine's word for a value of an enum: its name without the prefix, in lower case; "" for unspecified.

    For a value that this version does not know, it returns the number, which the engine refuses like any unknown word.
    """
    if number == 0:
        return ""
    known = field.enum_type.values_by_number.get(number)
    return str(number) if known is None else known.name.removeprefix(_prefix(field.enum_type)).lower()


def enum_number(field: Any, text: str) -> int:
    """Return the value of an enum for a word of the engine; raise InvalidInputError for an unknown word."""
    if not text:
        return 0
    known = field.enum_type.values_by_name.get(f"{_prefix(field.enum_type)}{text.upper()}")
    if known is None or known.number == 0:
        words = ", ".join(enum_text(field, one.number) for one in field.enum_type.values[1:])
        raise InvalidInputError(f"{field.name} is one of {words}, not {text!r}")
    return int(known.number)


@cache
def _prefix(enum: Any) -> str:
    """Return the prefix of the names of an enum's values: ``QUESTION_KIND_`` for ``QuestionKind``."""
    return f"{_WORD.sub('_', enum.name).upper()}_"


def _is_struct(field: Any) -> bool:
    return field.message_type is Struct.DESCRIPTOR


def remedies_of(texts: Iterable[str]) -> list[pb.Remedy]:
    """Return the messages of the remedies that texts name."""
    found = (remedy for text in texts for remedy in getattr(text, "remedies", ()))
    return [_message(remedy) for remedy in {str(remedy): remedy for remedy in found}.values()]


def text_of(text: str, messages: Iterable[pb.Remedy]) -> Text:
    """Return a text with those of the remedies that it names."""
    return Text.of(text, map(_remedy, messages))


def _message(remedy: Remedy) -> pb.Remedy:
    if isinstance(remedy, Argument):
        return pb.Remedy(arguments=[_argument(*remedy)])
    arguments = [("", value) for value in remedy.arguments] + list(remedy.options.items())
    return pb.Remedy(call=remedy.name, arguments=[_argument(name, value) for name, value in arguments])


def _argument(name: str, value: Any) -> pb.Remedy.Argument:
    if isinstance(value, Call):
        return pb.Remedy.Argument(name=name, call=_message(value))
    return pb.Remedy.Argument(name=name, value=None if value is ... else to_struct({"": value}).fields[""])


def _remedy(message: pb.Remedy) -> Remedy:
    values = [(one.name, _value(one)) for one in message.arguments]
    if not message.call:
        return Argument(*values[0])
    return Call(message.call, tuple(one for name, one in values if not name), {n: one for n, one in values if n})


def _value(argument: pb.Remedy.Argument) -> Any:
    if argument.HasField("call"):
        return _remedy(argument.call)
    return from_struct(Struct(fields={"": argument.value}))[""] if argument.HasField("value") else ...
