"""Trees of classes are read from text that a person writes, and mistakes are named by their lines."""

import pytest

from crossview.engine.catalog.ingest.taxonomy_file import read_taxonomy
from crossview.engine.values.errors import InvalidInputError

MIXED = """\
# what there is
vehicle: car, van   # siblings
machine: vehicle, lathe
food
  fruit: apple, red pear
  nut
"""
DEEP = """\
machine
    vehicle
        car
        van
    lathe
food:
  fruit
    apple
    red pear
  nut
"""
PARENTS = {
    "car": "vehicle",
    "van": "vehicle",
    "vehicle": "machine",
    "lathe": "machine",
    "machine": "",
    "apple": "fruit",
    "red pear": "fruit",
    "fruit": "food",
    "nut": "food",
    "food": "",
}


@pytest.fixture
def file(tmp_path):
    """Write a tree and return its file."""

    def write(text: str | bytes):
        path = tmp_path / "tree.txt"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


@pytest.mark.parametrize("text", [MIXED, DEEP, "\ufeff" + DEEP, DEEP.replace("\n", "\r\n\r\n")])
def test_a_class_is_below_another_by_indentation_or_after_its_colon(file, text):
    tree = read_taxonomy(file(text))
    assert tree.parents == PARENTS
    assert tree.leaves == ("apple", "car", "lathe", "nut", "red pear", "van")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: b, c\nd: e, b\n", "line 2: line 1 already gives 'b' a place"),
        ("a: b, b\n", "line 1: line 1 already gives 'b' a place"),
        ("a: b, c\na\n", "line 2: line 1 already gives 'a' a place"),
        ("b\na: b, c\n", "line 2: line 1 already gives 'b' a place"),
        ("a\na\n", "line 2: line 1 already gives 'a' a place"),
        ("a: b\n\nb: c\nc: a\n", "line 4: a class is below itself: 'b' below 'a' below 'c' below 'b'"),
        ("a: b,, c\n", "line 1: a name is empty"),
        ("a: b: c\n", "line 1: the name 'b: c' contains a colon"),
        ("a\n    b\n  c\n", "line 3: no line above has the indentation of 2 spaces"),
        ("  a\nb\n", "line 1: no line above has the indentation of 2 spaces"),
        ("a\n\tb\n", "line 2: indent with spaces, not with tabs"),
        ("", "at least 2 leaves, not 0"),
        ("# nothing\n\na: b\n", "at least 2 leaves, not 1"),
        (b"\xe9: b, c", "not UTF-8"),
    ],
)
def test_mistakes_are_named_by_their_lines(file, text, message):
    with pytest.raises(InvalidInputError, match=message):
        read_taxonomy(file(text))


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(InvalidInputError, match=r"none\.txt: No such file"):
        read_taxonomy(tmp_path / "none.txt")
