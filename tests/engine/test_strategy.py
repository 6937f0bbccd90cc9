"""Strategies: one for each search, each with its own options, and no other."""

from dataclasses import fields, replace
from inspect import signature
from typing import Any

import pytest

from crossview.engine.spaces.scans import SCANS
from crossview.engine.values.errors import InvalidInputError
from crossview.engine.values.query import INPUTS, OneQuery, Query, RequestOptions, SearchRequest
from crossview.engine.values.strategy import (
    Combined,
    Listed,
    Moved,
    Nearest,
    Strategy,
    StrategyOptions,
    Weighted,
    comparison,
)

QUERY = Query("v", key="a")
OPTIONS = {
    "targets": ("t",),
    "merge": True,
    "weights": {"n": 1.0},
    "more": {"a": 1.0},
    "less": {"a": 1.0},
    "hold": ("a",),
    "sort_by": "a",
    "min_match": 0.5,
    "max_distance": 2.0,
    "probabilities": True,
    "base_rate": 0.5,
    "combine": "mean",
    "with_examples": True,
    "fuse": "rank",
    "feedback": "cats",
}
"""A value of every option that is not its default."""


def test_every_strategy_has_a_scan() -> None:
    assert set(SCANS) == set(Strategy.__subclasses__())


def test_every_option_is_of_a_strategy() -> None:
    """Each option has a value in these tests."""
    kinds = {kind.__name__ for kind in Strategy.__subclasses__()}
    assert {name for option in fields(StrategyOptions) for name in option.metadata["of"]} == kinds
    assert [option.name for option in fields(StrategyOptions)] == list(OPTIONS)


def test_type_checkers_know_the_arguments_of_a_search() -> None:
    """They read them from typed dictionaries, which have the fields of a request, and of a query."""
    arguments = dict(signature(SearchRequest).parameters)
    del arguments["queries"], arguments["by"]
    assert RequestOptions.__annotations__.keys() == arguments.keys()
    assert OneQuery.__annotations__.keys() == arguments.keys() | {"view", *INPUTS}


@pytest.mark.parametrize(
    ("options", "query", "strategy"),
    [
        ({}, QUERY, Nearest()),
        ({"targets": "t"}, QUERY, Nearest(targets=("t",))),
        ({"targets": ["t"], "weights": {}, "sort_by": "a"}, QUERY, Nearest(targets=("t",), sort_by="a")),
        ({"probabilities": True, "base_rate": 0.5}, QUERY, Nearest(probabilities=True, base_rate=0.5)),
        ({"max_distance": 0.0}, QUERY, Nearest(max_distance=0.0)),
        ({"fuse": "learn", "merge": True}, QUERY, Nearest(fuse="learn", merge=True)),
        ({"combine": "best", "fuse": "rank"}, QUERY, Combined(combine="best", fuse="rank")),
        ({"weights": {"n": 2.0}, "merge": True}, QUERY, Weighted(weights={"n": 2.0}, merge=True)),
        ({"more": {"a": 1.0}, "hold": "b"}, QUERY, Moved(more={"a": 1.0}, hold=("b",))),
        ({"less": {"a": 1.0}, "sort_by": "-a"}, QUERY, Moved(less={"a": 1.0}, sort_by="-a")),
        ({"combine": "best", "targets": "t"}, QUERY, Combined(combine="best", targets=("t",))),
        ({"with_examples": True}, QUERY, Combined(combine="learn", with_examples=True)),
        ({"feedback": "cats"}, Query("v"), Combined(combine="learn", feedback="cats")),
        ({"sort_by": "a", "targets": "t"}, Query("v"), Listed(sort_by="a", targets=("t",))),
    ],
)
def test_options_state_a_strategy(options: dict[str, Any], query: Query, strategy: Strategy) -> None:
    """A request by options is the request by the strategy."""
    assert SearchRequest([query], **options) == SearchRequest([query], strategy)


@pytest.mark.parametrize("options", [{}, {"weights": {"n": 1.0}}, {"more": {"a": 1.0}}, {"sort_by": "a"}], ids=str)
@pytest.mark.parametrize("other", OPTIONS)
@pytest.mark.parametrize("query", [QUERY, Query("v")], ids=["query", "list"])
def test_an_option_is_held_or_refused(options: dict[str, Any], other: str, query: Query) -> None:
    """No option is silently left out."""
    asked = {other: OPTIONS[other], **options}
    try:
        strategy = SearchRequest([query], **asked).strategy
    except InvalidInputError:
        return
    assert asked.items() <= vars(strategy).items()
    of = {option.name: option.metadata["of"] for option in fields(StrategyOptions)}
    assert all(type(strategy).__name__ in of[name] for name in asked)


def test_a_request_is_changed_by_options() -> None:
    """They determine another strategy; a default removes an option."""
    moved = SearchRequest([QUERY], more={"a": 1.0}, k=3)
    assert replace(moved, hold="b") == SearchRequest([QUERY], more={"a": 1.0}, hold="b", k=3)
    assert replace(moved, more={}) == SearchRequest([QUERY], k=3)
    assert replace(SearchRequest([QUERY], k=3), by=moved.strategy) == moved


def test_a_strategy_states_all_options() -> None:
    with pytest.raises(InvalidInputError, match="the strategy states its options: leave out merge, or the strategy"):
        SearchRequest([QUERY], Nearest(), merge=True)
    with pytest.raises(InvalidInputError, match="weights is an option of Weighted, not of Nearest: leave it out"):
        Nearest(weights={"n": 1.0})


def test_unknown_options_are_refused() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'top'"):
        SearchRequest([QUERY], top="t")  # type: ignore[call-arg]


def test_only_a_list_without_calibration_says_when_probabilities_come() -> None:
    """Also without hits; a caller who asks for a way gets no matches in any case."""
    sentence = "Compared by colours and words together."
    assert (
        comparison("distance of color, text", asked=False)
        == f"{sentence} Probabilities come after a training with labels."
    )
    assert comparison("distance of color, text", asked=True) == sentence
    assert comparison("match of color, text", asked=False) == comparison("rank of color, text", asked=True) == sentence
    assert comparison("color", asked=False) == ""
