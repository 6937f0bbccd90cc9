"""No process of a server opens a path that a client names, for any call."""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import grpc
import numpy as np
import pytest
from drawn import draw, encode
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from pages import DrawnPage

from benchmarks.serve.malformed import methods
from benchmarks.serve.process import serving
from crossview.engine.values.changes import ChangesRequest
from crossview.engine.values.item import Capture, ItemUpdate, NewItem
from crossview.engine.values.query import Query, SearchRequest
from crossview.engine.values.recipe import Recipe
from crossview.server.client.client import Client

WITNESS = """
import os, sys
named, log = os.environ["NAMED_PATHS"], os.open(os.environ["WITNESS_LOG"], os.O_WRONLY | os.O_APPEND)
def note(event, found):
    if any(named in (os.fsdecode(one) if isinstance(one, bytes) else str(one)) for one in found):
        os.write(log, f"{event} {found}\\n".encode())
EVENTS = "open", "os.", "glob.", "shutil.", "tempfile.", "sqlite3.", "import"
sys.addaudithook(lambda event, found: note(event, found) if event.startswith(EVENTS) else None)
for name in ("stat", "lstat", "access", "readlink", "statvfs"):
    def noted(path, *others, _do=getattr(os, name), _name=name, **options):
        note(_name, (path,))
        return _do(path, *others, **options)
    setattr(os, name, noted)
note("began", (named,))
"""
"""A program that runs first in every Python process of the server, and notes each use of paths below a folder."""
CALLED = "page"
HOURS = 24
PAGE = DrawnPage(hours=HOURS)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("witnessed")


@pytest.fixture(scope="module")
def named(folder: Path) -> Path:
    """The folder that clients name; it has only files that a reader would wait for without end."""
    made = folder / "named-by-clients"
    made.mkdir()
    os.mkfifo(made / "pipe.png")
    return made


@pytest.fixture(scope="module")
def client(folder: Path, named: Path) -> Iterator[Client]:
    """A client of a server whose every process is watched."""
    (folder / "witness").mkdir()
    (folder / "witness" / "sitecustomize.py").write_text(WITNESS)
    (folder / "log").touch()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(folder / "witness"))
        patch.setenv("NAMED_PATHS", str(named))
        patch.setenv("WITNESS_LOG", str(folder / "log"))
        with serving(folder / "home") as server, Client(server.address) as made:
            made.create(CALLED, ["regions=gist:grid=4:size=64", "color"])
            yield made


@pytest.fixture
def witnessed(folder: Path) -> Iterator[None]:
    """Check at the end that no process has done anything with the named folder."""
    yield
    seen = (folder / "log").read_text().splitlines()
    assert sum(line.startswith("began") for line in seen) >= 3  # the server, and processes beside it
    assert [line for line in seen if not line.startswith("began")] == []


def test_items_with_sources_are_served_without_them(client: Client, named: Path, witnessed: None) -> None:
    """They are imported, changed by path, searched, learned from, compared for changes, and deleted."""
    names = [named / "pipe.png", *(named / f"{number}.png" for number in range(1, HOURS))]
    pictures = [encode(np.asarray(PAGE.picture(hour))) for hour in range(HOURS)]
    hours = [Capture(stamp="x", modified_ns=10**18 + hour * 3_600 * 10**9) for hour in range(len(names))]
    page = client.open(CALLED)
    given = [
        NewItem(path.name, image=image, source=str(path), capture=hour, labels=("a",))
        for path, image, hour in zip(names, pictures, hours, strict=True)
    ]
    assert page.items.put(given).added == len(names)
    changed = page.items.update([ItemUpdate(str(path), labels=("b",)) for path in names], match_paths=True)
    assert changed.updated == len(names)
    found = page.changes(ChangesRequest())
    assert (found.versions, found.source) == (len(names), "times of the files")
    page.search(SearchRequest([Query("color", key="1.png"), Query("color", image=pictures[1])]))
    page.train(Recipe(spec="pca", views=("color",), dim=1))
    page.items.delete(["2.png"])
    assert page.items.deleted()[0].source == str(names[2])
    assert page.storage.findings() == ()


def test_no_method_opens_a_path_in_any_of_its_fields(client: Client, named: Path, witnessed: None) -> None:
    """Every text of a message of every method is a path."""
    with grpc.insecure_channel(client.address) as channel:
        for path, method in methods().items():
            message = filled(method.input_type, str(named / "pipe.png"))
            answers = "stream" if method.server_streaming else "unary"
            asks = "stream" if method.client_streaming else "unary"
            send = getattr(channel, f"{asks}_{answers}")(path, request_serializer=type(message).SerializeToString)
            with suppress(grpc.RpcError):
                answer = send(iter([message]) if method.client_streaming else message, timeout=300)
                for _ in answer if method.server_streaming else ():
                    pass


def filled(kind: Descriptor, path: str, depth: int = 4) -> Message:
    """Return a message all of whose texts are a path, except the names of the collection."""
    message = GetMessageClass(kind)()
    for field in kind.fields:
        inner = field.message_type
        if inner and (depth == 0 or inner.full_name.startswith("google.") or inner.GetOptions().map_entry):
            continue
        if field.name in ("parent", "collection") and not inner:
            setattr(message, field.name, f"collections/{CALLED}")
        elif field.is_repeated:
            getattr(message, field.name).extend([value_of(field, path, depth)])
        elif inner:
            getattr(message, field.name).CopyFrom(value_of(field, path, depth))
        else:
            setattr(message, field.name, value_of(field, path, depth))
    return message


def value_of(field: FieldDescriptor, path: str, depth: int) -> object:
    """Return one value of a field."""
    if field.message_type is not None:
        return filled(field.message_type, path, depth - 1)
    if field.type == field.TYPE_STRING:
        return path
    return encode(draw("red", 0)) if field.type == field.TYPE_BYTES else 1
