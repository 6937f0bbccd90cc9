"""Pages of all hits show one state of the collection during any writes."""

import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from crossview.engine.collections.collection import Collection
from crossview.engine.collections.home import Home
from crossview.engine.values.errors import InvalidInputError, NotReadyError
from crossview.engine.values.item import ItemUpdate, NewItem
from crossview.engine.values.query import Query, SearchRequest

N = 300
QUERY = Query("v", vector=[0.0, 0.0])


def item(number: int, generator: np.random.Generator) -> NewItem:
    return NewItem(f"k{number:05}", rows={"v": generator.normal(size=2)}, attributes={"number": number})


@pytest.fixture
def collection(tmp_path: Path) -> Iterator[Collection]:
    generator = np.random.default_rng(0)
    with Home(tmp_path).create("c", ["v=vectors:dim=2", "w=vectors:dim=2"]) as made:
        made.items.put([item(number, generator) for number in range(N)])
        yield made


@pytest.mark.parametrize("size", [1, 7, N, 10_000])
@pytest.mark.parametrize("options", [{}, {"max_distance": 1.0}, {"filter": "number < 100"}, {"sort_by": "-number"}])
def test_pages_are_a_search_for_all(collection: Collection, size: int, options: dict[str, object]) -> None:
    """Hits are in its order, and each page has the total of the list."""
    (every,) = collection.search(SearchRequest([QUERY], k=N, targets="v", **options))  # type: ignore[arg-type]
    pages = list(collection.search_pages(SearchRequest([QUERY], targets="v", **options), size))  # type: ignore[arg-type]
    assert [hit for (one,) in pages for hit in one.hits] == list(every.hits)
    assert {one.total for (one,) in pages} == {len(every.hits)}
    assert all(len(one.hits) == size for (one,) in pages[:-1])


def test_lists_follow_one_another(collection: Collection) -> None:
    """A page can end one list and begin the next; the first page has every list."""
    collection.items.put_vectors("w", ["k00001", "k00002"], np.ones((2, 2), np.float32))
    queries = [QUERY, Query("w", vector=[0.0, 0.0])]
    pages = list(collection.search_pages(SearchRequest(queries, filter="number < 4"), 3))
    assert [[(one.query, one.target, len(one.hits), one.total) for one in page] for page in pages] == [
        [(0, "v", 3, 4), (1, "w", 0, 2)],
        [(0, "v", 1, 4), (1, "w", 2, 2)],
    ]
    (page,) = collection.search_pages(SearchRequest(queries, max_distance=0.0))
    assert [(one.target, one.hits, one.total) for one in page] == [("v", (), 0), ("w", (), 0)]


def test_no_write_reaches_an_open_page(collection: Collection) -> None:
    """Writes are a deletion, a new item, another attribute, another row and a compaction."""
    expected = list(collection.search(SearchRequest([QUERY], k=N))[0].hits)
    pages = collection.search_pages(SearchRequest([QUERY]), 50)
    (first,) = next(pages)
    generator = np.random.default_rng(1)
    collection.items.delete([f"k{number:05}" for number in range(0, N, 2)])
    collection.items.put([item(number, generator) for number in range(N, 2 * N)])
    collection.items.update([ItemUpdate(f"k{number:05}", attributes={"number": -1}) for number in range(1, N, 2)])
    collection.items.put_vectors("v", ["k00001", "k00003"], np.full((2, 2), 9, np.float32))
    collection.storage.compact()
    assert [*first.hits, *(hit for (one,) in pages for hit in one.hits)] == expected
    assert len(collection.search(SearchRequest([QUERY], k=9 * N))[0].hits) == N + N // 2


def test_pages_end_with_their_iteration_and_their_collection(collection: Collection) -> None:
    """An iteration that ends early gives up its state, and closing the collection ends open ones."""
    opened = collection._opened.pages
    ended, kept = (collection.search_pages(SearchRequest([QUERY]), 10) for _ in range(2))
    next(ended), next(kept)
    both = list(opened)
    assert len(both) == 2
    ended.close()
    assert [one._closed for one in both].count(True) == 1
    collection.close()
    with pytest.raises(NotReadyError, match="search again"):
        next(kept)


def test_many_pages_leave_connections_for_others(collection: Collection) -> None:
    """They are more than the connections of a pool."""
    several = [collection.open_pages(SearchRequest([QUERY])) for _ in range(40)]
    assert collection.count() == N
    assert {one.page(N - 1, 1)[0].total for one in several} == {N}
    for one in several:
        one.close()


def test_some_requests_have_no_pages(collection: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    for options, size, words in (
        ({"diversity": 0.5}, 10, "diversity chooses k hits"),
        ({}, 0, "at least 1 hit, not 0"),
        ({"k": 0}, 10, "k must be at least 1"),
    ):
        with pytest.raises(InvalidInputError, match=words):
            next(collection.search_pages(SearchRequest([QUERY], **options), size))  # type: ignore[arg-type]
    monkeypatch.setattr("crossview.engine.spaces.search.MOST_HITS", 20)
    with pytest.raises(InvalidInputError, match="may have 20 hits, and these have more"):
        next(collection.search_pages(SearchRequest([QUERY], targets="v")))
    assert sum(len(one.hits) for (one,) in collection.search_pages(SearchRequest([QUERY], filter="number < 10"))) == 10


@pytest.mark.long
@pytest.mark.parametrize("size", [100_000])
def test_a_reader_sees_each_item_of_its_state_once_while_writers_write(tmp_path: Path, size: int) -> None:
    """The state has 100,000 items, while two threads insert and delete others all the time."""
    generator = np.random.default_rng(0)
    with Home(tmp_path).create("c", ["v=vectors:dim=2"]) as made:
        rows = generator.normal(size=(size, 2)).astype(np.float32)
        for start in range(0, size, 10_000):
            keys = [f"k{number:06}" for number in range(start, start + 10_000)]
            made.items.put_vectors("v", keys, rows[start : start + 10_000])
        pages = made.search_pages(SearchRequest([QUERY]), 1_000)
        (first,) = next(pages)
        stop, written = threading.Event(), [0, 0]

        def write(place: int) -> None:
            own = np.random.default_rng(place)
            while not stop.is_set():
                made.items.delete([f"k{number:06}" for number in own.integers(0, size, 50)])
                new = [f"new{place}-{written[place]}-{number}" for number in range(50)]
                made.items.put_vectors("v", new, own.normal(size=(50, 2)).astype(np.float32))
                written[place] += 1
                stop.wait(0.05)  # the log grows with each write, and a reader reads it

        writers = [threading.Thread(target=write, args=(place,)) for place in range(2)]
        for writer in writers:
            writer.start()
        try:
            found = [*first.hits, *(hit for (one,) in pages for hit in one.hits)]
        finally:
            stop.set()
            for writer in writers:
                writer.join()
        assert min(written) > 0
        assert len(found) == size
        assert {hit.key for hit in found} == {f"k{number:06}" for number in range(size)}
        assert [hit.distance for hit in found] == sorted(hit.distance for hit in found)


def test_pages_go_on_from_feedback(collection: Collection) -> None:
    """Kept judgements are examples of all pages, and their items are not hits."""
    collection.feedback.judge("near", ["k00001"], ["k00002"], person="ann")
    pages = list(collection.search_pages(SearchRequest([], feedback="near", filter="number < 20"), 7))
    found = [hit.key for (one,) in pages for hit in one.hits]
    assert sorted(found) == [f"k{number:05}" for number in range(20) if number not in (1, 2)]
