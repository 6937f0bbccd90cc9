"""Orderings files say which classes have more of which attribute, and each mistake in them is named."""

from pathlib import Path

import pytest

from crossview.engine.catalog.ingest.orderings_file import read_orderings
from crossview.engine.values.errors import InvalidInputError


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "orderings.txt"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_line_orders_the_classes_of_an_attribute(tmp_path: Path) -> None:
    """Levels rise from left to right, equal classes share one, and comments are left out."""
    found = read_orderings(
        written(
            tmp_path,
            "# scenes\nnatural: tall building < city ~ street<road\n\nopen: city<road~street < tall building  # seen\n",
        )
    )
    assert found.names == ("natural", "open")
    assert found.levels == {"tall building": (0, 2), "city": (1, 0), "street": (1, 1), "road": (2, 1)}
    assert found.settings()["orderings"]["city"] == [1, 0]


def test_a_line_orders_items_of_an_attribute(tmp_path: Path) -> None:
    """Every two of a line are a pair, the one with less first; a pair that two lines state is one."""
    found = read_orderings(
        written(
            tmp_path,
            "open: city < road\nnatural: items: a/1.jpg < b 2.jpg ~ c < d\nnatural: items: d~e\nnatural: items: c<d\n",
        )
    )
    assert found.names == ("open", "natural")
    assert found.levels == {"city": (0, 0), "road": (1, 0)}
    given = found.items
    pairs = [tuple(given.keys[item] for item in row) for row in given.comparisons.items]
    stated = dict(zip(pairs, given.comparisons.similar.tolist(), strict=True))
    assert {pair for pair, same in stated.items() if same} == {("b 2.jpg", "c"), ("d", "e")}
    ordered = [("a/1.jpg", one) for one in ("b 2.jpg", "c", "d")] + [("b 2.jpg", "d"), ("c", "d")]
    assert sorted(pair for pair, same in stated.items() if not same) == ordered
    assert given.notions == ("natural",)
    assert given.lines.tolist().count(2) == 6


def test_items_alone_leave_classes_out(tmp_path: Path) -> None:
    found = read_orderings(written(tmp_path, "natural: items: a ~ b < c"))
    assert found.settings() == {"names": ["natural"]}
    assert len(found.items) == 3


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "contains no orderings: write lines like 'natural:"),
        ("# nothing\n", "contains no orderings"),
        ("natural a < b", "line 1: write an ordering like"),
        (": a < b", "line 1: write an ordering like"),
        ("x: a < b\nx: b < a", "line 2: line 1 already orders 'x'"),
        ("x: a < b < a", "line 1: the line names the class 'a' twice"),
        ("x: a < < b", "line 1: the class beside '<' is missing"),
        ("x: < b", "line 1: the class beside"),
        ("x:", "line 1: the class beside"),
        ("x: a ~ b", "line 1: no class has less than another"),
        ("x: items: a", "line 1: no item has less than another"),
        ("x: items: a < ~ b", "line 1: the item beside"),
        ("x: items: a < b ~ a", "line 1: the line names the item 'a' twice"),
        ("x: items: a < b\nx: items: c < b < a", "line 2: line 1 orders b and a differently"),
        ("x: items: a < b\nx: items: b ~ a", "line 2: line 1 orders b and a differently"),
        ("x y: items: a < b", "line 1: an attribute that orders items is a notion: 'x y' cannot name"),
        ("x: a < b ~ c\ny: a < b", "line 2: 'y' leaves out c, which another attribute orders"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    """The reader knows which line to mend."""
    with pytest.raises(InvalidInputError, match=message):
        read_orderings(written(tmp_path, text))


def test_a_file_that_cannot_be_read_says_why(tmp_path: Path) -> None:
    """Messages distinguish a missing file, a folder, and bytes that are not text."""
    with pytest.raises(InvalidInputError, match="No such file"):
        read_orderings(tmp_path / "absent.txt")
    path = tmp_path / "bytes.txt"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InvalidInputError, match="not UTF-8"):
        read_orderings(path)
