"""Annotations reach the items that they name, and nothing else changes."""

import unicodedata
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from drawn import draw, encode, write_pictures
from hypothesis import given
from hypothesis import strategies as st

from crossview.engine.catalog.ingest.annotation_file import AnnotationFile
from crossview.engine.collections.home import Home
from crossview.engine.values.conditions.filter import Filter
from crossview.engine.values.errors import InvalidInputError
from crossview.engine.values.item import IndexOptions, ItemUpdate, NewItem

NFC, NFD = unicodedata.normalize("NFC", "été.png"), unicodedata.normalize("NFD", "été.png")


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def labels(collection) -> dict[str, tuple[str, ...]]:
    return {item.key: item.labels for item in collection.items(limit=1000)}


@pytest.fixture
def rows(vectors_only):
    with vectors_only(4) as made:
        yield made


# -- what stays


def test_a_file_of_labels_changes_the_pictures_that_it_names_only(collection, pictures, tmp_path):
    before = labels(collection)
    report = collection.index(
        [pictures], IndexOptions(labels=written(tmp_path / "l.csv", "red/0.png,warm\n"), workers=1)
    )
    assert (report.updated, report.unchanged, report.failures) == (1, 17, ())
    assert labels(collection) == before | {"pictures/red/0.png": ("warm",)}


def test_replacing_labels_takes_those_of_the_others(collection, pictures, tmp_path):
    path = written(tmp_path / "l.csv", "red/0.png,warm\n")
    collection.index([pictures], IndexOptions(labels=path, workers=1, replace_labels=True))
    assert collection.info().labels == {"warm": 1}


def test_an_import_keeps_what_it_does_not_name(rows):
    rows.items.update([ItemUpdate("item/0001", text="a text")])
    before = rows.items.get("item/0001")
    rows.items.put([NewItem("item/0001", rows={"color": np.full(64, 0.5)})])
    after = rows.items.get("item/0001")
    assert (after.labels, after.attributes, after.text) == (before.labels, before.attributes, "a text")


def test_an_empty_value_clears_and_attributes_are_set_one_by_one(rows):
    rows.items.put([NewItem("item/0001", attributes={"year": 1999})])
    assert rows.items.get("item/0001").attributes == {"n": 1, "year": 1999}
    rows.items.update([ItemUpdate("item/0001", removed_attributes=("n",))])
    assert rows.items.get("item/0001").attributes == {"year": 1999}
    rows.items.put([NewItem("item/0001", labels=(), attributes={}, text="")])
    after = rows.items.get("item/0001")
    assert (after.labels, after.attributes, after.text) == ((), {}, "")


def test_several_changes_of_one_item_in_one_call_all_count(rows):
    rows.items.put([NewItem("new", rows={"color": np.ones(64)}, labels=("a",)), NewItem("new", attributes={"b": 1})])
    rows.items.update([ItemUpdate("new", text="c"), ItemUpdate("new", labels=("d",))])
    new = rows.items.get("new")
    assert (new.labels, new.attributes, new.text) == (("d",), {"b": 1}, "c")


def test_a_new_item_needs_something_that_it_is_found_by(rows):
    report = rows.items.put([NewItem("new", labels=("a",))])
    assert [failure.key for failure in report.failures] == ["new"]
    assert rows.count() == 4


def test_an_update_of_no_item_is_a_failure_and_makes_none(rows):
    report = rows.items.update([ItemUpdate("item/0001", text="x"), ItemUpdate("nobody", text="y")])
    assert (report.updated, [failure.key for failure in report.failures]) == (1, ["nobody"])
    assert rows.count() == 4


def test_an_update_that_changes_nothing_is_no_change(rows):
    before = rows.info().sequence
    report = rows.items.update([ItemUpdate("item/0001", labels=("odd",), attributes={"n": 1})])
    assert (report.updated, report.unchanged, rows.info().sequence) == (0, 1, before)


# -- folders


def test_folders_label_the_pictures_in_them_however_they_are_named(home: Home, pictures):
    named = [pictures / "red", pictures / "green", pictures / "blue/0.png"]
    with home.create("globbed", ["color"]) as made:
        report = made.index(named, IndexOptions(labels="folder", workers=1))
        assert made.info().labels == {"red": 6, "green": 6, "blue": 1}
        assert report.notes == ()


