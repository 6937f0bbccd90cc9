"""Keys allow what they state, and a caller without the right one reads and learns nothing."""

import asyncio
import json
import stat
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import grpc
import numpy as np
import pytest
from keyed import OPERATIONS, called, operation_requests, requests_naming
from long_jobs import until

import crossview
from crossview.engine.collections.home import Home
from crossview.engine.values.errors import AlreadyExistsError, InvalidInputError, NotFoundError, NotReadyError
from crossview.engine.values.item import NewItem
from crossview.server.client.client import AsyncClient, Client
from crossview.server.core.dispatch.permission import collection_fields, named_collections, relative, source_fields
from crossview.server.core.keys.keys import Keys
from crossview.server.edge.listen import RunningServer
from crossview.server.wire.errors import PermissionDeniedError, UnauthenticatedError
from crossview.server.wire.identity import LOCAL, Identity, Scope
from crossview.server.wire.methods import JOBS, METHODS, Method, Touch
from crossview.server.wire.settings import ServerSettings
from crossview.v1 import collections_pb2 as pb

OWN, OTHER, ABSENT, NEW = "own", "other-secret", "absent", "new-name"
MARK = "classified"
"""A word that is in every text of the other collection."""
SCOPES = ("read", "write", "admin")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    made = Home(tmp_path_factory.mktemp("keyed") / "home")
    for name in (OWN, OTHER):
        text = MARK if name == OTHER else "open"
        with made.create(name, ["v=vectors:dim=2"], description=text) as collection:
            items = [
                NewItem(key, rows={"v": [1, number]}, labels=[text], source=f"/home/ann/{key}")
                for number, key in enumerate(("a", "pics/b.jpg", "c"))
            ]
            collection.items.put(items)
    made.set_alias(f"{OTHER}-alias", OTHER)
    return made


@pytest.fixture(scope="module")
def keys(home: Home) -> dict[str, str]:
    """A key of each scope for the own collection (admin: for all), and one of each scope for all collections."""
    made = Keys(home.path)
    found = {f"{scope}-own": made.create(f"{scope}-own", scope, [OWN, ABSENT])[0] for scope in SCOPES[:2]}
    return found | {f"{scope}-all": made.create(f"{scope}-all", scope)[0] for scope in SCOPES}


@pytest.fixture(scope="module")
def server(home: Home, keys: dict[str, str]) -> Iterator[RunningServer]:
    with RunningServer(ServerSettings(home=home.path, port=0)) as running:
        yield running


@pytest.fixture(scope="module")
def channel(server: RunningServer) -> Iterator[grpc.Channel]:
    with grpc.insecure_channel(server.address) as opened:
        yield opened


CASES = [
    pytest.param(method, number, id=f"{method.name}-{number}")
    for method in METHODS.values()
    for number in range(len(requests_naming(method, OWN, OWN, NEW)))
]


def test_the_matrix_has_every_method() -> None:
    """It leaves out those on one operation, which have their own test, and those that name no existing collection."""
    listed = {case.values[0] for case in CASES}
    rest = {"ListCollections", "ListAliases", "CreateCollection", "DeleteAlias"}
    assert {one.name for one in METHODS.values() if one not in listed} == {
        *rest,
        *(one.name for one in operation_requests("x")),
    }


@pytest.mark.parametrize("key", [None, "cv_000000000000_" + "A" * 43, "x", ""])
@pytest.mark.parametrize("method", METHODS.values(), ids=lambda one: one.name)
def test_no_method_answers_without_a_key(channel: grpc.Channel, method: Method, key: str | None) -> None:
    """The request is not even read."""
    code, message, _ = called(channel, method, method.request(), key)
    assert code is grpc.StatusCode.UNAUTHENTICATED
    assert {OWN, OTHER} & {*message.split()} == set()


