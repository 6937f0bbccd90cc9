"""Conditions: a tree that filters are made of, and what it says."""

import copy
from pathlib import Path

import pytest

from crossview.engine.collection import Collection
from crossview.engine.condition import (
    EVERY_ITEM,
    All,
    AttributeIs,
    Filter,
    HasKey,
    HasLabel,
    KeyBegins,
    Not,
    ScoreAtLeast,
)
from crossview.engine.errors import InvalidInputError
from crossview.engine.home import Home
from crossview.engine.query import Query, SearchRequest
from crossview.server.wire.convert import from_filter, to_filter
from crossview.server.wire.convert_search import from_search_request

EVERYTHING = Filter(
    labels=("cat", "dog"),
    without_labels="wet",
    keys=["a", "b"],
    key_prefix="x/",
    attributes={"year": 1999, "animal": True},
    at_least={"busy": 0.5},
    at_most={"light": 2.0},
)


def test_a_filter_is_a_tree_of_what_is_given() -> None:
    assert Filter(labels="cat", attributes={"b": 1, "a": 2}).parts == (
        HasLabel(("cat",)),
        AttributeIs("a", 2),
        AttributeIs("b", 1),
    )
    assert Filter(without_labels=["wet"], keys="k", key_prefix="x").parts == (
        Not(HasLabel(("wet",))),
        HasKey(("k",)),
        KeyBegins("x"),
    )
    assert not EVERY_ITEM
    assert not Filter(labels="", keys=(), attributes={})


def test_a_filter_gives_back_what_it_was_made_of() -> None:
    """Each keyword, also after it was copied."""
    for one in (EVERYTHING, copy.deepcopy(EVERYTHING)):
        assert one == EVERYTHING
        assert (one.labels, one.without_labels, one.keys) == (("cat", "dog"), ("wet",), ("a", "b"))
        assert (one.key_prefix, one.attributes) == ("x/", {"year": 1999, "animal": True})
        assert (one.at_least, one.at_most) == ({"busy": 0.5}, {"light": 2.0})


def test_a_condition_says_what_it_means() -> None:
    assert str(EVERYTHING) == (
        '(label in ["cat", "dog"]) and (not (label in ["wet"])) and (key in ["a", "b"]) and (key begins "x/") and '
        '(attribute "animal" is true) and (attribute "year" is 1999) and '
        '(score "busy" >= 0.5) and (score "light" <= 2.0)'
    )
    assert str(EVERY_ITEM) == "every item"


def test_conditions_that_differ_never_say_the_same() -> None:
    """What they say is what their items are remembered by."""
    cat, dog = HasLabel(("cat",)), HasLabel(("dog",))
    different = [
        *(AttributeIs("x", value) for value in (1, True, "1", "true", None, "null", 1.5)),
        *(AttributeIs('x" is 1) and (attribute "y', 1), All((AttributeIs("x", 1), AttributeIs("y", 1)))),
        *(cat, dog, HasLabel(("cat", "dog")), HasLabel(("cat, dog",)), All((cat, dog)), All((dog, cat))),
        *(Not(All((cat, dog))), All((Not(cat), dog)), All((All((cat,)), dog)), All((All((cat, dog)),)), All(())),
        *(HasKey(("cat",)), KeyBegins("cat"), ScoreAtLeast("cat", 1.0), ScoreAtLeast("cat", 0.1 + 0.2)),
    ]
    assert len({str(one) for one in different}) == len(different)


def test_bounds_beside_a_filter_become_parts_of_it() -> None:
    """A request has one tree of conditions, however its bounds are given."""
    query = [Query("v", key="a")]
    inside = SearchRequest(query, filter=Filter(labels="cat", at_least={"busy": 0.5}))
    assert SearchRequest(query, filter=Filter(labels="cat"), at_least={"busy": 0.5}) == inside
    assert inside.axes == inside.filter.axes == ("busy",)
    with pytest.raises(InvalidInputError, match="a bound of 'busy' already"):
        SearchRequest(query, filter=inside.filter, at_least={"busy": 1.0})


def test_stored_and_scored_parts_make_up_the_filter() -> None:
    assert EVERYTHING.stored == to_filter(from_filter(EVERYTHING.stored))
    assert EVERYTHING.scored == Filter(at_least={"busy": 0.5}, at_most={"light": 2.0})
    message = from_search_request(SearchRequest([Query("v", key="a")], filter=EVERYTHING))
    assert (dict(message.at_least), dict(message.at_most)) == ({"busy": 0.5}, {"light": 2.0})
    assert to_filter(message.filter) == EVERYTHING.stored


@pytest.fixture
def made(tmp_path: Path) -> Collection:
    with Home(tmp_path).create("made", ["v=vectors:dim=2"]) as collection:
        yield collection


def test_bounds_of_scores_are_refused_where_there_are_none(made: Collection) -> None:
    """Here and on the way to a server, instead of being left out."""
    for refused in (made.items, made.count, from_filter):
        with pytest.raises(InvalidInputError, match="use the bound of 'busy' in a search, not in a list of items"):
            refused(Filter(at_least={"busy": 0.5}))