def test_labels_that_somebody_chose_are_not_a_folder_s_to_change(collection, pictures, tmp_path):
    chosen = {"pictures/red/0.png": ("rose",), "pictures/red/1.png": ()}
    collection.items.annotate(written(tmp_path / "l.csv", "path,label\nred/0.png,rose\nred/1.png,\n"))
    report = collection.index([pictures], IndexOptions(labels="folder", workers=1))
    assert (report.updated, report.unchanged) == (0, 18)
    assert {key: labels(collection)[key] for key in chosen} == chosen
    collection.index([pictures], IndexOptions(labels="folder", workers=1, replace_labels=True))
    assert labels(collection)["pictures/red/0.png"] == ("red",)


def test_folders_of_cameras_and_dates_are_named(home: Home, tmp_path):
    """The labels stay, and the note says how to train without them; labels of a file are a person's choice."""
    for number, name in enumerate(("cats", "100CANON", "2021-05", "export web")):
        (tmp_path / "tree" / name).mkdir(parents=True)
        (tmp_path / "tree" / name / f"{number}.png").write_bytes(encode(draw("red", number)))
    with home.create("tree", ["color"]) as made:
        (note,) = made.index([tmp_path / "tree"], IndexOptions(labels="folder", workers=1)).notes
        assert note.endswith("train without them: `ignore_labels=['100CANON', '2021-05', 'export web']`")
        assert made.info().labels == {"cats": 1, "100CANON": 1, "2021-05": 1, "export web": 1}
        table = written(tmp_path / "l.csv", "path,label\ncats/0.png,2021\n")
        assert made.index([tmp_path / "tree"], IndexOptions(labels=table, workers=1)).notes == ()


def test_labels_of_which_no_picture_got_one_are_said(home: Home, tmp_path):
    folder = tmp_path / "pictures"
    folder.mkdir()
    (folder / "a.png").write_bytes(encode(draw("red", 0)))
    with home.create("bare", ["color"]) as made:
        table = written(tmp_path / "l.csv", "path,label,year\na.png,,1999\n")
        notes = made.index([folder], IndexOptions(labels=table, workers=1)).notes
        assert notes == ("new attributes: year", "no picture got a label")
        assert made.items.get("pictures/a.png").attributes == {"year": 1999}


# -- files of annotations


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from(("", "x", "y", "z")))))
def test_lines_of_an_item_are_joined_wherever_they_are(lines: list[tuple[str, str]]) -> None:
    """They are joined in the order of the file, with any number of other lines between them."""
    with TemporaryDirectory() as folder:
        file = AnnotationFile(written(Path(folder) / "a.csv", "key,label\n" + "".join(f"{k},{v}\n" for k, v in lines)))
        found = {name: one.labels for name, one in file.items()}
    wanted: dict[str, tuple[str, ...]] = {}
    for key, label in lines:
        wanted[key] = tuple(dict.fromkeys((*wanted.get(key, ()), *([label] if label else []))))
    assert list(found.items()) == list(wanted.items())


def test_annotations_are_given_as_a_file_or_as_what_was_read_of_it(rows, tmp_path):
    """A command that checks several files before it writes need not read them twice."""
    path = written(tmp_path / "a.csv", "key,label\nitem/0000,zero\nnobody,x\n")
    file = AnnotationFile(path)
    path.unlink()
    report = rows.items.annotate(file)
    assert (report.updated, [failure.key for failure in report.failures]) == (1, ["nobody"])
    assert str(path) in report.failures[0].reason


def test_columns_are_named_by_the_first_line(rows, tmp_path):
    path = written(
        tmp_path / "a.csv",
        "key,label,label,caption,year,où\n"
        'item/0000,zero,"a, b;c",A line,1999,"{""x"": [1]}"\n'
        "item/0001,,,,,\n"
        "item/0002,two\n",
    )
    rows.items.update([ItemUpdate("item/0001", text="gone", attributes={"year": 1})])
    rows.items.update([ItemUpdate("item/0002", text="kept")])
    report = rows.items.annotate(path)
    zero, one, two = (rows.items.get(f"item/{number:04}") for number in range(3))
    assert (zero.labels, zero.text) == (("a, b", "c", "zero"), "A line")
    assert zero.attributes == {"n": 0, "year": 1999, "où": {"x": [1]}}
    assert (one.labels, one.text, one.attributes) == ((), "", {"n": 1})
    assert (two.labels, two.text) == (("two",), "kept")
    assert report.updated == 3


