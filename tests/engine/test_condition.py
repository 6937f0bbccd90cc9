"""Conditions: their text, their tree, filters made of them, and refused ones."""

import copy
from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from conditions import conditions
from hypothesis import given, settings
from hypothesis import strategies as st

from crossview.engine.collections.collection import Collection
from crossview.engine.collections.home import Home
from crossview.engine.values.conditions.filter import EVERY_ITEM, Filter, field, filter_of
from crossview.engine.values.conditions.tree import (
    EVERY,
    MAX_DEPTH,
    All,
    Condition,
    Either,
    Field,
    FieldTest,
    Not,
    all_of,
)
from crossview.engine.values.conditions.where import MAX_CHARACTERS, parse
from crossview.engine.values.errors import InputWarning, InvalidInputError, collected_warnings
from crossview.engine.values.item import NewItem
from crossview.engine.values.query import Query, SearchRequest
from crossview.server.wire.convert_conditions import from_filter, to_filter
from crossview.v1 import types_pb2

ITEMS = [NewItem("a/1", attributes={"année": [1, "x"], "b": {"c": "2021-05-01"}, 'q"': None})]
EVERYTHING = Filter(
    'taken >= 2021-05 and path like "*.jpg"',
    labels=("cat", "dog"),
    without_labels="wet",
    keys=["a", "b"],
    key_prefix="x/",
    attributes={"year": 1999, "animal": True},
    at_least={"busy": 0.5},
    at_most={"light": 2.0},
)
TEXT = (
    'taken >= 2021-05 and path like "*.jpg" and label in ["cat", "dog"] and not label = "wet" and key in ["a", "b"] '
    'and key prefix "x/" and animal = true and year = 1999 and score.busy >= 0.5 and score.light <= 2.0'
)


def test_a_filter_is_the_condition_that_all_its_parts_hold() -> None:
    assert str(EVERYTHING) == TEXT
    assert copy.deepcopy(EVERYTHING) == EVERYTHING == Filter(TEXT) == Filter(parse(TEXT))
    assert hash(EVERYTHING) == hash(Filter(TEXT))
    assert repr(Filter("x = 1")) == "Filter('x = 1')"
    for empty in (EVERY_ITEM, Filter(labels="", keys=(), attributes={}), Filter("")):
        assert empty.is_empty
        assert str(empty) == "every item"


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("a = 1 or b = 2 and c = 3", "a = 1 or b = 2 and c = 3"),
        ("(a = 1 or b = 2) and c = 3", "(a = 1 or b = 2) and c = 3"),
        ("NOT a = 1 AND b != x", 'not a = 1 and not b = "x"'),
        ("not (a = 1 and b = 2)", "not (a = 1 and b = 2)"),
        ("a between 1 and 2", "a >= 1 and a <= 2"),
        ("a not in [1, 'it''s']", None),
        ("a not in [1, 'it\\'s', \"\\u00e9\"]", 'not a in [1, "it\'s", "é"]'),
        ("a in []", "a in []"),
        ("label = photos/beach-2.jpg", 'label = "photos/beach-2.jpg"'),
        ("year >= -.5e1", "year >= -5.0"),
        ("taken < 2021-05-01T10:00:00+02:00", "taken < 2021-05-01T10:00:00+02:00"),
        ("a = true or b = null", "a = true or b = null"),
        ("'date taken' exists", '"date taken" exists'),
        ('a."b.c".d exists', 'a."b.c".d exists'),
        ('"label" = 3', "attribute.label = 3"),
        ('attribute."and" = 1', '"and" = 1'),
        ("text contains 'two words'", 'text contains "two words"'),
        ("order = 1 and android = 2", "order = 1 and android = 2"),
        ("label in [2021, true] and x contains 7", 'label in ["2021", "true"] and x contains "7"'),
        ("key prefix 2021-05", 'key prefix "2021-05"'),
    ],
)
def test_a_text_is_read_as_it_is_meant(text: str, written: str | None) -> None:
    if written is None:
        with pytest.raises(InvalidInputError, match="expected"):
            parse(text)
        return
    assert str(parse(text)) == written
    assert parse(written) == parse(text)


@settings(deadline=None)
@given(conditions(ITEMS))
def test_the_text_and_the_message_of_a_tree_are_the_tree(tree: Condition) -> None:
    """The tree becomes text and a tree again, and also goes over the wire."""
    if tree != EVERY:
        assert parse(str(tree)) == tree
        assert str(parse(str(tree))) == str(tree)
    message = types_pb2.Filter.FromString(from_filter(tree).SerializeToString())
    assert to_filter(message) == Filter(tree)


