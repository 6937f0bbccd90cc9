"""Messages as values of the engine and back, by the names that their fields share.

Repeated fields are tuples, maps dicts in the order of keys, structs JSON values, and absent optional fields None.
"""

from collections.abc import Callable
from dataclasses import fields
from typing import Any, TypeVar, cast

from google.protobuf.message import Message
from google.protobuf.struct_pb2 import Struct

from server.structs import from_struct, to_struct

_Value = TypeVar("_Value")
_Message = TypeVar("_Message", bound=Message)


def to_value(kind: type[_Value], message: Message, **others: Any) -> _Value:
    """A dataclass from the fields of a message that bear its fields' names.

    ``others`` are the fields of other names or meanings, and those that are messages themselves. Raises
    InvalidInputError for a struct of what is no JSON.
    """
    names = {one.name for one in fields(cast(Any, kind))} - others.keys()
    same = {one.name: _value(message, one) for one in message.DESCRIPTOR.fields if one.name in names}
    return cast(Callable[..., _Value], kind)(**same, **others)


def to_message(kind: type[_Message], value: object, **others: Any) -> _Message:
    """A message from the fields of a dataclass that bear its fields' names; ``others`` as in ``to_value``.

    Raises InvalidInputError for JSON values that a struct cannot represent.
    """
    known = kind.DESCRIPTOR.fields_by_name
    same = {name: one for name, one in vars(value).items() if name in known and name not in others}
    return kind(**{name: to_struct(one) if _is_struct(known[name]) else one for name, one in same.items()}, **others)


def _is_struct(field: Any) -> bool:
    return field.message_type is Struct.DESCRIPTOR


def _value(message: Message, field: Any) -> Any:
    value = getattr(message, field.name)
    if _is_struct(field):
        return from_struct(value)
    if field.is_repeated:
        return dict(sorted(value.items())) if field.message_type else tuple(value)
    return None if field.has_presence and not message.HasField(field.name) else value