@pytest.mark.parametrize(("method", "number"), CASES)
@pytest.mark.parametrize("scope", SCOPES[:2])
def test_another_collection_is_like_a_missing_one(
    channel: grpc.Channel, keys: dict[str, str], scope: str, method: Method, number: int
) -> None:
    """The code and the message are the same except for the name, in any field of the request."""
    seen = []
    for name in (OTHER, f"{OTHER}-alias", "nobody", ABSENT):
        request = requests_naming(method, name, OWN, NEW)[number]
        code, message, response = called(channel, method, request, keys[f"{scope}-own"])
        assert response is None or not str(response)
        assert MARK not in message
        seen.append((code, message.replace(name, "NAME")))
    other, alias, nobody, absent = seen
    assert other == alias == nobody
    # The list of the jobs of a permitted name is empty, and a search to explain need not name its collection.
    if method.service != OPERATIONS and (method.name, number) != ("Explain", 1):
        assert absent == other
    allowed = Identity(scope=Scope(scope)).may(scope_of(method, number))
    wanted = grpc.StatusCode.NOT_FOUND if allowed else grpc.StatusCode.PERMISSION_DENIED
    assert other[0] is wanted


@pytest.mark.parametrize(("method", "number"), CASES)
@pytest.mark.parametrize("scope", SCOPES[:2])
def test_the_own_collection_needs_the_scope_of_the_method(
    channel: grpc.Channel, keys: dict[str, str], scope: str, method: Method, number: int
) -> None:
    """With it, the call reaches the service, which finds faults of its own in an empty request."""
    name = OWN if method.reads and method.job is None else "nobody"  # a write here would change the other tests
    request = requests_naming(method, name, name, NEW)[number]
    code, _, _ = called(channel, method, request, keys[f"{scope}-all"])
    refused = not Identity(scope=Scope(scope)).may(scope_of(method, number))
    assert (code is grpc.StatusCode.PERMISSION_DENIED) == refused
    assert code is not grpc.StatusCode.UNAUTHENTICATED


def scope_of(method: Method, number: int) -> Scope:
    """Return the scope of a method, or of the job that a request to submit one has."""
    if method.name != "SubmitJob":
        return method.scope
    return [job for job in JOBS.values() for _ in requests_naming(job, OWN, OWN, NEW)][number].scope


@pytest.mark.parametrize(
    "name",
    [f"collections/{OWN}", f"{OWN}/x", f"{OWN} ", f"{OWN}\n", f"../{OWN}", "'", '"', "\\", "Own", f"{OWN}/../{OTHER}"],
)
def test_text_that_is_no_name_reveals_nothing(channel: grpc.Channel, keys: dict[str, str], name: str) -> None:
    """No message lists other collections, for text that is parsed and text that is not."""
    for case in CASES:
        method, number = case.values
        request = requests_naming(method, name, OWN, NEW)[number]
        code, message, response = called(channel, method, request, keys["write-own"])
        assert OTHER not in message.replace(name, "").replace(repr(name), "")
        assert OTHER not in str(response)
        assert code in (*REFUSED, grpc.StatusCode.OK)


REFUSED = grpc.StatusCode.NOT_FOUND, grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.PERMISSION_DENIED


@pytest.mark.parametrize("name", ["own", "it's", 'a"b', "a\\b", "two\nlines"])
def test_the_message_on_a_missing_collection_is_recognised(tmp_path: Path, name: str) -> None:
    """It is the engine's own message, with any name."""
    Home(tmp_path).create("listed", ["v=vectors:dim=2"]).close()
    with pytest.raises(NotFoundError, match="listed") as missing:
        Home(tmp_path).check_exists(name)
    shown = Identity("me", Scope.READ, frozenset({"own"})).shown(str(missing.value))
    assert "listed" not in shown
    assert repr(name) in shown


def test_the_table_gives_every_method_the_least_scope() -> None:
    """A method that reads needs read; only the names of a home need admin."""
    for method in METHODS.values():
        assert (method.scope is Scope.READ) == (method.touches in (Touch.NOTHING, Touch.JOBS))
    names = {"CreateCollection", "DeleteCollection", "RenameCollection", "CopyCollection", "SetAlias", "DeleteAlias"}
    assert {method.name for method in METHODS.values() if method.scope is Scope.ADMIN} == names