def test_a_line_that_ends_early_leaves_the_rest_alone_and_attributes_may_stand_alone(rows, tmp_path):
    rows.items.update([ItemUpdate("item/0000", text="kept")])
    rows.items.annotate(written(tmp_path / "a.csv", "key,label,caption\nitem/0000,zero\nitem/0001,one,a, b\n"))
    rows.items.annotate(written(tmp_path / "b.csv", "key,year\nitem/0000,1999\n"))
    zero, one = rows.items.get("item/0000"), rows.items.get("item/0001")
    assert (zero.labels, zero.text, zero.attributes) == (("zero",), "kept", {"n": 0, "year": 1999})
    assert (one.labels, one.text) == (("one",), "a, b")


def test_lines_of_one_item_are_taken_together(tmp_path):
    file = AnnotationFile(written(tmp_path / "a.csv", "path,label,year\na,x,1999\na,y,\na,x,1999\n"))
    ((name, one),) = file.items()
    assert (name, one.labels, one.attributes, one.removed_attributes) == ("a", ("x", "y"), {"year": 1999}, ())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("path,label,year\na,x,1999\na,y,2000\n", "line 3: year is '2000' here and '1999' in line 2"),
        ("path,label,\na,x,1\n", "column 3 has no name"),
        ("path,class\na,x\n", "name the second one label"),
        ("label,path\nx,a\n", "first column must be path or key"),
        ("image_path,label\na.jpg,x\n", "line 1: the first column must be path or key, not image_path"),
        ("name,year,labels\na.jpg,1999,x\n", "line 1: the first column must be path or key, not name"),
        ("path,label,year\na,x,1999,2000\n", "line 2: expected path,label,year but found"),
        ("a\n", "line 1: expected path,label"),
        ("key,attributes\na,red\n", "line 2: expected a JSON object but found 'red'"),
    ],
)
def test_a_file_that_cannot_be_meant_is_refused_with_the_line(tmp_path, text, message):
    with pytest.raises(InvalidInputError, match=message):
        AnnotationFile(written(tmp_path / "a.csv", text))


def test_values_are_json_where_they_are_and_text_else(tmp_path):
    cells = {"1": 1, "1.5": 1.5, "true": True, "null": None, "01": "01", "NaN": "NaN", "1e999": "1e999", "x": "x"}
    text = "key,v\n".replace("v", "label,v") + "".join(f'{i},,"{cell}"\n' for i, cell in enumerate(cells))
    found = [one.attributes["v"] for _, one in AnnotationFile(written(tmp_path / "a.csv", text)).items()]
    assert found == list(cells.values())


def test_items_go_by_key_by_path_below_the_root_and_by_full_path(collection, pictures, tmp_path):
    names = ["pictures/red/0.png", "red/1.png", f"{pictures}/red/2.png"]
    path = written(tmp_path / "a.csv", "".join(f"{name},found\n" for name in [*names, "red/99.png"]))
    report = collection.items.annotate(path)
    assert sorted(key for key, found in labels(collection).items() if found == ("found",)) == [
        f"pictures/red/{number}.png" for number in range(3)
    ]
    (failure,) = report.failures
    assert (failure.key, "line 4" in failure.reason) == ("red/99.png", True)


@pytest.mark.parametrize("name", ["./red/1.png", "red/./1.png", "pictures//red/1.png", "./pictures/red/1.png"])
def test_paths_with_detours_name_the_same_items(collection, pictures, tmp_path, name):
    """Find and shells write such paths: for items that exist, and for pictures while they are indexed."""
    for path in (name, f"{pictures}/./red/../red/1.png"):
        collection.items.annotate(written(tmp_path / "a.csv", f"{path},{path}\n"))
        assert labels(collection)["pictures/red/1.png"] == (path,)
        table = written(tmp_path / "b.csv", f"{path},indexed\n")
        assert collection.index([pictures], IndexOptions(labels=table, workers=1)).updated == 1
        assert labels(collection)["pictures/red/1.png"] == ("indexed",)


