"""Filters pass exactly the items that they describe, with any characters and JSON values."""

import gzip
import json
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa
from conditions import conditions, contents
from filter_oracle import matching
from hypothesis import given, settings
from hypothesis import strategies as st

from crossview.engine.catalog.condition_checks import MAX_VALUES
from crossview.engine.catalog.item_columns import ItemColumns
from crossview.engine.collections.collection import Collection
from crossview.engine.collections.home import Home
from crossview.engine.values.conditions.filter import Filter
from crossview.engine.values.conditions.tree import MAX_TESTS, Field, FieldTest, any_of
from crossview.engine.values.errors import InputWarning, InvalidInputError
from crossview.engine.values.item import NewItem
from crossview.engine.values.query import Query, SearchRequest
from crossview.engine.values.recipe import Recipe


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collection]:
    """A collection that all tests fill again."""
    with Home(tmp_path_factory.mktemp("filters")).create("kept", ["v=vectors:dim=2"]) as collection:
        rows = np.random.default_rng(0).normal(size=(100, 2))
        collection.items.put([NewItem(f"drawn {number}", rows={"v": row}) for number, row in enumerate(rows)])
        collection.train(Recipe(spec="lsh:16", views=("v",)), space="codes", activate=False)
        yield collection


@pytest.fixture
def made(kept: Collection) -> Collection:
    """The same, without items."""
    empty(kept)
    return kept


def empty(collection: Collection) -> None:
    collection.items.delete([item.key for item in collection.items()])


pytestmark = pytest.mark.filterwarnings("ignore::crossview.engine.values.errors.InputWarning")


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_conditions_pass_the_items_that_plain_python_passes(kept: Collection, data: st.DataObject) -> None:
    """Listing, counting and searching agree with the oracle, also after writes, by columns that follow them."""
    check_conditions(kept, data)


@pytest.mark.long
@settings(max_examples=150)
@given(data=st.data())
def test_conditions_pass_the_items_that_plain_python_passes_in_3_600_cases(
    kept: Collection, data: st.DataObject
) -> None:
    """They are eight conditions in three states each, in the index of vectors and in that of codes."""
    check_conditions(kept, data)


def check_conditions(kept: Collection, data: st.DataObject) -> None:
    empty(kept)
    assert kept.items.put(data.draw(contents())).failures == ()
    items = kept.items()
    asked = [NewItem(item.key, attributes=item.attributes) for item in items]
    chosen = [data.draw(conditions(asked)) for _ in range(8)]
    for state in range(3):
        items = kept.items()
        for one in chosen:
            wanted = matching(items, one)
            assert [item.key for item in kept.items(one)] == wanted, str(one)
            assert kept.count(one) == len(wanted)
            for space in ("raw", "codes"):
                (found,) = kept.search(SearchRequest([Query("v", vector=[1, 1])], filter=one, k=20, space=space))
                assert sorted(hit.key for hit in found.hits) == wanted
        if state == 0:
            kept.items.put(data.draw(contents()))
        elif items:
            kept.items.delete([items[0].key])


def keys(made: Collection, **attributes: Any) -> str:
    return "".join(item.key for item in made.items(Filter(attributes=attributes)))


def fill(made: Collection, values: dict[str, Any]) -> None:
    """Put items by key, each with the attribute ``x`` of this value."""
    items = [NewItem(key, rows={"v": [0, 0]}, attributes={"x": value}) for key, value in values.items()]
    assert made.items.put(items).failures == ()


def test_types_are_those_of_json(made: Collection) -> None:
    """Text is not a number, true is not 1, and only a present null is null."""
    fill(made, {"a": 1, "b": 1.0, "c": "1", "d": True, "e": None, "f": [1], "g": {"x": 1}, "h": "true", "i": 0})
    made.items.put([NewItem("z", rows={"v": [0, 0]})])
    assert keys(made, x=1) == keys(made, x=1.0) == "abf"
    assert keys(made, x="1") == "c"
    assert keys(made, x=True) == "d"
    assert keys(made, x=False) == ""
    assert keys(made, x=None) == "e"
    assert keys(made, y=None) == ""
    assert keys(made, x="true") == "h"


def test_large_integers_are_told_apart(made: Collection) -> None:
    """They are, up to those that a double holds; beyond, neighbours would be equal, and none is stored or compared."""
    fill(made, {"a": 2**53, "b": 2**53 - 1, "c": -(2**53)})
    assert keys(made, x=2**53) == keys(made, x=2.0**53) == "a"
    assert keys(made, x=2**53 - 1) == "b"
    assert keys(made, x=-(2**53)) == "c"
    for beyond in (2**53 + 1, 2**63, 10**309, 10**5_000):
        (failure,) = made.items.put([NewItem("d", rows={"v": [0, 0]}, attributes={"x": [beyond]})]).failures
        assert "is an integer beyond 9,007,199,254,740,992" in failure.reason
        (failure,) = made.items.put([NewItem("d", rows={"v": [0, 0]}, attributes={"x": beyond})]).failures
        assert "use text" in failure.reason
        with pytest.raises(InvalidInputError, match="integer beyond"):
            keys(made, x=beyond)


def test_a_filter_compares_as_many_attributes_as_its_limit(made: Collection) -> None:
    many = {f"x{number}": number for number in range(50)}
    made.items.put([NewItem(key, rows={"v": [0, 0]}, attributes=many | {"y": key}) for key in "ab"])
    assert keys(made, **many) == "ab"
    assert keys(made, **(many | {"x7": 8})) == ""
    with pytest.raises(InvalidInputError, match="at most 1,000 tests; this one has 1,001"):
        keys(made, **{f"x{number}": number for number in range(MAX_TESTS + 1)})
    names = tuple(unicodedata.normalize("NFD", f"é{number}") for number in range(MAX_VALUES))
    assert made.count(Filter(keys=names)) == 0
    with pytest.raises(InvalidInputError, match="at most 10,000 values, not 10,001"):
        made.count(Filter(keys=(*names, "b")))


