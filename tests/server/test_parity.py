"""Values that are written are read back equal, here and over gRPC, or refused at the write, on both sides alike."""

from typing import Any

import pytest
from odd_values import OddValues

from crossview.engine.collections.home import Home
from crossview.engine.values.conditions.filter import Filter
from crossview.engine.values.item import Item, NewItem
from crossview.engine.values.query import Query, SearchRequest
from crossview.server.client.client import Client
from crossview.server.edge.listen import RunningServer

AT_ONCE = 500


@pytest.mark.parametrize("count", [1_000, pytest.param(50_000, marks=pytest.mark.long)])
def test_values_are_read_as_they_were_written_or_refused(
    home: Home, server: RunningServer, nothing_stays: None, count: int
) -> None:
    values = OddValues(count)
    given = {item.key: item for item in map(values.item, range(count))}
    with Client(server.address) as client, home.create("here", ["v=vectors:dim=2"]) as here:
        there = client.create("there", ["v=vectors:dim=2"])
        refused: dict[str, str] = {}
        for items in _parts(list(given.values())):
            ours, theirs = here.items.put(items), there.items.put(items)
            assert [*ours.failures] == [*theirs.failures]
            assert (ours.added, ours.updated) == (theirs.added, theirs.updated) == (len(items) - len(ours.failures), 0)
            refused |= {one.key: one.reason for one in ours.failures}
        assert count / 50 < len(refused) < count / 2
        written = [key for key in given if key not in refused]
        read_here, served, written_there = (_items(one) for one in (here, client.open("here"), there))
        assert sorted(read_here) == sorted(written)
        assert {key: _of(item) for key, item in served.items()} == {key: _of(item) for key, item in read_here.items()}
        assert {key: _of(item) for key, item in written_there.items()} == {
            key: _of(read_here[key]) for key in read_here
        }
        for key in written:
            assert _of(served[key]) == _given(given[key])
        for part in range(0, count, 1_000):
            request = SearchRequest(
                [Query("v", vector=[1.0, 1.0])], k=1_000, filter=Filter(key_prefix=f"{part // 1_000:03}")
            )
            (local,), (remote,) = here.search(request), client.open("here").search(request)
            assert [
                (hit.key, hit.distance, _plain(hit.attributes), hit.labels, hit.text, hit.source) for hit in local.hits
            ] == [
                (hit.key, hit.distance, _plain(hit.attributes), hit.labels, hit.text, hit.source) for hit in remote.hits
            ]


def _parts(items: list[NewItem]) -> list[list[NewItem]]:
    return [items[start : start + AT_ONCE] for start in range(0, len(items), AT_ONCE)]


def _items(collection: Any) -> dict[str, Item]:
    found: dict[str, Item] = {}
    while page := collection.items(after=max(found, default=""), limit=1_000):
        found.update((item.key, item) for item in page)
    return found


def _of(item: Item) -> tuple[Any, ...]:
    return item.key, item.labels, _plain(item.attributes), item.text, item.source, item.notion_labels, item.views


def _given(item: NewItem) -> tuple[Any, ...]:
    """Return the fields of an item that is stored as it was given."""
    notions = {notion: tuple(sorted(set(found))) for notion, found in item.notion_labels.items() if found}
    labels = tuple(sorted(set(item.labels or ())))
    return item.key, labels, _plain(item.attributes or {}), item.text or "", item.source, notions, ("v",)


def _plain(value: Any) -> Any:
    """Return a value by which equal means equal in JSON: 1 is 1.0 and not true."""
    match value:
        case bool() | None | str():
            return type(value).__name__, value
        case int() | float():
            return "number", value
        case dict():
            return {name: _plain(one) for name, one in value.items()}
        case list() | tuple():
            return [_plain(one) for one in value]
    raise AssertionError(f"{value!r} is stored, and JSON does not know it")
