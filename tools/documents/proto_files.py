"""Proto files with their comments, as protoc reads them."""

import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from pathlib import Path

from google.protobuf.descriptor_pb2 import DescriptorProto, EnumDescriptorProto, FileDescriptorProto, FileDescriptorSet

MESSAGES, ENUMS, SERVICES = 4, 5, 6
"""Numbers of the fields of a file's descriptor, with which the places of comments begin."""
FIELDS, NESTED_MESSAGES, NESTED_ENUMS, ONEOFS = 2, 3, 4, 8
"""The same of a message's descriptor."""
METHODS, VALUES = 2, 2
"""The same of the descriptors of a service and of an enumeration."""
Place = tuple[int, ...]
"""The place of a definition in its file: numbers of fields and positions in them, in turn."""


@dataclass(frozen=True)
class ProtoFile:
    """The definitions of a proto file and their comments."""

    descriptor: FileDescriptorProto

    @property
    def stem(self) -> str:
        """The name of the file without folder and suffix."""
        return Path(self.descriptor.name).stem

    @cached_property
    def messages(self) -> list[tuple[str, Place, DescriptorProto]]:
        """All messages with names and places, nested ones after their parent, without the entries of maps."""
        return [*_messages(self.descriptor.message_type, "", (MESSAGES,))]

    @cached_property
    def enums(self) -> list[tuple[str, Place, EnumDescriptorProto]]:
        """All enumerations with names and places, nested ones last."""
        enums: list[tuple[str, Place, EnumDescriptorProto]]
        enums = [(enum.name, (ENUMS, at), enum) for at, enum in enumerate(self.descriptor.enum_type)]
        for name, place, message in self.messages:
            nested = enumerate(message.enum_type)
            enums.extend((f"{name}.{enum.name}", (*place, NESTED_ENUMS, at), enum) for at, enum in nested)
        return enums

    @property
    def names(self) -> list[str]:
        """The names of all messages and enumerations."""
        return [name for name, *_ in (*self.messages, *self.enums)]

    def comment(self, *place: int) -> str:
        """Return the comment of the definition at a place, in one line."""
        return self._comments.get(place, "")

    @cached_property
    def _comments(self) -> dict[Place, str]:
        locations = self.descriptor.source_code_info.location
        texts = {
            tuple(location.path): f"{location.leading_comments} {location.trailing_comments}" for location in locations
        }
        return {place: " ".join(text.split()) for place, text in texts.items()}


def proto_files(folder: Path) -> list[ProtoFile]:
    """Return the files of ``crossview`` below a folder, in the order of their names.

    Raises RuntimeError if protoc refuses one; protoc prints the reason.
    """
    from grpc_tools import protoc  # type: ignore[import-untyped]  # it has no types

    sources = sorted(str(path.relative_to(folder)) for path in (folder / "crossview").rglob("*.proto"))
    included = [f"-I{path}" for path in (folder, files("grpc_tools") / "_proto")]
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch) / "descriptors"
        if protoc.main(["protoc", *included, "--include_source_info", f"--descriptor_set_out={out}", *sources]) != 0:
            raise RuntimeError("protoc failed; its messages are above")
        descriptors = FileDescriptorSet.FromString(out.read_bytes())
    return sorted(map(ProtoFile, descriptors.file), key=lambda file: file.stem)


def _messages(
    messages: Iterable[DescriptorProto], prefix: str, place: Place
) -> Iterator[tuple[str, Place, DescriptorProto]]:
    for at, message in enumerate(messages):
        if not message.options.map_entry:
            yield f"{prefix}{message.name}", (*place, at), message
            yield from _messages(message.nested_type, f"{prefix}{message.name}.", (*place, at, NESTED_MESSAGES))
