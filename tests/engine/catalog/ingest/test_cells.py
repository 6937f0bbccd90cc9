"""Cells of labels are read as they are written, for any labels."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crossview.engine.catalog.ingest.cells import json_or_text, label_cell, labels_of

LABELS = st.text(st.sampled_from('ab;" \n\t\\') | st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)


@given(st.lists(LABELS, max_size=4))
def test_what_is_written_is_read(labels: list[str]) -> None:
    """Labels may have semicolons, quotes and spaces."""
    assert labels_of(label_cell(labels)) == labels


NUMBERS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False)
JSON = st.recursive(NUMBERS | st.text(), lambda one: st.lists(one) | st.dictionaries(st.text(), one), max_leaves=5)
SPACES = st.text(" \t\n\r\f\ufeff", max_size=2)


@given(SPACES, st.text() | JSON.map(json.dumps) | st.sampled_from(["NaN", "-Infinity", "1 2", "nul", "-"]), SPACES)
def test_a_cell_is_the_value_that_json_has_for_it_or_its_text(before: str, written: str, after: str) -> None:
    """It may have spaces around it, or be a value that Python's JSON reads and JSON does not have."""
    text = before + written + after
    try:
        wanted: Any = json.loads(text)
    except ValueError:
        wanted = text
    assert repr(json_or_text(text)) == repr(wanted)


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
    """Spaces around a label and empty parts are left out; quotes that enclose no whole label belong to the label."""
    assert labels_of(cell) == labels
