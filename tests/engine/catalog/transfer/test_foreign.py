"""Data of other programs becomes items: files as those programs write them, with a mapping that people can correct."""

import io
import json
import re
import runpy
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from drawn import draw, encode
from hypothesis import given, settings
from hypothesis import strategies as st

from crossview.engine.catalog.transfer.foreign import ForeignData
from crossview.engine.catalog.transfer.mapping import mapping
from crossview.engine.catalog.transfer.row_reader import RowReader
from crossview.engine.catalog.transfer.source import Row, described
from crossview.engine.collections.collection import Collection
from crossview.engine.collections.home import Home
from crossview.engine.values.errors import InputWarning, InvalidInputError, NotReadyError
from crossview.engine.values.item import ImportReport, NewItem
from crossview.features.extras import install_command

DATA = Path(__file__).parent / "data"
"""Files of the package ``datasets`` and of pandas; make.py there makes them."""


def roles(data: ForeignData) -> dict[str, str]:
    return {one.column: one.becomes for one in data.meanings}


def imported(home: Home, data: ForeignData, name: str = "new", views: tuple[str, ...] = ()) -> tuple[Any, ImportReport]:
    """Return a new collection, and the report of the import."""
    collection = home.create(name, data.views(views))
    return collection, data.import_into(collection)


def rows_of(collection: Collection, view: str) -> dict[str, list[float]]:
    found = collection.items.embed(view, space="raw", limit=1000)
    return dict(zip(found.keys, found.vectors.tolist(), strict=True))


EMBEDDINGS = {n: [n + column / 8 for column in range(8)] for n in range(6)}


def test_a_data_set_that_was_saved(home: Home) -> None:
    """It has pictures, names of classes, several labels, vectors and texts; a label -1 does not count."""
    data = ForeignData(DATA / "saved")
    assert roles(data) == {
        "image": "picture",
        "label": "label",
        "tags": "label",
        "embedding": "row of the view embedding",
        "caption": "text",
    }
    collection, report = imported(home, data)
    assert (report.added, report.failures) == (6, ())
    items = collection.items()
    assert [item.key for item in items] == [f"data-0000{n // 3}-of-00002/{n % 3 + 1:06}" for n in range(6)]
    assert [item.labels for item in items] == [
        *(("even", "red"), ("green", "odd"), ("blue", "even"), ("odd", "red"), ("even",), ("blue", "odd")),
    ]
    assert {(item.width, item.height) for item in items} == {(16, 12)}
    assert list(rows_of(collection, "embedding").values()) == list(EMBEDDINGS.values())
    assert {view.name: view.fitted for view in collection.views()} == {
        "color": True,
        "sift": False,
        "gist": True,
        "text": True,
        "embedding": True,
    }
    (note,) = report.notes
    assert "view 'sift' cannot be fitted: 300 visual words need" in note
    assert ForeignData(DATA / "saved").import_into(collection).added == 0
    collection.close()


@pytest.mark.parametrize("name", ["splits", "files"])
def test_splits_are_an_attribute(home: Home, name: str) -> None:
    """A dictionary of data sets has them, and files that are named by split; keys count the rows of a split."""
    collection, report = imported(home, ForeignData(DATA / name))
    items = collection.items()
    assert {item.key: item.attributes["split"] for item in items} == {
        f"{split}/{n + 1:06}": split
        for split, count in {"train": 4 if name == "splits" else 6, "test": 2}.items()
        for n in range(count)
    }
    assert report.failures == ()
    collection.close()


@pytest.mark.parametrize("name", ["pandas.parquet", "pandas.csv"])
def test_tables_of_pandas(home: Home, name: str) -> None:
    """Lists are vectors, the index is the key, NaN is missing, and integers that JSON rounds are text."""
    collection, report = imported(home, ForeignData(DATA / name))
    assert (report.added, report.failures) == (6, ())
    assert rows_of(collection, "emb") == {f"k{n}": [n, n + 1, n + 2, n + 3] for n in range(6)}
    items = {item.key: item for item in collection.items()}
    assert "year" not in items["k3"].attributes
    assert items["k1"].attributes["year"] == 2001
    assert items["k1"].attributes["when"].startswith("2020-01-02")
    assert items["k1"].attributes["big"] == str(2**60 + 1)
    assert items["k1"].labels == ("b",)
    collection.close()


