"""Copies of collections are made between writes, checked, and brought back for every process that has them open."""

import errno
import os
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import sqlalchemy as sa
from sqlalchemy.dialects import sqlite

from crossview.engine.catalog.items import _DELETED_PICTURES
from crossview.engine.collections.collection import Collection
from crossview.engine.collections.home import Home
from crossview.engine.values.errors import AlreadyExistsError, InvalidInputError, NotFoundError, StorageError
from crossview.engine.values.item import DeletedPicture, NewItem
from crossview.engine.values.query import Query, SearchRequest
from crossview.engine.values.recipe import Recipe


def numbered(*numbers: int, value: float = 0.0, label: str = "") -> list[NewItem]:
    rows = {number: np.full(4, value or number, np.float32) for number in numbers}
    return [
        NewItem(f"item/{number:03}", rows={"v": row}, labels=(label,) if label else ()) for number, row in rows.items()
    ]


def nearest(collection: Collection, value: float, k: int = 1, **options) -> list[str]:
    query = Query("v", vector=np.full(4, value, np.float32))
    return [hit.key for hit in collection.search(SearchRequest([query], k=k, **options))[0].hits]


@pytest.fixture
def line(home: Home) -> Iterator[Collection]:
    with home.create("line", ["v=vectors:dim=4"]) as made:
        made.items.put(numbered(*range(40), label="a"))
        made.train(Recipe(spec="pca", views=("v",)))
        yield made


def test_a_copy_is_one_file_with_everything(home: Home, line: Collection, tmp_path: Path):
    """It has items, labels, views and spaces; under a name of its own, it stands beside the original."""
    seen: list[tuple[str, int, int]] = []
    written = home.backup("line", tmp_path / "copy.db", lambda *step: seen.append(step))
    assert [path.name for path in tmp_path.iterdir() if "copy" in path.name] == ["copy.db"]
    assert seen[-1][1] == seen[-1][2] > 0
    with home.restore("other", written) as restored:
        assert restored.name == restored.info().name == "other"
        assert restored.items(limit=100) == line.items(limit=100)
        assert nearest(restored, 7.1, 3) == nearest(line, 7.1, 3)
        restored.items.delete(["item/007"])
        assert "item/007" in nearest(line, 7.1)


def test_a_copy_is_of_one_state_while_others_write(home: Home, line: Collection, tmp_path: Path):
    """Each import is in it whole or not at all."""
    stop = threading.Event()

    def write() -> None:
        number = 100
        while not stop.is_set():
            line.items.put(numbered(number, number + 1))
            number += 2

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for turn in range(5):
            home.backup("line", tmp_path / f"{turn}.db")
    finally:
        stop.set()
        writer.join()
    for turn in range(5):
        with home.restore(f"copy{turn}", tmp_path / f"{turn}.db") as copy:
            assert copy.count() % 2 == 0
            assert len(nearest(copy, 0, 10_000, space="raw")) == copy.count()


def test_whoever_has_it_open_answers_from_the_copy_at_once(home: Home, line: Collection, tmp_path: Path):
    """A reader does even if its memory has another change under the number of the copy's last change."""
    copy = home.backup("line", tmp_path / "copy.db")
    line.items.put_vectors("v", ["item/003"], np.full((1, 4), 500, np.float32))
    assert nearest(line, 500, space="raw") == ["item/003"]
    home.restore("line", copy, replace=True).close()
    assert nearest(line, 3, space="raw") == ["item/003"]
    line.items.put_vectors("v", ["item/005"], np.full((1, 4), 500, np.float32))  # the same number, another change
    assert nearest(line, 500, space="raw") == ["item/005"]
    assert nearest(line, 3, space="raw") == ["item/003"]


def test_snapshots_of_another_history_are_not_trusted(home: Home, line: Collection, tmp_path: Path):
    """A copy that was put back by hand, then written until the numbers are the same, answers with its own items."""
    line.close()
    database = home.path / "line/catalog.db"
    before = database.read_bytes()
    with home.open("line") as later:
        later.items.put_vectors("v", [f"item/{number:03}" for number in range(20)], np.full((20, 4), 500, np.float32))
        assert nearest(later, 500, 20, space="raw")
    database.write_bytes(before)
    with home.open("line") as again:
        again.items.put_vectors("v", [f"item/{number:03}" for number in range(20)], np.full((20, 4), 700, np.float32))
        assert nearest(again, 8, space="raw") != ["item/008"]
        query = Query("v", vector=np.full(4, 700, np.float32))
        found = again.search(SearchRequest([query], k=20, space="raw"))[0].hits
        assert {hit.distance for hit in found} == {0.0}


