"""Examples and counter-examples from the command line and through a server."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from terminal import BACKENDS, done, fill_rows, reached, result_of, run

from crossview.engine.collections.home import Home
from crossview.engine.values.query import Query, SearchRequest
from crossview.server.client.client import Client
from crossview.server.edge.listen import RunningServer
from crossview.server.wire.settings import ServerSettings


@pytest.fixture(params=BACKENDS)
def where(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[list[str]]:
    """The options that reach a home with ten cats and ten dogs."""
    fill_rows(home := Home(tmp_path), 10)
    with reached(home, request.param) as options:
        yield options


def keys(where: list[str], *options: object) -> list[str]:
    (found,) = result_of("search", "rows", *options, *where)
    return [hit["key"] for hit in found["hits"]]


def test_a_command_takes_examples_and_counter_examples(where: list[str]) -> None:
    """The answer is one list of one question, without the examples; one of them can be the query itself."""
    cats = keys(where, "--like", "cat/1", "--like", "cat/2=3", "--unlike", "dog/1", "-k", 8)
    assert sorted(cats) == [f"cat/{n}" for n in (0, 3, 4, 5, 6, 7, 8, 9)]
    assert keys(where, "--key", "cat/1", "--like", "cat/2=3", "--unlike", "dog/1", "-k", 8) == cats
    dogs = keys(
        where, "--like", "dog/1", "--view", "color", "--combine", "mean", "--where", 'key like "*[1-5]"', "-k", 3
    )
    assert dogs == []
    dogs = keys(where, "--like", "dog/1", "--combine", "best", "--where", "label = dog", "--with-examples", "-k", 20)
    assert (len(dogs), dogs[0]) == (10, "dog/1")
    output = done("search", "rows", "--like", "cat/1", "--unlike", "dog/1", "--unlike", "dog/2", *where)
    assert "searched by learn; examples: 1, counter-examples: 2" in output


def test_mistakes_name_their_remedy(where: list[str]) -> None:
    for options, words in (
        (("--unlike", "cat/1"), "give at least one example"),
        (("--like", "cat/1=0"), "use --unlike for less"),
        (("--like", "cat/1", "--min-match", 0.5), "leave out min_match"),
        (("--like", "cat/99"), "no item 'cat/99'"),
        (("--like", "cat/1", "--combine", "most"), "'most'"),
    ):
        wrong = run("search", "rows", *options, *where)
        assert wrong.exit_code in (1, 2)
        assert words in " ".join(wrong.stderr.replace("\u2502", " ").split()), wrong.stderr


def test_a_server_answers_as_a_collection_does(tmp_path: Path) -> None:
    """Requests by examples are not joined with others that come at the same time."""
    fill_rows(home := Home(tmp_path), 10)
    examples = [Query("color", key="cat/1"), Query("gist", key="dog/1", weight=-2.0)]
    with home.open("rows") as here:
        wanted = [here.search(SearchRequest(examples, combine=way, space="raw")) for way in ("learn", "mean", "best")]
    with RunningServer(ServerSettings(home=home.path, port=0)) as running, Client(running.address) as client:
        there = client.open("rows")
        asked = [SearchRequest(examples, combine=way, space="raw") for way in ("learn", "mean", "best")]
        assert [there.search(one) for one in asked] == wanted
        assert list(there.search_stream(asked)) == wanted
