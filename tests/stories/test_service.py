"""A program that knows only the protos uses a stub of its own, deadlines, cancellation and retries."""

import importlib
import sys
import time
from pathlib import Path

import grpc
import numpy as np
import pytest
from grpc_tools import protoc
from story import ROOT, done, result_of, served

pytestmark = pytest.mark.long

ITEMS, WIDTH = 400, 50


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def stubs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The messages and services that protoc makes of the protos, nothing of ours."""
    (tmp_path / "stubs").mkdir()
    proto = ROOT / "proto"
    files = [str(path) for path in sorted((proto / "crossview").rglob("*.proto"))]
    bundled = Path(str(importlib.import_module("grpc_tools").__file__)).parent / "_proto"
    included = [f"-I{folder}" for folder in (proto, bundled)]
    out = str(tmp_path / "stubs")
    assert protoc.main(["", *included, f"--python_out={out}", f"--grpc_python_out={out}", *files]) == 0
    (tmp_path / "stubs" / "crossview" / "__init__.py").touch()  # or this project's package of the name would be found
    ours = {name: sys.modules.pop(name) for name in list(sys.modules) if name.split(".")[0] == "crossview"}
    monkeypatch.syspath_prepend(out)
    names = ("types_pb2", "collections_pb2", "collections_pb2_grpc", "search_pb2", "search_pb2_grpc")
    yield [importlib.import_module(f"crossview.v1.{name}") for name in names]
    for name in [name for name in sys.modules if name.split(".")[0] == "crossview"]:
        del sys.modules[name]
    sys.modules.update(ours)


def spaces(stub, pb) -> list[str]:
    answer = stub.ListSpaces(pb.ListSpacesRequest(parent="collections/rows"))
    return [space.name for space in answer.spaces if not space.name.endswith("/raw")]


def test_a_program_with_a_stub_of_its_own(home: Path, stubs, tmp_path: Path):
    """Every call that the program gave up leaves nothing; every retry ends in one state."""
    types, pb, pb_grpc, _, search_grpc = stubs
    generator = np.random.default_rng(0)
    groups = generator.integers(0, 8, ITEMS)
    rows = (np.eye(8, WIDTH)[groups] * 3 + generator.normal(0, 1, (ITEMS, WIDTH))).astype(np.float32)
    with served(home, "--log-requests") as address, grpc.insecure_channel(address) as channel:
        stub, searches = pb_grpc.CollectionServiceStub(channel), search_grpc.SearchServiceStub(channel)
        stub.CreateCollection(pb.CreateCollectionRequest(collection_id="rows", views=[f"clip=vectors:dim={WIDTH}"]))
        new = [
            pb.NewItem(key=f"item/{i:03}", rows={"clip": types.Vector(values=rows[i])}, labels=[f"group {groups[i]}"])
            for i in range(ITEMS)
        ]
        imported = pb.ImportItemsRequest(parent="collections/rows", items=new)
        assert stub.ImportItems(imported).added == ITEMS
        assert stub.ImportItems(imported).added == 0  # a retry

        give_up_trainings(stub, pb)
        assert spaces(stub, pb) == []
        assert stub.GetCollection(pb.GetCollectionRequest(name="collections/rows")).active_space == "raw"
        update_and_find(stub, searches, stubs, f"group {groups[1]}")
        ask_for_what_cannot_be(stub, searches, stubs)

        train = pb.TrainRequest(parent="collections/rows", learner="lmnn", views=["clip"])
        train.settings.update({"max_iter": 20, "tol": 0})
        assert stub.Train(train).generation == 1
        assert spaces(stub, pb) == ["collections/rows/spaces/lmnn"]
        assert result_of("show", "rows", "--server", address, home=home)["active_space"] == "lmnn"
        done("search", "rows", "--key", "item/000", "--view", "clip", "--server", address, "--timeout", 60, home=home)
    log = (tmp_path / "server.log").read_text()
    assert "Train" in log
    assert "DEADLINE_EXCEEDED" in log or "CANCELLED" in log
    assert "Traceback" not in log


def give_up_trainings(stub, pb) -> None:
    """Run trainings past their deadlines, retried, and cancelled; the next writer waits for none of them for long."""
    train = pb.TrainRequest(parent="collections/rows", learner="lmnn", views=["clip"])
    train.settings.update({"max_iter": 100000, "tol": 0})
    for _ in range(3):
        with pytest.raises(grpc.RpcError) as late:
            stub.Train(train, timeout=0.5)
        assert late.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
    call = stub.Train.future(train)
    time.sleep(0.3)
    call.cancel()
    fantope = pb.TrainRequest(parent="collections/rows", learner="fantope", views=["clip"])
    fantope.settings.update({"max_iter": 100000, "tol": 0})
    with pytest.raises(grpc.RpcError):
        stub.Train(fantope, timeout=0.5)
    stub.DeleteItems(pb.DeleteItemsRequest(parent="collections/rows", keys=["item/399"]), timeout=300)


def update_and_find(stub, searches, stubs, label: str) -> None:
    """Update an item: only the named fields change, and a filter sees them at once."""
    types, pb, _, search_pb, _ = stubs
    update = pb.ItemUpdate(key="item/001")
    update.attributes.update({"année": 1999})
    assert stub.UpdateItems(pb.UpdateItemsRequest(parent="collections/rows", updates=[update])).updated == 1
    item = stub.GetItem(pb.GetItemRequest(name="collections/rows/items/item/001"))
    assert list(item.labels) == [label]
    chosen = types.Filter()
    chosen.attributes.update({"année": 1999})
    request = search_pb.SearchRequest(parent="collections/rows", k=5, filter=chosen)
    request.queries.add(view="clip", key="item/000")
    (answer,) = searches.Search(request).results
    assert [hit.key for hit in answer.hits] == ["item/001"]


def ask_for_what_cannot_be(stub, searches, stubs) -> None:
    """Send two impossible requests; both are refused as arguments that are not valid."""
    types, pb, _, search_pb, _ = stubs
    query = search_pb.Query(view="clip", vector=types.Vector(values=[1e38] * WIDTH))
    refused = [
        (stub.Train, pb.TrainRequest(parent="collections/rows", learner="lmnn", views=["clip"], dim=1_000_000)),
        (searches.Search, search_pb.SearchRequest(parent="collections/rows", queries=[query])),
    ]
    for method, message in refused:
        with pytest.raises(grpc.RpcError) as wrong:
            method(message, timeout=300)
        assert wrong.value.code() is grpc.StatusCode.INVALID_ARGUMENT
