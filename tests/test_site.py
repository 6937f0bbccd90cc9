"""The generated pages of the site have everything that they describe; ``make docs`` checks their links."""

import importlib
import re
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from documents.annotations import short
from documents.commands import commands
from documents.errors import errors
from documents.links import Links
from documents.metrics import metrics
from documents.python_groups import GROUPS
from documents.python_names import python_names
from documents.remote_calls import remote_calls
from documents.tables import escaped
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from numpy.typing import ArrayLike, NDArray

import crossview
from crossview.server.commands.cli import COMMANDS
from crossview.server.wire.methods import METHODS, SERVICES
from crossview.server.wire.status import BY_NAME

ROOT = Path(__file__).resolve().parent.parent
LIBRARIES = ("crossview", "crossview.learners", "crossview.extractors")
MESSAGES = [
    importlib.import_module(f"crossview.v1.{path.stem}_pb2").DESCRIPTOR
    for path in sorted((ROOT / "proto" / "crossview" / "v1").glob("*.proto"))
]


@pytest.fixture(scope="module")
def calls():
    return {name: "\n".join(lines) for name, lines in remote_calls(ROOT / "proto").items()}


@pytest.mark.parametrize("library", LIBRARIES)
def test_the_pages_of_python_have_every_public_name_once(library):
    """The page has all of ``__all__``, and ``open``; the modules of learners and extractors have pages of their own."""
    public = {*importlib.import_module(library).__all__, *(["open"] if library == "crossview" else [])}
    described = Counter(name for group in GROUPS for name in group.names)
    wanted = {f"{library}.{name}" for name in public} - set(LIBRARIES)
    assert {name: described[name] for name in wanted} == dict.fromkeys(wanted, 1)


def test_a_page_of_python_lists_and_describes_its_names():
    pages = python_names()
    for group in GROUPS:
        text = "\n".join(pages[f"python/{group.page}"])
        for name in group.names:
            assert f"(#{name})" in text
            assert re.search(rf"^\.\. (auto|py:)\w+:: {re.escape(name)}$", text, re.M), name


def descriptors(message):
    yield message
    for one in message.nested_types:
        if not one.GetOptions().map_entry:
            yield from descriptors(one)


def short_name(descriptor):
    return descriptor.full_name.removeprefix("crossview.v1.")


@pytest.mark.parametrize("file", MESSAGES, ids=lambda file: Path(file.name).stem)
def test_the_page_of_a_proto_file_has_every_definition(file, calls):
    """It has messages with their fields and enumerations with their values, also the nested ones."""
    sections = dict(re.findall(r"^##? ([\w.]+)\n(.*?)(?=^##? |\Z)", calls[f"grpc/{Path(file.name).stem}"], re.M | re.S))
    messages = [one for top in file.message_types_by_name.values() for one in descriptors(top)]
    enums = [*file.enum_types_by_name.values(), *(enum for one in messages for enum in one.enum_types)]
    for message in messages:
        rows = re.findall(r"^\| `(\w+)` \|", sections[short_name(message)], re.M)
        assert rows == [field.name for field in message.fields]
    for enum in enums:
        rows = re.findall(r"^\| `(\w+)` \| (\d+) \|", sections[short_name(enum)], re.M)
        assert rows == [(value.name, str(value.number)) for value in enum.values]


def test_the_pages_of_calls_have_every_method_with_its_address(calls):
    text = "\n".join(calls.values())
    own = [path for path, method in METHODS.items() if method.service.startswith("crossview.")]
    assert sorted(re.findall(r"`POST (/crossview[^`]*)`", text)) == sorted(own)
    assert all(service.rpartition(".")[2] in text for service in SERVICES)


def test_no_two_headings_of_a_page_of_calls_have_one_anchor(calls):
    for text in calls.values():
        headings = re.findall(r"^#+ (.*)$", text, re.M)
        assert len({one.lower().replace(".", "") for one in headings}) == len(headings)


def test_comments_of_proto_files_are_in_their_place(calls):
    """A comment before a definition is in its section, row or cell."""
    assert "| `key` | `string` | One of `input`." in calls["grpc/search"]
    assert "| `view` | `string` | The query view, in which the input becomes a row." in calls["grpc/search"]
    assert "| `COMBINE_MEAN` | 2 | By that distance alone. |" in calls["grpc/search"]


