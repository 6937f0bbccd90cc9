"""Cells of labels are read as they are written, whatever the labels are."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crossview.engine.ingest.cells import label_cell, labels_of

LABELS = st.text(st.sampled_from('ab;" \n\t\\') | st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)


@given(st.lists(LABELS, max_size=4))
def test_what_is_written_is_read(labels: list[str]) -> None:
    """Semicolons, quotes and spaces in labels, too."""
    assert labels_of(label_cell(labels)) == labels


@pytest.mark.parametrize(
    ("cell", "labels"),
    [
        ("a;b", ["a", "b"]),
        (" a ; b;", ["a", "b"]),
        ('"a;b"; c', ["a;b", "c"]),
        ('5" disk;"half', ['5" disk', '"half']),
        ('"a ""b"""', ['a "b"']),
        (" ; ", []),
    ],
)
def test_people_write_cells_with_spaces_and_quotes(cell: str, labels: list[str]) -> None:
    """Spaces around a label and empty parts are left out; quotes that enclose no whole label are part of it."""
    assert labels_of(cell) == labels
