"""One table states the properties of each method, and is complete."""

import json
from typing import Any

import pytest
from google.longrunning import operations_pb2

from crossview.server.client.connection import OPTIONS
from crossview.server.core.jobs.job_service import JobService, OperationsService
from crossview.server.core.jobs.work import _WORK
from crossview.server.core.services.collection_service import CollectionService
from crossview.server.core.services.question_service import QuestionService
from crossview.server.core.services.search_service import SearchService
from crossview.server.core.writing.item_writes import ItemWrites
from crossview.server.wire.methods import JOBS, METHODS, SERVICES, MessageStream, Method, Room, Touch
from crossview.v1 import collections_pb2, jobs_pb2, questions_pb2, search_pb2

FILES = (search_pb2, collections_pb2, questions_pb2, jobs_pb2, operations_pb2)
SERVICERS = {
    "crossview.v1.SearchService": SearchService,
    "crossview.v1.CollectionService": CollectionService,
    "crossview.v1.QuestionService": QuestionService,
    "crossview.v1.JobService": JobService,
    "google.longrunning.Operations": OperationsService,
}


def test_every_method_of_the_services_has_a_row() -> None:
    """A method that is added to a proto file without a row fails here."""
    services = [service for file in FILES for service in file.DESCRIPTOR.services_by_name.values()]
    assert set(METHODS) == {f"/{one.full_name}/{method.name}" for one in services for method in one.methods}
    assert set(SERVICES) == {one.full_name for one in services} == set(SERVICERS)


@pytest.mark.parametrize("method", METHODS.values(), ids=lambda method: method.name)
def test_a_row_agrees_with_its_method(method: Method) -> None:
    """A read has the name of a read, and the service has code for each answer of a thread."""
    reading = (
        "Get",
        "List",
        "Count",
        "Check",
        "Embed",
        "Next",
        "Wait",
        "Evaluate",
        "Find",
        "Same",
        "Suggest",
        "Explain",
    )
    assert method.reads == method.name.startswith((*reading, "Search", "StreamSearch"))
    assert (method.each is not None) == method.descriptor.server_streaming
    if method.threaded and method.each is None:
        assert hasattr(SERVICERS[method.service], method.name)
    if method.each is not None:
        answered_by = METHODS[f"/{method.service}/{method.each.method}"]
        assert (method.touches, method.room, method.request) == (
            *(answered_by.touches, answered_by.room),
            answered_by.request,
        )
    if method.touches is Touch.ITEMS and method.each is None:
        assert hasattr(ItemWrites, method.name), "the process for writes carries it out"


def test_every_job_has_work_and_a_method() -> None:
    """A kind that is added to SubmitJobRequest needs both."""
    assert set(_WORK) == set(JOBS)
    assert {method.path for method in JOBS.values()} == {one.path for one in METHODS.values() if one.job is not None}
    assert {kind for kind, method in JOBS.items() if method.makes_space} == {"train", "extend_space", "assign_label"}


def test_clients_repeat_what_changes_nothing_and_nothing_else() -> None:
    """The retry policy of a channel comes from the table."""
    config: Any = json.loads(str(dict(OPTIONS)["grpc.service_config"]))
    names = {f"/{one['service']}/{one['method']}" for one in config["methodConfig"][0]["name"]}
    assert names == {path for path, method in METHODS.items() if method.repeatable}
    assert not [path for path in names if not METHODS[path].reads]
    assert "/crossview.v1.CollectionService/Evaluate" not in names
    assert "/google.longrunning.Operations/WaitOperation" not in names


def test_streams_of_searches_run_ahead_and_imports_do_not() -> None:
    """An import is answered once it is on disk, in order."""
    each = {method.name: method.each for method in METHODS.values() if method.each is not None}
    assert each == {"StreamSearch": MessageStream("Search", 16), "StreamImportItems": MessageStream("ImportItems", 1)}
    assert METHODS["/crossview.v1.SearchService/FindChanges"].room is Room.LONG
