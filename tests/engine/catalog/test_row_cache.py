"""Kept rows of models are exactly those that were put, within a size, and never cause an error."""

import logging
import sqlite3
import threading
from pathlib import Path

import numpy as np
import pytest

from crossview.engine.catalog import row_cache
from crossview.engine.catalog.row_cache import RowCache, content_of

DIM = 64


def row(number: int) -> np.ndarray:
    return np.random.default_rng(number).normal(size=DIM).astype(np.float32)


def content(number: int) -> bytes:
    return content_of(str(number).encode())


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "model.rows"


def test_a_row_is_found_to_the_bit_by_its_output_content_and_length(path: Path) -> None:
    """Another process finds it, too; the file is private, because rows say much about pictures."""
    cache = RowCache(path)
    for number in range(3):
        cache.put("", content(number), row(number))
    other = RowCache(path)
    assert all(np.array_equal(other.get("", content(number), DIM), row(number)) for number in range(3))
    assert other.get("logits", content(0), DIM) is None
    assert other.get("", content(3), DIM) is None
    assert other.get("", content(0), DIM - 1) is None
    assert path.stat().st_mode & 0o777 == 0o600


def test_contents_have_one_name_in_one_form() -> None:
    """If less memory is allowed, a large picture is decoded smaller, and then is another input."""
    assert content_of(b"picture", 30, 40, 3) == content_of(b"picture", 30, 40, 3)
    assert (
        len({content_of(b"picture"), content_of(b"other"), content_of(b"picture", 3), content_of(b"picture", 4)}) == 4
    )


def test_rows_that_were_written_first_make_room(path: Path) -> None:
    most, count = 100_000, 2_000
    cache = RowCache(path, most)
    for number in range(count):
        cache.put("", content(number), row(number))
    kept = [number for number in range(count) if cache.get("", content(number), DIM) is not None]
    assert kept == list(range(kept[0], count))
    assert kept[0] > 0
    with sqlite3.connect(path) as database:
        assert most / 2 < database.execute(row_cache._USED).fetchone()[0] < 2 * most


def test_several_writers_keep_all_rows(path: Path) -> None:
    def write(first: int) -> None:
        cache = RowCache(path)
        for number in range(first, first + 100):
            cache.put("", content(number), row(number))

    writers = [threading.Thread(target=write, args=(first,)) for first in (0, 50, 100)]
    for one in writers:
        one.start()
    for one in writers:
        one.join()
    cache = RowCache(path)
    assert all(np.array_equal(cache.get("", content(number), DIM), row(number)) for number in range(200))


def damaged(path: Path) -> None:
    path.write_bytes(b"no database" * 1_000)


def folder(path: Path) -> None:
    path.mkdir()


def of_another_program(path: Path) -> None:
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE rows (name TEXT)")


def missing_folder(path: Path) -> None:
    path.parent.rmdir()


@pytest.mark.parametrize("harm", [damaged, folder, of_another_program, missing_folder])
def test_a_file_that_cannot_be_used_is_skipped_with_a_line_in_the_log(
    path: Path, caplog: pytest.LogCaptureFixture, harm
) -> None:
    harm(path)
    cache = RowCache(path)
    for _ in range(2):
        cache.put("", content(1), row(1))
        assert cache.get("", content(1), DIM) is None
    assert [one.levelno for one in caplog.records] == [logging.WARNING]
    assert "compute rows again" in caplog.text


def test_a_locked_file_is_skipped(
    path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_cache, "_BUSY_SECONDS", 0.01)
    cache = RowCache(path)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    cache.put("", content(1), row(1))
    other.close()
    assert cache.get("", content(1), DIM) is None
    assert "locked" in caplog.text
