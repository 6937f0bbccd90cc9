"""Filters by labels and attributes, from a client and from the command line."""

import json
import math
from collections.abc import Iterator
from itertools import count
from typing import Any

import grpc
import numpy as np
import pytest
from conditions import conditions, contents
from filter_oracle import matching
from hypothesis import given, settings
from hypothesis import strategies as st
from terminal import BACKENDS, reached, result_of, run

from crossview.engine.collections.home import Home
from crossview.engine.values.conditions.tree import EVERY
from crossview.engine.values.item import NewItem, Picture
from crossview.engine.values.query import Query, SearchRequest
from crossview.server.client.client import Client
from crossview.server.commands.backend import Backend
from crossview.server.edge.listen import RunningServer
from crossview.server.wire.settings import ServerSettings
from crossview.v1 import collections_pb2, collections_pb2_grpc, types_pb2

VIEW = "v=vectors:dim=2"
numbers = count()


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    settings = ServerSettings(home=tmp_path_factory.mktemp("home"), port=0)
    with RunningServer(settings) as running, Client(running.address) as made:
        yield made


@pytest.mark.filterwarnings("ignore::crossview.engine.values.errors.InputWarning")
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_a_client_chooses_as_plain_python_does(client: Client, data: st.DataObject) -> None:
    """Attributes that travelled as structs are found by conditions that travelled as trees, or as text."""
    made = client.create(f"c{next(numbers)}", views=[VIEW])
    assert made.items.put(data.draw(contents())).failures == ()
    items = made.items()
    asked = [NewItem(item.key, attributes=item.attributes) for item in items]
    for _ in range(4):
        chosen = data.draw(conditions(asked))
        assert [item.key for item in made.items(chosen)] == matching(items, chosen)
        assert made.count(str(chosen) if chosen != EVERY else "") == len(matching(items, chosen))
        (found,) = made.search(SearchRequest([Query("v", vector=[0, 0])], filter=chosen))
        assert sorted(hit.key for hit in found.hits) == matching(items, chosen)


