"""Writes into a published collection, changes of its catalog, and generations after the first one."""

import threading
import time

import numpy as np
import pytest
from published import WIDTHS, Published, check_alike, item, row

from crossview.engine.publishing import aliases
from crossview.engine.publishing.following import follow, listed, remove
from crossview.engine.publishing.generation import Generation
from crossview.engine.publishing.publish import CatalogFilling
from crossview.engine.publishing.serving import Serving
from crossview.engine.values.errors import InvalidInputError, NotFoundError, NotReadyError
from crossview.engine.values.item import ItemUpdate, NewItem
from crossview.engine.values.query import Query, SearchRequest
from crossview.engine.values.recipe import Recipe

SOON = 300.0
"""Seconds in which a server must go over to a new generation."""


def await_bundle(both: Published, address: str) -> None:
    """Wait until the open collection answers from a bundle."""
    until = time.monotonic() + SOON
    while not address.endswith(both.published.bundle):
        assert time.monotonic() < until
        time.sleep(0.05)


def items_of(both: Published) -> dict[str, tuple]:
    """Return the fields of each item, by key, and check that the published one is the same."""
    found = {}
    for one in both.collection.items(limit=1_000):
        other = both.published.items.get(one.key)
        for name in ("labels", "attributes", "text", "views", "notion_labels"):
            assert getattr(one, name) == getattr(other, name), (name, one, other)
        found[one.key] = (one.labels, one.attributes, one.text)
    assert both.published.count() == len(found)
    return found


@pytest.mark.parametrize("spec", ["", "lsh:16"])
def test_writes_change_both_collections_alike(changing, spec):
    """Each acknowledged write is found by the next search, and reports what the catalog reports."""
    both = changing(spec)
    with_both = (both.collection.items, both.published.items)
    for write in (
        lambda items: items.put([item(200), item(3, seed=9), NewItem("k/005", attributes={"x": [1, "ü"]})]),
        lambda items: items.update([ItemUpdate("k/200", labels=("z",), text="hello"), ItemUpdate("k/001", labels=())]),
        lambda items: items.put_vectors("w", ["k/007", "only/w"], np.stack([row(99, "w"), row(98, "w")])),
        lambda items: items.put([NewItem("bad", rows={"v": [1.0]}), NewItem("worse", rows={"v": [np.nan] * 6})]),
        lambda items: items.put([]),
        lambda items: items.put([NewItem('"quoted" key \\ ü\u0301 雪 % _', rows={"v": row(5, "v", 7)})]),
        lambda items: items.put([NewItem("a", labels=("b",))]),
    ):
        one, other = (write(items) for items in with_both)
        assert (one.added, one.updated, one.unchanged) == (other.added, other.updated, other.unchanged)
        assert [vars(failure) for failure in one.failures] == [vars(failure) for failure in other.failures]
        both.check_all([3, 7, 9])
    assert [items.delete(["k/200", "k/008", "nobody"]) for items in with_both] == [2, 2]
    both.check_all([8])
    items_of(both)
    both.check(SearchRequest([Query("w", key="only/w")]))
    with pytest.raises(NotFoundError):
        both.published.items.get("k/008")


def test_refused_writes_change_nothing(changing):
    both = changing("cca")
    before = items_of(both)
    items = both.published.items
    for refused in (
        lambda: items.put_vectors("v", ["a"], np.zeros((1, 3), np.float32)),
        lambda: items.put_vectors("zz", ["a"], np.zeros((1, 3), np.float32)),
        lambda: items.put_vectors("v", ["a", "b"], np.zeros((1, 6), np.float32)),
        lambda: items.update([ItemUpdate("k/001", labels=("a",))], match_paths=True),
    ):
        with pytest.raises((InvalidInputError, NotFoundError)):
            refused()
    assert items.update([ItemUpdate("nobody", labels=("a",))]).updated == 0
    assert items.put([NewItem("line\nbreak", rows={"v": row(1, "v")})]).failures
    assert items_of(both) == before


