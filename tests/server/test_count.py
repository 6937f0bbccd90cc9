"""Counts of items, and of items by value of a field, here and through a server."""

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conditions import conditions, contents
from filter_oracle import Oracle, nfc
from hypothesis import example, given, settings
from hypothesis import strategies as st
from terminal import BACKENDS, done, reached, result_of, run

from crossview.engine.catalog.facets import MOST_BINS, _bins, bin_edges
from crossview.engine.collections.collection import Collection
from crossview.engine.collections.home import Home
from crossview.engine.values.conditions.filter import field_of, filter_of
from crossview.engine.values.conditions.tree import Field
from crossview.engine.values.errors import InputWarning, InvalidInputError
from crossview.engine.values.item import Item, NewItem, ValueCount

LARGEST = sys.float_info.max
ITEMS = {
    "a": (("cat", "wet"), {"year": 2021, "camera": {"model": "X1"}, "tags": ["x", "y", "x"]}),
    "b": (("cat",), {"year": 2021.0, "camera": {"model": "X1"}, "tags": ["y"]}),
    "c": (("dog",), {"year": "2021", "camera": None, "tags": []}),
    "d": ((), {"year": True, "none": [None, 1, None]}),
    "e": ((), {"year": 2021.5, "tags": "y"}),
}


def fill(home: Home) -> None:
    with home.create("some", ["v=vectors:dim=1", "w=vectors:dim=1"]) as made:
        rows = {"v": [0.0]}
        made.items.put([NewItem(key, rows=rows, labels=tags, attributes=one) for key, (tags, one) in ITEMS.items()])
        made.items.put([NewItem("a", rows={"w": [0.0]})])


@pytest.fixture(params=BACKENDS)
def where(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[list[str]]:
    fill(home := Home(tmp_path))
    with reached(home, request.param) as options:
        yield options


def counted(where: list[str], per: str, *options: object) -> list[tuple[object, int]]:
    found = result_of("list", "some", "--count", "--per", per, *options, *where)["counts"]
    return [(one["value"], one["items"]) for one in found]


def test_items_are_counted_by_the_values_of_a_field(where: list[str]) -> None:
    """Values of different types are different; an item with several counts once for each."""
    assert done("list", "some", "--count", *where) == "5 items\n"
    assert counted(where, "label") == [("cat", 2), ("dog", 1), ("wet", 1)]
    assert counted(where, "label", "--where", "not label = wet", "--limit", 1) == [("cat", 1)]
    assert counted(where, "view") == [("v", 5), ("w", 1)]
    assert counted(where, "tags") == [("y", 3), ("x", 1)]
    assert counted(where, "camera.model") == [("X1", 2)]
    assert counted(where, "none") == [(None, 1), (1, 1)]
    years = counted(where, "year")
    assert years[0] == (2021, 2)
    assert {(type(value), value) for value, _ in years[1:]} == {(bool, True), (float, 2021.5), (str, "2021")}
    assert done(
        "list", "some", "--count", "--per", "year", "--where", "year >= 2021", "--csv", *where
    ).splitlines() == [
        "value,items",
        "2021,2",
        "2021.5,1",
    ]
    assert "3 items" in done("list", "some", "--count", "--per", "tags", "--where", "label exists", *where)


def test_folders_numbers_and_times_are_counted(tmp_path: Path) -> None:
    """Folders level by level; numbers in bins of a round width; times by day, month or year, as few as fit."""
    days = ["2020-02-29", "2020-03-01T23:59:59+02:00", "2020-03-01", "soon"]
    with Home(tmp_path).create("some", ["v=vectors:dim=1"]) as made:
        made.items.put(
            [
                NewItem(key, rows={"v": [0.0]}, attributes={"day": days[number % 4], "size": number, "f": [0.1, 0.11]})
                for number, key in enumerate(("a/b/1", "a/b/2", "a/c.d/1", "a/3", "b/1", "4", "a.*/1", "b/2"))
            ]
        )
        key, size, day, both = made.items.facets(["key", "size", "day", "f"])
        assert key.values == (ValueCount("a/", 4), ValueCount("b/", 2), ValueCount("a.*/", 1))
        assert (key.missing, key.numbers, key.times) == (1, (), ())
        assert [(one.start, one.end, one.items) for one in size.numbers] == [(n, n + 1, 1) for n in range(8)]
        assert [(one.start, one.items) for one in day.times] == [("2020-02-29", 2), ("2020-03-01", 4)]
        assert sum(one.items for one in both.numbers) == 16
        (below,) = made.items.facets(["key"], "size < 7", 1, below="a")
        assert (below.values, below.other_values, below.missing) == ((ValueCount("a/b/", 2),), 1, 1)
        for month, unit in (("2021-05-01", "2020-02"), ("1871-05-01T00:00:00Z", "1871")):
            made.items.put([NewItem("4", attributes={"day": month})])
            assert made.items.facets("day")[0].times[0].start == unit
        with pytest.raises(InvalidInputError, match="only key and path have folders"):
            made.items.facets(["size"], below="a")
    printed = done("list", "some", "--count", "--per", "key", "--below", "a/", "--per", "day", "--home", tmp_path)
    assert "1 items without such a folder" in printed
    assert done(
        "list", "some", "--count", "--per", "key", "--per", "size", "--limit", 1, "--csv", "--home", tmp_path
    ) == ("field,value,items\nkey,a/,4\nsize,0,1\n")


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(2**53), 2**53), min_size=1))
@example([LARGEST])
@example([-LARGEST, LARGEST])
@example([0.99 * LARGEST, LARGEST])
def test_bins_contain_every_number_once(numbers: list[float]) -> None:
    """Any numbers, however large or near to each other."""
    array = np.array(numbers, np.float64)
    edges = bin_edges(float(array.min()), float(array.max()), bool((array == np.floor(array)).all()))
    assert np.isfinite(edges).all()
    assert len(edges) <= MOST_BINS + 2
    assert edges[0] <= array.min()
    if array.max() == LARGEST:  # no finite edge is above it
        assert edges[-1] == LARGEST
    else:
        assert (np.diff(edges) > 0).all()
        assert array.max() < edges[-1]
    assert sum(one.items for one in _bins(np.arange(len(array)), array)) == len(array)


