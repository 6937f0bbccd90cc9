"""The pages of all remote calls, messages and enumerations, from the proto files."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, MethodDescriptorProto

from crossview.server.edge.http.uploads import UPLOAD_PATH
from crossview.server.wire.methods import METHODS as ROWS
from documents.proto_files import FIELDS, METHODS, ONEOFS, SERVICES, VALUES, Place, ProtoFile, proto_files
from documents.tables import escaped, table

_PACKAGE = ".crossview.v1."


def remote_calls(proto: Path) -> dict[str, list[str]]:
    """Return the lines of each page by its name: ``grpc``, and ``grpc/FILE`` for each proto file below a folder."""
    protos = proto_files(proto)
    files = {f"{_PACKAGE}{name}": file.stem for file in protos for name in file.names}
    return {"grpc": [*_overview(protos)], **{f"grpc/{file.stem}": [*_page(file, files)] for file in protos}}


def _overview(files: list[ProtoFile]) -> Iterator[str]:
    """Yield the lines of the page that lists all calls and files."""
    yield (
        "# gRPC\n\nThe interface is the package `crossview.v1`, in the files of `proto/crossview/v1`. The server also "
        "answers health checks, reflection, and `google.longrunning.Operations`, with which clients list, wait for and "
        "cancel jobs. [JSON over HTTP](../guides/server.md#json-over-http) explains the same calls over HTTP.\n"
    )
    for file in files:
        for at, service in enumerate(file.descriptor.service):
            yield f"## {service.name}\n\n{_comment(file, SERVICES, at)}\n"
            rows = []
            for number, method in enumerate(service.method):
                summary = file.comment(SERVICES, at, METHODS, number).partition(". ")[0].rstrip(".")
                rows.append((f"[`{method.name}`](grpc/{file.stem}.md#{_slug(method.name)})", f"{escaped(summary)}."))
            yield from table(("call", "use"), rows)
    yield "## Messages and enumerations\n"
    rows = []
    for file in files:
        links = (f"[`{name}`](grpc/{file.stem}.md#{_slug(name)})" for name in file.names)
        rows.append((f"[{file.stem}.proto](grpc/{file.stem}.md)", ", ".join(links)))
    yield from table(("file", "defines"), rows)
    yield "\n".join(("```{toctree}", ":hidden:", "", *(f"grpc/{file.stem}" for file in files), "```"))


def _page(file: ProtoFile, files: Mapping[str, str]) -> Iterator[str]:
    """Yield the lines of the page of a file; ``files`` has the stem of the file of each full name."""
    yield f"# {file.stem}.proto\n"
    for at, service in enumerate(file.descriptor.service):
        yield f"## {service.name}\n\n{_comment(file, SERVICES, at)}\n"
        for number, method in enumerate(service.method):
            yield f"### {method.name}\n\n{_comment(file, SERVICES, at, METHODS, number)}\n"
            yield from _call(f"/crossview.v1.{service.name}/{method.name}", method, files)
    for name, place, message in file.messages:
        yield f"## {name}\n\n{_comment(file, *place)}\n"
        yield from table(("field", "type", "meaning"), _fields(file, place, message, files))
    for name, place, enum in file.enums:
        yield f"## {name}\n\n{_comment(file, *place)}\n"
        values = enumerate(enum.value)
        rows = [(f"`{value.name}`", str(value.number), _comment(file, *place, VALUES, at)) for at, value in values]
        yield from table(("value", "number", "meaning"), rows)


def _call(path: str, method: MethodDescriptorProto, files: Mapping[str, str]) -> Iterator[str]:
    """Yield the facts of a call: its messages, its address, and the scope of its key."""
    row = ROWS[path]
    request, response = _link(method.input_type, files), _link(method.output_type, files)
    rows = [
        ("request", f"stream of {request}" if method.client_streaming else request),
        ("response", f"stream of {response}" if method.server_streaming else response),
        ("HTTP", f"`POST {path}`"),
        ("scope of the key", f"`{row.scope.name.lower()}`"),
    ]
    if row.name == "Search":
        rows.insert(3, ("form", f"`POST {UPLOAD_PATH}`"))
    if row.job is not None:
        rows.append(("job", "`SubmitJob` takes the request, too"))
    yield from table(("part", "value"), rows)


def _fields(
    file: ProtoFile, place: Place, message: DescriptorProto, files: Mapping[str, str]
) -> Iterator[tuple[str, ...]]:
    entries = {entry.name: entry for entry in message.nested_type if entry.options.map_entry}
    for at, field in enumerate(message.field):
        meaning = _comment(file, *place, FIELDS, at)
        if field.HasField("oneof_index") and not field.proto3_optional:
            choice = message.oneof_decl[field.oneof_index].name
            meaning = f"One of `{choice}`. {_comment(file, *place, ONEOFS, field.oneof_index)} {meaning}"
        yield f"`{field.name}`", _type(field, entries, files), meaning


def _type(field: FieldDescriptorProto, entries: Mapping[str, DescriptorProto], files: Mapping[str, str]) -> str:
    """Return the type of a field with its label, linked to its definition."""
    if entry := entries.get(field.type_name.rpartition(".")[2]):
        key, value = (_link(_type_name(part), files) for part in entry.field)
        return f"map of {key} to {value}"
    label = "repeated " if field.label == FieldDescriptorProto.LABEL_REPEATED else ""
    return f"{'optional ' if field.proto3_optional else label}{_link(_type_name(field), files)}"


def _type_name(field: FieldDescriptorProto) -> str:
    return field.type_name or FieldDescriptorProto.Type.Name(field.type).removeprefix("TYPE_").lower()


def _link(name: str, files: Mapping[str, str]) -> str:
    """Return the name of a type as code, linked if it has a page."""
    short = name.removeprefix(_PACKAGE)
    return f"[`{short}`]({files[name]}.md#{_slug(short)})" if name in files else f"`{name.removeprefix('.')}`"


def _slug(name: str) -> str:
    """Return the anchor of a heading."""
    return name.lower().replace(".", "")


def _comment(file: ProtoFile, *place: int) -> str:
    return escaped(file.comment(*place))