def test_every_field_that_names_a_collection_is_checked() -> None:
    """The name of a field in the proto files shows it: a field that is added later fails here until it is checked."""
    suspicious = ("collection", "parent", "alias", "against", "home")
    for method in METHODS.values():
        known = {path[-1] for path in collection_fields(method.request.DESCRIPTOR)}
        for path, repeated in strings(method.request.DESCRIPTOR):
            if any(word in path[-1] for word in suspicious) and path[-1] != "parents":
                assert (path[-1] in known, repeated) == (True, False), (method.name, path)


def strings(message: Any, path: tuple[str, ...] = (), repeated: bool = False) -> Iterator[tuple[tuple[str, ...], bool]]:
    """Return the paths of the texts of a message, and whether they repeat."""
    for field in message.fields:
        if field.type == field.TYPE_STRING:
            yield (*path, field.name), repeated or field.is_repeated
        elif field.message_type is not None and len(path) < 4:
            yield from strings(field.message_type, (*path, field.name), repeated or field.is_repeated)


def test_targets_of_admin_calls_are_checked_too() -> None:
    """An identity with few collections and the scope admin cannot come from a key, but a transport can make one."""
    rename = METHODS["/crossview.v1.CollectionService/RenameCollection"].request(
        name="collections/a", collection_id="b"
    )
    alias = METHODS["/crossview.v1.CollectionService/SetAlias"].request(
        alias={"alias_id": "c", "collection": "collections/d"}
    )
    assert list(named_collections(rename)) == ["a", "b"]
    assert list(named_collections(alias)) == ["c", "d"]


def test_lists_have_only_what_the_key_reaches(server: RunningServer, keys: dict[str, str]) -> None:
    """They do so page by page, too."""
    with Client(server.address, key=keys["read-own"]) as client:
        assert (client.names(), client.aliases()) == ([OWN], {})
    with Client(server.address, key=keys["read-all"]) as client:
        assert (client.names(), client.aliases()) == ([OTHER, OWN], {f"{OTHER}-alias": OTHER})


def test_jobs_belong_to_their_key(server: RunningServer, channel: grpc.Channel, keys: dict[str, str]) -> None:
    """Others do not see them, even with the scope write for all collections; an administrator does."""
    recipe = crossview.Recipe(spec="pca", views=("v",), dim=1)
    with Client(server.address, key=keys["write-own"]) as client:
        job = client.open(OWN).detached().train(recipe, request_id="mine")
        until(lambda: client.jobs.get(job.id).has_ended)
        assert [one.id for one in client.jobs.list()] == ["mine"]
    missing = {
        method: called(channel, method, request, keys["write-all"])
        for method, request in operation_requests("nothing").items()
    }
    for name in ("write-all", "read-own"):
        for method, request in operation_requests("mine").items():
            code, message, _ = called(channel, method, request, keys[name])
            assert (code, message.replace("mine", "nothing")) == missing[method][:2]
        with Client(server.address, key=keys[name]) as client:
            assert list(client.jobs.list()) == []
            if name == "write-all":
                other = client.open(OWN).detached().train(replace(recipe, seed=5), request_id="mine")
                until(lambda client=client: client.jobs.get("mine").has_ended)
                assert (other.id, [one.id for one in client.jobs.list()]) == ("mine", ["mine"])
    with Client(server.address, key=keys["write-own"]) as client:
        assert client.open(OWN).detached().train(recipe, request_id="mine").id == "mine"
        (job,) = client.jobs.list()
        assert client.jobs.get("mine") == job
        spaces = client.open(OWN).spaces()
        assert {one.request_id for one in spaces} == {"", "mine"}
        with pytest.raises(AlreadyExistsError):
            client.open(OWN).detached().train(replace(recipe, seed=7), request_id="mine")
    with Client(server.address, key=keys["admin-all"]) as client:
        listed = [one.id for one in client.jobs.list()]
        assert [one.rpartition("~")[2] for one in listed] == ["mine", "mine"]
        assert len({*listed}) == 2
        with pytest.raises(NotFoundError):
            client.jobs.get("mine")  # the id is that of several jobs
        for one in listed:
            assert client.jobs.get(one).id == one
            client.jobs.delete(one)