def test_a_csv_of_pictures_and_labels(home: Home, tmp_path: Path) -> None:
    """Paths begin at the folder of the file; bad rows are listed and the others are used."""
    lines = ["path;label;caption;year"]
    (tmp_path / "pics").mkdir()
    for n in range(12):
        (tmp_path / f"pics/{n}.png").write_bytes(encode(draw("red", n)))
        lines.append(f'pics/{n}.png;"{"ab"[n % 2]};all";a red {n};{2000 + n}')
    (tmp_path / "pics/3.png").write_bytes(b"not a picture")
    (tmp_path / "table.csv").write_text(
        "\n".join([*lines, "pics/12.png;a;gone;1", "pics/1.png;b;again;2", "a;b;c;d;e"])
    )
    with pytest.warns(match="semicolons"):
        data = ForeignData(tmp_path / "table.csv")
    assert roles(data) == {"path": "picture", "label": "label", "caption": "text", "year": "attribute year"}
    collection, report = imported(home, data)
    assert report.added == 11
    assert [(one.key, one.reason.split("(")[0]) for one in report.failures] == [
        ("line 14 of table.csv", f"the picture {tmp_path}/pics/12.png cannot be read "),
        ("line 15 of table.csv", "the key 'pics/1.png' is that of an earlier row: only the first row is used"),
        ("line 16 of table.csv", "it has 5 cells, and the first line names 4 columns"),
        ("pics/3.png", report.failures[-1].reason.split("(")[0]),
    ]
    item = collection.items.get("pics/2.png")
    assert (item.labels, item.text, item.attributes) == (("a", "all"), "a red 2", {"year": 2002})
    assert item.source == str(tmp_path / "pics/2.png")
    assert set(item.views) == {"color", "gist", "text"}
    collection.close()


def test_json_lines_with_wrong_rows(home: Home, tmp_path: Path) -> None:
    """Lines that are not JSON or not objects, have another dimension or come twice are listed."""
    rows: list[Any] = [{"id": n, "text": f"red {n}", "labels": ["a"], "embedding": [n / 8] * 16} for n in range(20)]
    text = "\n".join(json.dumps(row) for row in [*rows, {"id": 3}, {"id": 77, "embedding": [1, 2]}, {"text": "no key"}])
    (tmp_path / "rows.jsonl").write_text(f"{text}\nnot json\n[1]\n")
    collection, report = imported(home, ForeignData(tmp_path / "rows.jsonl"))
    assert report.added == 20
    assert {one.key: one.reason.partition(":")[0] for one in report.failures} == {
        "line 21 of rows.jsonl": "the key '3' is that of an earlier row",
        "77": "a row of view 'embedding' must have 16 values, not 2",
        "line 23 of rows.jsonl": "the column 'id' has no key here",
        "line 24 of rows.jsonl": "it is not JSON",
        "line 25 of rows.jsonl": "it is not a JSON object",
    }
    assert rows_of(collection, "embedding")["8"] == [1.0] * 16
    collection.close()


def test_arrays(home: Home, tmp_path: Path) -> None:
    """The files that ``embed --all`` writes, and archives with further arrays."""
    rows = np.arange(12, dtype=np.float64).reshape(4, 3)
    np.save(tmp_path / "clip.npy", rows)
    (tmp_path / "clip.keys.txt").write_text("a\nb\nc\nd\n")
    np.savez(tmp_path / "more.npz", keys=["a", "b", "c", "e"], clip=rows + 1, year=np.arange(4))
    collection, report = imported(home, ForeignData(tmp_path / "clip.npy"))
    assert rows_of(collection, "clip") == dict(zip("abcd", rows.tolist(), strict=True))
    report = ForeignData(tmp_path / "more.npz").import_into(collection)
    assert (report.added, report.updated) == (1, 3)
    assert rows_of(collection, "clip")["e"] == [10, 11, 12]
    assert collection.items.get("c").attributes == {"year": 2}
    (tmp_path / "named.txt").write_text("x\ny\nz\nw\n")
    with_keys = ForeignData(tmp_path / "clip.npy", keys=tmp_path / "named.txt")
    assert with_keys.import_into(collection).added == 4
    collection.close()


