"""Indexes of many items, from the command line and over a server: their kinds, their recall, and exact searches."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from long_jobs import ended, until
from ports import free_port
from terminal import done, run

from crossview.engine.collections.home import Home
from crossview.engine.spaces import index_recall
from crossview.engine.values.errors import InvalidInputError
from crossview.engine.values.index_choice import LiveFigure
from crossview.engine.values.query import Query, SearchRequest
from crossview.server.client.client import Client
from crossview.server.edge.listen import RunningServer
from crossview.server.wire.settings import ServerSettings

COUNT = 12_000
"""More rows than an approximate index scans exactly."""
ROWS = np.random.default_rng(0).normal(size=(COUNT, 8)).astype(np.float32)
LIMIT = 0.9
"""A recall below which a search by 40 queries would be wrong, for a promise of 0.99."""


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with the collection ``many``: two views of vectors, and queries as a file."""
    folder = tmp_path_factory.mktemp("many")
    with Home(folder / "home").create("many", ["v=vectors:dim=8", "w=vectors:dim=4"]) as made:
        made.items.put_vectors("v", [f"{number:05}" for number in range(COUNT)], ROWS)
        made.items.put_vectors("w", ["00000", "00001"], np.eye(4, dtype=np.float32)[:2])
    np.save(folder / "queries.npy", ROWS[:40] + np.float32(0.01))
    return folder


@pytest.fixture(scope="module")
def server(many: Path) -> Iterator[RunningServer]:
    with RunningServer(ServerSettings(home=many / "home", port=0, admin_port=free_port())) as running:
        yield running


@pytest.fixture(params=["here", "server"])
def where(request: pytest.FixtureRequest, many: Path) -> list[str]:
    if request.param == "here":
        return ["--home", str(many / "home")]
    return ["--server", request.getfixturevalue("server").address]


def indexes(*where: str) -> dict[str, Any]:
    """Return the indexes that ``show`` states, by space and target."""
    spaces = json.loads(done("show", "many", *where, "--json"))["result"]["spaces"]
    return {(space["name"], one["target"]): one for space in spaces for one in space["indexes"]}


def found(many: Path, *words: str) -> list[list[str]]:
    """Return the hits of 40 queries in the view v."""
    queries = ["--vector", str(many / "queries.npy"), "--view", "v", "--space", "raw", "--targets", "v"]
    results = json.loads(done("search", "many", *queries, *words, "--json"))["result"]
    return [[hit["key"] for hit in one["hits"]] for one in results]


def exact(many: Path) -> list[list[str]]:
    """Return the oracle: distances to all rows."""
    queries = np.load(many / "queries.npy")
    distances = np.linalg.norm(ROWS[None] - queries[:, None], axis=2)
    return [[f"{place:05}" for place in np.argsort(one)[:10]] for one in distances]


def recall(lists: list[list[str]], oracle: list[list[str]]) -> float:
    return float(np.mean([len({*one} & {*other}) / len(other) for one, other in zip(lists, oracle, strict=True)]))


@pytest.mark.parametrize("kind", ["ivf", "scan", "hnsw", "flat"])
def test_each_kind_answers_with_its_recall_and_exactly_on_request(many: Path, where: list[str], kind: str) -> None:
    """The index is built here, or by another process than the one that searches."""
    said = done("space", "reindex", "many", "--space", "raw", "--targets", "v", "--index", kind, *where)
    assert f"v: index {kind} of float32 vectors" in said
    assert ("exact" in said) == (kind == "flat")
    oracle = exact(many)
    assert recall(found(many, *where), oracle) >= LIMIT
    assert recall(found(many, "--recall", "0.999", *where), oracle) >= LIMIT
    assert found(many, "--exact", *where) == found(many, "--recall", "1", *where) == oracle
    shown = indexes(*where)["raw", "v"]
    assert (shown["kind"], shown["asked"], shown["vectors"], shown["recall"]) == (kind, kind, "float32", 0.99)
    if kind == "flat":
        assert shown["searches"] == []
        assert found(many, *where) == oracle
    else:
        (one,) = shown["searches"]
        assert (one["view"], one["queries"]) == ("v", 300)
        assert one["effort"] > 0
        assert one["recall"] >= LIMIT
        assert f"find {one['recall']:.3f} of the nearest items" in done("show", "many", *where)


