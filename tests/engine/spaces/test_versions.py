"""Versions in memory answer without the catalog, follow it, and stay as they were for their holders."""

import gc
import math
import threading
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace

import numpy as np
import pytest
import sqlalchemy as sa
from line import DIM, keys, numbered, request, row

from crossview.engine.catalog import item_columns, item_pages
from crossview.engine.collections.collection import Collection
from crossview.engine.collections.home import Home
from crossview.engine.spaces import loaded, version
from crossview.engine.spaces import versions as module
from crossview.engine.spaces.search import answer, searched_targets
from crossview.engine.values.conditions.filter import Filter
from crossview.engine.values.errors import InvalidInputError
from crossview.engine.values.item import ItemUpdate, NewItem
from crossview.engine.values.query import Query, SearchRequest
from crossview.engine.values.recipe import Recipe


@pytest.fixture(autouse=True)
def nothing_is_read_ahead(monkeypatch) -> None:
    """Stop reading ahead, so that tests that count statements see only their own."""
    monkeypatch.setattr(module, "AFTER_SECONDS", math.inf)


@contextmanager
def statements(collection: Collection) -> Iterator[list[str]]:
    """Return the statements that a block sends to the catalog."""
    engine, sent = collection._opened.catalog._database._engine, []

    def note(_connection, _cursor, statement: str, *_) -> None:
        sent.append(statement)

    sa.event.listen(engine, "before_cursor_execute", note)
    yield sent
    sa.event.remove(engine, "before_cursor_execute", note)


def test_while_nothing_has_changed_a_search_touches_no_table(items):
    """The search is by vector, with a filter too, after each was answered once."""
    asked = [request(), request(filter=Filter(labels=("even",))), request(filter=Filter(attributes={"half": True}))]
    first = [items.search(one) for one in asked]
    with statements(items) as sent:
        assert [items.search(one) for one in asked] == first
    assert sent == []


def test_what_is_at_hand_is_answered_without_a_table_and_the_rest_not_at_all(items):
    """None is the answer if a search must read or wait: the first, one after a change, a long one, a filter, a key."""
    asked, size = request(), (1 << 20, 1000)
    assert items.memory.search(asked, *size) is None
    first = items.search(asked)
    with statements(items) as sent:
        assert items.memory.search(asked, *size) == first
        assert items.memory.search(request(30), *size) is None  # its hits were never shown
        assert items.memory.search(asked, 16, 1000) is None
        assert items.memory.search(asked, 1 << 20, asked.k - 1) is None
        assert items.memory.search(request(filter=Filter(labels=("even",))), *size) is None
        assert items.memory.search(SearchRequest([Query("v", key="item/010")]), *size) is None
        with items._opened.versions()._changing:  # another thread makes the next version
            assert items.memory.search(asked, *size) == first
    assert sent == []
    with pytest.raises(InvalidInputError, match="4 values"):
        items.memory.search(SearchRequest([Query("v", vector=np.ones(3))]), *size)
    items.items.update([ItemUpdate("item/010", labels=("new",))])
    assert items.memory.search(asked, *size) is None
    after = items.search(asked)
    assert after != first
    assert items.memory.search(asked, *size) == after


def test_what_hits_show_is_read_ahead(home, items, monkeypatch):
    """A search then finds items that no search found before without touching a table."""
    monkeypatch.setattr(module, "AFTER_SECONDS", 0.0)
    with home.open("line") as reader:
        reader.search(request(10))
        thread = reader._opened.versions()._ahead._thread
        thread.join(300)
        with statements(reader) as sent:
            assert set(keys(reader.search(request(35)))) == {"item/035", "item/034", "item/036"}
        assert not sent


def test_a_large_collection_is_not_read_ahead(home, items, monkeypatch):
    """It would take more memory than the caller expects."""
    monkeypatch.setattr(module, "AFTER_SECONDS", 0.0)
    monkeypatch.setattr(module, "MOST_ITEMS", 39)
    with home.open("line") as reader:
        reader.search(request(10))
        reader._opened.versions()._ahead._thread.join(300)
        with statements(reader) as sent:
            reader.search(request(35))
        assert sent