def coco(folder: Path) -> Path:
    (folder / "pics").mkdir()
    for n in range(4):
        (folder / f"pics/{n}.png").write_bytes(encode(draw("red", n)))
    content = {
        "images": [{"id": n, "file_name": f"{n}.png", "width": 9, "flags": [1]} for n in range(4)] + [{"id": 9}],
        "annotations": [
            *({"id": n, "image_id": n, "category_id": n % 2 + 1, "bbox": [1, 2, 3, 4]} for n in range(4)),
            {"id": 5, "image_id": 0, "category_id": 2},
            {"id": 6, "image_id": 0, "caption": " one "},
            {"id": 7, "image_id": 0, "caption": "two"},
        ],
        "categories": [{"id": 1, "name": "cat"}, {"id": 2, "name": "dog"}],
    }
    (folder / "coco.json").write_text(json.dumps(content))
    return folder / "coco.json"


def test_coco(home: Home, tmp_path: Path) -> None:
    """Categories of the annotations are labels, captions are the text, and pictures are in a folder."""
    path = coco(tmp_path)
    assert "not below" in ForeignData(path).notes()[0]
    data = ForeignData(path, images=tmp_path / "pics")
    assert data.notes() == []
    collection, report = imported(home, data, views=("color",))
    assert [one.key for one in report.failures] == ["image 5 of coco.json"]
    first = collection.items.get("0.png")
    assert (first.labels, first.text, first.attributes) == (("cat", "dog"), "one\ntwo", {"coco_id": 0, "width": 9})
    assert collection.items.get("1.png").labels == ("dog",)
    assert set(first.views) == {"color"}
    collection.close()


def test_the_mapping_is_corrected(home: Home, tmp_path: Path) -> None:
    """Roles and names are given for notions, views and attributes; the guess for other columns gives way."""
    table = pa.table(
        {
            "id": ["a", "b"],
            "sku": ["x", "y"],
            "colour": ["red", "blue"],
            "title": ["one", "two"],
            "caption": ["three", "four"],
            "box": [[1.0, 2.0], [3.0, 4.0]],
            "emb": [[1.0] * 8, [2.0] * 8],
        }
    )
    pq.write_table(table, tmp_path / "t.parquet")
    assert roles(ForeignData(tmp_path / "t.parquet"))["box"] == "attribute box"
    columns = {"sku": "key", "colour": "label:color", "title": "text", "box": "vector", "emb": "vector:clip"}
    data = ForeignData(tmp_path / "t.parquet", {**columns, "id": "attribute:number"})
    assert roles(data)["caption"] == "attribute caption"
    collection, _ = imported(home, data)
    item = collection.items.get("y")
    assert item.notion_labels == {"color": ("blue",)}
    assert (item.text, item.attributes) == ("two", {"number": "b", "caption": "four"})
    assert rows_of(collection, "box")["y"] == [3, 4]
    assert rows_of(collection, "clip")["x"] == [1.0] * 8
    wrong = {
        "no column 'skuu'; there are: sku": {"skuu": "key"},
        "'sku' cannot become 'kee': choose from key, label": {"sku": "kee"},
        "'sku' cannot become 'key:x'": {"sku": "key:x"},
        "the columns id and sku are both the key": {"sku": "key", "id": "key"},
        "the column 'title' contains text, not vectors of one length": {"title": "vector"},
        "two columns fill the view emb": {"box": "vector:emb"},
    }
    for message, given_columns in wrong.items():
        with pytest.raises(InvalidInputError, match=message):
            ForeignData(tmp_path / "t.parquet", given_columns)
    with pytest.raises(
        InvalidInputError, match="has vectors of 8 numbers, and the view 'box' has 2: name another view"
    ):
        ForeignData(tmp_path / "t.parquet", {"emb": "vector:box"}).import_into(collection)
    collection.close()


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("none.csv", None, "does not exist: name a file or folder"),
        ("a.xyz", b"", "unknown ending: rename the file to one of"),
        ("a.csv", b"", "the first line must name the columns"),
        ("a.csv", b"a,a\n1,2\n", "the first line must name the columns, each with another name"),
        ("a.csv", b"a,b\n", "contains no row that can be read"),
        ("a.parquet", b"PAR1", "cannot be read as parquet"),
        ("a.arrow", b"x" * 99, "cannot be read as arrow"),
        ("a.json", b"{", "is not JSON"),
        ("a.json", b"{}", "is neither COCO"),
        ("a.json", b'{"images": [{}], "annotations": [{"category_id": 1}]}', "is not COCO"),
        ("a.jsonl", b"x\n", "contains no row that can be read"),
        ("a.npy", b"x", "is not an array of numbers"),
    ],
)
def test_files_that_cannot_be_read(tmp_path: Path, name: str, content: bytes | None, message: str) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(InvalidInputError, match=message) as raised:
        ForeignData(tmp_path / name)
    assert str(tmp_path / name) in str(raised.value)


