"""Groups, order, samples and pages through a server and from the command line."""

import csv
import io
from collections.abc import Iterator
from pathlib import Path

import pytest
from terminal import BACKENDS, done, reached, result_of, run

from crossview.engine.collections.home import Home
from crossview.engine.values.errors import InvalidInputError, NotFoundError
from crossview.engine.values.item import NewItem
from crossview.engine.values.query import Query, SearchRequest
from crossview.server.client.client import Client
from crossview.server.core.open_pages import MOST, to_token
from crossview.server.edge.listen import RunningServer
from crossview.server.wire.settings import ServerSettings
from crossview.v1 import search_pb2

N = 30
QUERY = Query("v", vector=[0.0])


def fill(home: Home, name: str = "c") -> None:
    with home.create(name, ["v=vectors:dim=1"]) as made:
        items = [
            NewItem(f"k{n:02}", rows={"v": [float(n)]}, attributes={"album": f"a{n % 4}", "year": 2000 + n % 7})
            for n in range(N)
        ]
        made.items.put(items)


@pytest.fixture(params=BACKENDS)
def where(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[list[str]]:
    """The options that reach a home with thirty items on a line, in four albums."""
    fill(home := Home(tmp_path))
    with reached(home, request.param) as options:
        yield options


@pytest.fixture
def running(tmp_path: Path) -> Iterator[RunningServer]:
    fill(Home(tmp_path))
    fill(Home(tmp_path), "other")
    with RunningServer(ServerSettings(home=tmp_path, port=0)) as made:
        yield made


def keys(where: list[str], *options: object) -> list[str]:
    (found,) = result_of("search", "c", "--key", "k00", "--view", "v", *options, *where)
    return [hit["key"] for hit in found["hits"]]


def test_commands_group_order_and_count(where: list[str]) -> None:
    assert keys(where, "--per", "album", "-k", 9) == ["k01", "k02", "k03", "k04"]
    assert keys(where, "--per", "album=2", "-k", 5) == ["k01", "k02", "k03", "k04", "k05"]
    for wrong in ("album=0", "album=x", "=2"):
        assert "--per takes a field and a number" in run("search", "c", "--key", "k00", "--per", wrong, *where).output
    mistyped = run("search", "c", "--key", "k00", "--view", "v", "--per", "albun", *where)
    assert "no item has the attribute 'albun' (similar: album)" in mistyped.output
    assert keys(where, "--sort-by", "-year", "-k", 8) == ["k07", "k01", "k08", "k02", "k03", "k04", "k05", "k06"]
    table = done("search", "c", "--key", "k00", "--view", "v", "--sort-by", "-year", "-k", 2, *where)
    assert [line.split("\t")[2:5:2] for line in table.splitlines()[1:]] == [
        ["key", "year"],
        ["k01", "2001"],
        ["k02", "2002"],
    ]
    assert keys(where, "--diversity", 1, "-k", 2) == ["k01", "k10"]
    assert keys(where, "--all", "--where", "album = a1") == [f"k{n:02}" for n in range(1, N, 4)]
    counted = result_of("search", "c", "--key", "k00", "--view", "v", "--max-distance", 12, "--count", *where)
    assert counted == [{"query": 0, "target": "v", "hits": 12}]
    assert "v: 29 hits" in done("search", "c", "--key", "k00", "--view", "v", "--count", *where)
    lines = list(
        csv.DictReader(io.StringIO(done("search", "c", "--key", "k00", "--view", "v", "--all", "--csv", *where)))
    )
    assert [(line["rank"], line["key"]) for line in lines] == [(str(n), f"k{n:02}") for n in range(1, N)]


def test_commands_list_by_a_field_and_draw(where: list[str]) -> None:
    found = result_of("list", "c", "--sort-by", "-year", "--limit", 6, *where)
    assert [item["key"] for item in found] == ["k00", "k07", "k14", "k21", "k28", "k01"]
    lines = done("list", "c", "--sort-by", "year", "--csv", *where).splitlines()
    assert (len(lines), lines[1].partition(",")[0]) == (N + 1, "k06")
    drawn = result_of("list", "c", "--sample", 4, "--seed", 1, *where)
    assert drawn == result_of("list", "c", "--sample", 4, "--seed", 1, *where)
    assert len(drawn) == 4
    assert "no item has the attribute 'jear' (similar: year)" in run("list", "c", "--sort-by", "jear", *where).output
    assert "diversity chooses k hits" in run("search", "c", "--key", "k00", "--all", "--diversity", 1, *where).output


def test_pages_of_a_server_are_those_of_the_library(running: RunningServer, tmp_path: Path) -> None:
    """They are, also while items come and go; the last page ends them."""
    request = SearchRequest([QUERY], filter="year > 2001")
    with Client(running.address) as client, Home(tmp_path).open("c") as here:
        expected = [list(one) for one in here.search_pages(request, 4)]
        found = []
        for number, page in enumerate(client.open("c").search_pages(request, 4)):
            found.append(page)
            client.open("c").items.delete([f"k{number:02}", f"k{N - 1 - number:02}"])
            client.open("c").items.put([NewItem(f"new{number}", rows={"v": [0.5]}, attributes={"year": 2005})])
        assert found == expected
        assert running.collections.pages._open == {}


def test_a_token_is_good_for_its_pages_only(running: RunningServer) -> None:
    with Client(running.address) as client:
        one, other = client.open("c"), client.open("other")
        _, token = one._search_page(SearchRequest([QUERY]), 4)
        with pytest.raises(NotFoundError, match="search again from the first page"):
            other._search_page(SearchRequest([QUERY]), 4, token)
        for wrong in ("x", to_token("nobody", 0), to_token("nobody", -1), token[:-4], "e" * 10_000):
            with pytest.raises((InvalidInputError, NotFoundError), match=r"search again|page_token"):
                one._search_page(SearchRequest([QUERY]), 4, wrong)
        (again,), _ = one._search_page(SearchRequest([QUERY]), 4, token)
        assert [hit.key for hit in again.hits] == ["k04", "k05", "k06", "k07"]
        for _ in range(MOST):  # each of them closes the least recently read
            one._search_page(SearchRequest([QUERY]), 4)
        with pytest.raises(NotFoundError, match="search again from the first page"):
            one._search_page(SearchRequest([QUERY]), 4, token)
        _, token = one._search_page(SearchRequest([QUERY]), 4)
        running.collections.close_idle(0.0)  # closes the collection, and with it its pages
        with pytest.raises(Exception, match="search again"):
            one._search_page(SearchRequest([QUERY]), 4, token)


def test_a_stream_and_a_hostile_size(running: RunningServer) -> None:
    """A stream answers pages like calls; a page has at most a thousand hits, and at least one."""
    with Client(running.address) as client:
        stub = client.open("c").connection.stubs.searches
        first = search_pb2.SearchRequest(parent="collections/c", queries=[{"view": "v", "key": "k00"}], page_size=20)
        (answer,) = stub.StreamSearch(iter([first]))
        token = answer.response.next_page_token
        second = search_pb2.SearchRequest(parent="collections/c", page_size=2**31 - 1, page_token=token)
        (answer,) = stub.StreamSearch(iter([second]))
        (found,) = answer.response.results
        assert (len(found.hits), found.total, answer.response.next_page_token) == (9, 29, "")
        with pytest.raises(InvalidInputError, match="page_size is -1"):
            client.open("c")._search_page(SearchRequest([QUERY]), -1)