def test_spaces_of_two_histories_with_one_number_are_told_apart(home: Home, line: Collection, tmp_path: Path):
    """A catalog is put back by hand and trained in another way: generations and changes have the same numbers."""
    line.close()
    database = home.path / "line/catalog.db"
    before = database.read_bytes()
    vectors = []
    for spec in ("standardize", "l2"):
        database.write_bytes(before)
        with home.open("line") as one:
            one.train(Recipe(spec=spec, views=("v",)), space="made", activate=True)
        with home.open("line") as one:
            query = Query("v", vector=np.array([1, 2, 3, 4], np.float32))
            hits = one.search(SearchRequest([query], k=40))[0].hits
            vectors.append([hit.distance for hit in hits])
    assert len(set(vectors[1])) <= 2  # rows of one direction, and one of zeros
    assert vectors[0] != vectors[1]


def test_a_space_of_the_same_number_after_a_restore_is_another_one(home: Home, line: Collection, tmp_path: Path):
    """A reader with the first one in memory searches the new one, and embeds items by it."""
    copy = home.backup("line", tmp_path / "copy.db")
    query, vectors = Query("v", vector=np.array([1, 2, 3, 4], np.float32)), []
    for spec in ("standardize", "l2"):
        line.train(Recipe(spec=spec, views=("v",)), space="made", activate=True)
        vectors.append(np.stack([line.embed([query])[0].vector, line.items.embed("v", space="made").vectors[1]]))
        home.restore("line", copy, replace=True).close()
    np.testing.assert_allclose(np.linalg.norm(vectors[1], axis=1), 1, rtol=1e-5)
    assert not np.isclose(np.linalg.norm(vectors[0], axis=1), 1).any()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is not a copy"),
        (b"hello", "is not a copy"),
        (None, "damaged"),
        ("empty", "not a collection's"),
    ],
)
def test_what_is_no_copy_is_refused_and_nothing_is_changed(
    home: Home, line: Collection, tmp_path: Path, content, words
):
    """An empty file, another one, a torn one, another database."""
    file = tmp_path / "x.db"
    if content is None:
        whole = home.backup("line", tmp_path / "whole.db").read_bytes()
        file.write_bytes(whole[: len(whole) // 2])
    elif content == "empty":
        sqlite3.connect(file).execute("CREATE TABLE a (b)").connection.close()
    else:
        file.write_bytes(content)
    for name, replace in (("new", False), ("line", True)):
        with pytest.raises(InvalidInputError, match=words):
            home.restore(name, file, replace)
    assert sorted(path.name for path in home.path.iterdir()) == ["line"]
    assert nearest(line, 7, space="raw") == ["item/007"]


def test_nothing_is_overwritten_unasked(home: Home, line: Collection, tmp_path: Path):
    """Files and collections stay; absent ones are named."""
    copy = home.backup("line", tmp_path / "copy.db")
    with pytest.raises(AlreadyExistsError, match="choose another name"):
        home.backup("line", copy)
    with pytest.raises(AlreadyExistsError, match="exists already"):
        home.restore("line", copy)
    with pytest.raises(NotFoundError, match="there are: line"):
        home.backup("nothing", tmp_path / "other.db")
    with pytest.raises(InvalidInputError, match="does not exist"):
        home.backup("line", tmp_path / "no/where.db")
    with pytest.raises(InvalidInputError, match="cannot be read"):
        home.restore("new", tmp_path / "missing.db")
    with pytest.raises((InvalidInputError, StorageError)):
        home.restore("New!", copy)


def test_a_name_that_is_taken_meanwhile_is_not_overwritten(home: Home, line: Collection, tmp_path: Path):
    """Another process takes the name of a file or a collection while a copy or a collection is made."""
    copy = home.backup("line", tmp_path / "copy.db")

    def faster(*_: object) -> None:
        (tmp_path / "other.db").write_bytes(b"mine")
        if "other" not in home.names():
            home.create("other", ["color"]).close()

    with pytest.raises(AlreadyExistsError, match="choose another name"):
        home.backup("line", tmp_path / "other.db", faster)
    assert (tmp_path / "other.db").read_bytes() == b"mine"
    home.delete("other")
    with pytest.raises(AlreadyExistsError, match="'other' exists already"):
        home.restore("other", copy, progress=faster)
    with home.open("other") as other:
        assert [view.name for view in other.views()] == ["color"]
    assert sorted(path.name for path in home.path.iterdir()) == ["line", "other"]


def test_a_file_system_without_links_takes_copies_too(home: Home, line: Collection, tmp_path: Path, monkeypatch):
    """Most memory sticks have such file systems; nothing is overwritten there, either."""

    def refused(*_: object) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", refused)
    with home.restore("other", home.backup("line", tmp_path / "copy.db")) as restored:
        assert restored.items(limit=100) == line.items(limit=100)
    with pytest.raises(AlreadyExistsError, match="choose another name"):
        home.backup("line", tmp_path / "x.db", lambda *_: (tmp_path / "x.db").touch())
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_what_is_deleted_leaves_nothing_after_a_compaction(home: Home, line: Collection):
    """Tombstones and snapshots of deleted generations are gone; present items are found, also in another opening."""
    line.items.delete([f"item/{number:03}" for number in range(10, 30)])
    line.items.put(numbered(50))
    with home.open("line") as other:
        assert len(nearest(other, 0, 100)) == 21
        line.storage.compact()
        assert len(nearest(other, 0, 100)) == 21
    with line._opened.catalog.read() as tx:
        assert len(tx.items.changed_since(-1).deleted) == 0
    line.items.put(numbered(12))
    with home.open("line") as other:
        assert nearest(other, 12, space="raw") == ["item/012"]
        assert len(nearest(other, 0, 100)) == 22


def test_tombstones_of_pictures_stay(home: Home, line: Collection):
    """A picture that was deleted does not come back with the next indexing of its folder."""
    with line._opened.catalog.write() as tx:
        tx._connection.exec_driver_sql("UPDATE items SET content_hash = 'x' WHERE key = 'item/001'")
    line.items.delete(["item/001", "item/002"])
    line.storage.compact()
    assert [one.key for one in line.items.deleted()] == ["item/001"]


def test_pictures_of_deleted_items_are_read_page_by_page(line: Collection):
    """Each page reads only its own rows, by an index; of equal keys in any form the last one counts."""
    forms = ["item/\u00e9", "item/e\u0301"]
    with line._opened.catalog.write() as tx:
        tx._connection.exec_driver_sql("UPDATE items SET content_hash = key")
    for form in (*forms, "item/001", "item/001"):
        line.items.put([NewItem(form, rows={"v": np.zeros(4)})])
        with line._opened.catalog.write() as tx:
            tx._connection.exec_driver_sql("UPDATE items SET content_hash = key || id WHERE NOT deleted")
        line.items.delete([form])
    line.items.delete([f"item/{number:03}" for number in range(2, 8)])
    every, pages = line.items.deleted(), list[DeletedPicture]()
    while page := line.items.deleted_after(pages[-1].key if pages else "", 3):
        pages += page
    assert pages == every
    assert [one.key for one in every] == sorted([*(f"item/{number:03}" for number in range(1, 8)), forms[1]])
    with line._opened.catalog.read() as tx:
        last = tx._connection.exec_driver_sql("SELECT max(id) FROM items WHERE key = 'item/001'").scalar_one()
        assert every[0].content_hash == f"item/001{last}"
        query = _DELETED_PICTURES.where(sa.literal_column("items.key") > "").compile(
            dialect=sqlite.dialect(), compile_kwargs={"literal_binds": True}
        )
        plan = [row[3] for row in tx._connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {query}")]
    assert "SEARCH items USING INDEX ix_items_deleted_pictures (key>?)" in plan
    assert not [step for step in plan if step.startswith("SCAN") or "TEMP B-TREE" in step]