@pytest.mark.parametrize("name", [r"red\1.png", r".\red\1.png", r"pictures\red\1.png", r"pictures\green\..\red\1.png"])
def test_paths_of_windows_name_the_same_items(collection, pictures, tmp_path, name):
    """The items may exist, or the pictures may be indexed at this time; no line is left over."""
    report = collection.items.annotate(written(tmp_path / "a.csv", f"path,label\n{name},here\nred/2.png,x\n"))
    assert (report.updated, report.failures) == (2, ())
    assert labels(collection)["pictures/red/1.png"] == ("here",)
    table = written(tmp_path / "b.csv", f"path,label\n{name},indexed\nred/2.png,x\n")
    report = collection.index([pictures], IndexOptions(labels=table, workers=1))
    assert (report.updated, report.failures) == (1, ())
    assert labels(collection)["pictures/red/1.png"] == ("indexed",)


def test_a_backslash_in_a_name_takes_precedence(home: Home, tmp_path):
    """Names of files of Linux can have one: only if no file has the name is it a path of Windows."""
    folder = tmp_path / "folder"
    (folder / "a").mkdir(parents=True)
    for name in ("a/b.png", r"a\b.png"):
        (folder / name).write_bytes(encode(draw("red", 1)))
    with home.create("both", ["color"]) as made:
        made.index([folder], IndexOptions(workers=1))
        made.items.annotate(written(tmp_path / "u.csv", "path,label\n" + r"a\b.png,y" + "\n"))
        assert labels(made) == {"folder/a/b.png": (), r"folder/a\b.png": ("y",)}


TABLES = {
    "plain": "red/0.png,{}\n",
    "label": "path,label\nred/0.png,{}\n",
    "labels": "key,labels\npictures/red/0.png,{}\n",
    "further columns": "path,year,labels\nred/0.png,1999,{}\n",
    "repeated": "path,label,label\nred/0.png,{},\n",
    "lines": "path,label\nred/0.png,{}\nred/0.png,a\n",
}


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize(
    ("cell", "found"),
    [("a;b", ("a", "b")), (" a ; b ", ("a", "b")), ('"""a;b"";b"', ("a;b", "b")), ("b;;a", ("a", "b"))],
)
def test_a_cell_of_labels_is_read_alike_everywhere(collection, pictures, tmp_path, kind, cell, found):
    table = written(tmp_path / "t.csv", TABLES[kind].format(cell))
    expected = tuple(sorted({*found, *(["a"] if kind == "lines" else [])}))
    collection.items.annotate(table)
    assert labels(collection)["pictures/red/0.png"] == expected
    collection.items.update([ItemUpdate("pictures/red/0.png", labels=())])
    collection.index([pictures], IndexOptions(labels=table, workers=1))
    assert labels(collection)["pictures/red/0.png"] == expected


@pytest.mark.parametrize(("column", "meant"), [("labl", "label"), ("Captions", "caption"), ("yeears", "years")])
def test_a_misspelt_column_makes_no_attribute_unless_it_is_wanted(collection, pictures, tmp_path, column, meant):
    """Nothing is written; the message names the probable column, and the way to go on."""
    collection.items.update([ItemUpdate("pictures/red/0.png", attributes={"years": 9})])
    table = written(tmp_path / "a.csv", f"path,caption,{column}\nred/1.png,new,5\n")
    message = f"column {column!r}.*If you mean {meant!r}, rename the column.*`new_attributes=True`"
    with pytest.raises(InvalidInputError, match=message):
        collection.items.annotate(table)
    with pytest.raises(InvalidInputError, match=message):
        collection.index([pictures], IndexOptions(labels=table, workers=1))
    assert collection.items.get("pictures/red/1.png").text == ""
    assert collection.items.annotate(table, new_attributes=True).notes == (f"new attributes: {column}",)
    assert collection.items.get("pictures/red/1.png").attributes == {column: 5}
    assert collection.items.annotate(table).notes == ()


def test_a_file_that_names_no_item_is_refused(rows, tmp_path):
    with pytest.raises(InvalidInputError, match=r"does not name any item; it begins with 'x\.npy'"):
        rows.items.annotate(written(tmp_path / "a.csv", "x.npy,label\n"))


def test_replacing_labels_of_any_items(rows, tmp_path):
    rows.items.annotate(written(tmp_path / "a.csv", "item/0003,three\n"), replace_labels=True)
    assert labels(rows) == {"item/0000": (), "item/0001": (), "item/0002": (), "item/0003": ("three",)}


# -- one file, one item; keys in any Unicode form


