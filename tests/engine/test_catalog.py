"""The catalog: migrations, sequence numbers, tombstones, durability, clear refusals."""

import gzip
import os
from pathlib import Path

import numpy as np
import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from hypothesis import given, settings
from hypothesis import strategies as st

from crossview.engine.catalog.bulk import batches
from crossview.engine.catalog.catalog import Catalog
from crossview.engine.catalog.database import HEAD, make_tables, migrate
from crossview.engine.catalog.extractors import add_views
from crossview.engine.catalog.item_columns import ItemColumns, matching_among
from crossview.engine.catalog.item_writer import NewRecord
from crossview.engine.catalog.schema import metadata
from crossview.engine.catalog.writing import delete_items, put_records
from crossview.engine.collections.home import Home
from crossview.engine.values.conditions.filter import Filter
from crossview.engine.values.errors import StorageError
from crossview.engine.values.item import NewItem
from crossview.engine.values.query import Query, SearchRequest

GOLDEN = Path(__file__).parent / "golden"


@pytest.fixture
def catalog(tmp_path):
    made = Catalog.create(tmp_path / "catalog.db", "test")
    with made.write() as tx:
        add_views(tx, ["color"])
    yield made
    made.close()


def record(key: str, value: float = 0.0, **more) -> NewRecord:
    return NewRecord(key=key, rows={"color": np.full(64, value, np.float32)}, **more)


@pytest.mark.parametrize("make", [make_tables, lambda connection: migrate(connection, "")], ids=["new", "migrated"])
def test_new_tables_and_the_migrations_make_exactly_the_schema(tmp_path, make):
    engine = sa.create_engine(f"sqlite:///{tmp_path}/catalog.db")
    with engine.begin() as connection:
        make(connection)
    with engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []
        assert connection.scalar(sa.text("SELECT version_num FROM alembic_version")) == HEAD
        indexes = sa.text("SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql LIKE '% WHERE %'")
        partial = {name: sql.partition(" WHERE ")[2] for name, sql in connection.execute(indexes)}
    assert set(partial) == {
        *("uq_items_live_key", "ix_items_labels_given", "ix_items_tombstones", "ix_items_deleted_pictures")
    }
    assert partial["ix_items_deleted_pictures"] == "deleted IS 1 AND content_hash != ''"
    engine.dispose()


def test_a_catalog_of_a_newer_program_is_refused(tmp_path):
    path = tmp_path / "catalog.db"
    Catalog.create(path, "test").close()
    engine = sa.create_engine(f"sqlite:///{path}")
    with engine.begin() as connection:
        connection.execute(sa.text("UPDATE alembic_version SET version_num = '9999'"))
    engine.dispose()
    with pytest.raises(StorageError, match="newer"):
        Catalog(path)


def test_every_change_takes_the_next_sequence_number_and_deletions_leave_tombstones(catalog):
    with catalog.write() as tx:
        put_records(tx, [record("a"), record("b")])
        first = tx.sequence()
    with catalog.write() as tx:
        assert delete_items(tx, ["a", "nothing"]) == 1
    with catalog.read() as tx:
        changes = tx.items.changed_since(first)
        assert tx.sequence() == first + 1
        assert (changes.live, len(changes.deleted)) == ([], 1)
        assert tx.items.count() == 1
        assert len(tx.rows.get(tx.views.all()[0]).ids) == 1


def test_ids_are_never_used_again(catalog):
    seen = set()
    for _ in range(3):
        with catalog.write() as tx:
            put_records(tx, [record("a")])
            (number,) = tx.items.ids_of(["a"]).values()
            assert number not in seen
            seen.add(number)
            delete_items(tx, ["a"])


def test_a_transaction_that_fails_leaves_nothing(catalog):
    def stopped() -> None:
        with catalog.write() as tx:
            put_records(tx, [record("a")])
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        stopped()
    with catalog.read() as tx:
        assert (tx.items.count(), tx.sequence()) == (0, 0)


def test_a_reader_sees_one_state_while_others_write(catalog):
    with catalog.read() as before:
        assert before.items.count() == 0
        with catalog.write() as tx:
            put_records(tx, [record("a")])
        assert before.items.count() == 0
    with catalog.read() as after:
        assert after.items.count() == 1


def test_an_update_replaces_rows_and_keeps_what_is_not_given(catalog):
    with catalog.write() as tx:
        put_records(tx, [record("a", 1.0, labels=("x",), attributes={"n": 1})])
        assert not put_records(tx, [record("a", 2.0)]).added
    with catalog.read() as tx:
        (item,) = tx.items.page("", 10).values()
        assert (item.labels, item.attributes) == (("x",), {"n": 1})
        assert tx.rows.get(tx.views.all()[0]).rows[0, 0] == 2.0


def test_a_full_disk_is_a_storage_error_and_loses_nothing_acknowledged(catalog):
    with catalog.write() as tx:
        put_records(tx, [record("kept")])

    def fill() -> None:
        with catalog.write() as tx:
            pages = tx._connection.exec_driver_sql("PRAGMA page_count").scalar()
            tx._connection.exec_driver_sql(f"PRAGMA max_page_count={pages}")
            put_records(tx, [record(f"lost/{number}") for number in range(3000)])

    with pytest.raises(StorageError, match="full"):
        fill()
    with catalog.read() as tx:
        assert [item.key for item in tx.items.page("", 10).values()] == ["kept"]


