"""Conversion of messages to values of the engine and back, by the names that their fields share.

The annotations of a value's fields say what they contain. Repeated fields become tuples, maps dicts in the order of
keys, structs JSON values, enums words in lower case, and messages values of their own. A field that a message does not
set has the default of the value, or is None without one; so has a number or a word that is 0 or empty, since proto3
does not send those.
"""

import re
from collections.abc import Callable, Hashable, Iterable
from dataclasses import MISSING, fields
from datetime import UTC, datetime
from functools import cache, partial
from operator import attrgetter
from types import NoneType
from typing import Any, NamedTuple, TypeVar, cast, get_args

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from google.protobuf.struct_pb2 import Struct
from google.protobuf.timestamp_pb2 import Timestamp

from crossview.engine.values.errors import Argument, Call, InvalidInputError, Remedy, Text
from crossview.server.wire.structs import from_struct, to_struct
from crossview.v1 import types_pb2 as pb

_WORD = re.compile(r"(?<=[a-z])(?=[A-Z])")
_NAMES = {"created": "create_time", "started": "start_time", "ended": "end_time", "dim": "dims", "spec": "learner"}
"""The names of fields of messages that their values give another name."""
_ABSENT = object()
_Value = TypeVar("_Value")
_Message = TypeVar("_Message", bound=Message)


class Form(NamedTuple):
    """The conversion of a message whose value does not have its fields, and back."""

    to: Callable[[Any], Any]
    from_: Callable[[Any], Any]
    has_none: bool = False
    """Whether None is a value with a message of its own, and not an absent one."""


FORMS: dict[str, Form] = {}
"""The messages whose values do not have their fields, by full name; ``convert`` adds them."""


def to_value(kind: type[_Value], message: Message, /, **others: Any) -> _Value:
    """Return a dataclass from the fields of a message with the same names.

    ``others`` gives the fields with other names or meanings. Raises InvalidInputError for a struct with values that
    are not JSON, and the errors of the constructors and of ``FORMS``.
    """
    for name, read in _readers(cast(Hashable, kind), message.DESCRIPTOR):
        if name not in others and (value := read(message)) is not _ABSENT:
            others[name] = value
    for name, content in others.items() if (remedies := getattr(message, "remedies", ())) else ():
        if isinstance(content, str):
            others[name] = text_of(content, remedies)
        elif isinstance(content, tuple):
            others[name] = tuple(text_of(text, remedies) if isinstance(text, str) else text for text in content)
    return kind(**others)


def to_message(kind: type[_Message], value: object, /, **others: Any) -> _Message:
    """Return a message from the fields of a dataclass with the same names; ``others`` as in ``to_value``.

    Raises InvalidInputError for JSON values that a struct cannot represent, and for a word that an enum lacks.
    """
    for attribute, name, write, has_none in _writers(kind.DESCRIPTOR, cast(Hashable, type(value))):
        if name not in others and ((content := getattr(value, attribute)) is not None or has_none):
            others[name] = content if write is None else write(content)
    if "remedies" in kind.DESCRIPTOR.fields_by_name:
        texts = (content if isinstance(content, tuple) else (content,) for content in vars(value).values())
        others["remedies"] = remedies_of(text for contents in texts for text in contents)
    return kind(**others)


def _shared(kind: Any, descriptor: Any) -> list[tuple[Any, FieldDescriptor]]:
    """Return the fields of a dataclass, each with its field of the message; without those that the message lacks."""
    by_name = descriptor.fields_by_name
    pairs = [(field, by_name.get(field.name) or by_name.get(_NAMES.get(field.name, ""))) for field in fields(kind)]
    return [(field, of_message) for field, of_message in pairs if of_message is not None]


@cache
def _readers(kind: Any, descriptor: Any) -> list[tuple[str, Callable[[Message], Any]]]:
    return [(field.name, _reader(field, of_message)) for field, of_message in _shared(kind, descriptor)]


def _reader(field: Any, of_message: Any) -> Callable[[Message], Any]:
    get, name = attrgetter(of_message.name), of_message.name
    read = _one_reader(of_message, field.type)
    if of_message.message_type is not None and of_message.message_type.GetOptions().map_entry:
        return lambda message: {key: read(value) for key, value in sorted(get(message).items())}
    if of_message.is_repeated:
        return lambda message: tuple(map(read, get(message)))
    default = None if field.default is MISSING else field.default
    has_default = field.default is not MISSING or field.default_factory is not MISSING
    if of_message.has_presence and (has_default or of_message.message_type is None or NoneType in _classes(field.type)):
        absent = _ABSENT if has_default else None
        return lambda message: read(get(message)) if message.HasField(name) else absent
    if isinstance(default, int | str) and default and not isinstance(default, bool):
        return lambda message: read(get(message)) if get(message) else _ABSENT
    return lambda message: read(get(message))