@pytest.mark.parametrize("name", ["année", 'a"b', "a\\b", "", "a.b", "$", "[0]", "名前", "a b'c"])
def test_any_json_name_can_be_asked_for(made: Collection, name: str) -> None:
    """No character of a name means anything else to the catalog."""
    made.items.put([NewItem("a", rows={"v": [0, 0]}, attributes={name: 1999, "other": 1})])
    assert keys(made, **{name: 1999}) == "a"
    assert keys(made, **{name: 1998}) == keys(made, **{name + "x": 1999}) == ""


def test_prefixes_mind_upper_and_lower_case(made: Collection) -> None:
    """Keys are compared letter by letter, and no character of a prefix is a wildcard."""
    for key in ("Cat/1", "cat/1", "c%/1", "c_/1"):
        made.items.put([NewItem(key, rows={"v": [0, 0]})])
    for prefix, wanted in (("cat", ["cat/1"]), ("C", ["Cat/1"]), ("c%", ["c%/1"]), ("c_", ["c_/1"])):
        assert [item.key for item in made.items(Filter(key_prefix=prefix))] == wanted


def test_catalogs_written_before_answer_filters(tmp_path: Path) -> None:
    """A catalog of the first version, whose JSON may even hold NaN, is filtered like any other."""
    home = Home(tmp_path)
    home.create("old", ["color"]).close()
    file = tmp_path / "old" / "catalog.db"
    for part in file.parent.glob("catalog.db-*"):
        part.unlink()
    file.write_bytes(gzip.decompress((Path(__file__).parent / "golden" / "catalog-0001.db.gz").read_bytes()))
    engine = sa.create_engine(f"sqlite:///{file}")
    with engine.begin() as connection:
        ids = list(connection.scalars(sa.text("SELECT id FROM items WHERE NOT deleted ORDER BY key")))
        texts = [json.dumps({"année": 1999}), json.dumps({"année": 1999}, ensure_ascii=False), '{"année": NaN}']
        for item, text in zip(ids, texts, strict=False):
            connection.execute(sa.text("UPDATE items SET attributes = :t WHERE id = :i"), {"t": text, "i": item})
    engine.dispose()
    with home.open("old") as old:
        found = [item.key for item in old.items(Filter(attributes={"année": 1999}))]
        assert found == [item.key for item in old.items()][: min(2, len(ids))]


@pytest.mark.parametrize(
    ("keywords", "words"),
    [
        ({"attributes": {"x": [1]}}, r"x is compared with text, a number, a boolean, null or a date, not \[1\]"),
        ({"attributes": {"x": float("nan")}}, "x is compared with a finite number, not nan"),
        ({"attributes": {"x": "\udcff"}}, "a value of attribute must be Unicode"),
        ({"attributes": {"x": 2**70}}, "attribute 'x' is an integer beyond 9,007,199,254,740,992"),
        ({"labels": ("\udcff",)}, "must be Unicode"),
        ({"key_prefix": "\udcff"}, "must be Unicode"),
    ],
)
def test_filters_that_cannot_be_meant_are_refused(made: Collection, keywords: dict[str, Any], words: str) -> None:
    """The message names the fault."""
    with pytest.raises(InvalidInputError, match=words):
        made.items(Filter(**keywords))


def test_a_mistyped_attribute_is_looked_for_once(made: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    """Any number of tests may name it; of many names, only some are searched."""
    fill(made, {"a": 1})
    looks = list[object]()
    matching = ItemColumns.matching
    monkeypatch.setattr(
        ItemColumns, "matching", lambda self, tx, condition: [looks.append(condition), matching(self, tx, condition)][1]
    )
    for names in (["y"] * 900, [f"y{number}" for number in range(900)]):
        looks.clear()
        with pytest.warns(InputWarning, match="no item has the attribute"):
            made.count(
                any_of(FieldTest(Field("attribute", (name,)), "in", (place,)) for place, name in enumerate(names))
            )
        assert len(looks) < 60


def test_dates_are_sorted_by_the_moments_that_conditions_compare(made: Collection) -> None:
    taken = {
        "a": "2024-05-01T10:00:00+09:00",
        "b": "2024-05-01T05:00:00+00:00",
        "c": "2024-05-01T02:30:00Z",
        "d": "soon",
    }
    made.items.put([NewItem(key, rows={"v": [0, 0]}, attributes={"taken": value}) for key, value in taken.items()])
    assert [item.key for item in made.items(sort_by="-taken")] == ["a", "c", "b", "d"]
    assert [item.key for item in made.items(sort_by="taken")] == ["b", "c", "a", "d"]
    assert [item.key for item in made.items("taken > 2024-05-01T02:00:00Z")] == ["b", "c"]


def test_a_comparison_with_another_type_is_noted(made: Collection) -> None:
    fill(made, {"a": "2024-05-01", "b": 3})
    made.items.put([NewItem("c", rows={"v": [0, 0]}, attributes={"taken": "2024-05-01", "year": 2024})])
    with pytest.warns(InputWarning, match="no item has a number in taken: it has dates"):
        made.count("taken >= 2024")
    with pytest.warns(InputWarning, match="no item has a date in year: it has numbers"):
        made.count("year >= 2024-05")