def test_auto_is_exact_for_few_items_and_float16_takes_half(many: Path, where: list[str]) -> None:
    """The requested kind is stated beside the kind."""
    said = done("space", "reindex", "many", "--space", "raw", "--precision", "float16", *where)
    assert "v: index flat (chosen by auto) of float16 vectors, exact" in said
    assert recall(found(many, *where), exact(many)) >= LIMIT
    assert indexes(*where)["raw", "v"]["vectors"] == "float16"
    done("space", "reindex", "many", "--space", "raw", "--index", "flat", *where)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--recall", "0"], "recall is a share of the nearest items, above 0 and at most 1, not 0"),
        (["--recall", "1.5"], "recall is a share of the nearest items, above 0 and at most 1, not 1.5"),
        (["--recall", "nan"], "recall is a share of the nearest items, above 0 and at most 1, not nan"),
        (["--targets", "x"], "has no target 'x'; there are: v, w"),
        (["--space", "other"], "no space 'other'"),
        (["--index", "tree"], "'tree' is not one of"),
        (["--precision", "float8"], "'float8' is not one of"),
    ],
)
def test_wrong_values_of_an_index_are_refused(where: list[str], words: list[str], message: str) -> None:
    """Each message names the value."""
    result = run("space", "reindex", "many", *words, *where)
    assert result.exit_code != 0
    assert message in " ".join(result.stderr.split())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--recall", "0"], "recall is a share of the nearest items, above 0 and at most 1, not 0"),
        (["--recall", "2"], "recall is a share of the nearest items, above 0 and at most 1, not 2"),
        (["--recall", "-1"], "recall is a share of the nearest items, above 0 and at most 1, not -1"),
        (["--recall", "0.5", "--exact"], "an exact search has recall 1, not 0.5: leave out --recall or --exact"),
    ],
)
def test_wrong_recalls_of_a_search_are_refused(where: list[str], words: list[str], message: str) -> None:
    """The refusal comes before the search."""
    result = run("search", "many", "--key", "00000", "--view", "v", *words, *where)
    assert result.exit_code == 1
    assert message in " ".join(result.stderr.split())


def test_a_server_refuses_a_wrong_recall_itself(server: RunningServer) -> None:
    """Other clients check nothing."""
    with Client(server.address) as client, pytest.raises(InvalidInputError, match="above 0 and at most 1, not 7"):
        client.open("many").search(SearchRequest([Query("v", key="00000")], recall=7.0))


def test_a_job_reindexes_while_nobody_waits(many: Path, server: RunningServer) -> None:
    """Its result is the space, with the measured recall."""
    words = ("space", "reindex", "many", "--space", "raw", "--targets", "v", "--index", "ivf", "--recall", "0.9")
    job = done(*words, "--server", server.address, "--detach").strip()
    with Client(server.address) as client:
        one = ended(client, job)
    assert (one.kind, one.state) == ("reindex_space", "done")
    (index,) = [made for made in one.result.indexes if made.target == "v"]
    assert (index.kind, index.recall) == ("ivf", 0.9)


def test_the_process_that_searches_shows_its_recall(
    many: Path, server: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is in the space, in ``show --server`` and in the metrics; a new index forgets it."""
    from urllib.request import urlopen

    monkeypatch.setattr(index_recall, "_EVERY", 1)
    request = SearchRequest([Query("v", vector=row) for row in ROWS[:8]], targets=("v",), space="raw")
    with Client(server.address) as client:
        collection = client.open("many")
        collection.spaces.reindex("raw", index="ivf", targets=["v"])
        collection.search(request)

        def live_figure() -> LiveFigure | None:
            (index,) = [one for one in collection.spaces.get("raw").indexes if one.target == "v"]
            return index.searches[0].live

        until(lambda: live_figure() is not None)
        live = live_figure()
        assert live is not None
        assert live.queries >= 1
        assert live.recall >= LIMIT
        assert f"and in use {live.recall:.3f}" in done("show", "many", "--server", server.address)
        assert server.admin is not None
        text = urlopen(f"http://127.0.0.1:{server.admin.port}/metrics").read().decode()
        labels = '{collection="many",space="raw",target="v",view="v"}'
        assert f"crossview_recall{labels} {live.recall}" in text
        assert f"crossview_promised_recall{labels} 0.99" in text
        assert f"crossview_recall_queries{labels} {float(live.queries)}" in text
        collection.spaces.reindex("raw", index="ivf", targets=["v"], recall=0.95)
        monkeypatch.setattr(index_recall, "_EVERY", 10**9)
        collection.search(request)
        assert all(one.live is None for index in collection.spaces.get("raw").indexes for one in index.searches)