def _one_reader(field: Any, annotation: Any) -> Callable[[Any], Any]:
    """Return what converts a value of a field, or one of a repeated field or a map."""
    if field.message_type is None:
        return partial(enum_text, field) if field.enum_type is not None else _same
    if field.message_type.GetOptions().map_entry:
        field = field.message_type.fields_by_name["value"]
        return _one_reader(field, annotation)
    if field.message_type is Struct.DESCRIPTOR:
        return from_struct
    if (form := FORMS.get(field.message_type.full_name)) is not None:
        return form.to
    classes = _classes(annotation)
    if field.message_type is Timestamp.DESCRIPTOR:
        return to_time if str in classes else partial(Timestamp.ToDatetime, tzinfo=UTC)
    # A field without one, such as a mapping of messages, is among the ``others`` of every caller.
    return partial(to_value, *(part for part in classes if hasattr(part, "__dataclass_fields__")))


def _same(value: Any) -> Any:
    return value


def _classes(annotation: Any) -> set[Any]:
    parts = get_args(annotation)
    return set().union(*map(_classes, parts)) if parts else {annotation}


@cache
def _writers(descriptor: Any, kind: Any) -> list[tuple[str, str, Callable[[Any], Any] | None, bool]]:
    return [
        (field.name, of_message.name, _writer(of_message), _has_none(of_message))
        for field, of_message in _shared(kind, descriptor)
    ]


def _has_none(field: Any) -> bool:
    form = None if field.message_type is None or field.is_repeated else FORMS.get(field.message_type.full_name)
    return form is not None and form.has_none


def _writer(field: Any) -> Callable[[Any], Any] | None:
    """Return what converts a value of the engine to one that a field can have; None for one that it has as it is."""
    if field.message_type is not None and field.message_type.GetOptions().map_entry:
        write = _writer(field.message_type.fields_by_name["value"])
        return write and partial(_each_value, write)
    write = _one_writer(field)
    return write if write is None or not field.is_repeated else lambda values: list(map(write, values))


def _each_value(write: Callable[[Any], Any], values: Any) -> dict[Any, Any]:
    return {key: write(value) for key, value in values.items()}


def _one_writer(field: Any) -> Callable[[Any], Any] | None:
    if field.message_type is None:
        return partial(enum_number, field) if field.enum_type is not None else None
    if field.message_type is Struct.DESCRIPTOR:
        return to_struct
    if field.message_type is Timestamp.DESCRIPTOR:
        return from_time
    form = FORMS.get(field.message_type.full_name)
    return partial(to_message, GetMessageClass(field.message_type)) if form is None else form.from_


def to_time(message: Timestamp) -> str:
    """Return the time of a message as ISO 8601, UTC; "" for an unset one."""
    return message.ToDatetime(tzinfo=UTC).isoformat() if message.ByteSize() else ""


def from_time(time: str | datetime) -> Timestamp | None:
    """Return the message of a time, in ISO 8601 as text; None for ""."""
    if not time:
        return None
    message = Timestamp()
    message.FromDatetime(datetime.fromisoformat(time) if isinstance(time, str) else time)
    return message


def enum_text(field: Any, number: int) -> str:
    """Return the engine's word for a value of an enum: its name without the prefix, in lower case; "" for unspecified.

    For a value that this version does not know, it returns the number, which the engine refuses like any unknown word.
    """
    if number == 0:
        return ""
    member = field.enum_type.values_by_number.get(number)
    return str(number) if member is None else member.name.removeprefix(_prefix(field.enum_type)).lower()


def enum_number(field: Any, text: str) -> int:
    """Return the value of an enum for a word of the engine; raise InvalidInputError for an unknown word."""
    if not text:
        return 0
    member = field.enum_type.values_by_name.get(f"{_prefix(field.enum_type)}{text.upper()}")
    if member is None or member.number == 0:
        words = ", ".join(enum_text(field, value.number) for value in field.enum_type.values[1:])
        raise InvalidInputError(f"{field.name} is one of {words}, not {text!r}")
    return int(member.number)


@cache
def _prefix(enum: Any) -> str:
    """Return the prefix of the names of an enum's values: ``QUESTION_KIND_`` for ``QuestionKind``."""
    return f"{_WORD.sub('_', enum.name).upper()}_"


def remedies_of(texts: Iterable[str]) -> list[pb.Remedy]:
    """Return the messages of the remedies that texts name."""
    remedies = (remedy for text in texts for remedy in getattr(text, "remedies", ()))
    return [_message(remedy) for remedy in {str(remedy): remedy for remedy in remedies}.values()]


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
    values = [(argument.name, _value(argument)) for argument in message.arguments]
    if not message.call:
        return Argument(*values[0])
    positional = tuple(value for name, value in values if not name)
    return Call(message.call, positional, {name: value for name, value in values if name})


def _value(argument: pb.Remedy.Argument) -> Any:
    if argument.HasField("call"):
        return _remedy(argument.call)
    return from_struct(Struct(fields={"": argument.value}))[""] if argument.HasField("value") else ...
