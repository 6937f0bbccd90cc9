"""Pictures in a folder become files of rows, a partition at a time, equal bit for bit to those of crossview index."""

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from logged_work import Logged
from spread_rows import ONE, extracted, killed_driver, table

from crossview.engine.catalog.extractors import find_view
from crossview.engine.collections.collection import Collection
from crossview.engine.runtime.cancellation import cancellable
from crossview.engine.values.errors import CancelledError, InvalidInputError, NotFoundError, NotReadyError
from crossview.engine.values.item import IndexOptions

VIEWS = ("color", "sift", "gist")


def stored_rows(collection: Collection) -> dict[str, dict[str, np.ndarray]]:
    """Return the rows of a collection by view and key."""
    with collection._opened.read() as tx:
        keys = tx.items.keys()
        found = {view: tx.rows.get(find_view(tx, view)) for view in VIEWS}
    return {
        view: {keys[number]: row for number, row in zip(one.ids.tolist(), one.rows, strict=True)}
        for view, one in found.items()
    }


@pytest.fixture(scope="module")
def rows(place: Path, indexed: Collection) -> Path:
    """The rows of all pictures, in four partitions."""
    made = extracted(place, place / "rows")
    assert (made.items, made.bad, made.partitions, made.kept) == (18, 2, 4, 0)
    return place / "rows"


def test_rows_are_those_of_an_index(indexed: Collection, rows: Path) -> None:
    """Rows of every view are equal, with the same keys, sizes, hashes, sources and labels."""
    found, known = table(rows), stored_rows(indexed)
    keys = found["key"].to_pylist()
    assert keys == sorted(indexed.items.keys())
    for view in VIEWS:
        mine = np.array(found[view].to_pylist(), np.float32)
        assert np.array_equal(mine, np.stack([known[view][key] for key in keys]))
    items = {item.key: item for item in indexed.items(limit=100)}
    for row in found.drop_columns(list(VIEWS)).to_pylist():
        item = items[row["key"]]
        assert (row["source"], row["content_hash"]) == (item.source, item.content_hash)
        assert (row["width"], row["height"], (row["label"],)) == (item.width, item.height, item.labels)


def test_bad_pictures_are_listed_with_the_reasons_of_an_index(place: Path, indexed: Collection, rows: Path) -> None:
    """They are listed beside the rows of their partition, by key."""
    bad = [row for file in sorted(rows.glob("bad-*.parquet")) for row in pq.read_table(file).to_pylist()]
    report = indexed.index([place / "photos"], IndexOptions(labels="folder", workers=1))
    assert [(str(place / one["key"]), one["reason"]) for one in bad] == [
        (one.key, one.reason) for one in report.failures
    ]


def test_a_finished_partition_is_not_read_again(place: Path, rows: Path, tmp_path: Path) -> None:
    """A missing one is read again, with the same rows; without its file none of its rows are there."""
    shutil.copytree(rows, tmp_path / "rows")
    (tmp_path / "rows" / "part-00002.parquet").unlink()
    (tmp_path / "rows" / "part-00002.parquet.0.part").write_bytes(b"half")
    before = {file.name: file.stat().st_mtime_ns for file in (tmp_path / "rows").glob("part-*.parquet")}
    again = extracted(place, tmp_path / "rows")
    assert (again.partitions, again.kept) == (1, 3)
    after = {file.name: file.stat().st_mtime_ns for file in (tmp_path / "rows").glob("part-*.parquet")}
    assert {name: after[name] for name in before} == before
    assert table(tmp_path / "rows").equals(table(rows))


def test_new_pictures_form_further_partitions(place: Path, indexed: Collection, tmp_path: Path) -> None:
    """Their names may be any; pictures that are gone keep their rows."""
    shutil.copytree(place / "photos", tmp_path / "photos")
    extracted(place, tmp_path / "rows", pictures=str(tmp_path / "photos"))
    shutil.copy(tmp_path / "photos" / "cat" / "0.jpg", tmp_path / "photos" / "a.jpg")
    (tmp_path / "photos" / "cat" / "1.jpg").unlink()
    more = extracted(place, tmp_path / "rows", pictures=str(tmp_path / "photos"))
    assert (more.items, more.partitions, more.kept) == (1, 1, 4)
    found = table(tmp_path / "rows")
    assert found["key"].to_pylist()[-1] == "photos/a.jpg"
    assert "photos/cat/1.jpg" in found["key"].to_pylist()
    assert found["label"].to_pylist()[-1] == "photos"


