"""Messages for every RPC by its descriptor: any fields, extreme numbers, wrong names, deep structs; and plain bytes."""

import importlib
import pkgutil
from collections.abc import Iterator
from functools import cache, reduce
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor, MethodDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from google.protobuf.wrappers_pb2 import BytesValue
from hypothesis import strategies as st

from benchmarks.serve.drawn import picture
from crossview import v1

NAMES = (
    *("collections/hostile", "collections/none", "collections/", "collections/hostile/items/0", "hostile", "none"),
    *("collections/hostile/items/none", "collections/hostile/spaces/raw", "collections/hostile/spaces/pca", "pca"),
    *("collections/hostile/operations/0", "v", "text", "color", "v+color", "raw", "0", "item/1", "number", "label"),
    *("lsh:16", "lmnn", "sqrt,cca", "itq:2147483647", "pca:0", "pca:nan", "v2=vectors:dim=3", "map", "items"),
    *("w=vectors:dim=1000000000", "sift:words=1000000", "../up", "long" * 500, "\0", "é\u0301\u202e", "%s{}", "' or 1"),
)
"""Names of what there is, and of what there is not."""
_FITTING = {
    **dict.fromkeys(("parent", "collection"), ("collections/hostile",)),
    "name": ("collections/hostile", "collections/hostile/items/1", "collections/hostile/spaces/pca"),
    "collection_id": ("hostile", "hostile2"),
    **dict.fromkeys(("view", "views"), ("v", "v", "text", "color")),
    **dict.fromkeys(("space", "space_id"), ("raw", "pca", "")),
    **dict.fromkeys(("key", "keys"), ("0", "1", "2", "new")),
    "learner": ("", "pca", "lsh:16", "lmnn", "cca"),
    "spec": ("w=vectors:dim=2", "gist"),
    "label": ("label0", "label1"),
}
"""Names that fit the fields of that name: without them, few messages would come further than the first check."""
_PRESENT = {*_FITTING, "queries", "items", "updates", "values"}
_FURTHER = 3
"""Fields that a message always has, and most of the others that it has besides: of many, one is nearly always wrong."""
_ROWS = st.lists(st.floats(-2, 2, width=32), min_size=3, max_size=3)
_INTEGERS = (0, 1, 2, 10, 1_000, -1, 2**31 - 1, -(2**31), 2**63 - 1, -(2**63))
_FLOATS = (0.0, 1.0, 0.5, -1.0, 1e-45, 1e38, -1e300, float("nan"), float("inf"), float("-inf"))
_DEEPEST = 25  # of structs, each three messages: protobuf itself reads 100
_MESSAGES_DEEP = 4

Strategy = st.SearchStrategy[Any]
_TYPES = FieldDescriptor
_RANGES = {
    _TYPES.TYPE_INT32: (-(2**31), 2**31 - 1),
    _TYPES.TYPE_ENUM: (-(2**31), 2**31 - 1),
    _TYPES.TYPE_FIXED64: (0, 2**64 - 1),
}


def methods() -> dict[str, MethodDescriptor]:
    """Return every method of the server's own services by its path."""
    modules = [importlib.import_module(f"{v1.__name__}.{module.name}") for module in pkgutil.iter_modules(v1.__path__)]
    files = [module.DESCRIPTOR for module in modules if hasattr(module, "DESCRIPTOR")]
    services = [service for file in files for service in file.services_by_name.values()]
    return {f"/{service.full_name}/{method.name}": method for service in services for method in service.methods}


@cache
def messages(descriptor: Descriptor, depth: int = _MESSAGES_DEEP) -> Strategy:
    """Return messages of a type, some fields set, to a depth."""
    if descriptor.full_name == "google.protobuf.Struct":
        return _STRUCTS.map(_struct)
    fields = [field for field in descriptor.fields if depth or field.message_type is None]
    strategies = {field.name: _of_field(field, depth) for field in fields}
    make = GetMessageClass(descriptor)
    present = {name: strategies.pop(name) for name in _PRESENT & strategies.keys()}
    further = st.sets(st.sampled_from(sorted(strategies)), max_size=_FURTHER) if strategies else st.just(set[str]())
    drawn = further.flatmap(
        lambda names: st.fixed_dictionaries(present | {name: strategies[name] for name in sorted(names)})
    )
    return drawn.map(lambda values: make(**values))  # of a oneof the last one counts


