"""The content of an ONNX file, read without running it: inputs, outputs, operators, and weights in other files."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import DecodeError

from crossview.features.errors import ModelError

MOST_BYTES = (1 << 31) - 1
"""Maximum size of a file: that of a message of protobuf."""
_DOMAINS = frozenset({"", "ai.onnx", "ai.onnx.ml", "com.microsoft"})
"""The sets of operators that onnxruntime brings along."""
_ENDLESS = frozenset({"Loop", "Scan"})
"""Operators whose number of steps the weights can decide, of a scan by the length of what is scanned."""
_PACKAGE = "crossview.onnx_subset"
_MESSAGES: Mapping[str, Mapping[str, tuple[int, str]]] = {
    "Model": {"graph": (7, "Graph"), "functions": (25, "Function")},
    "Graph": {
        "node": (1, "Node"),
        "initializer": (5, "Tensor"),
        "input": (11, "Value"),
        "output": (12, "Value"),
        "sparse_initializer": (15, "Sparse"),
    },
    "Function": {"node": (7, "Node"), "domain": (10, ""), "default": (11, "Attribute")},
    "Node": {"op_type": (4, ""), "attribute": (5, "Attribute"), "domain": (7, "")},
    "Attribute": {
        "t": (5, "Tensor"),
        "g": (6, "Graph"),
        "tensors": (10, "Tensor"),
        "graphs": (11, "Graph"),
        "sparse_tensor": (22, "Sparse"),
        "sparse_tensors": (23, "Sparse"),
    },
    "Sparse": {"values": (1, "Tensor"), "indices": (2, "Tensor")},
    "Tensor": {"name": (8, ""), "external_data": (13, "Entry")},
    "Entry": {"key": (1, ""), "value": (2, "")},
    "Value": {"name": (1, "")},
}
"""The fields of ONNX's format that this module reads: their numbers, and the messages in them, or "" for texts."""
_SINGLE = frozenset(
    {
        *(("Model", "graph"), ("Attribute", "t"), ("Attribute", "g"), ("Attribute", "sparse_tensor")),
        *(("Sparse", "values"), ("Sparse", "indices")),
    }
)


@dataclass(frozen=True)
class Graph:
    """The content of an ONNX file."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    operators: frozenset[str]


def read_graph(data: bytes) -> Graph:
    """Return the content of a file; ModelError, with the reason, for one that is not safe to run.

    A graph may not contain loops, whose number of steps its weights can decide, operators that onnxruntime does not
    bring along, or weights in other files, which could be any files of this machine.
    """
    if len(data) > MOST_BYTES:
        raise ModelError(f"the file has {len(data):,} bytes, and a model may have at most {MOST_BYTES:,}")
    model = _message_class("Model")()
    try:
        model.ParseFromString(data)
    except DecodeError as error:
        raise ModelError("the file is not an ONNX model") from error
    if not model.graph.node or not model.graph.output:
        raise ModelError("the file is not an ONNX model, or it computes nothing")
    domains = _DOMAINS | {function.domain for function in model.functions}
    operators = set[str]()
    inner = (node for function in model.functions for node in (*_with_inner(function.node), *_inside(function.default)))
    for node in (*_nodes(model.graph), *inner):
        _check_operator(node, domains)
        operators.add(node.op_type)
    weights = {weight.name for weight in model.graph.initializer}
    inputs = tuple(entry.name for entry in model.graph.input if entry.name not in weights)
    return Graph(inputs, tuple(entry.name for entry in model.graph.output), frozenset(operators))


def _nodes(graph: Any) -> Iterator[Any]:
    """Yield the nodes of a graph and of the graphs inside it; ModelError for weights in other files."""
    _check_weights(graph.initializer, graph.sparse_initializer)
    yield from _with_inner(graph.node)


def _with_inner(nodes: Iterable[Any]) -> Iterator[Any]:
    for node in nodes:
        yield node
        yield from _inside(node.attribute)


def _inside(attributes: Iterable[Any]) -> Iterator[Any]:
    """Yield the nodes of the graphs in attributes; ModelError for weights in other files."""
    for attribute in attributes:
        _check_weights((*attribute.tensors, attribute.t), (*attribute.sparse_tensors, attribute.sparse_tensor))
        for inner in (*attribute.graphs, attribute.g):
            yield from _nodes(inner)


def _check_operator(node: Any, domains: Collection[str]) -> None:
    if node.domain in _DOMAINS and node.op_type in _ENDLESS:
        raise ModelError(f"the model contains the operator {node.op_type}, which might never end")
    if node.domain not in domains:
        raise ModelError(f"the model contains the operator {node.op_type} of {node.domain!r}, which is unknown here")


def _check_weights(tensors: Iterable[Any], sparse: Iterable[Any]) -> None:
    for tensor in (*tensors, *(part for pair in sparse for part in (pair.values, pair.indices))):
        if tensor.external_data:
            raise ModelError(
                f"the weights {tensor.name!r} are in another file: export the model as one file, for example with "
                "onnx.save(model, path, save_as_external_data=False)"
            )


@cache
def _message_class(name: str) -> Any:
    """Return the class of a message that has the fields of ``_MESSAGES`` and skips all others."""
    file = descriptor_pb2.FileDescriptorProto(name="crossview_onnx_subset.proto", package=_PACKAGE, syntax="proto2")
    kinds = descriptor_pb2.FieldDescriptorProto
    for message, fields in _MESSAGES.items():
        message_type = file.message_type.add(name=message)
        for field, (number, inner) in fields.items():
            single = (message, field) in _SINGLE or not inner
            message_type.field.add(
                name=field,
                number=number,
                label=kinds.LABEL_OPTIONAL if single else kinds.LABEL_REPEATED,
                type=kinds.TYPE_MESSAGE if inner else kinds.TYPE_STRING,
                type_name=f".{_PACKAGE}.{inner}" if inner else None,
            )
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{_PACKAGE}.{name}"))
