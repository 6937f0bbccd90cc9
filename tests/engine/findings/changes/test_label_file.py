"""Files of labels: read, appended to, undone."""

import os
from pathlib import Path

import pytest

from crossview.engine.findings.changes.label_file import add_labels, read_labels
from crossview.engine.values.changes import PairLabel
from crossview.engine.values.errors import InvalidInputError

LABELS = [PairLabel("a", "b", True), PairLabel("b", "c", False), PairLabel('with, "quotes"', "d", None)]


def test_what_is_written_is_read(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    assert read_labels(path) == []
    add_labels(path, LABELS[:1])
    add_labels(path, LABELS[1:])
    assert read_labels(path) == LABELS
    assert path.read_text().splitlines()[:2] == ["earlier,later,important", "a,b,yes"]


def test_an_answer_can_be_cut_off_again(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    add_labels(path, LABELS[:2])
    os.truncate(path, add_labels(path, LABELS[2:]))
    assert read_labels(path) == LABELS[:2]


def test_a_file_of_somebody_keeps_what_it_holds(tmp_path: Path) -> None:
    """It has a byte order mark, other cases, words and line ends, and no line end at its end."""
    path = tmp_path / "labels.csv"
    path.write_bytes("\ufeffEarlier, Later ,IMPORTANT\r\n\r\na,b,1\r\nb,c,No".encode())
    add_labels(path, LABELS[2:])
    assert read_labels(path) == LABELS


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a,b,yes\n", "the first line must be"),
        ("earlier,later,important\na,b\n", "line 2"),
        ("earlier,later,important\na,b,perhaps\n", "line 2"),
        ("earlier,later,important\na,,yes\n", "line 2"),
    ],
)
def test_a_line_that_is_no_label_is_named(tmp_path: Path, text: str, reason: str) -> None:
    path = tmp_path / "labels.csv"
    path.write_text(text)
    with pytest.raises(InvalidInputError, match=reason):
        read_labels(path)


def test_a_file_that_is_no_text_or_cannot_be_written_is_named(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InvalidInputError, match=r"labels\.csv"):
        read_labels(path)
    with pytest.raises(InvalidInputError, match="missing"):
        add_labels(tmp_path / "missing" / "labels.csv", LABELS)