def test_folders_that_are_no_data(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="contains no export, no Hugging Face data set and no Parquet files"):
        ForeignData(tmp_path)
    pq.write_table(pa.table({"a": [1]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"b": [1]}), tmp_path / "b.parquet")
    with pytest.raises(InvalidInputError, match="have different columns: name one file"):
        ForeignData(tmp_path)


def test_labels_and_attributes_of_existing_items(home: Home, tmp_path: Path) -> None:
    """Without a picture, text or vector, rows update items, and create none."""
    (tmp_path / "a.csv").write_text("key,label,year\na,cat,1999\nz,dog,2000\nb,,\n")
    data = ForeignData(tmp_path / "a.csv")
    with pytest.raises(InvalidInputError, match="has no column of pictures, texts or vectors"):
        data.views()
    with home.create("rows", ["v=vectors:dim=2"]) as made:
        made.items.put([NewItem(key, rows={"v": [1, 1]}, labels=("old",), text="old") for key in "ab"])
        report = data.import_into(made)
        assert [one.key for one in report.failures] == ["z"]
        assert made.items.get("a").labels == ("cat",)
        assert made.items.get("a").attributes == {"year": 1999}
        assert (made.items.get("b").labels, made.items.get("b").text) == (("old",), "old")  # missing values keep