def test_no_id_of_a_job_can_be_taken_in_advance(server: RunningServer, keys: dict[str, str]) -> None:
    """Neither the id that another key chooses nor the one that the server chose, also in the form of the records."""
    recipe = crossview.Recipe(spec="pca", views=("v",), dim=1)
    with (
        Client(server.address, key=keys["write-own"]) as client,
        Client(server.address, key=keys["write-all"]) as thief,
    ):
        made = client.open(OWN).detached().train(recipe)
        until(lambda: client.jobs.get(made.id).has_ended)
        taken = thief.open(OWN).detached().train(recipe, request_id=made.id)
        until(lambda: thief.jobs.get(made.id).has_ended)
        assert taken.created
        assert thief.jobs.get(made.id) != client.jobs.get(made.id)
        with pytest.raises(InvalidInputError):  # an id of a request has no owner
            thief.open(OWN).detached().train(recipe, request_id=f"{'0' * 12}~next")
        for one in (client, thief):
            one.jobs.delete(made.id)
            assert made.id not in [job.id for job in one.jobs.list()]


def test_absolute_paths_are_for_administrators(server: RunningServer, keys: dict[str, str]) -> None:
    """Others see the alias of the root and the path below it; conditions reveal no path either."""
    request = crossview.SearchRequest([crossview.Query("v", vector=[1, 1])], k=3)
    for name, wanted in (
        ("read-own", {"a", "pics/b.jpg", "c"}),
        ("admin-all", {"/home/ann/a", "/home/ann/pics/b.jpg", "/home/ann/c"}),
    ):
        with Client(server.address, key=keys[name]) as client:
            own = client.open(OWN)
            assert {hit.source for found in own.search(request) for hit in found.hits} == wanted
            assert {hit.source for found in own.search_stream([request]) for one in found for hit in one.hits} == wanted
            assert {item.source for item in own.items()} == wanted
            assert own.items.get("a").source in wanted
    with Client(server.address, key=keys["write-own"]) as client:
        own = client.open(OWN)
        asks = "path like '/home/*'"
        for ask in (
            lambda: own.count(crossview.Filter(asks)),
            lambda: own.items(crossview.Filter(asks)),
            lambda: own.search(crossview.SearchRequest([crossview.Query("v", vector=[1, 1])], filter=asks)),
            lambda: own.train(crossview.Recipe(spec="pca", views=("v",), dim=1, where=asks)),
            lambda: own.evaluate(crossview.EvaluationRequest(view="v", where=asks)),
        ):
            with pytest.raises(PermissionDeniedError, match="sees no paths"):
                ask()


@pytest.mark.parametrize(
    ("source", "key", "shown"),
    [
        ("/srv/pics/x/a.jpg", "pics/x/a.jpg", "pics/x/a.jpg"),
        ("/srv/pics/x/b.jpg", "pics/x/a.jpg", "b.jpg"),
        ("C:\\me\\a.jpg", "pics/a.jpg", "pics/a.jpg"),
        ("/a.jpg", "photo", "a.jpg"),
        ("/srv/pics/a\\xff.jpg", "pics/a\\xff.jpg", "pics/a\\xff.jpg"),
    ],
)
def test_a_path_without_its_root(source: str, key: str, shown: str) -> None:
    """It is the alias of the root and the path, or only the name of a file that has moved."""
    assert relative(source, key) == shown


