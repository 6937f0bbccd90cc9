"""Counts of items, and of items by value of a field, here and through a server."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from conditions import conditions, contents
from filter_oracle import Oracle
from hypothesis import given, settings
from hypothesis import strategies as st
from terminal import BACKENDS, done, reached, result_of, run

from crossview.engine.collection import Collection
from crossview.engine.conditions.filter import filter_of
from crossview.engine.errors import InputWarning, InvalidInputError
from crossview.engine.home import Home
from crossview.engine.item import NewItem, ValueCount

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
    found = result_of("count", "some", "--per", per, *options, *where)["counts"]
    return [(one["value"], one["items"]) for one in found]


def test_items_are_counted_by_the_values_of_a_field(where: list[str]) -> None:
    """Values of different types are different; an item with several counts once for each."""
    assert done("count", "some", *where) == "5 items\n"
    assert counted(where, "label") == [("cat", 2), ("dog", 1), ("wet", 1)]
    assert counted(where, "label", "--where", "not label = wet", "--limit", 1) == [("cat", 1)]
    assert counted(where, "view") == [("v", 5), ("w", 1)]
    assert counted(where, "tags") == [("y", 3), ("x", 1)]
    assert counted(where, "camera.model") == [("X1", 2)]
    assert counted(where, "none") == [(None, 1), (1, 1)]
    years = counted(where, "year")
    assert years[0] == (2021, 2)
    assert {(type(value), value) for value, _ in years[1:]} == {(bool, True), (float, 2021.5), (str, "2021")}
    assert done("count", "some", "--per", "year", "--where", "year >= 2021", "--csv", *where).splitlines() == [
        "value,items",
        "2021,2",
        "2021.5,1",
    ]
    assert "3 items" in done("count", "some", "--per", "tags", "--where", "label exists", *where)


def test_counts_follow_changes(tmp_path: Path) -> None:
    """Of views, too, which change without their items."""
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
    note = run("count", "some", "--per", "yeear", *where)
    assert (note.exit_code, "no item has the attribute 'yeear' (similar: year" in note.stderr) == (0, True)
    for per, words in (
        ("key", "per label, view or value of an attribute, not per key"),
        ("a b", "marked"),
        ("score.x", "not per score.x"),
    ):
        wrong = run("count", "some", "--per", per, *where)
        assert (wrong.exit_code, words in " ".join(wrong.stderr.split())) == (1, True)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collection]:
    with Home(tmp_path_factory.mktemp("counts")).create("kept", ["v=vectors:dim=2"]) as collection:
        yield collection


@pytest.mark.filterwarnings("ignore::crossview.engine.errors.InputWarning")
@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_counts_are_those_of_plain_python(kept: Collection, data: st.DataObject) -> None:
    kept.items.delete([item.key for item in kept.items()])
    assert kept.items.put(data.draw(contents())).failures == ()
    items = kept.items()
    chosen = data.draw(conditions([NewItem(item.key, attributes=item.attributes) for item in items]))
    passing = [item for item in items if filter_of(chosen).condition.accept(Oracle(item))]
    labels = Counter(label for item in passing for label in {*item.labels})
    found = {one.value: one.items for one in kept.items.counts("label", chosen)}
    assert sum(found.values()) == sum(labels.values())
    with pytest.raises(InvalidInputError, match="limit"):
        kept.items.counts("label", limit=0)