def test_many_queries_by_key_take_few_statements(items):
    """The statements read the state, the items and their rows, for any number of queries."""
    queries = [Query("v", key=f"item/{number % 40:03}") for number in range(500)]
    items.search(SearchRequest(queries, k=2))
    with statements(items) as sent:
        found = items.search(SearchRequest(queries, k=2))
    assert len([one for one in sent if one.startswith("SELECT")]) <= 5
    assert all(f"item/{one.query % 40:03}" not in {hit.key for hit in one.hits} for one in found)
    with items._opened.catalog._database._lookup._turn:  # many keys do not need the connection of the few
        assert len(items.search(SearchRequest(queries, k=2))) == 500


def test_who_holds_a_version_is_answered_as_before(items):
    """Other rows, labels, deletions and items may have been written since."""
    asked = request(k=5)
    versions = items._opened.versions()
    state = versions.answered("", searched_targets(asked), lambda held: held)
    state = state._replace(version=replace(state.version, transaction=None))
    before = answer(state, asked)
    items.items.put(numbered(100, labels=("new",)))
    items.items.put_vectors("v", ["item/010"], row(30)[None])
    items.items.delete(["item/011"])
    items.items.update([ItemUpdate("item/009", labels=("odd",))])
    assert answer(state, asked) == before
    after = items.search(asked)
    assert set(keys(after)).isdisjoint({"item/010", "item/011"})
    assert ("odd",) in [hit.labels for hit in after[0].hits]


@pytest.mark.parametrize(
    "chosen", [Filter(labels=("even",)), Filter(without_labels=("even",)), Filter(key_prefix="item/0")]
)
def test_a_filter_follows_what_changes(items, chosen):
    """Labels come and go, items are new or deleted; the answer equals that of a first request."""
    items.search(request(filter=chosen))
    items.items.update([ItemUpdate("item/010", labels=()), ItemUpdate("item/011", labels=("even",))])
    items.items.put(numbered(60, labels=("even",)))
    items.items.delete(["item/012", "item/013"])
    known = items.search(request(k=60, filter=chosen))
    with Home(items._opened.folder.path.parent).open("line") as other:
        assert other.search(request(k=60, filter=chosen)) == known
    assert "item/012" not in keys(known)


def test_filters_that_nobody_uses_any_more_are_forgotten(items, monkeypatch):
    """A number of bytes bounds the remembered ones."""
    monkeypatch.setattr(version, "MOST_BYTES", 20_000)
    for number in range(100):
        items.search(request(filter=f'not key = "{number}"'))
    held = items._opened.versions().current().filters._passing
    assert 2 <= len(held) <= 20
    assert sum(one.ids.nbytes for one in held.values()) <= 20_000


def test_hits_are_up_to_the_maximum_distance(items):
    """They are exactly those of the k nearest, and none if no item is near."""
    every = items.search(request(k=40))[0].hits
    for most in (0.0, every[3].distance, 1e9):
        (found,) = items.search(request(k=40, max_distance=most))
        assert found.hits == tuple(hit for hit in every if hit.distance <= most)
    for wrong in (-1.0, math.nan, math.inf):
        with pytest.raises(InvalidInputError, match="max_distance must be a number from 0 up"):
            items.search(request(max_distance=wrong))
    with pytest.raises(InvalidInputError, match="give the query a view"):
        items.search(SearchRequest([Query(key="item/001")], max_distance=1.0))


def test_columns_that_nobody_uses_any_more_are_forgotten(items, monkeypatch):
    """Columns too large to keep are read again, part by part, and answer all the same."""
    items.items.update([ItemUpdate(f"item/{n:03}", attributes={"n": n, "m": -n}, text=f"text {n}") for n in range(40)])
    columns = items._opened.columns
    assert items.count("n < 10 and m < -4 and text contains xt") == 5
    assert len(columns._columns) == 4
    items.items.update([ItemUpdate("item/000", attributes={"n": 0, "m": 0, "o": 1})])
    assert items.count("n < 10 and m < -4 and o >= 1") == 0
    assert columns._held == sum(one.nbytes for one in columns._columns.values())
    monkeypatch.setattr(item_columns, "MOST_BYTES", 10_000)
    monkeypatch.setattr(item_columns, "_ITEMS_A_PART", 16)
    assert items.count("m > -10 and n >= 0") == 10
    assert columns._held == sum(one.nbytes for one in columns._columns.values()) <= 10_000
    monkeypatch.setattr(item_columns, "MOST_BYTES", 0)
    assert (
        items.count("n < 10 and n > 4 and m < -4 and text contains xt and not text contains 7 and not label = even")
        == 2
    )
    assert not columns._columns