PIECES = st.sampled_from(
    [
        *[
            "year",
            ">=",
            "2021",
            "and",
            "or",
            "not",
            "(",
            ")",
            "[",
            "]",
            ",",
            "=",
            "!=",
            "in",
            "like",
            "exists",
            "between",
            "label",
        ],
        *[
            '"a',
            '"b"',
            "'",
            ".",
            "2021-13-45",
            "\\",
            "\x00",
            "é",
            "==",
            "&&",
            "score",
            "match",
            "<",
            "-",
            "null",
            "1e999",
        ],
    ]
)


@settings(deadline=None, max_examples=500)
@given(st.lists(PIECES, max_size=9).map(" ".join) | st.text(max_size=30))
def test_any_text_is_a_condition_or_an_error_that_names_the_place(text: str) -> None:
    try:
        tree = parse(text)
    except InvalidInputError as error:
        message = str(error)
    else:
        message = f"marked →: {tree}"
        assert parse(str(tree)) == tree
    assert "marked →: " in message or not text.strip()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("year => 3", "character 7, marked →: write >=: year =→> 3"),
        ("year == 3", "write = for equality"),
        ("a = 1 && b = 2", "write and"),
        ("year", "expected an operator"),
        ("year >=", "character 8, marked →: expected a value: year >=→"),
        ("year >= 2021 year", "expected 'and', 'or' or the end: year >= 2021 →year"),
        ("x = and", "character 5, marked →: 'and' is a word of conditions: where it is a value, write it in quotes"),
        ("taken < 2021-02-30", "'2021-02-30' is not a date of the calendar: day is out of range for month"),
        ("score >= 3", "score needs a name, such as score.x"),
        ("score.a = 3", "score.a is a number: compare it, as in score.a >= .5"),
        ("score.a exists", "score.a is a number: compare it, as in score.a >= .5"),
        ("score.a in []", "score.a is a number: compare it, as in score.a >= .5"),
        ("match exists", "match is a number: compare it, as in match >= .5"),
        ("label.x = 3", "label has no parts"),
        ("x > true", "> takes a number, a date or text, not true"),
        ("label = 1e999 and x = 1e999", "x is compared with a finite number, not inf"),
        (" ", "a condition is empty"),
    ],
)
def test_an_error_names_the_place_and_the_way_out(text: str, words: str) -> None:
    with pytest.raises(InvalidInputError) as error:
        parse(text)
    assert words in str(error.value)


def test_limits_hold_before_a_tree_exists() -> None:
    for text in ("(" * 50_000, "not " * 20_000, "x" * (MAX_CHARACTERS + 1), "x = 1 and " * 1_500 + "x = 1"):
        with pytest.raises(InvalidInputError):
            parse(text)
    tree: Condition = FieldTest(Field("label"), "exists")
    for _ in range(MAX_DEPTH - 1):
        tree = Not(tree)
    with pytest.raises(InvalidInputError, match="30 levels"):
        Not(tree)
    assert parse(str(tree)) == to_filter(from_filter(tree)).condition == tree
    deep = types_pb2.Condition(test=types_pb2.FieldTest())
    for _ in range(40):
        deep = types_pb2.Condition(all=types_pb2.Conditions(conditions=[deep]))
    with pytest.raises(InvalidInputError):
        to_filter(types_pb2.Filter(condition=deep))


def test_conditions_written_in_python_are_those_of_the_text() -> None:
    year, label = field("year"), field("label")
    for made, text in (
        ((year >= 2021) & (label != "beach"), "year >= 2021 and label != beach"),
        ((year < 3) | ~(label == "x") & field("a.b").exists(), "year < 3 or not label = x and a.b exists"),
        (field("taken") > date(2021, 5, 1), "taken > 2021-05-01"),
        (field("taken") <= datetime(2021, 5, 1, 10, tzinfo=UTC), "taken <= 2021-05-01T10:00:00+00:00"),
        (year.between(1, 2) & year.one_of([1, 2]), "year between 1 and 2 and year in [1, 2]"),
        (field('"date taken"').prefix("2021") & field("text").contains("Dog"), None),
        (field("key").like("a/*") & (field("score.busy") > 1) & (field("match") >= 0.5), None),
    ):
        assert Filter(made) == Filter(text or str(made))
    with pytest.raises(InvalidInputError, match="not a condition"):
        bool(year)
    with pytest.raises(InvalidInputError, match="marked"):
        field("date taken")


def test_different_values_make_different_conditions() -> None:
    """A condition is the key under which its items are remembered."""
    values = (1, True, "1", "true", None, "null", 1.5, False, 0)
    tests = [Filter(attributes={"x": value}).condition for value in values]
    different = [*tests, *map(Not, tests), All(tests), Either(tests), All(tests[:2]), field("x").exists()]
    assert len(set(different)) == len({str(one) for one in different}) == len(different)
    assert Filter(attributes={"x": 1}) == Filter(attributes={"x": 1.0})


