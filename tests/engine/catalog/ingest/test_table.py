"""Every CSV file is read in one way, and a bad one is refused in plain words."""

import warnings

import pytest

from crossview.engine.catalog.ingest.table import Table
from crossview.engine.values.errors import InputWarning, InvalidInputError


def test_lines_have_their_numbers_and_cells_without_spaces(tmp_path):
    """Blank lines are left out, a byte order mark does not belong to a cell, and a line has the number of its end."""
    file = tmp_path / "a.csv"
    file.write_text('\ufeffkey, label \n\n,,\n"a\nb",x\nc,"y, z"\n')
    assert list(Table(file, "labels")) == [(1, ["key", "label"]), (5, ["a\nb", "x"]), (6, ["c", "y, z"])]


def test_a_table_is_read_once(tmp_path):
    """Each iteration has the same lines, even if the file changes: a pipe can be read only once."""
    file = tmp_path / "a.csv"
    file.write_text("key;label\na;x\n")
    table = Table(file, "labels")
    with pytest.warns(InputWarning, match="semicolons"):
        first = list(table)
    file.unlink()
    assert list(table) == first == [(1, ["key", "label"]), (2, ["a", "x"])]


@pytest.mark.parametrize(
    ("content", "note"),
    [
        ("a;b\nb, c;\u00e9", "with semicolons between cells"),
        ("\n a\tb\nb, c\t\u00e9", "with tabs between cells"),
        ('a,b\n"b, c",\u00e9', "Windows-1252"),
        ('a;b,"b, c"', ""),
        ("sep=;\na;b\nb, c;\u00e9", ""),
        ("SEP=\t\r\na\tb\r\nb, c\t\u00e9\r\n", ""),
    ],
)
def test_a_file_of_a_spreadsheet_is_read_with_a_note(tmp_path, content, note):
    """The separator is that of the first line, and the letters are those of Windows if the file is not UTF-8.

    A separator that the first line states gets no note.
    """
    (tmp_path / "a.csv").write_bytes(content.encode("cp1252" if "1252" in note else "utf-8"))
    with warnings.catch_warnings(record=True) as notes:
        warnings.simplefilter("always")
        found = [cells for _, cells in Table(tmp_path / "a.csv", "labels")]
    assert found == ([["a;b", "b, c"]] if content.startswith("a;b,") else [["a", "b"], ["b, c", "\u00e9"]])
    assert [one.category for one in notes] == [InputWarning] * bool(note)
    assert all(note in str(one.message) for one in notes)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"\xff\xd8\xff\xe0\x00\x10JFIF", "it is not UTF-8 text; save it as CSV in UTF-8"),
        (b"\xff\xfe\x00", "it is not UTF-8 text; save it as CSV in UTF-8"),
        (b'"' + b"x" * (1 << 25), "field larger than field limit"),
        (None, "No such file or directory"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_with_the_reason(tmp_path, content, reason):
    file = tmp_path / "a.csv"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(InvalidInputError) as caught:
        list(Table(file, "labels", " (or give 'folder')"))
    message = str(caught.value)
    assert message.startswith(f"labels cannot be read from {file}: {reason}")
    assert message.endswith("(or give 'folder')")


def test_errors_name_the_file_and_the_line():
    table = Table("a.csv", "pairs")
    assert str(table.error(3, "it is wrong")) == "a.csv, line 3: it is wrong"
    assert str(table.unexpected(3, "key_a,key_b", ["x"])) == "a.csv, line 3: expected key_a,key_b but found 'x'"
