"""The whole way: the command publishes a collection, a server serves it without its catalog, and our client uses it."""

import json
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import grpc
import numpy as np
import pytest
from drawn import CLASSES, draw, encode
from milvus_server import MilvusServer, skip_without_server
from ports import free_port
from published import check_alike
from story import done, refused, result_of, served

from crossview.engine.collections.collection import Collection
from crossview.engine.collections.home import Home
from crossview.engine.values.errors import InvalidInputError, NotFoundError
from crossview.engine.values.evaluation import EvaluationRequest
from crossview.engine.values.item import ItemUpdate, NewItem
from crossview.engine.values.query import Query, SameRequest, SearchRequest, SuggestRequest
from crossview.engine.values.recipe import Recipe
from crossview.server.client.client import Client
from crossview.server.wire.errors import NotServedError

NAME = "drawn-things"


@pytest.fixture(params=["lite", pytest.param("server", marks=pytest.mark.long)])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The address of an engine."""
    if request.param == "lite":
        yield f"milvus:{tmp_path / 'engine.db'}"
        return
    skip_without_server()
    engine = MilvusServer(tmp_path / "milvus")
    engine.start()
    yield engine.address
    engine.kill()


@pytest.fixture
def collection(tmp_path: Path) -> Iterator[Collection]:
    """Pictures with texts, in two views of pictures and one of texts, and a space over them."""
    with Home(tmp_path / "home").create(NAME, ["color", "gist", "text"]) as made:
        drawn = [(label, number) for label in CLASSES for number in range(8)]
        made.views.fit([encode(draw(*one)) for one in drawn], workers=1)
        made.items.put([picture(*one) for one in drawn])
        made.views.fit([], views=["text"])
        made.train(Recipe(spec="cca", views=("color", "gist", "text"), dim=2))
        yield made


def picture(label: str, number: int) -> NewItem:
    return NewItem(
        f"{label}/{number}",
        image=encode(draw(label, number)),
        labels=(label,),
        attributes={"n": number},
        text=f"a {label} thing number {number}",
    )


@contextmanager
def client_of(home: Path, *options: str) -> Iterator[tuple[Client, str]]:
    """Serve published collections from an empty home; yield a client and the address."""
    with served(home, *options) as found, Client(found, 300) as client:
        yield client, found


def test_a_published_collection_is_served_without_its_catalog(collection, address, tmp_path):
    """Searches by picture, text, key and vector, streams, embeddings, labels, writes, calls that need the catalog."""
    home, bundles = tmp_path / "home", tmp_path / "bundles"
    planned = result_of("publish", "add", NAME, "--to", bundles, "--engine", address, "--dry-run", home=home)
    assert (planned["items"], planned["switched"]) == (24, False)
    made = result_of("publish", "add", NAME, "--to", bundles, "--engine", address, "--quiet", home=home)
    assert (made["name"], made["items"], made["switched"], made["failures"]) == (NAME, 24, True, [])
    (listed,) = result_of("publish", "list", "--engine", address, home=home)
    assert (listed["name"], listed["space"], listed["items"]) == (NAME, "cca", 24)
    assert NAME in done("publish", "list", "--engine", address, home=home)

    admin = free_port()
    options = ("--bundle", str(bundles), "--engine", address, "--admin-port", str(admin))
    with client_of(tmp_path / "serving", *options) as (client, place):
        assert client.names() == [NAME]
        remote = client.open(NAME)
        assert (remote.info().items, [one.name for one in remote.spaces()]) == (24, ["cca"])
        unseen = encode(draw("red", 50))
        queries = [
            Query("color", image=unseen),
            Query("gist", image=unseen),
            Query("text", text="a blue thing"),
            Query("color", key="green/3"),
            Query("color", vector=np.full(64, 0.1, np.float32)),
        ]
        request = SearchRequest(queries, k=5, filter="n < 6")
        check_alike(collection.search(request), remote.search(request))
        streamed = list(remote.search_stream([request, SearchRequest(queries[:1], k=3)]))
        check_alike(collection.search(request), streamed[0])
        for one, other in zip(collection.embed(queries), remote.embed(queries), strict=True):
            np.testing.assert_allclose(one.vector, other.vector, atol=1e-4)
        suggestions = SuggestRequest(queries[:1])
        assert [found.label for found in remote.suggest(suggestions).results[0].labels] == [
            found.label for found in collection.suggest(suggestions).results[0].labels
        ]
        (labels,) = result_of("suggest", NAME, "green/3", "--view", "color", "--server", place, home=home)["results"]
        assert labels["input"] == "green/3"
        check_writes(remote)
        check_refusals(remote, place)
        with urllib.request.urlopen(f"http://127.0.0.1:{admin}/metrics", timeout=300) as page:
            assert b'method="Search"' in page.read()
        with urllib.request.urlopen(f"http://127.0.0.1:{admin}/readyz", timeout=300) as page:
            assert page.status == 200
    assert result_of("publish", "remove", NAME, "--engine", address, "--yes", home=home)["generations"] == 1
    assert result_of("publish", "list", "--engine", address, home=home) == []
    assert NAME in refused("publish", "remove", NAME, "--engine", address, "--yes", home=home)


def check_writes(remote):
    """Check that writes are found by the next call."""
    pictures = [picture("red", 60), picture("blue", 61)]
    assert remote.items.put([*pictures, NewItem("broken", image=b"not a picture")]).added == 2
    (found,) = remote.search(SearchRequest([Query("color", image=pictures[0].image)], k=1, targets=("color",)))
    assert found[0].key == "red/60"
    assert remote.items.update([ItemUpdate("red/60", labels=("odd",))]).updated == 1
    item = remote.items.get("red/60")
    assert (item.labels, item.views) == (("odd",), ("color", "gist", "text"))
    remote.items.put_vectors("color", ["rows/1"], np.full((1, 64), 0.5, np.float32))
    assert remote.items.get("rows/1").views == ("color",)
    assert remote.items.delete(["red/60", "rows/1"]) == 2
    with pytest.raises(NotFoundError):
        remote.items.get("red/60")
    assert remote.info().items == 25


def check_refusals(remote, address):
    """Check that methods that need the catalog say so, and that health is answered."""
    for refusal in (
        lambda: remote.train(Recipe(spec="pca")),
        lambda: remote.evaluate(EvaluationRequest(view="color")),
        lambda: remote.spaces.activate("raw"),
    ):
        with pytest.raises(NotServedError, match="needs the catalog of the collection"):
            refusal()
    with pytest.raises(InvalidInputError):
        remote.search(SearchRequest([Query("", key="red/1")]))
    with pytest.raises(InvalidInputError, match="page_size"):
        next(iter(remote.search_pages(SearchRequest([Query("color", key="red/1")]))))
    request = SameRequest([(Query("color", key="red/1"), Query("gist", key="red/1"))])
    with pytest.raises(Exception, match="calibrate"):
        remote.same(request)
    from grpc_health.v1 import health_pb2, health_pb2_grpc

    with grpc.insecure_channel(address) as channel:
        answer = health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest())
    assert answer.status == health_pb2.HealthCheckResponse.SERVING
    assert json.dumps(remote.info().name)
