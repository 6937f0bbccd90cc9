"""Long work is a job: an operation that is submitted, waited for, cancelled, and remembered."""

from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest
from google.longrunning import operations_pb2, operations_pb2_grpc
from long_jobs import BOTH, ended, endless, learning, my_job_processes, ready, until
from terminal import fill_rows

from crossview.engine.collections.home import Home
from crossview.engine.values.errors import (
    AlreadyExistsError,
    CancelledError,
    InvalidInputError,
    NotFoundError,
    NotReadyError,
)
from crossview.engine.values.evaluation import Evaluation, EvaluationRequest
from crossview.engine.values.info import SpaceInfo, ViewInfo
from crossview.engine.values.item import ImportReport
from crossview.engine.values.recipe import Recipe, Tune
from crossview.server.client.client import Client
from crossview.server.client.remote_collection import RemoteCollection
from crossview.server.edge.listen import RunningServer
from crossview.server.wire.errors import JobStoppedError
from crossview.server.wire.pages import to_token
from crossview.server.wire.settings import ServerSettings
from crossview.v1 import collections_pb2 as pb
from crossview.v1.jobs_pb2 import SubmitJobRequest

BRIEF = Recipe(spec="cca", views=BOTH, dim=2, holdout=0.2)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """A server with the collection ``rows``."""
    home = Home(tmp_path_factory.mktemp("home"))
    fill_rows(home, 10)
    with RunningServer(ServerSettings(home=home.path, port=0)) as made:
        yield made


@pytest.fixture(scope="module")
def client(running: RunningServer) -> Iterator[Client]:
    with Client(running.address) as made:
        yield made


@pytest.fixture
def rows(client: Client) -> RemoteCollection:
    return client.open("rows")


def test_a_job_goes_on_while_nobody_waits(client: Client, rows: RemoteCollection) -> None:
    """Any caller learns its progress, and then the result of its method."""
    job = rows.detached().train(BRIEF, space="left")
    assert (job.kind, job.collection, job.error) == ("train", "rows", "")
    done = ended(client, job.id)
    assert (done.state, done.error) == ("done", "")
    assert done.created <= done.started <= done.ended
    assert isinstance(done.result, SpaceInfo)
    assert done.result == rows.spaces.get("left") == client.jobs.wait(job.id).result
    assert done.result.request_id == job.id


def test_every_kind_has_the_result_of_its_method(client: Client, rows: RemoteCollection) -> None:
    """They are evaluations and imports; a text view is fitted on the stored texts."""
    rows.train(BRIEF, space="kinds")
    request = EvaluationRequest(view="color", spaces=("kinds",), k=(2,))
    evaluated = client.jobs.wait(rows.detached().evaluate(request).id).result
    assert isinstance(evaluated, Evaluation)
    assert evaluated.rows == rows.evaluate(request).rows
    rows.views.add("text:words=2")
    items = [pb.NewItem(key=f"text/{i}", text=f"red blue green {i}") for i in range(4)]
    imports = pb.ImportItemsRequest(parent=rows.resource, items=[*items, pb.NewItem(key="")])
    imported = client.jobs.wait(client.jobs.submit(SubmitJobRequest(import_items=imports)).id).result
    assert isinstance(imported, ImportReport)
    assert (imported.added, len(imported.failures)) == (4, 1)
    fit = SubmitJobRequest(fit_views=pb.FitViewsRequest(parent=rows.resource))
    fitted = client.jobs.wait(client.jobs.submit(fit).id).result
    assert isinstance(fitted, tuple)
    assert fitted == rows.views()
    assert all(isinstance(view, ViewInfo) and view.fitted for view in fitted)
    rows.items.delete([item.key for item in items])
    rows.views.delete("text")