def test_a_refused_batch_loses_only_what_is_refused(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server refuses a whole message for one item that is too large."""
    np.savez(tmp_path / "a.npz", keys=[f"{n}" for n in range(20)], v=np.ones((20, 2)))
    data = ForeignData(tmp_path / "a.npz")
    with home.create("rows", data.views()) as made:
        put = made.items.put

        def refusing(items: Any, workers: int = 1) -> ImportReport:
            if any(item.key == "7" for item in items):
                raise InvalidInputError("too large")
            return put(items, workers)

        monkeypatch.setattr(made.items, "put", refusing)
        report = data.import_into(made)
        assert (report.added, [(one.key, one.reason) for one in report.failures]) == (19, [("7", "too large")])


def test_without_pyarrow_the_remedy_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(NotReadyError, match=re.escape(install_command("parquet"))):
        ForeignData(DATA / "pandas.parquet")
    assert ForeignData(DATA / "pandas.csv").source.count == 6


VALUES = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=9), st.binary(max_size=9))
JSON = st.recursive(
    VALUES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
)


@given(
    rows=st.lists(
        st.dictionaries(st.sampled_from(["id", "label", "text", "image", "emb", "x"]), JSON), min_size=1, max_size=6
    )
)
@settings(max_examples=60)
def test_any_rows_are_used_or_listed(rows: list[dict[str, Any]]) -> None:
    """Each row of any file becomes an item or a failure; no error is raised."""

    class Anything:
        form, folder, count, written = "anything", Path("nowhere"), len(rows), False
        hints: ClassVar[dict[str, str]] = {}

        def __iter__(self) -> Any:
            return iter(Row(f"row {n}", f"{n}", values) for n, values in enumerate(rows))

    source = Anything()
    columns = described(source, None)
    reader = RowReader(mapping(source, columns, {}), source, Path("nowhere"))
    made = [reader.item(row) for row in source]
    assert len([one for one in made if one is not None]) + len(reader.failures) == len(rows)


@pytest.mark.parametrize("write", [pq.write_table, lambda table, path: _ipc(table, path)], ids=["parquet", "arrow"])
def test_every_type_of_arrow(home: Home, tmp_path: Path, write: Callable[[Any, Path], None]) -> None:
    """Lists of every form with missing values, dates, decimal numbers, dictionaries and structures."""
    width = 8
    table = pa.table(
        {
            "key": pa.array(["a", "b", "c"]).dictionary_encode(),
            "fixed": pa.array([[1.0] * width, None, [2.0] * width], pa.list_(pa.float32(), width)),
            "large": pa.array([None, [3.0] * width, [4.0] * width], pa.large_list(pa.float64())),
            "half": pa.array([np.float16([5] * width), np.float16([6] * width), None], pa.list_(pa.float16())),
            "codes": pa.array([[1] * width, [2] * width, [3] * width], pa.list_(pa.uint8(), width)),
            "when": pa.array([0, 10**18, None], pa.timestamp("ns")),
            "price": pa.array([None, "1.50", "2.25"]).cast(pa.decimal128(9, 2)),
            "size": pa.array([{"w": 1}, None, {"w": 3}]),
            "empty": pa.nulls(3),
        }
    )
    path = tmp_path / ("a.parquet" if write is pq.write_table else "a.arrow")
    write(table, path)
    collection, report = imported(home, ForeignData(path, dict.fromkeys(("fixed", "large", "half", "codes"), "vector")))
    assert (report.added, report.failures) == (3, ())
    wanted = {
        "fixed": {"a": 1.0, "c": 2.0},
        "large": {"b": 3, "c": 4},
        "half": {"a": 5, "b": 6},
        "codes": {"a": 1, "b": 2, "c": 3},
    }
    for view, values in wanted.items():
        assert rows_of(collection, view) == {key: [value] * width for key, value in values.items()}
    assert collection.items.get("b").attributes == {"when": "2001-09-09T01:46:40", "price": 1.5}
    assert collection.items.get("c").attributes == {"price": 2.25, "size": {"w": 3}}
    collection.close()


def test_damaged_files_are_refused_or_read(tmp_path: Path) -> None:
    """The rows of any file are read, or it is refused with a reason; no other error is raised."""
    random, read, reasons = np.random.default_rng(0), 0, []
    for name in ("pandas.parquet", "saved/data-00000-of-00002.arrow", "pandas.csv"):
        original = (DATA / name).read_bytes()
        for turn in range(60):
            data = bytearray(original)
            for place in random.integers(0, len(data), random.integers(1, 6)):
                data[place] = random.integers(256)
            path = tmp_path / f"{turn}{Path(name).suffix}"
            path.write_bytes(data)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", InputWarning)
                try:
                    read += len([row for row in ForeignData(path).source if isinstance(row, Row)])
                except InvalidInputError as error:
                    reasons.append(str(path) in str(error))
    assert read > 0
    assert all(reasons)


def test_what_the_programs_write_today(home: Home, tmp_path: Path) -> None:
    """If ``datasets`` and pandas are installed, their files are imported as the stored ones are."""
    for name in ("datasets", "pandas"):
        pytest.importorskip(name, reason=f"{name} is not installed: the stored files are tested alone")
    runpy.run_path(str(DATA / "make.py"))["make"](tmp_path)
    for name in ("saved", "splits", "files", "pandas.parquet", "pandas.csv"):
        assert roles(ForeignData(tmp_path / name)) == roles(ForeignData(DATA / name))
        collection, report = imported(home, ForeignData(tmp_path / name), name.replace(".", "-"))
        assert report.failures == ()
        collection.close()


def _ipc(table: Any, path: Path) -> None:
    sink = io.BytesIO()
    with pa.ipc.new_file(sink, table.schema) as file:
        file.write_table(table)
    path.write_bytes(sink.getvalue())