def test_no_result_of_a_job_has_a_source() -> None:
    """Operations pack results, which the server does not open again."""
    assert not any(any(source_fields(job.response.DESCRIPTOR)) for job in JOBS.values())


def test_people_answer_under_the_name_of_their_key(server: RunningServer, keys: dict[str, str]) -> None:
    """A request may name another person."""
    with Client(server.address, key=keys["write-own"]) as client:
        own = client.open(OWN)
        given = own.feedback.judge("mine", likes=["a"], person="ann")
        assert [one.person for one in given] == ["ann"]
        request = METHODS["/crossview.v1.QuestionService/Judge"].request(
            parent=f"collections/{OWN}", feedback="mine", judgements=[{"key": "c", "weight": 1}]
        )
        found = client.call(client.stubs.questions.Judge, request)
        assert {one.person for one in found.judgements} == {"ann", "write-own"}


def test_a_revoked_key_ends_at_once(home: Home, server: RunningServer) -> None:
    """It ends also in the middle of a stream, and without a restart."""
    made = Keys(home.path)
    secret, _ = made.create("short", "read", [OWN])
    request = crossview.SearchRequest([crossview.Query("v", vector=[1, 1])])
    with Client(server.address, key=secret) as client:
        answered = threading.Event()

        def requests() -> Iterator[Any]:
            yield request
            assert answered.wait(300)
            made.revoke("short")
            yield request

        stream = client.open(OWN).search_stream(requests())
        assert next(stream)
        answered.set()
        with pytest.raises(UnauthenticatedError, match="revoked"):
            list(stream)
        with pytest.raises(UnauthenticatedError):
            client.names()
    with pytest.raises(NotFoundError, match="no key 'short'; there are: "):
        made.revoke("short")