def test_columns_follow_what_changes(items):
    """Changes come one by one, many at once, and more at once than are worth following."""
    for number in range(30):
        key = f"item/{number:03}"
        items.items.update([ItemUpdate(key, attributes={"n": number % 3}, labels=(f"x{number % 2}",))])
        assert items.count("n = 0") == number // 3 + 1
        assert items.count("label like x1 and n exists") == (number + 1) // 2
    items.items.delete([f"item/{number:03}" for number in range(0, 30, 2)])
    assert items.count("n exists") == 15
    items.items.put([NewItem(f"new/{number}", rows={"v": row(0)}, attributes={"n": 9}) for number in range(3_000)])
    assert items.count("n in [1, 9] and not label like x0") == 3_005


def test_what_is_read_twice_takes_the_room_of_one(items, monkeypatch):
    """Otherwise each reading would leave less room for kept values, and in the end none."""
    items.search(request(k=40))
    pages = items._opened.versions().current().pages
    with items._opened.catalog.read() as tx:
        ids = list(tx.items.keys())
        monkeypatch.setattr(item_pages, "MOST_BYTES", item_pages._bytes(pages.known(ids).values()))
        for _ in range(3):
            pages.read(tx, ids)
    assert len(pages.known(ids)) == 40


def test_what_hits_show_is_bounded_in_bytes(items, monkeypatch):
    """A few items with long attributes take the room of many with short ones."""
    items.items.update([ItemUpdate(f"item/{number:03}", attributes={"note": "x" * 50_000}) for number in range(40)])
    monkeypatch.setattr(item_pages, "ITEMS_A_PAGE", 4)
    monkeypatch.setattr(item_pages, "MOST_BYTES", 500_000)
    items.search(request(k=40))
    pages = items._opened.versions().current().pages
    with items._opened.catalog.read() as tx:
        known = pages.known(tx.items.keys())
    assert 4 <= len(known) <= 10


@pytest.mark.parametrize("batch", [8, 100])
def test_what_hits_show_is_measured_once_however_it_is_read(items, monkeypatch, batch):
    """Reading the hits of a large search in many batches costs as much as in one."""
    monkeypatch.setattr(version, "_SHOWN_AT_ONCE", batch)
    sized = []
    size = item_pages.Shown.size.fget

    def counted(shown):
        sized.append(shown.key)
        return size(shown)

    monkeypatch.setattr(item_pages.Shown, "size", property(counted))
    shown = items._opened.versions().current().shown(set(range(1, 41)))
    assert len(shown) > 30
    assert max(map(sized.count, sized)) <= 2  # for the pages that are kept, and for the room of the answer


def test_filters_keep_no_index_that_is_not_searched_any_more(items):
    """They keep neither that of a generation that another one has replaced, nor a version before a change."""
    items.train(Recipe(spec="pca", views=("v",)))
    asked = request(filter=Filter(labels=("even",)))
    for change in (lambda: items.train(Recipe(spec="pca", views=("v",))), lambda: items.items.delete(["item/010"])):
        items.search(asked)
        held = items._opened.versions().current().space("").indexes.values()
        indexes = [weakref.ref(covered.index) for covered in held]
        del held
        change()
        items.search(request())
        items._opened.versions().close()
        gc.collect()
        assert [index() for index in indexes] == [None, None]


def test_first_searches_at_once_have_one_reader(items, monkeypatch):
    """A second one would load everything again, and its indexes would never be saved."""
    items.close()
    made, real, both = [], module.Versions.__init__, threading.Barrier(2)

    def slowly(self, *arguments):
        made.append(self)
        with suppress(threading.BrokenBarrierError):
            both.wait(0.2)
        real(self, *arguments)

    monkeypatch.setattr(module.Versions, "__init__", slowly)
    with Home(items._opened.folder.path.parent).open("line") as other, ThreadPoolExecutor(2) as threads:
        assert len({str(found) for found in threads.map(other.search, [request()] * 2)}) == 1
    assert len(made) == 1


