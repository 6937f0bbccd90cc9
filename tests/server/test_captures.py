"""Times of pictures and the pages beside them are kept with the items, for any reader of their files."""

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from pages import DrawnPage
from PIL import Image

from crossview.engine.collections.home import Home
from crossview.engine.values.changes import ChangesRequest
from crossview.engine.values.item import Capture, ImportReport, IndexOptions, ItemUpdate, NewItem
from crossview.features.page import MAX_BYTES, Page
from crossview.server.commands.backend import Backend, CollectionBackend

ONE = IndexOptions(workers=1)
PAGE = DrawnPage(hours=24)


@pytest.fixture
def shots(tmp_path: Path) -> Path:
    """Write pictures in the order of their EXIF data alone: names and files' times have no order."""
    folder = tmp_path / "shots"
    folder.mkdir()
    for hour in range(PAGE.hours):
        exif = Image.Exif()
        exif[0x0132] = f"{PAGE.time(hour):%Y:%m:%d %H:%M:%S}"
        path = folder / f"DSC{PAGE.hours - hour}.png"
        PAGE.picture(hour).save(path, exif=exif)
        os.utime(path, (1e9, 1e9))
    return folder


@pytest.fixture
def filled(backend: Backend, shots: Path) -> Iterator[CollectionBackend]:
    """A collection of the pictures, whose folder is gone."""
    made = backend.create("captured", ["regions=gist:grid=4:size=64"])
    assert made.index([shots], ONE).added == PAGE.hours
    yield made
    made.close()


def with_pages(folder: Path) -> None:
    for hour in range(PAGE.hours):
        (folder / f"DSC{PAGE.hours - hour}.html").write_text(PAGE.html(hour))


def test_times_are_known_when_the_files_are_gone(filled: CollectionBackend, shots: Path) -> None:
    shutil.rmtree(shots)
    found = filled.changes(ChangesRequest())
    assert (found.versions, found.source, found.period) == (PAGE.hours, "EXIF data", "4h")
    assert found.first.hour == PAGE.time(0).hour


def test_a_page_that_comes_later_or_changes_is_read(filled: CollectionBackend, shots: Path) -> None:
    """Nothing is read again if nothing has changed."""
    assert filled.changes(ChangesRequest()).changes[0].links is None
    with_pages(shots)
    filled.index([shots], ONE)
    first = filled.changes(ChangesRequest()).changes
    assert all(change.links is not None for change in first)
    stamps = {item.key: item.stamp for item in filled.items()}
    assert filled.index([shots], ONE).unchanged == PAGE.hours
    assert {item.key: item.stamp for item in filled.items()} == stamps
    (shots / f"DSC{PAGE.hours}.html").write_text("<a href=other>")
    filled.index([shots], ONE)
    assert filled.changes(ChangesRequest()).changes[0].links == 1.0


def test_a_page_that_cannot_be_used_is_reported_until_it_can_be(filled: CollectionBackend, shots: Path) -> None:
    """Its picture is in the collection all the same."""
    large = shots / "DSC1.html"
    with large.open("wb") as file:
        file.truncate(MAX_BYTES + 1)

    def failures(report: ImportReport) -> list[str]:
        return [f"{one.key}: {one.reason}" for one in report.failures]

    for _ in range(2):
        report = filled.index([shots], ONE)
        assert failures(report) == [
            f"{large}: a page may have at most 2,000,000 bytes: save it without embedded content"
        ]
        assert report.added == 0
    large.write_text("<p>")
    assert failures(filled.index([shots], ONE)) == []


def test_a_program_may_state_what_it_knows_of_a_file(filled: CollectionBackend) -> None:
    """Impossible times and pages are refused, by item."""
    key = filled.items(limit=1)[0].key
    page = Page(links=(1, 2**64 - 1), images=())
    good = Capture(stamp="mine", modified_ns=5, taken=-1, page=page)
    assert filled.items.update([ItemUpdate(key, capture=good)]).updated == 1
    assert filled.items.get(key).stamp == "mine"
    assert filled.items.update([ItemUpdate(key, capture=good)]).unchanged == 1
    for wrong, reason in (
        (Capture(stamp="x" * 201), "the stamp of a capture may have at most 200 characters"),
        (Capture(stamp="x", modified_ns=-1), "modified_ns"),
        (Capture(stamp="x", taken=2**62), "taken must be in the years 1 to 9999"),
        (Capture(stamp="x", page=Page(links=(2, 1))), "the links of a page must be distinct hashes"),
        (Capture(stamp="x", page=Page(images=tuple(range(10_001)))), "at most 10,000 different images"),
    ):
        (failure,) = filled.items.update([ItemUpdate(key, capture=wrong)]).failures
        assert reason in failure.reason
        (failure,) = filled.items.put([NewItem(key, text="x", capture=wrong)]).failures
        assert reason in failure.reason
    assert filled.items.get(key).stamp == "mine"


def test_what_earlier_versions_did_not_store_is_read_by_the_next_index(
    home: Home, shots: Path, nothing_stays: None
) -> None:
    """Until then the stored times of files are known, and the report names the unknown facts."""
    with home.create("earlier", ["regions=gist:grid=4:size=64"]) as made:
        made.index([shots], ONE)
    with closing(sqlite3.connect(home.path / "earlier" / "catalog.db")) as database, database:
        database.execute("DROP INDEX ix_items_deleted_pictures")
        database.execute("DROP TABLE previews")
        database.execute("DROP TABLE maps")
        database.execute("DROP TABLE captures")
        database.execute("DROP TABLE fingerprints")
        database.execute("DROP TABLE pair_judgements")
        database.execute("DROP TABLE judgements")
        database.execute("DROP TABLE missing_files")
        database.execute("DROP TABLE renames")
        database.execute("DROP TABLE kept_fields")
        database.execute("DROP TABLE index_choices")
        database.execute("ALTER TABLE answers DROP COLUMN feedback")
        database.execute("ALTER TABLE views DROP COLUMN packaged")
        database.execute("ALTER TABLE items DROP COLUMN text_from_labels")
        database.execute("UPDATE alembic_version SET version_num = '0006'")
        database.execute("UPDATE items SET modified_ns = 1000000000 * id")
        database.execute(
            "UPDATE items SET attributes = ? WHERE id = 1", ['{"n": [9007199254740993], "m": -1, "x": 1e300}']
        )
    with home.open("earlier") as made:
        found = made.changes(ChangesRequest())
        large = [item.attributes for item in made.items() if item.attributes]
        assert large == [{"n": ["9007199254740993"], "m": -1, "x": 1e300}]  # served answers hold no such integer
        assert found.source == "times of the files"
        assert f"{PAGE.hours} versions have no stored EXIF data and pages: index their files again" in (found.notes)
        made.index([shots], ONE)
        again = made.changes(ChangesRequest())
        assert again.source == "EXIF data"
        assert not any("EXIF data and pages" in note for note in again.notes)
    home.delete("earlier")
