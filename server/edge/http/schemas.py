"""JSON schemas of messages, from their descriptors, the options of their fields and the comments of the proto files."""

from typing import Any

from google.api.field_behavior_pb2 import REQUIRED, field_behavior
from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor, OneofDescriptor

from crossview.server.wire.json_writing import LIST, STRUCT, VALUE, is_map, is_special
from crossview.v1 import options_pb2
from crossview.v1.comments import COMMENTS

Schema = dict[str, Any]
_TYPES = FieldDescriptor
_NULL = "google.protobuf.NullValue"
_NAMED = {"type": "string", "enum": ["NaN", "Infinity", "-Infinity"]}
_BASE64 = "^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$"
_FLOAT = {"minimum": -3.4028234663852886e38, "maximum": 3.4028234663852886e38}
_SCALARS: dict[int, Schema] = {
    _TYPES.CPPTYPE_DOUBLE: {"oneOf": [{"type": "number", "format": "double"}, _NAMED]},
    _TYPES.CPPTYPE_FLOAT: {"oneOf": [{"type": "number", "format": "float", **_FLOAT}, _NAMED]},
    _TYPES.CPPTYPE_BOOL: {"type": "boolean"},
    _TYPES.CPPTYPE_STRING: {"type": "string"},
    _TYPES.CPPTYPE_INT32: {"type": "integer", "format": "int32", "minimum": -(2**31), "maximum": 2**31 - 1},
    _TYPES.CPPTYPE_UINT32: {"type": "integer", "format": "uint32", "minimum": 0, "maximum": 2**32 - 1},
    _TYPES.CPPTYPE_INT64: {"type": "string", "format": "int64", "pattern": "^-?[0-9]{1,19}$"},
    _TYPES.CPPTYPE_UINT64: {"type": "string", "format": "uint64", "pattern": "^[0-9]{1,20}$"},
}
_BYTES = {"type": "string", "contentEncoding": "base64", "pattern": _BASE64}
_OTHERS: dict[str, Schema] = {
    STRUCT: {"type": "object"},
    VALUE: {},
    LIST: {"type": "array"},
    "google.protobuf.Timestamp": {"type": "string", "format": "date-time"},
    "google.protobuf.Duration": {"type": "string", "pattern": r"^-?[0-9]{1,12}(\.[0-9]{1,9})?s$"},
    "google.protobuf.FieldMask": {"type": "string"},
    "google.protobuf.Any": {"type": "object", "properties": {"@type": {"type": "string"}}, "required": ["@type"]},
}


class Schemas:
    """The schemas of messages and enums by full name, in ``named``; each use refers to them."""

    def __init__(self) -> None:
        self.named: dict[str, Schema] = {}

    def reference(self, descriptor: Descriptor) -> Schema:
        """Return a reference to the schema of a message, and add the schema; the schema itself for other JSON forms."""
        name = str(descriptor.full_name)
        if is_special(descriptor):
            return dict(_OTHERS.get(name, {}))
        if name not in self.named:
            self.named[name] = schema = _described(name, {"type": "object"})  # first, for messages in themselves
            schema |= self.message(descriptor)
        return {"$ref": f"#/components/schemas/{name}"}

    def message(self, descriptor: Descriptor, without: tuple[str, ...] = ()) -> Schema:
        """Return the keywords of a message: its properties, those that are required, and its choices."""
        fields = [field for field in descriptor.fields if field.name not in without]
        properties = {field.json_name: self._field(field) for field in fields}
        schema: Schema = {"properties": properties, "additionalProperties": False}
        if required := [field.json_name for field in fields if is_required(field)]:
            schema["required"] = required
        choices = [_choice(oneof, properties) for oneof in choices_of(descriptor)]
        return schema | (choices[0] if len(choices) == 1 else {"allOf": choices} if choices else {})

    def _field(self, field: Any) -> Schema:
        schema: Schema
        if is_map(field):
            schema = {"type": "object", "additionalProperties": self._one(field.message_type.fields_by_name["value"])}
        elif field.is_repeated:
            schema = {"type": "array", "items": self._one(field)} | ({"minItems": 1} if is_required(field) else {})
        else:
            schema = self._one(field)
        return _described(str(field.full_name), schema)

    def _one(self, field: FieldDescriptor) -> Schema:
        """Return the schema of one value of a field."""
        if field.message_type is not None:
            return self.reference(field.message_type)
        if field.enum_type is not None:
            return self._enum(field.enum_type, is_required(field))
        if field.type == _TYPES.TYPE_BYTES:
            return _BYTES
        if field.cpp_type == _TYPES.CPPTYPE_STRING:
            return _SCALARS[field.cpp_type] | _text(field)
        least = field.GetOptions().Extensions
        return _SCALARS[field.cpp_type] | (
            {"minimum": least[options_pb2.minimum]} if options_pb2.minimum in least else {}
        )

    def _enum(self, enum: EnumDescriptor, required: bool) -> Schema:
        name = str(enum.full_name)
        if name == _NULL:
            return {"type": "null"}
        if required:
            return {"type": "string", "enum": [value.name for value in enum.values if value.number]}
        self.named[name] = {"description": _of_enum(enum), "type": "string", "enum": _names(enum)}
        return {"$ref": f"#/components/schemas/{name}"}


def is_required(field: FieldDescriptor) -> bool:
    """Return whether a request must set the field to another value than its default."""
    return REQUIRED in field.GetOptions().Extensions[field_behavior]


def choices_of(descriptor: Descriptor) -> list[OneofDescriptor]:
    """Return the oneofs of a message, without those that protoc makes for optional fields."""
    return [oneof for oneof in descriptor.oneofs if not oneof.name.startswith("_")]


def pattern_of(field: FieldDescriptor) -> str:
    """Return the pattern of a text that is not empty; "" for any text."""
    form = field.GetOptions().Extensions[options_pb2.text_form]
    value = options_pb2.TextForm.DESCRIPTOR.values_by_number[form]
    return str(value.GetOptions().Extensions[options_pb2.pattern])


def _text(field: FieldDescriptor) -> Schema:
    pattern = pattern_of(field)
    if is_required(field) and not field.is_repeated:
        return {"pattern": pattern} if pattern else {"minLength": 1}
    return {"pattern": f"^$|{pattern}"} if pattern else {}


def _choice(choice: OneofDescriptor, properties: Schema) -> Schema:
    """Return the keyword by which at most one field of a choice is set, or exactly one.

    Each alternative forbids the other fields, so that types of generated clients do, too.
    """
    names = [field.json_name for field in choice.fields]
    alternatives = [_only(name, names, properties) for name in names]
    if not choice.GetOptions().Extensions[options_pb2.required]:
        alternatives.append({"type": "object", "properties": dict.fromkeys(names, False)})
    return {"oneOf": alternatives}


def _only(name: str, names: list[str], properties: Schema) -> Schema:
    absent = dict.fromkeys((other for other in names if other != name), False)
    return {"type": "object", "properties": {name: properties[name], **absent}, "required": [name]}


def _described(name: str, schema: Schema) -> Schema:
    return {"description": COMMENTS[name], **schema} if name in COMMENTS else dict(schema)


def _names(enum: EnumDescriptor) -> list[str]:
    return [str(value.name) for value in enum.values]


def _of_enum(enum: EnumDescriptor) -> str:
    """Return the comments of an enum and of its values."""
    comments = ((name, COMMENTS.get(f"{enum.full_name}.{name}", "")) for name in _names(enum))
    lines = [f"- `{name}`: {comment}" for name, comment in comments if comment]
    return "\n".join([COMMENTS.get(str(enum.full_name), ""), *lines]).strip()