def test_bounds_beside_a_filter_become_parts_of_it() -> None:
    """A request has one tree of conditions, for any form of its bounds."""
    query = [Query("v", key="a")]
    inside = SearchRequest(query, filter=Filter(labels="cat", at_least={"busy": 0.5}))
    assert SearchRequest(query, filter=Filter(labels="cat"), at_least={"busy": 0.5}) == inside
    assert SearchRequest(query, filter='label = "cat" and score.busy >= .5') == inside
    assert inside.axes == inside.filter.axes == ("busy",)
    with pytest.raises(InvalidInputError, match=r"a bound of score\.busy already"):
        SearchRequest(query, filter=inside.filter, at_least={"busy": 1.0})


def test_a_match_is_a_lower_bound_of_the_whole_condition() -> None:
    query = [Query("v", key="a")]
    asked = SearchRequest(query, filter="label = cat and match >= .6")
    assert asked == SearchRequest(query, filter="label = cat", min_match=0.6)
    for wrong in ("match < .6", "not match >= .6", "label = cat or match >= .6"):
        with pytest.raises(InvalidInputError, match=r"match >= \.6 and"):
            SearchRequest(query, filter=wrong)
    with pytest.raises(InvalidInputError, match="leave out `min_match`"):
        SearchRequest(query, filter="match >= .6", min_match=0.7)


def test_stored_and_scored_parts_make_up_the_filter() -> None:
    assert Filter(all_of([EVERYTHING.stored, EVERYTHING.scored])) == EVERYTHING == to_filter(from_filter(EVERYTHING))
    assert str(EVERYTHING.scored) == "score.busy >= 0.5 and score.light <= 2.0"


@pytest.fixture
def made(tmp_path: Path) -> Collection:
    with Home(tmp_path).create("made", ["v=vectors:dim=2"]) as collection:
        dog = NewItem("a", rows={"v": [0, 0]}, labels=("dog",), attributes={"year": 2021})
        collection.items.put([dog, NewItem("b", rows={"v": [1, 1]})])
        yield collection


def test_bounds_of_scores_are_refused_where_there_are_none(made: Collection) -> None:
    """They are not left out."""
    for refused in (made.items, made.count):
        with pytest.raises(InvalidInputError, match="use the bound of 'busy' in a search, not in a list of items"):
            refused(Filter(at_least={"busy": 0.5}))
        with pytest.raises(InvalidInputError, match="a match only in a search"):
            refused("match >= .5")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("yeear >= 2021", "no item has the attribute 'yeear' (similar: year)"),
        ("not label = dgo", "no item has the label 'dgo' (similar: dog)"),
        ("label in [dog, cats]", "no item has the label 'cats'"),
        ('year = "2021"', 'no item has year = "2021"'),
        ("view = w", 'no item has view = "w"'),
        ("key prefix c", 'no item has key prefix "c"'),
        ("year.month = 3", "no item has the attribute 'year.month'"),
    ],
)
def test_what_no_item_has_is_a_warning(made: Collection, text: str, words: str) -> None:
    """A person mistyped it: an empty answer, or one that the condition does not change, would hide that."""
    query = SearchRequest([Query("v", vector=[0, 0])], filter=text)
    for asked in (lambda: made.items(text), lambda: made.count(text), lambda: made.search(query)):
        with pytest.warns(InputWarning) as found:
            asked()
        assert [str(one.message) for one in found] == [words]
        with collected_warnings() as collected:
            asked()
        assert collected == [words]


def test_a_condition_that_items_meet_warns_of_nothing(made: Collection) -> None:
    assert made.count("year > 2022 or label = dog and not key = x and not text contains x") == 1
    assert [item.key for item in made.items("not (year exists or label exists)")] == ["b"]


@pytest.mark.parametrize(
    "written",
    [
        lambda: not field("split").exists(),
        lambda: (field("label") == "a") and (field("year") > 2020),
        lambda: (field("label") == "a") or (field("year") > 2020),
        lambda: 2020 < field("year") < 2022,
        lambda: field("year") in [2020, 2021],
        lambda: Filter("a = 1") and Filter("b = 1"),
        lambda: not Filter("a = 1"),
    ],
)
def test_a_condition_has_no_truth_value(written: Callable[[], object]) -> None:
    with pytest.raises(InvalidInputError, match=r"&, \| and ~"):
        written()


@pytest.mark.parametrize("value", [False, True, {}, [], {"label": "a"}, ["a"], 3, b""])
def test_only_none_and_an_empty_text_mean_every_item(value: Any) -> None:
    assert filter_of(None) == filter_of("") == Filter(None) == EVERY_ITEM
    with pytest.raises(InvalidInputError, match="a condition is text"):
        filter_of(value)
    with pytest.raises(InvalidInputError, match="a condition is text"):
        Filter(value)