def test_the_large_cache_of_a_writer_is_that_of_its_transaction(home: Home):
    """A reader that gets the connection afterwards has the small one, also after a commit that failed."""

    def cache(tx) -> int:
        return int(tx._connection.exec_driver_sql("PRAGMA cache_size").scalar())

    with home.create("a", ["color"]) as made:
        catalog = made._opened.catalog
        with catalog.read() as tx:
            usual = cache(tx)
        with catalog.write() as tx:
            assert cache(tx) < 10 * usual < 0
        with pytest.raises(ZeroDivisionError), catalog.write():
            raise ZeroDivisionError
        with catalog.read() as tx:
            assert cache(tx) == usual


def test_a_file_that_is_no_catalog_is_a_storage_error(tmp_path):
    (tmp_path / "catalog.db").write_bytes(b"not a database at all" * 100)
    with pytest.raises(StorageError, match="damaged"):
        Catalog(tmp_path / "catalog.db")


@pytest.mark.parametrize("writable", [True, False])
def test_a_catalog_is_the_file_of_its_path_whatever_characters_that_has(tmp_path, monkeypatch, writable):
    """Special characters of a URL are ordinary in a path, also in a read-only folder."""
    folder = tmp_path / "a %41?b#c;d&e=f+g:h@i"
    folder.mkdir()
    Catalog.create(folder / "catalog.db", "odd").close()
    assert [path.name for path in tmp_path.iterdir()] == [folder.name]
    monkeypatch.setattr(os, "access", lambda path, mode: writable)
    catalog = Catalog(folder / "catalog.db")
    with catalog.read() as tx:
        assert tx.head().name == folder.name
    catalog.close()


@pytest.mark.parametrize(
    ("chosen", "keys"),
    [
        (Filter(), "abcd"),
        (Filter(labels=("x",)), "ac"),
        (Filter(labels=("x", "y")), "abc"),
        (Filter(without_labels=("x",)), "bd"),
        (Filter(labels=("x",), without_labels=("y",)), "a"),
        (Filter(keys=("a", "d", "z")), "ad"),
        (Filter(key_prefix="b"), "b"),
        (Filter(key_prefix="%"), ""),
        (Filter(attributes={"n": 1}), "a"),
        (Filter(attributes={"n": 2.5}), "b"),
        (Filter(attributes={"s": "t"}), "c"),
        (Filter(attributes={"ok": True}), "d"),
        (Filter(attributes={"n": None}), "d"),
        (Filter(attributes={"nothing": 1}), ""),
    ],
)
def test_a_filter_passes_just_the_items_it_says(catalog, chosen, keys):
    with catalog.write() as tx:
        put_records(
            tx,
            [
                record("a", labels=("x",), attributes={"n": 1}),
                record("b", labels=("y",), attributes={"n": 2.5}),
                record("c", labels=("x", "y"), attributes={"s": "t"}),
                record("d", attributes={"ok": True, "n": None}),
            ],
        )
    with catalog.read() as tx:
        found = ItemColumns().matching(tx, chosen.condition)
        assert "".join(item.key for item in tx.items.page("", 10, found).values()) == keys
        assert matching_among(tx, chosen.condition, [1, 2, 3, 4]).tolist() == found.tolist()
        assert "".join(item.key for item in tx.items.page("a", 1, found).values()) == keys.removeprefix("a")[:1]


def test_pages_follow_each_other_in_the_order_of_keys(catalog):
    keys = sorted(f"k/{number}" for number in range(25))
    with catalog.write() as tx:
        put_records(tx, [record(key) for key in reversed(keys)])
    found, after = [], ""
    with catalog.read() as tx:
        while page := tx.items.page(after, 10):
            found += [item.key for item in page.values()]
            after = found[-1]
    assert found == keys


def test_more_ids_than_a_statement_takes_are_no_trouble(catalog):
    with catalog.write() as tx:
        put_records(tx, [record(f"{number:06}") for number in range(12_000)])
        ids = list(tx.items.ids_of(f"{number:06}" for number in range(40_000)).values())
        view = tx.views.all()[0]
        assert len(tx.rows.get(view, ids).ids) == len(tx.items.by_id(ids)) == 12_000
        assert delete_items(tx, [f"{number:06}" for number in range(40_000)]) == 12_000


@settings(deadline=None)
@given(st.lists(st.integers(), max_size=50), st.integers(1, 20))
def test_batches_hold_everything_in_order(values, size):
    parts = list(batches(values, size))
    assert [value for part in parts for value in part] == values
    assert all(1 <= len(part) <= size for part in parts)


def test_a_catalog_of_an_earlier_version_opens_by_migration(home: Home):
    """Version 0.1.0 wrote the golden file: items, labels, rows and spaces are there, and texts can be added."""
    folder = home.path / "old"
    folder.mkdir(parents=True)
    (folder / "catalog.db").write_bytes(gzip.decompress((GOLDEN / "catalog-0001.db.gz").read_bytes()))
    with home.open("old") as collection:
        info = collection.info()
        assert (info.items, info.labels, info.active_space) == (5, {"even": 3, "odd": 2}, "pca")
        item = collection.items.get("item/3")
        assert (item.text, item.attributes, item.views, item.source) == ("", {"n": 3}, ("color",), "/photos/3.jpg")
        (answer,) = collection.search(SearchRequest([Query("color", key="item/3")], space="raw", k=9))
        assert len(answer.hits) == 4
        collection.items.put([NewItem("item/3", text="red", labels=("odd",)), NewItem("new", text="blue")])
        collection.views.add("text")
        collection.views.fit(())
        (answer,) = collection.search(SearchRequest([Query("text", text="RED")], space="raw"))
        assert next((hit.key, hit.text, hit.distance) for hit in answer.hits) == ("item/3", "red", 0.0)
        assert collection.items.get("item/3").source == "/photos/3.jpg"
