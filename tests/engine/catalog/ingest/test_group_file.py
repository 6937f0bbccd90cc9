"""Files of groups list keys or paths, and which of them belong together."""

import pytest

from crossview.engine.catalog.ingest.table import read_groups
from crossview.engine.values.errors import InvalidInputError
from crossview.engine.values.recipe import Grouping


def test_columns_are_read_in_any_order(tmp_path):
    """An item with an empty group has none; a line that is given twice counts once."""
    file = tmp_path / "groups.csv"
    file.write_text("Group,Path\none,a/1.jpg\none,a/2.jpg\n,a/3.jpg\none,a/1.jpg\n")
    assert read_groups(file) == Grouping(str(file), {"a/1.jpg": "one", "a/2.jpg": "one"})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a,b\n", "begins with 'a,b', but the first line must be key,group or path,group"),
        ("", "the first line must be"),
        ("key,group\n", "contains only the header key,group"),
        ("key,group\na,1,2\n", "line 2: expected key,group but found 'a,1,2'"),
        ("key,group\n,1\n", "line 2: expected"),
        ("key,group\na,1\na,2\n", "line 3: a has group 2 here, and group 1 above"),
    ],
)
def test_what_is_no_group_is_named_with_its_line(tmp_path, text, words):
    file = tmp_path / "groups.csv"
    file.write_text(text)
    with pytest.raises(InvalidInputError, match=words):
        read_groups(file)