def test_items_that_the_engine_cannot_store_are_reported(changing):
    """Milvus Lite writes keys into SQL as they are, so keys with an apostrophe need a server."""
    both = changing("cca")
    odd = "it's", "a' OR 'b' = 'b"
    items = [*(NewItem(key, rows={"v": row(1, "v")}) for key in odd), item(400)]
    report = both.published.items.put(items)
    refused = set(odd) if both.engine.address.is_file else set()
    assert {failure.key for failure in report.failures} == refused
    assert report.added == 3 - len(refused)
    both.collection.items.put(items)
    both.collection.train(Recipe(views=tuple(WIDTHS), spec="cca"))
    last = both.publish()
    await_bundle(both, last.bundle)
    assert {failure.key for failure in last.failures} == refused
    assert both.published.items.get("k/400").labels == item(400).labels
    before = both.published.count()
    hostile = "'] or key != ['", '"] or key != ["', "\\"
    assert both.published.items.delete([*odd, *hostile]) == 2 - len(refused)
    assert both.published.count() == before - 2 + len(refused)


def test_changes_of_the_catalog_follow(changing):
    """Added, changed, deleted and renamed items follow; items that servers wrote stay."""
    both = changing("cca")
    items = both.collection.items
    both.published.items.put([NewItem("served", rows={"v": row(1, "v", 3)})])
    bundle = "/".join(both.first.bundle.rsplit("/", 2)[1:])
    serving = Serving(both.published._storage, bundle, both.engine)
    filling = CatalogFilling(both.collection, serving, "auto")
    assert filling.follow() == 0
    items.put([item(300), item(4, seed=2)])
    items.delete(["k/001", "k/002"])
    items.update([ItemUpdate("k/003", labels=("q",))])
    assert filling.follow() > 0
    assert filling.follow() == 0
    serving.close()
    assert both.published.items.get("served").views == ("v",)
    both.published.items.delete(["served"])
    both.check_all([1, 2, 3, 4])
    items_of(both)


def test_following_publishes_later_changes_and_generations(changing):
    both = changing("cca")
    stopping, found = threading.Event(), []

    def send() -> None:
        found.extend(follow(both.collection, both.request(), stopping))

    thread = threading.Thread(target=send)
    thread.start()
    try:
        both.collection.items.put([item(300)])
        until = time.monotonic() + SOON
        while both.published.count() != both.collection.count():
            assert time.monotonic() < until
            time.sleep(0.1)
        both.collection.train(Recipe(views=tuple(WIDTHS), spec="cca"))
        while not found:
            assert time.monotonic() < 2 * SOON + until
            time.sleep(0.1)
    finally:
        stopping.set()
        thread.join()
    await_bundle(both, found[0].bundle)
    both.check_all([1])


def test_a_collection_can_change_while_it_is_published(changing, monkeypatch):
    """Writes and a training come meanwhile, and the publication has them all."""
    both = changing("cca")
    both.collection.train(Recipe(views=tuple(WIDTHS), spec="cca"))
    left = [3]

    def written(generation, *arguments, **options):
        left[0] -= 1
        if left[0] == 2:
            both.collection.items.put([item(number) for number in range(300, 310)])
        if left[0] == 1:
            both.collection.items.delete([f"k/{number:03}" for number in range(20)])
        if left[0] == 0:
            both.collection.train(Recipe(views=tuple(WIDTHS), spec="cca"))
        return settle(generation, *arguments, **options)

    with monkeypatch.context() as patched:
        settle = Generation.settle
        patched.setattr(Generation, "settle", written)
        assert both.publish().switched
    assert left[0] < 0
    last = both.publish()
    assert (last.generation, last.items) == (3, both.collection.count())
    await_bundle(both, last.bundle)
    both.check_all([1, 25, 305])
    items_of(both)


def test_publishing_again_accepts_what_servers_wrote(changing):
    both = changing("cca")
    both.published.items.delete([f"k/{number:03}" for number in range(30)])
    assert not both.publish().switched
    assert both.published.count() == both.collection.count() - 30