def test_what_hits_show_is_read_again_where_more_is_read_than_kept(items, monkeypatch):
    """The room is for a few items, or for none."""
    expected = items.search(request(k=40))
    monkeypatch.setattr(item_pages, "ITEMS_A_PAGE", 8)
    for most in (8, 0):
        monkeypatch.setattr(item_pages, "MOST_BYTES", most * 400)
        items.items.put(numbered(900))
        items.items.delete(["item/900"])
        items._opened.reader = None
        assert items.search(request(k=40)) == expected


def test_no_write_and_no_search_after_it_reads_all_items(items):
    """An index serves every statement, so that its cost does not grow with the collection."""
    items.search(request())
    engine, sent = items._opened.catalog._database._engine, []

    def note(_connection, cursor, statement: str, parameters, *_) -> None:
        if statement.startswith(("SELECT", "UPDATE", "DELETE")):
            sent.append((statement, parameters))

    sa.event.listen(engine, "before_cursor_execute", note)
    writes = (
        lambda: items.items.put_vectors("v", ["item/010"], row(3)[None]),
        lambda: items.items.put(numbered(50, labels=("new",))),
        lambda: items.items.update([ItemUpdate("item/010", labels=("other",))]),
        lambda: items.items.delete(["item/011"]),
    )
    for write in writes:
        write()
        items.search(request())
    sa.event.remove(engine, "before_cursor_execute", note)
    with engine.connect() as connection:
        driver = connection.connection.driver_connection
        plans = {
            statement: driver.execute(f"EXPLAIN QUERY PLAN {statement}", given).fetchall() for statement, given in sent
        }
    scans = {
        statement: found[3]
        for statement, plan in plans.items()
        for found in plan
        if found[3].startswith(("SCAN items", "SCAN rows", "SCAN labels"))
    }
    assert scans == {}
    assert len(plans) > 10


@pytest.mark.parametrize("kind", ["new", "key", "filter"])
def test_a_search_ends_although_others_write_before_everything_that_it_reads(items, monkeypatch, kind):
    """It is answered from one of the states that existed meanwhile."""
    real, written = module.Version.read, []

    def overtaken(self):
        if self.transaction is None:
            written.append(len(written))
            items.items.put_vectors("v", ["item/039"], row(100 + len(written))[None])
        return real(self)

    if kind != "new":
        items.search(request())
    monkeypatch.setattr(module.Version, "read", overtaken)
    if kind == "new":
        assert keys(items.search(request(k=1))) == ["item/010"]
    elif kind == "key":
        (found,) = items.search(SearchRequest([Query("v", key="item/010")], k=50))
        distances = {hit.key: hit.distance / np.sqrt(DIM) for hit in found.hits}
        assert round(distances["item/039"]) + 10 in range(100, 102 + len(written))
    else:
        assert len(items.search(request(k=50, filter=Filter(labels=("even",))))[0].hits) == 20
    assert len(written) <= 4


@pytest.mark.parametrize(("holder", "name"), [(loaded, "stored_space"), (module.IndexedSpace, "with_target")])
def test_searches_go_on_while_a_space_is_loaded(items, monkeypatch, holder, name):
    """A search of spaces in memory does not wait for one that is loaded, also after a write, nor for another space."""
    for spec in ("pca", "standardize"):
        items.train(Recipe(spec=spec, views=("v",)), activate=False)
    inside, leave, first = threading.Event(), threading.Event(), threading.Lock()
    load = getattr(holder, name)

    def slowly(*arguments):
        if first.acquire(blocking=False):
            inside.set()
            assert leave.wait(300)
        return load(*arguments)

    items.close()
    with Home(items._opened.folder.path.parent).open("line") as other:
        expected = other.search(request())
        monkeypatch.setattr(holder, name, slowly)
        thread = threading.Thread(target=other.search, args=(request(space="pca"),))
        thread.start()
        assert inside.wait(300)
        assert other.search(request()) == expected
        other.items.put(numbered(200))
        assert keys(other.search(request(200, k=1))) == ["item/200"]
        assert keys(other.search(request(200, k=1, space="standardize"))) == ["item/200"]
        leave.set()
        thread.join()
        assert keys(other.search(request(200, k=1, space="pca"))) == ["item/200"]
