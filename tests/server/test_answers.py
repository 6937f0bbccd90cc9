"""Answers are measured while they are made, and the content of items is bounded: no answer takes much memory."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from crossview.engine.catalog.items import Items as StoredItems
from crossview.engine.collections.home import Home
from crossview.engine.spaces.answer_size import room_for
from crossview.engine.values.errors import InvalidInputError
from crossview.engine.values.item import Item, ItemUpdate, NewItem
from crossview.engine.values.query import Query, SearchRequest
from crossview.server.client.client import Client
from crossview.server.core.services.search_service import SearchService
from crossview.server.edge.listen import RunningServer
from crossview.server.wire.convert_search import from_search_request
from crossview.server.wire.settings import ServerSettings

COUNT, LONG = 60, "x" * 20_000
ALL = SearchRequest([Query("v", vector=np.zeros(2, np.float32))], k=COUNT, space="raw")


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """A server with the collection ``long``, whose items have long attributes and texts."""
    home = Home(tmp_path_factory.mktemp("home"))
    with home.create("long", ["v=vectors:dim=2"]) as made:
        rows = np.random.default_rng(0).standard_normal((COUNT, 2)).astype(np.float32)
        items = [
            NewItem(f"{number:02}", rows={"v": row}, attributes={"long": LONG}, text=LONG)
            for number, row in enumerate(rows)
        ]
        assert made.items.put(items).added == COUNT
    with RunningServer(ServerSettings(home=home.path, port=0, answer_bytes=500_000)) as server:
        yield server


@pytest.mark.parametrize("known", [False, True], ids=["read", "known"])
def test_a_search_that_would_show_too_much_is_refused(running: RunningServer, known: bool) -> None:
    """The refusal comes before all is read from the disk, and also if it is in memory; fewer hits are shown."""
    few = replace(ALL, k=20)
    with Client(running.address) as client:
        long = client.open("long")
        if known:
            assert sum(len(long.search(replace(few, queries=[Query("v", key=f"{n:02}")]))[0].hits) for n in range(60))
        with pytest.raises(InvalidInputError, match=r"may contain 0\.5 MB of .*lower k"):
            long.search(ALL)
        with pytest.raises(InvalidInputError, match="send fewer queries"):
            long.search(replace(few, queries=ALL.queries * 2))
        assert len(long.search(few)[0].hits) == 20
    with running.collections.home.open("long") as local:
        assert len(local.search(ALL)[0].hits) == COUNT


def test_nothing_is_read_beyond_the_room(running: RunningServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """A search for everything reads a part, and then refuses."""
    monkeypatch.setattr("crossview.engine.spaces.version._SHOWN_AT_ONCE", 8)
    with running.collections.home.open("long") as local, room_for(500_000):
        with pytest.raises(InvalidInputError):
            local.search(ALL)
        assert local._opened.reader is not None
        assert len(local._opened.reader.current().pages.known(range(1, COUNT + 1))) < COUNT


def test_long_hits_are_not_for_the_event_loop(running: RunningServer) -> None:
    """A few of them take longer than many short ones."""
    service = SearchService(running.collections, running.settings)
    requests = [from_search_request(replace(ALL, k=k)) for k in (3, 20)]
    for request in requests:
        request.parent = "collections/long"
        service.Search(request, None)  # type: ignore[arg-type]
    assert [service.searches_in_loop([request]) is None for request in requests] == [False, True]


def test_a_page_of_long_items_is_shorter_and_none_is_left_out(
    running: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No more items are read than the page has room for."""
    monkeypatch.setattr("crossview.engine.collections.items._MOST_CHARACTERS", 400_000)
    monkeypatch.setattr("crossview.engine.collections.items._FIRST_ITEMS", 4)
    read, real = list[int](), StoredItems.page

    def counted(self: StoredItems, *given: Any) -> dict[int, Item]:
        found = real(self, *given)
        read.append(len(found))
        return found

    monkeypatch.setattr(StoredItems, "page", counted)
    with Client(running.address) as client:
        assert [item.key for item in client.open("long").items(limit=COUNT)] == [f"{n:02}" for n in range(COUNT)]
    assert max(read) <= 12
    assert sum(read) <= 2 * COUNT


def test_a_page_is_of_one_state(running: RunningServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is, although it is read in parts, and another thread relabels every item in between."""
    monkeypatch.setattr("crossview.engine.collections.items._FIRST_ITEMS", 4)
    parts, real = list[int](), StoredItems.page

    def meanwhile(self: StoredItems, *given: Any) -> dict[int, Item]:
        found = real(self, *given)
        parts.append(len(found))
        if len(parts) == 1:
            with ThreadPoolExecutor(1) as pool:
                pool.submit(relabel).result()
        return found

    def relabel() -> None:
        with running.collections.home.open("long") as local:
            local.items.update([ItemUpdate(f"{n:02}", labels=("meanwhile",)) for n in range(COUNT)])

    monkeypatch.setattr(StoredItems, "page", meanwhile)
    with Client(running.address) as client:
        listed = client.open("long").items(limit=COUNT)
    assert len(parts) > 1
    assert len({item.labels for item in listed}) == 1


def test_attributes_are_bounded(running: RunningServer) -> None:
    """This holds for every way to write them; the error names the longest."""
    with running.collections.home.open("long") as local:
        for attributes in (
            {"a": "x" * 100_001},
            {f"{n:03}": "é" * 900 for n in range(60)},
            {"a": {"b": ["x"] * 30_000}},
        ):
            report = local.items.update([ItemUpdate("00", attributes=attributes)])
            ((key, reason),) = [(one.key, one.reason) for one in report.failures]
            assert key == "00"
            assert "at most 100,000 characters" in reason
        fits = {f"{n:03}": "x" * 80 for n in range(700)}
        assert local.items.update([ItemUpdate("00", attributes=fits)]).failures == ()
        with pytest.raises(InvalidInputError, match=r"attributes of item '00', .* remove some first"):
            local.items.update([ItemUpdate("00", attributes={"more": "x" * 50_000})])
        assert local.items.get("00").attributes == {"long": LONG, **fits}
        local.items.update([ItemUpdate("00", removed_attributes=tuple(fits))])
