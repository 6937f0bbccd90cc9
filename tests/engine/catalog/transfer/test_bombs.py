"""A small file that would become large in memory is refused, or read without that memory."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from crossview.engine.catalog.ingest import vectors
from crossview.engine.catalog.transfer import arrow_sources
from crossview.engine.catalog.transfer.foreign import ForeignData
from crossview.engine.catalog.transfer.source import MOST_COLUMNS
from crossview.engine.collections.home import Home
from crossview.engine.values.errors import InvalidInputError
from crossview.engine.values.item import Failure
from crossview.features.files import open_regular
from crossview.features.vectors import MAX_DIM


def long_list(folder: Path) -> Path:
    path = folder / "list.parquet"
    pq.write_table(pa.table({"v": pa.array([np.zeros(MAX_DIM + 1, np.float32)])}), path, compression="zstd")
    return path


def wide_parquet(folder: Path) -> Path:
    path = folder / "wide.parquet"
    pq.write_table(pa.table({f"c{number}": [1] for number in range(MOST_COLUMNS + 1)}), path)
    return path


def wide_csv(folder: Path) -> Path:
    path = folder / "wide.csv"
    path.write_text("\n".join([",".join(f"c{number}" for number in range(MOST_COLUMNS + 1)), "1,2"]))
    return path


def many_names(folder: Path) -> Path:
    path = folder / "names.jsonl"
    half = MOST_COLUMNS // 2 + 1
    objects = ["{" + ",".join(f'"c{row}-{number}": 1' for number in range(half)) + "}" for row in range(2)]
    path.write_text("\n".join(objects))
    return path


@pytest.mark.parametrize(
    ("bomb", "reason"),
    [
        (long_list, "lists of 65,537 values on average"),
        (wide_parquet, "10,001 columns"),
        (wide_csv, "10,001 columns"),
        (many_names, "10,002 columns"),
    ],
)
def test_files_out_of_proportion_are_refused(tmp_path: Path, bomb: Callable[[Path], Path], reason: str) -> None:
    """They are refused before their values take memory, with the remedy."""
    with pytest.raises(InvalidInputError, match=reason):
        ForeignData(bomb(tmp_path))


def test_rows_share_a_large_text(tmp_path: Path) -> None:
    """A dictionary of one text stands for any number of rows: 46 kB would need 8.6 GB. Items refuse that text."""
    path = tmp_path / "text.parquet"
    indices = pa.array(np.zeros(1_000, np.int32))
    column = pa.DictionaryArray.from_arrays(indices, pa.array(["x" * 1_200_000]))
    pq.write_table(pa.table({"caption": column, "year": list(range(1_000))}), path, compression="zstd")
    data = ForeignData(path)
    rows = [row for row in data.source if not isinstance(row, Failure)]
    assert len(rows) == 1_000
    assert len({id(row.values["caption"]) for row in rows}) <= 4  # one for each batch
    assert [row.values["year"] for row in rows] == list(range(1_000))


def test_a_parquet_file_is_opened_once_for_each_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For its columns, its number of rows, its first rows, which name the columns, and its rows."""
    path, opened = tmp_path / "text.parquet", list[Path]()
    pq.write_table(pa.table({"caption": ["red", "blue"]}), path)
    monkeypatch.setattr(arrow_sources, "open_regular", lambda one: opened.append(one) or open_regular(one))
    data = ForeignData(path)
    assert opened == [path] * 3
    assert [row.values["caption"] for row in data.source if not isinstance(row, Failure)] == ["red", "blue"]
    assert opened == [path] * 4


@pytest.mark.parametrize("door", ["import", "vectors"])
def test_archives_that_grow_are_refused(home: Home, tmp_path: Path, door: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An ``.npz`` of zeros has a thousandth of their bytes."""
    monkeypatch.setattr(vectors, "_LARGE", 1 << 20)
    path = tmp_path / "a.npz"
    np.savez_compressed(path, keys=np.array(["a"]), vectors=np.zeros((1, 1 << 19), np.float32))
    collection = home.create(f"grows-{door}", "v=vectors:dim=8")
    with pytest.raises(InvalidInputError, match=r"its arrays would have 2,\d"):
        ForeignData(path) if door == "import" else collection.items.index_vectors("v", path)
    np.savez(path, keys=np.array(["a"]), vectors=np.zeros((1, 8), np.float32))
    assert ForeignData(path).source.count == 1