def test_attributes_and_metadata_of_files_are_counted_together(tmp_path: Path) -> None:
    with Home(tmp_path).create("some", ["v=vectors:dim=1"]) as made:
        made.items.put([NewItem("a", rows={"v": [0.0]}, attributes={"year": 2021, "place": "x"})])
        with pytest.warns(InputWarning, match="file"):  # the item has no file
            year, taken, place, camera = made.items.facets(["year", "file.taken", "place", "file.camera"])
    assert [len(one.values) for one in (year, taken, place, camera)] == [1, 0, 1, 0]


def test_counts_follow_changes(tmp_path: Path) -> None:
    """Views are counted, too, which change without their items."""
    fill(home := Home(tmp_path))
    with home.open("some") as made:
        for number in range(3):
            assert made.items.counts("view") == [ValueCount("v", 5 + number), ValueCount("w", 1)]
            assert made.items.counts("label", "view = w") == [ValueCount("cat", 1), ValueCount("wet", 1)]
            made.items.put([NewItem(f"new {number}", rows={"v": [0.0]}, labels=("new",))])
            assert made.count("label = new and view = v") == number + 1
        made.views.delete("w")
        assert made.items.counts("view") == [ValueCount("v", 8)]
        with pytest.warns(InputWarning, match='no item has view = "w"'):
            assert made.count("view = w") == 0


def test_mistakes_name_their_remedy(where: list[str]) -> None:
    note = run("list", "some", "--count", "--per", "yeear", *where)
    assert (note.exit_code, "no item has the attribute 'yeear' (similar: year" in note.stderr) == (0, True)
    for per, words in (
        ("text", "or value of an attribute, not per text"),
        ("a b", "marked"),
        ("score.x", "not per score.x"),
    ):
        wrong = run("list", "some", "--count", "--per", per, *where)
        assert (wrong.exit_code, words in " ".join(wrong.stderr.split())) == (1, True)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collection]:
    with Home(tmp_path_factory.mktemp("counts")).create("kept", ["v=vectors:dim=2"]) as collection:
        yield collection


@pytest.mark.filterwarnings("ignore::crossview.engine.values.errors.InputWarning")
@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_counts_are_those_of_plain_python(kept: Collection, data: st.DataObject) -> None:
    kept.items.delete([item.key for item in kept.items()])
    assert kept.items.put(data.draw(contents())).failures == ()
    items = kept.items()
    chosen = data.draw(conditions([NewItem(item.key, attributes=item.attributes) for item in items]))
    passing = [item for item in items if filter_of(chosen).condition.accept(Oracle(item))]
    names = sorted({name for item in items for name in item.attributes if field_of_or_none(name)})
    facets = kept.items.facets(["label", *names], chosen, limit=3)
    for facet, of in zip(facets, [None, *names], strict=True):
        values = [_values(item, of) for item in passing]
        counts = Counter(value for some in values for value in some)
        assert len(facet.values) + facet.other_values == len(counts)
        for one, (_, items_with) in zip(facet.values, counts.most_common(3), strict=True):
            assert one.items == items_with == counts[_typed(one.value)]
        assert facet.missing == sum(not some for some in values)
    with pytest.raises(InvalidInputError, match="limit"):
        kept.items.counts("label", limit=0)


def _typed(value: Any) -> tuple[str, Any]:
    """Return a value with its JSON type: 1, True and "1" are different, 1 and 1.0 are equal."""
    kind = "number" if isinstance(value, int | float) and not isinstance(value, bool) else type(value).__name__
    return kind, nfc(value) if isinstance(value, str) else value


def _values(item: Item, attribute: str | None) -> set[tuple[str, Any]]:
    """Return the distinct values of an attribute of an item, or its labels; objects do not count."""
    found = item.labels if attribute is None else item.attributes.get(attribute, [])
    several = found if isinstance(found, list | tuple) else [found]
    return {_typed(one) for one in several if not isinstance(one, list | dict)}


def field_of_or_none(name: str) -> bool:
    """Return whether a condition can name an attribute without quotes and without a path."""
    try:
        return field_of(name) == Field("attribute", (name,))
    except InvalidInputError:
        return False


def test_an_empty_text_is_a_value_beside_others(tmp_path: Path) -> None:
    with Home(tmp_path).create("texts", ["v=vectors:dim=1"]) as made:
        made.items.put([NewItem(key, rows={"v": [0.0]}, attributes={"note": key}) for key in ("b", "a")])
        made.items.put([NewItem("c", rows={"v": [0.0]}, attributes={"note": ""})])
        assert made.items.counts("note") == [ValueCount("", 1), ValueCount("a", 1), ValueCount("b", 1)]