def test_an_expired_key_ends(home: Home, server: RunningServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its name stays until it is revoked."""
    made = Keys(home.path)
    secret, key = made.create("brief", "read", expires="12h")
    with Client(server.address, key=secret) as client:
        assert client.names()
        now = time.time()
        monkeypatch.setattr("crossview.server.core.keys.keys.time.time", lambda: now + 12 * 3600 + 1)
        with pytest.raises(UnauthenticatedError, match="'brief' has expired"):
            client.names()
    assert key.ends - now == pytest.approx(12 * 3600, abs=5)
    made.revoke("brief")


def test_an_asynchronous_client_sends_its_key(server: RunningServer, keys: dict[str, str]) -> None:
    """Calls and streams send it."""

    async def scene() -> list[Any]:
        async with AsyncClient(server.address, key=keys["read-own"]) as client:
            request = crossview.SearchRequest([crossview.Query("v", vector=[1, 1])], k=1)
            return [await client.names(), *[one async for one in client.collection(OWN).search_stream([request])]]

    names, found = asyncio.run(scene())
    assert names == [OWN]
    assert found[0].hits


@pytest.mark.parametrize(
    "headers",
    [
        [("authorization", "Bearer cv_secret_of_mine")],
        [("authorization", "Bearer cv_secret_of_mine")] * 2,
        [("authorization", "Basic cv_secret_of_mine")],
        [("authorization", "cv_secret_of_mine")],
    ],
)
def test_no_refusal_repeats_a_key(
    channel: grpc.Channel, headers: list[tuple[str, str]], caplog: pytest.LogCaptureFixture
) -> None:
    """Its header may be wrong in any way: neither the answer nor the log has the key."""
    method = METHODS["/crossview.v1.CollectionService/ListCollections"]
    call = channel.unary_unary(method.path, lambda one: one.SerializeToString(), method.response.FromString)
    with pytest.raises(grpc.RpcError) as refused:
        call(method.request(), metadata=headers, timeout=300)
    assert refused.value.code() is grpc.StatusCode.UNAUTHENTICATED
    assert "secret" not in f"{refused.value}{refused.value.trailing_metadata()}{caplog.text}"


def test_no_text_shows_a_key(server: RunningServer) -> None:
    """Neither errors of the client nor the representation of its parts show it."""
    with pytest.raises(InvalidInputError) as refused:
        Client(server.address, key="cv_secret\nvalue")
    assert "secret" not in str(refused.value)
    with Client(server.address, key="cv_secret_of_mine") as client:
        with pytest.raises(UnauthenticatedError) as unknown:
            client.names()
        assert "secret_of_mine" not in f"{unknown.value}{client!r}"


def test_a_home_without_keys_serves_everybody(tmp_path: Path) -> None:
    """Its first key ends this; after the last one, it serves no caller."""
    home, made = Home(tmp_path / "home"), Keys(tmp_path / "home")
    home.create(OWN, ["v=vectors:dim=2"]).close()
    with RunningServer(ServerSettings(home=home.path, port=0)) as running, Client(running.address) as client:
        assert client.names() == [OWN]
        made.create("first", "read")
        with pytest.raises(UnauthenticatedError, match="needs a key"):
            client.names()
        made.revoke("first")
        with pytest.raises(UnauthenticatedError):
            client.names()
        made.path.unlink()  # a running server stays closed
        with pytest.raises(UnauthenticatedError):
            client.names()
    with RunningServer(ServerSettings(home=home.path, port=0)) as running, Client(running.address) as client:
        assert client.names() == [OWN]
    required = ServerSettings(home=home.path, port=0, require_keys=True)
    with RunningServer(required) as running, Client(running.address) as client, pytest.raises(UnauthenticatedError):
        client.names()


def test_the_audit_log_has_a_line_for_each_change(tmp_path: Path, home: Home, keys: dict[str, str]) -> None:
    """The line states who changed how much of what, and the outcome; searches and strangers have none."""
    from crossview.server.core.keys.audit_log import _log, log_changes

    log_changes(tmp_path / "audit.jsonl")
    try:
        with RunningServer(ServerSettings(home=home.path, port=0)) as running:
            with Client(running.address, key=keys["write-own"]) as client:
                client.names()
                client.open(OWN).items.put_vectors("v", ["a", "c"], np.array([[1, 0], [1, 2]]))
                with pytest.raises(NotFoundError):
                    client.call(
                        client.stubs.collections.DeleteItems, pb.DeleteItemsRequest(parent=f"collections/{OTHER}")
                    )
                with pytest.raises(PermissionDeniedError):
                    client.delete(OWN)
            with Client(running.address) as client, pytest.raises(UnauthenticatedError):
                client.delete(OWN)
    finally:
        for handler in list(_log.handlers):
            _log.removeHandler(handler)
            handler.close()
        _log.propagate = True
    entries = [json.loads(line) for line in (tmp_path / "audit.jsonl").read_text().splitlines()]
    assert [(one["key"], one["method"], one["collection"], one["items"], one["result"]) for one in entries] == [
        ("write-own", "PutVectors", OWN, 2, "OK"),
        ("write-own", "DeleteItems", OTHER, 0, "NOT_FOUND"),
        ("write-own", "DeleteCollection", None, 0, "PERMISSION_DENIED"),
    ]
    assert stat.S_IMODE((tmp_path / "audit.jsonl").stat().st_mode) == 0o600


def test_indexing_again_needs_the_paths_of_files(tmp_path: Path, server: RunningServer, keys: dict[str, str]) -> None:
    """Otherwise it would add files as new ones."""
    (tmp_path / "pics").mkdir()
    with (
        Client(server.address, key=keys["write-own"]) as client,
        pytest.raises(NotReadyError, match="use an admin key"),
    ):
        client.open(OWN).index([tmp_path / "pics"])


def test_a_caller_without_keys_has_every_right() -> None:
    """This is the default of a transport."""
    assert Identity() == LOCAL
    assert (LOCAL.may(Scope.ADMIN), LOCAL.reaches("any"), LOCAL.paths, LOCAL.owns("")) == (True,) * 4
    assert not Identity(scope=Scope.WRITE).owns("")