def test_a_mistake_is_the_error_of_the_direct_call(client: Client, rows: RemoteCollection) -> None:
    """Its class and message are the same; a missing collection is an error at once."""
    wrong = Recipe(spec="cca", views=BOTH, settings={"foo": 1})
    job = rows.detached().train(wrong)
    with pytest.raises(InvalidInputError, match="foo") as direct:
        rows.train(wrong)
    with pytest.raises(InvalidInputError) as waited:
        client.jobs.wait(job.id)
    failed = client.jobs.get(job.id)
    assert str(waited.value) == str(direct.value) == failed.error
    assert (failed.state, failed.result) == ("failed", None)
    with pytest.raises(NotFoundError, match="there are: rows"):
        RemoteCollection(client, "none").detached().train(BRIEF)
    with pytest.raises(InvalidInputError, match="no request"):
        client.jobs.submit(SubmitJobRequest())


def test_a_request_is_carried_out_once(client: Client, rows: RemoteCollection) -> None:
    """One id has one operation, with a waiting caller or without; another request needs an id of its own."""
    first = rows.train(BRIEF, space="once", request_id="one-request")
    assert rows.train(BRIEF, space="once", request_id="one-request") == first
    again = rows.detached().train(BRIEF, space="once", request_id="one-request")
    assert (again.id, again.result) == ("one-request", first)
    assert rows.spaces.get("once").generations == (1,)
    with pytest.raises(AlreadyExistsError, match="another request already has the id 'one-request'"):
        rows.train(BRIEF, space="twice", request_id="one-request")
    with pytest.raises(InvalidInputError, match="cannot name a request"):
        rows.train(BRIEF, request_id="a b")


def test_a_job_is_cancelled(client: Client, rows: RemoteCollection) -> None:
    """It ends as cancelled, and leaves nothing, not even its process; the next is carried out."""
    before = rows.spaces()
    job = rows.detached().train(endless(), space="endless")
    learning(client, job.id)
    client.jobs.cancel(job.id)
    with pytest.raises(CancelledError, match="the job was cancelled"):
        client.jobs.wait(job.id)
    assert client.jobs.get(job.id).state == "cancelled"
    assert rows.spaces() == before
    client.jobs.cancel(job.id)
    assert client.jobs.get(job.id).state == "cancelled"
    assert my_job_processes() == []
    rows.train(BRIEF, space="next")


def test_jobs_take_turns(client: Client, rows: RemoteCollection) -> None:
    """They come in order; a waiting one is cancelled at once, and one that learns nothing does not wait."""
    rows.train(BRIEF, space="before")
    first = rows.detached().train(endless())
    try:
        learning(client, first.id)
        waiting = [rows.detached().train(BRIEF, space="turn") for _ in range(3)]
        client.jobs.cancel(waiting[1].id)
        assert [client.jobs.get(job.id).state for job in waiting] == ["waiting", "cancelled", "waiting"]
        with pytest.raises(InvalidInputError, match="one metric"):
            rows.spaces.assign("before", "owl")
    finally:
        client.jobs.cancel(first.id)
    done = [ended(client, waiting[number].id) for number in (0, 2)]
    assert [job.state for job in done] == ["done", "done"]
    assert done[0].ended <= done[1].started


def test_progress_is_shown_as_here(rows: RemoteCollection) -> None:
    """Every note comes once and in order, as a collection of this process gives them."""
    recipe = Recipe(spec="cca", views=BOTH, dim=2, tune=Tune({"shrinkage": (0.1, 0.5), "power": (0, 1)}, folds=2))
    seen: list[tuple[str, int, int, str]] = []
    made = rows.train(recipe, space="tuned", progress=lambda *step: seen.append((*step, "")[:4]))
    assert made.tuning is not None
    notes = [(done, note) for _, done, _, note in seen if note]
    tried = [trial.sentence(made.tuning.measure) for trial in made.tuning.tried]
    assert notes == list(enumerate([made.cost.sentence(), *tried]))


