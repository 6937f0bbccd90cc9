"""Catalogs of earlier versions open, keep everything, and report odd content."""

import gzip
import sqlite3
import unicodedata
from pathlib import Path

import pytest
from drawn import draw, encode

from crossview.engine.collections.collection import Collection
from crossview.engine.collections.home import Home
from crossview.engine.values.item import IndexOptions, NewItem
from crossview.engine.values.query import Query, SearchRequest

GOLDEN = Path(__file__).parent / "golden"
NFC, NFD = (unicodedata.normalize(form, "été") for form in ("NFC", "NFD"))


@pytest.fixture
def old(home: Home):
    """A catalog of schema 0002: one folder under two roots, keys in two Unicode forms, and a row of 1e25."""
    folder = home.path / "old"
    folder.mkdir(parents=True)
    with sqlite3.connect(folder / "catalog.db") as database:
        database.executescript(gzip.decompress((GOLDEN / "catalog-0002.sql.gz").read_bytes()).decode())
    database.close()
    with home.open("old") as made:
        yield made


def test_everything_is_there_and_nothing_was_merged(old: Collection):
    labels = {item.key: item.labels for item in old.items()}
    assert labels == {
        **{f"photos/green/{name}": ("green",) for name in ("1.png", f"{NFD}.png")},
        "photos/green/0.png": ("leaf",),
        **{f"photos/red/{number}.png": ("red",) for number in range(2)},
        **dict.fromkeys(("red/0.png", "red/1.png", NFC, NFD, "far", "near"), ()),
    }
    assert old.items.get("photos/green/0.png").attributes == {"year": 1999, "é": 1}


def test_what_is_odd_is_named_with_what_to_do(old: Collection):
    files, keys, forms, rows = old.storage.findings()
    assert "2 files are indexed under more than one key, such as 'photos/red/0.png', 'red/0.png': delete" in files
    assert f"1 key stands for several items, in different Unicode forms, such as {NFC!r}, {NFD!r}" in keys
    assert forms.startswith("2 keys are not in Unicode normal form C")
    assert "1 row of view 'clip' cannot be compared" in rows
    assert rows.endswith("replace the rows of 'far'")


def test_a_finding_goes_with_its_cause(old: Collection):
    old.items.delete(["red/0.png", "red/1.png"])
    old.items.put([NewItem("far", rows={"clip": [1, 2, 3]})])
    old.items.delete([NFD])
    (forms,) = old.storage.findings()
    assert forms.startswith("1 key is not")


def test_each_of_two_items_whose_keys_differ_in_form_is_reached_by_its_own(old: Collection):
    old.items.put([NewItem(NFD, rows={"clip": [5, 5, 5]}), NewItem(NFC, labels=("one",))])
    assert (old.items.get(NFC).labels, old.items.get(NFD).labels) == (("one",), ())
    (found,) = old.search(SearchRequest([Query("clip", vector=[5, 5, 5])], space="raw", k=1))
    assert [hit.key for hit in found.hits] == [NFD]


def test_a_file_that_is_two_items_stays_with_the_first(old: Collection, tmp_path, monkeypatch):
    """Its picture is read again, under the key that it had first."""
    (tmp_path / "photos/red").mkdir(parents=True)
    (tmp_path / "photos/red/0.png").write_bytes(encode(draw("red", 3)))
    with old._opened.catalog.write() as tx:
        for column, table in (("source", "items"), ("path", "roots")):
            tx._connection.exec_driver_sql(
                f"UPDATE {table} SET {column} = replace({column}, '/photos-of-old', '{tmp_path}')"
            )
    report = old.index([tmp_path / "photos/red"], IndexOptions(labels="folder", workers=1))
    assert (report.added, report.updated) == (0, 1)
    assert report.missing == ("photos/red/1.png", "red/1.png")
    assert old.items.get("red/0.png").labels == ()


def test_labels_that_a_folder_did_not_give_were_chosen(old: Collection):
    with old._opened.catalog.read() as tx:
        ids = tx.items.ids_of(["photos/green/0.png", "photos/green/1.png"])
        assert tx.items.with_given_labels(list(ids.values())) == {ids["photos/green/0.png"]}


def test_the_first_deletion_lets_space_be_given_back_in_pieces_from_then_on(old: Collection):
    """The catalog is written again for this; everything else in it stays."""
    keys = [item.key for item in old.items()]

    def in_pieces() -> bool:
        with old._opened.catalog.read() as tx:
            return tx._connection.exec_driver_sql("PRAGMA auto_vacuum").scalar() == 2

    assert not in_pieces()
    old.views.delete("clip")
    assert in_pieces()
    assert [item.key for item in old.items()] == keys