def test_a_new_generation_takes_over_what_servers_wrote(changing):
    """It has the catalog's present items; items that servers wrote or deleted remain so."""
    both = changing("cca")
    served = both.published.items
    served.put([NewItem("served", labels=("s",), rows={"v": row(1, "v", 3)}), NewItem("k/005", attributes={"x": 1})])
    served.delete(["k/007"])
    both.collection.items.delete(["k/010"])
    both.collection.items.put([item(300)])
    both.collection.train(Recipe(views=tuple(WIDTHS), spec="lsh:16"))
    both.collection.spaces.activate("lsh")
    second = both.publish()
    assert (second.switched, second.kept, second.space) == (True, 3, "lsh")
    await_bundle(both, second.bundle)
    assert served.get("served").labels == ("s",)
    assert served.get("k/005").attributes["x"] == 1
    for gone in ("k/007", "k/010"):
        with pytest.raises(NotFoundError):
            served.get(gone)
    both.collection.items.put(
        [NewItem("served", labels=("s",), rows={"v": row(1, "v", 3)}), NewItem("k/005", attributes={"x": 1})]
    )
    both.collection.items.delete(["k/007"])
    both.check_all([1, 5, 7])
    items_of(both)


def test_publishing_again_changes_nothing_and_former_generations_go(changing):
    both = changing("cca")
    again = both.publish()
    assert (again.bundle, again.switched, again.items) == (both.first.bundle, False, both.collection.count())
    for _ in range(2):
        both.collection.train(Recipe(views=tuple(WIDTHS), spec="cca"))
        last = both.publish()
    await_bundle(both, last.bundle)
    (one,) = [one for one in listed(both.engine) if one["name"] == both.name]
    assert one == {
        "name": both.name,
        "space": "cca",
        "bundle": both.published.bundle,
        "items": both.collection.count(),
        "generations": 2,
    }
    assert remove(both.engine, both.name) == 2
    assert both.name not in [one["name"] for one in listed(both.engine)]
    with pytest.raises(NotReadyError, match=both.name):
        remove(both.engine, both.name)
    with pytest.raises(NotReadyError, match="publish the collection first"):
        both.opened()
    assert both.publish().switched


def test_a_dry_run_changes_nothing(changing):
    both = changing("cca")
    both.collection.train(Recipe(views=tuple(WIDTHS), spec="itq:4"))
    both.collection.spaces.activate("itq")
    before = set(both.engine.call("list_collections")), sorted(both.bundles.rglob("*"))
    planned = both.publish(dry_run=True)
    assert (planned.space, planned.switched) == ("itq", False)
    assert {one.target for one in planned.targets} >= set(WIDTHS)
    assert (set(both.engine.call("list_collections")), sorted(both.bundles.rglob("*"))) == before


class CutOffError(Exception):
    """An interruption."""


STAGES = [
    (Generation, "_make", 2),
    (Generation, "put", 1),
    (Generation, "put", 2),
    (Generation, "set_state", 2),
    (Generation, "search", 2),
    (aliases, "point", 1),
    (aliases, "drop_former", 1),
]


@pytest.mark.parametrize(("holder", "method", "time_"), STAGES, ids=[f"{name}-{time_}" for _, name, time_ in STAGES])
def test_an_interrupted_publication_goes_on(changing, monkeypatch, holder, method, time_):
    """The generation in use answers meanwhile; the same call finishes the next one."""
    monkeypatch.setattr("crossview.engine.publishing.publish._CHUNKS", 1)
    monkeypatch.setattr("crossview.engine.publishing.source.AT_ONCE", 25)
    both = changing("cca")
    before = both.check(SearchRequest([Query("v", vector=row(1, "v"))]))
    both.collection.train(Recipe(views=tuple(WIDTHS), spec="cca"))
    real, left = getattr(holder, method), [time_]

    def interrupted(*arguments, **options):
        left[0] -= 1
        if not left[0]:
            raise CutOffError
        return real(*arguments, **options)

    with monkeypatch.context() as patched:
        patched.setattr(holder, method, interrupted)
        with pytest.raises(CutOffError):
            both.publish()
        if method != "drop_former":
            check_alike(before, both.published.search(SearchRequest([Query("v", vector=row(1, "v"))])))
    last = both.publish()
    await_bundle(both, last.bundle)
    both.check_all([1, 5])
    items_of(both)
    assert last.items == both.collection.count()