def test_a_file_is_one_item_however_it_is_reached(home: Home, tmp_path):
    folder = tmp_path / "photos"
    write_pictures(folder, 2)
    (tmp_path / "linked").symlink_to(folder)
    (folder / "red/link.png").symlink_to(folder / "green/0.png")
    with home.create("once", ["color"]) as made:
        assert made.index([folder / "green"], IndexOptions(workers=1)).added == 2
        assert made.index([folder], IndexOptions(workers=1)).added == 4
        keys = set(labels(made))
        assert {"green/0.png", "green/1.png"} < keys
        for path in (folder / "red", tmp_path / "linked", folder / "red/0.png", tmp_path / "linked/blue"):
            report = made.index([path], IndexOptions(workers=1))
            assert (report.added, report.updated) == (0, 0)
        assert set(labels(made)) == keys


def test_a_copy_is_another_item(home: Home, tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.png").write_bytes(encode(draw("red", 0)))
    with home.create("copies", ["color"]) as made:
        assert made.index([tmp_path / "one", tmp_path / "two"], IndexOptions(workers=1)).added == 2


def test_a_folder_below_an_indexed_one_continues_its_keys(collection, pictures):
    (pictures / "red/new.png").write_bytes(encode(draw("red", 77)))
    assert collection.index([pictures / "red"], IndexOptions(workers=1)).added == 1
    assert collection.items.get("pictures/red/new.png").source == str(pictures / "red/new.png")


def test_keys_are_equal_in_any_unicode_form(rows):
    row = {"color": np.ones(64)}
    rows.items.put([NewItem(NFD, rows=row, labels=("first",))])
    rows.items.put([NewItem(NFC, rows=row, attributes={"second": True})])
    rows.items.put_vectors("color", [NFC], np.zeros((1, 64), np.float32))
    item = rows.items.get(NFC)
    assert (item.key, item.labels, item.attributes) == (NFD, ("first",), {"second": True})
    assert rows.count(Filter(keys=(NFC,))) == rows.count(Filter(key_prefix=NFC[:3])) == 1
    assert rows.count() == 5
    with pytest.raises(InvalidInputError, match="each row needs its own"):
        rows.items.put_vectors("color", [NFC, NFD], np.zeros((2, 64), np.float32))
    assert rows.items.delete([NFC]) == 1


def test_labels_reach_pictures_whose_names_are_written_otherwise(home: Home, tmp_path):
    folder = tmp_path / "pictures"
    folder.mkdir()
    (folder / NFD).write_bytes(encode(draw("red", 0)))
    with home.create("named", ["color"]) as made:
        made.index([folder], IndexOptions(labels=written(tmp_path / "l.csv", f"{NFC},été\n"), workers=1))
        assert made.items.get(f"pictures/{NFC}").labels == ("été",)


# -- what was deleted, what is gone


def test_what_was_deleted_stays_deleted_until_it_is_asked_for(collection, pictures):
    keys = ["pictures/red/0.png", "pictures/red/1.png", "pictures/red/2.png"]
    collection.items.delete(keys)
    (pictures / "red/1.png").write_bytes(encode(draw("red", 99)))
    report = collection.index([pictures], IndexOptions(labels="folder", workers=1))
    assert (report.added, report.unchanged) == (1, 15)
    assert report.deleted == ("pictures/red/0.png", "pictures/red/2.png")
    assert collection.index([pictures / "red/0.png"], IndexOptions(workers=1)).added == 1
    assert collection.index([pictures], IndexOptions(workers=1, include_deleted=True)).added == 1
    assert collection.count() == 18


def test_what_is_left_out_is_counted_by_kind(home: Home, tmp_path):
    folder = tmp_path / "mixed"
    write_pictures(folder, 1)
    names = ["a.JXL", "b.cr2", "c.NEF", "d.psd", "e.pdf", "f.txt", ".hidden.png", "g.mov"]
    for name in names:
        (folder / name).write_bytes(b"x")
    (folder / ".cache").mkdir()
    (folder / "again").symlink_to(folder / "red")
    with home.create("mixed", ["color"]) as made:
        report = made.index([folder], IndexOptions(workers=1))
    assert report.added == 3
    assert report.skipped == {
        "JPEG XL": 1, "RAW": 2, "PSD": 1, "PDF": 1, "other files": 1, "hidden": 2, "links to folders": 1, "video": 1,
    }  # fmt: skip