def test_operations_are_listed_and_deleted(client: Client, rows: RemoteCollection) -> None:
    """The newest come first, in pages, of one collection; only one that has ended is deleted."""
    made = [rows.detached().train(BRIEF, space="listed") for _ in range(3)]
    for job in made:
        ended(client, job.id)
    newest = [job.id for job in reversed(made)]
    assert [job.id for job in client.jobs.list("rows")][:3] == newest
    assert list(client.jobs.list("other")) == []
    stub = operations_pb2_grpc.OperationsStub(client.channel)
    page = stub.ListOperations(operations_pb2.ListOperationsRequest(name="operations", page_size=2))
    more = operations_pb2.ListOperationsRequest(name="operations", page_size=2, page_token=page.next_page_token)
    names = [one.name for one in (*page.operations, *stub.ListOperations(more).operations)]
    assert names[:3] == [f"operations/{job}" for job in newest]
    client.jobs.delete(newest[0])
    with pytest.raises(NotFoundError, match=newest[0]):
        client.jobs.get(newest[0])
    last = rows.detached().train(endless())
    with pytest.raises(NotReadyError, match="cancel it first"):
        client.jobs.delete(last.id)
    for unfinished in ("done=false", "collection=rows AND done=false"):
        wanted = operations_pb2.ListOperationsRequest(name="operations", filter=unfinished)
        assert [one.name for one in stub.ListOperations(wanted).operations] == [f"operations/{last.id}"]
    client.jobs.cancel(last.id)
    digits = to_token("9" * 5000)  # more than Python makes an integer of
    for wrong in (
        {"filter": "state=done"},
        {"name": "collections/rows"},
        {"page_token": "eA=="},
        {"page_token": digits},
    ):
        with pytest.raises(grpc.RpcError) as caught:
            stub.ListOperations(operations_pb2.ListOperationsRequest(**wrong))
        assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    with pytest.raises(InvalidInputError, match="operations/ID"):
        client.jobs.get("a/b")


def test_waiting_has_an_end_of_its_own(client: Client, rows: RemoteCollection) -> None:
    """After its timeout the operation is returned as it is; the job goes on."""
    job = rows.detached().train(endless())
    request = operations_pb2.WaitOperationRequest(name=f"operations/{job.id}")
    request.timeout.FromMilliseconds(50)
    assert not client.operations.WaitOperation(request).done
    request.timeout.FromSeconds(-1)
    with pytest.raises(grpc.RpcError) as caught:
        client.operations.WaitOperation(request)
    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert not client.jobs.get(job.id).has_ended
    client.jobs.cancel(job.id)


def test_a_deleted_collection_has_no_jobs(client: Client, running: RunningServer) -> None:
    """They are cancelled, with the reason."""
    other = client.create("other", views=("color",))
    ready(client)
    first = client.open("rows").detached().train(endless())
    job = other.detached().train(Recipe(spec="pca", views=("color",)))
    client.delete("other")
    assert ended(client, job.id).error == "collection 'other' was deleted"
    client.jobs.cancel(first.id)
    assert running.collections.home.names() == ["rows"]


def test_a_restart_remembers(tmp_path: Path) -> None:
    """Ended jobs stay as they were; waiting and running ones have failed, with the reason, and left nothing."""
    home = Home(tmp_path)
    fill_rows(home, 10)
    with RunningServer(ServerSettings(home=home.path, port=0)) as running, Client(running.address) as client:
        rows = client.open("rows")
        done = ended(client, rows.detached().train(BRIEF).id)
        under_way = rows.detached().train(endless())
        waiting = rows.detached().train(BRIEF)
        learning(client, under_way.id)
        (process,) = my_job_processes()[-1:]
    until(lambda: not Path(f"/proc/{process}").exists())
    with RunningServer(ServerSettings(home=home.path, port=0)) as running, Client(running.address) as client:
        assert client.jobs.get(done.id) == done
        for job in (under_way, waiting):
            assert client.jobs.get(job.id).state == "failed"
            with pytest.raises(JobStoppedError, match="the server stopped before the job had ended"):
                client.jobs.wait(job.id)
        assert [space.name for space in client.open("rows").spaces()] == ["cca", "raw"]
        assert client.open("rows").train(BRIEF, request_id=done.id) == done.result
    assert home.names() == ["rows"]