def test_a_pattern_names_files(place: Path, tmp_path: Path) -> None:
    """Keys begin with the folder before the first wildcard; a file of any suffix is read."""
    made = extracted(place, tmp_path / "rows", pictures=f"{place}/photos/[do]*/*", bundle="", published="", labels="")
    assert (made.items, made.bad) == (9, 3)
    found = table(tmp_path / "rows")
    assert found["key"].to_pylist()[0] == "photos/dog/0.jpg"
    assert found["label"].null_count == 9
    assert found.column_names[-2:] == ["color", "gist"]


@pytest.mark.parametrize(
    ("other", "error", "message"),
    [
        ({"pictures": "nowhere"}, InvalidInputError, "there are no pictures at nowhere"),
        ({"published": "cars"}, NotFoundError, "has no bundle of 'cars'"),
        ({"published": ""}, InvalidInputError, "give both"),
        ({"labels": "keywords"}, InvalidInputError, "labels of pictures in object storage come from their folder"),
        ({"labels": ""}, InvalidInputError, "has rows of labels by folder, not none: choose another folder"),
        ({"bundle": "", "published": ""}, InvalidInputError, "has rows of views with the fits"),
        ({"bundle": "", "published": "", "views": ("sift",)}, NotReadyError, "view 'sift' learns from pictures"),
        ({"bundle": "", "published": "", "views": ("text",)}, InvalidInputError, "is computed from pictures"),
        (
            {"bundle": "", "published": "", "views": ("a=vectors:dim=3",)},
            InvalidInputError,
            "is computed from pictures",
        ),
        ({"partition": 0}, InvalidInputError, "at least one picture"),
    ],
)
def test_what_cannot_be_extracted_is_refused(
    place: Path, rows: Path, other: dict[str, Any], error: type[Exception], message: str
) -> None:
    """The reason comes before any picture is read."""
    with pytest.raises(error, match=message):
        extracted(place, rows, **other)


def test_a_stopped_extraction_ends_soon_and_continues(place: Path, rows: Path, tmp_path: Path) -> None:
    """It ends at a picture, and finished partitions stay."""
    calls = 0

    def check() -> None:
        nonlocal calls
        calls += 1
        if (tmp_path / "rows" / "part-00000.parquet").exists():
            raise CancelledError("stopped")

    with cancellable(check), pytest.raises(CancelledError):
        extracted(place, tmp_path / "rows")
    done = len(list((tmp_path / "rows").glob("part-*.parquet")))
    assert 0 < done <= 4
    assert extracted(place, tmp_path / "rows").kept == done
    assert table(tmp_path / "rows").equals(table(rows))


@pytest.mark.long
def test_a_killed_program_continues_without_a_partition_twice(
    place: Path, indexed: Collection, rows: Path, tmp_path: Path
) -> None:
    """The same call continues it, with the same rows."""
    log = Logged(ONE, tmp_path / "log")
    arguments = [str(place / "photos"), str(tmp_path / "rows"), str(place / "bundles"), str(log.log), "", "1"]
    assert killed_driver(arguments, log, tmp_path) > 0
    assert table(tmp_path / "rows").equals(table(rows))


def test_reading_rows_leaves_no_thread(rows: Path) -> None:
    """A thread of pyarrow that still holds a file needs the interpreter, and aborts a program that is ending."""
    program = (
        "import os, sys, pyarrow.parquet\n"
        "from crossview.engine.publishing.object_storage import ObjectStorage\n"
        "from crossview.engine.publishing.spreading.row_file import read_table\n"
        "storage, threads = ObjectStorage(sys.argv[1]), lambda: len(os.listdir('/proc/self/task'))\n"
        "pyarrow.array([storage.read('plan.parquet')])\n"
        "before = threads()\n"
        "read_table(storage, 'plan.parquet'), read_table(storage, 'part-00000.parquet', ['key'])\n"
        "print(threads() - before)"
    )
    command = [sys.executable, "-c", program, str(rows)]
    assert subprocess.run(command, check=True, capture_output=True, text=True).stdout.split() == ["0"]