def test_the_page_of_commands_has_every_command_and_its_examples_as_code():
    text = "\n".join(commands())
    assert re.findall(r"^## (.*)$", text, re.M) == list(COMMANDS)
    assert "\n```sh\ncrossview search pets cat.jpg --view color --targets sift --min-match 0.5\n" in text


def test_metrics_have_their_type_and_labels():
    lines = list(metrics())
    assert "| `crossview_calls_total` | counter | `method`, `code` | Ended calls, by method and status. |" in lines
    assert any(one.startswith("| `crossview_call_seconds` | histogram | `method`, `stage` |") for one in lines)
    assert any(one.startswith("| `crossview_jobs` | gauge | `lane`, `state` |") for one in lines)


def test_the_page_of_errors_has_every_error_with_its_statuses():
    text = "\n".join(errors())
    assert all(f"| `{name}`, a `" in text for name in BY_NAME)
    assert "| `NotFoundError`, a `LookupError` | `NOT_FOUND`, 404 |" in text
    assert "| `TruncatedImageError`, a `ValueError` | `INVALID_ARGUMENT`, 400 |" in text
    assert "| `OverloadedError`, a `RuntimeError` | `RESOURCE_EXHAUSTED`, 429 |" in text
    assert "| `ServerUnavailableError`, a `ConnectionError` | of the client only |" in text
    public = {name for name in crossview.__all__ if name.endswith("Error")}
    assert public <= set(BY_NAME)


class _Text(HTMLParser):
    """The text of HTML."""

    def __init__(self, html):
        super().__init__()
        self.text = ""
        self.feed(html)

    def handle_data(self, data):
        self.text += data


@given(st.text(st.characters(codec="ascii", exclude_categories=["Cc"], exclude_characters="`")))
def test_escaped_text_shows_itself(text):
    """It does so in a cell, which never begins a line; spaces at the ends do not count."""
    shown = _Text(MarkdownIt("commonmark").renderInline(escaped(text))).text
    assert shown.strip() == text.strip()


def test_code_between_backticks_stays_code():
    assert escaped("see `a_b*c` and d_e*") == r"see `a_b*c` and d\_e\*"


@pytest.fixture
def resolved(tmp_path):
    """A function that resolves the links of a text in docs/guides/a.md; its list ``broken`` has the messages."""
    for name in ("docs/guides/a.md", "proto/b.proto", "CHANGELOG.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()

    def resolve(text, address="https://host.example/blob/main", source="docs/guides/a.md", page="docs/guides/a.md"):
        links = Links(tmp_path, address, {"CHANGELOG.md": "docs/changelog.md"}, resolve.broken.append)
        return links.resolved(text, source, page)

    resolve.broken = []
    return resolve


def test_links_to_files_outside_docs_lead_to_the_repository(resolved):
    text = "[the `b` file](../../proto/b.proto#L3)"
    assert resolved(text) == "[the `b` file](https://host.example/blob/main/proto/b.proto#L3)"
    assert resolved("[b](../../proto/b.proto)", address="") == "b"
    assert resolved.broken == []


def test_links_between_pages_and_to_sites_stay(resolved):
    text = "[a](a.md#b), ![c](../d.jpg), [e](https://host.example/f.md), [g](#h)"
    assert resolved(text) == text


def test_documents_at_the_root_are_pages(resolved):
    assert resolved("[log](../../CHANGELOG.md#x)") == "[log](../changelog.md#x)"
    assert resolved("[a](docs/guides/a.md)", source="README.md", page="docs/readme.md") == "[a](guides/a.md)"


def test_links_in_code_stay(resolved):
    text = "`[a](../../gone)`\n\n```md\n[a](../../gone)\n```\n"
    assert resolved(text) == text
    assert resolved.broken == []


def test_a_link_that_leads_nowhere_is_reported(resolved):
    resolved("[a](../../gone.txt)")
    assert resolved.broken == ["docs/guides/a.md: the link to ../../gone.txt leads nowhere"]


def test_annotations_of_arrays_are_short():
    assert short(NDArray[np.float32]).__name__ == "NDArray[float32]"
    assert short(ArrayLike).__name__ == "ArrayLike"
    assert str(short(list[NDArray[np.float64] | None])) == "list[NDArray[float64] | None]"
    assert short(int) is int