@cache
def _of_field(field: FieldDescriptor, depth: int) -> Strategy:
    if field.message_type is not None and field.message_type.GetOptions().map_entry:
        names = field.message_type.fields_by_name
        return st.dictionaries(_scalar(names["key"]), _value(names["value"], depth), max_size=3)
    single = _value(field, depth)
    if not field.is_repeated:
        return single
    some = st.lists(single, min_size=field.name in _PRESENT, max_size=4)
    return _mostly(_ROWS, some) if field.name == "values" and field.message_type is None else some


def _value(field: FieldDescriptor, depth: int) -> Strategy:
    return _scalar(field) if field.message_type is None else messages(field.message_type, depth - 1)


@cache
def _scalar(field: FieldDescriptor) -> Strategy:
    if field.type == _TYPES.TYPE_STRING:
        fitting = st.sampled_from(_FITTING.get(field.name, NAMES))
        return _mostly(fitting, st.sampled_from(NAMES), st.text(max_size=20))
    if field.type == _TYPES.TYPE_BYTES:
        return st.one_of(st.binary(max_size=50), st.sampled_from([picture(0), picture(1, "PNG")[:200]]))
    if field.type in (_TYPES.TYPE_DOUBLE, _TYPES.TYPE_FLOAT):
        return st.one_of(st.sampled_from(_FLOATS), st.floats(width=32))
    if field.type == _TYPES.TYPE_BOOL:
        return st.booleans()
    least, most = _RANGES.get(field.type, _INTEGERS[:-3:-1])
    return st.one_of(st.sampled_from([number for number in _INTEGERS if least <= number <= most]), st.integers(0, 20))


def _mostly(usual: Strategy, *rare: Strategy) -> Strategy:
    """Return the usual one in about nine of ten cases; ``one_of`` has no weights."""
    return st.sampled_from(range(10 * len(rare))).flatmap(lambda place: dict(enumerate(rare)).get(place, usual))


_JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.sampled_from(_FLOATS), st.sampled_from(NAMES)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(NAMES), inner, max_size=3)),
    max_leaves=8,
)
_STRUCTS = st.tuples(
    st.dictionaries(st.sampled_from(NAMES), _JSON, max_size=3), st.sampled_from((0, 0, 0, 5, _DEEPEST))
)


def _struct(pair: tuple[dict[str, Any], int]) -> Message:
    """Return the struct of a dictionary, in so many others."""
    from google.protobuf.struct_pb2 import Struct

    values, depth = pair
    for _ in range(depth):
        values = {"a": values}
    struct = Struct()
    struct.update(values)
    return struct


_DEEP = reduce(lambda inner, _: BytesValue(value=inner).SerializeToString(), range(300), b"end")
"""A message in a message in a message, deeper than is read."""


def requests(method: MethodDescriptor) -> Strategy:
    """Return encoded messages of a method, some cut or changed in a byte, and some that are bytes by chance."""
    encoded = messages(method.input_type).map(lambda message: message.SerializeToString())
    changed = st.tuples(encoded, st.integers(0, 400), st.integers(0, 255)).map(_changed)
    return _mostly(encoded, changed, st.binary(max_size=60), st.just(_DEEP))


def _changed(change: tuple[bytes, int, int]) -> bytes:
    data, place, byte = change
    place %= len(data) + 1
    return data[:place] + (bytes([byte]) + data[place + 1 :] if byte else b"")


def in_turn(count: int) -> Iterator[tuple[str, MethodDescriptor, int]]:
    """Yield every method with its share of so many calls."""
    by_path = methods()
    for path, method in by_path.items():
        yield path, method, max(1, count // len(by_path))