@pytest.mark.filterwarnings("ignore::crossview.engine.values.errors.InputWarning")
@settings(max_examples=5, deadline=None)
@given(data=st.data())
def test_a_terminal_chooses_as_plain_python_does(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    """Every condition has a text that a command reads as the condition."""
    home = Home(tmp_path_factory.mktemp("home"))
    with home.create("some", [VIEW]) as made:
        assert made.items.put(data.draw(contents())).failures == ()
        items = made.items()
    asked = [NewItem(item.key, attributes=item.attributes) for item in items]
    for chosen in data.draw(st.lists(conditions(asked), min_size=3, max_size=6)):
        words = () if chosen == EVERY else ("--where", chosen)
        found = [item["key"] for item in result_of("list", "some", *words, "--home", home.path)]
        assert found == matching(items, chosen)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_terminal_asks_for_json_values_or_text(tmp_path: Any, backend: str) -> None:
    """1999 is the number, "1999" in quotes the text, and a word of its own is text. Conditions add up."""
    home = Home(tmp_path)
    values = {"a": 1999, "b": "1999", "c": True, "d": None, "e": "red car", "f": "NaN"}
    with home.create("years", [VIEW]) as made:
        made.items.put([NewItem(k, rows={"v": [0, 0]}, attributes={"année": v}) for k, v in values.items()])
    np.save(tmp_path / "row.npy", np.zeros(2))
    with reached(home, backend) as options:
        for asked, key in (
            ("1999", "a"),
            ('"1999"', "b"),
            ("true", "c"),
            ("null", "d"),
            ('"red car"', "e"),
            ("NaN", "f"),
        ):
            query = ("search", "years", "--view", "v", "--vector", tmp_path / "row.npy")
            (found,) = result_of(*query, "--where", f"année = {asked}", *options)
            assert [hit["key"] for hit in found["hits"]] == [key]
        (found,) = result_of(*query, "--where", "année exists", "--where", "année < 2000", *options)
        assert [hit["key"] for hit in found["hits"]] == ["a"]


BAD_LABELS = {"empty": "", "NUL": "a\0b", "long": "x" * 10_000, "surrogate": "\udcff"}
BAD_VALUES: dict[str, Any] = {
    "nan": math.nan,
    "infinity": math.inf,
    "NUL": "a\0",
    "surrogate": ["\udcff"],
    "bytes": {"deeper": b"bytes"},
    "set": {1, 2},
    "large": 2**64,
    "long": "x" * 1_000_001,
    "deep": json.loads("[" * 50 + "]" * 50),
}


@pytest.mark.parametrize("label", BAD_LABELS.values(), ids=BAD_LABELS)
def test_a_bad_label_is_a_failure_of_the_report(backend: Backend, label: str) -> None:
    """The other items are imported, here and through a server."""
    made = backend.create(f"labels{next(numbers)}", views=[VIEW])
    good, bad = (NewItem(key, rows={"v": [0, 0]}, labels=tags) for key, tags in (("good", ("x",)), ("bad", (label,))))
    report = made.items.put([bad, good])
    assert (report.added, [failure.key for failure in report.failures]) == (1, ["bad"])
    assert "a label" in report.failures[0].reason
    made.close()


@pytest.mark.parametrize("value", BAD_VALUES.values(), ids=BAD_VALUES)
def test_a_bad_attribute_is_a_failure_that_names_it(backend: Backend, value: Any) -> None:
    """The other items are imported, here and through a server."""
    made = backend.create(f"values{next(numbers)}", views=[VIEW])
    bad = NewItem("bad", rows={"v": [0, 0]}, attributes={"année": value})
    report = made.items.put([bad, NewItem("good", rows={"v": [0, 0]}, attributes={"n": [1, {"m": None}]})])
    assert (report.added, [failure.key for failure in report.failures]) == (1, ["bad"])
    assert "année" in report.failures[0].reason
    assert made.items.get("good").attributes == {"n": [1, {"m": None}]}
    made.close()


def test_a_bad_name_of_an_attribute_is_a_failure(backend: Backend) -> None:
    """Names are text without NUL, of no more characters than a key."""
    made = backend.create(f"names{next(numbers)}", views=[VIEW])
    names: list[Any] = ["a\0", "x" * 2000, 1, "\udcff"]
    report = made.items.put([NewItem(f"{i}", rows={"v": [0, 0]}, attributes={n: 1}) for i, n in enumerate(names)])
    assert (report.added, len(report.failures)) == (0, len(names))
    assert all("the name of an attribute" in failure.reason for failure in report.failures)
    made.close()


def test_a_message_with_one_bad_item_brings_the_others(server: RunningServer, channel: grpc.Channel) -> None:
    """A client in any language may send NaN in a struct, or an empty label."""
    server.collections.home.create(name := f"raw{next(numbers)}", [VIEW]).close()
    items = [collections_pb2.NewItem(key=key, rows={"v": types_pb2.Vector(values=[1, 2])}) for key in "abc"]
    items[0].attributes["x"] = math.nan
    items[1].labels.append("")
    request = collections_pb2.ImportItemsRequest(parent=f"collections/{name}", items=items)
    answer = collections_pb2_grpc.CollectionServiceStub(channel).ImportItems(request)
    assert (answer.added, sorted(failure.key for failure in answer.failures)) == (1, ["a", "b"])


@pytest.mark.parametrize("label", ["", "a\0b", "x" * 10_000])
def test_views_are_not_fitted_with_bad_labels(backend: Backend, label: str, pictures: Any) -> None:
    """A picture to fit on may have the labels that an item may have."""
    made = backend.create(f"fit{next(numbers)}", views=["forest"])
    with pytest.raises(ValueError, match="a label"):
        made.views.fit([Picture(next(pictures.rglob("*.jpg")).read_bytes(), (label,))])
    made.close()


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("label", ["a\0b", "x" * 10_000], ids=["NUL", "long"])
def test_a_table_with_a_bad_label_is_refused_before_anything_is_read(
    tmp_path: Any, backend: str, label: str, pictures: Any
) -> None:
    """The message names the file and the line; nothing is indexed."""
    home = Home(tmp_path / "home")
    home.create("labelled", ["color"]).close()
    first = next(pictures.rglob("*.jpg")).relative_to(pictures)
    (tmp_path / "labels.csv").write_text(f"path,label\n{first},{label}\n")
    with reached(home, backend) as options:
        result = run("index", "labelled", pictures, "--labels", tmp_path / "labels.csv", *options)
        assert result.exit_code == 1
        assert "labels.csv, line 2" in result.output
        assert result_of("list", "labelled", *options) == []
