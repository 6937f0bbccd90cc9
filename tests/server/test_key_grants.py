"""Keys follow their collections through every name, to no other collection, and through every method and command."""

import ast
import json
import logging
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from keyed import called, requests_naming
from long_jobs import until
from terminal import run

from crossview.engine.collections.home import Home
from crossview.engine.values.errors import CrossviewError, InvalidInputError, NotFoundError, StorageError
from crossview.engine.values.item import NewItem
from crossview.engine.values.recipe import Recipe
from crossview.server.client.client import Client
from crossview.server.core.cache import OpenCollections
from crossview.server.core.jobs.jobs import Jobs
from crossview.server.core.keys.keys import FILE, KeyRing, Keys
from crossview.server.edge.listen import RunningServer
from crossview.server.wire.identity import Identity, acting
from crossview.server.wire.methods import METHODS, Method
from crossview.server.wire.settings import ServerSettings
from crossview.v1 import collections_pb2 as pb
from crossview.v1.jobs_pb2 import SubmitJobRequest

SERVER = Path(__file__).resolve().parents[2] / "server"


def fill(home: Home, name: str, mark: str) -> None:
    """Make a collection of two items whose label is the mark."""
    with home.create(name, ["v=vectors:dim=2"]) as collection:
        collection.items.put([NewItem(key, rows={"v": [1, 2]}, labels=[mark]) for key in "ab"])


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = Home(tmp_path / "home")
    fill(made, "pets", "old")
    return made


@pytest.fixture
def ring(home: Home) -> KeyRing:
    return KeyRing(home.path)


def reached(ring: KeyRing, secret: str) -> set[str]:
    """Return the names that a key may use at this moment."""
    assert ring.required()
    identity = ring.identity(secret)
    return {name for name in ("pets", "dogs", "live", "new", "again") if identity.reaches(name)}


def make_earlier(home: Home) -> None:
    """Store the keys as the last version did: by the names of collections."""
    stored = json.loads((home.path / FILE).read_text())
    for key in stored["keys"]:
        key["collections"] = key["collections"] and [one["name"] for one in key["collections"]]
    (home.path / FILE).write_text(json.dumps({**stored, "version": 1}))


@pytest.mark.parametrize("earlier", [False, True], ids=["new", "earlier"])
def test_a_key_follows_its_collection(home: Home, ring: KeyRing, earlier: bool) -> None:
    """The collection is renamed, and its old name is another one's; also for a key that an earlier version stored."""
    secret, _ = Keys(home.path).create("site", "write", ["pets"])
    if earlier:
        make_earlier(home)
        assert reached(ring, secret) == {"pets"}  # the first use binds it
    home.rename("pets", "dogs")
    fill(home, "pets", "new")
    assert reached(ring, secret) == {"dogs"}
    assert reached(KeyRing(home.path), secret) == {"dogs"}
    home.rename("pets", "new")
    home.rename("dogs", "pets")
    assert reached(ring, secret) == {"pets"}
    home.rename("pets", "again", keep_alias=True)
    assert reached(ring, secret) == {"again", "pets"}
    home.set_alias("pets", "new")
    assert reached(ring, secret) == {"again"}


def test_what_takes_the_name_of_a_deleted_collection_is_no_ones(home: Home, ring: KeyRing, tmp_path: Path) -> None:
    """It is created, copied, restored or imported; a restored state of the same collection stays the keys'."""
    secret, _ = Keys(home.path).create("site", "read", ["pets"])
    home.backup("pets", tmp_path / "copy.db")
    home.export("pets", tmp_path / "export")
    home.restore("pets", tmp_path / "copy.db", replace=True).close()
    assert reached(ring, secret) == {"pets"}
    home.copy("pets", "dogs").close()
    assert reached(ring, secret) == {"pets"}
    for again in (
        lambda: fill(home, "pets", "new"),
        lambda: home.copy("dogs", "pets").close(),
        lambda: home.restore("pets", tmp_path / "copy.db").close(),
        lambda: home.import_("pets", tmp_path / "export").close(),
    ):
        home.delete("pets")
        again()
        assert reached(ring, secret) == set()
    Keys(home.path).grant("site", "pets")
    assert reached(ring, secret) == {"pets"}
    with pytest.raises(NotFoundError):
        Keys(home.path).grant("site", "nobody")


def test_an_alias_is_a_name(home: Home, ring: KeyRing) -> None:
    """Its key reaches its present collection, by this name alone, and never a collection that takes the name."""
    fill(home, "dogs", "other")
    home.set_alias("live", "pets")
    secret, _ = Keys(home.path).create("site", "read", ["live"])
    assert reached(ring, secret) == {"live"}
    home.set_alias("live", "dogs")
    assert reached(ring, secret) == {"live"}
    home.delete_alias("live")
    fill(home, "live", "new")
    assert reached(ring, secret) == set()


def test_a_name_that_does_not_exist_yet_is_bound_when_it_does(home: Home, ring: KeyRing) -> None:
    """The first call of any key binds it, or the command that frees the name."""
    first, _ = Keys(home.path).create("first", "read", ["new"])
    second, _ = Keys(home.path).create("second", "read", ["again"])
    assert reached(ring, first) == {"new"}
    fill(home, "new", "x")
    assert reached(ring, second) == {"again"}  # a call of another key
    home.rename("new", "dogs")
    assert reached(ring, first) == {"dogs"}
    fill(home, "again", "x")
    assert run("rename", "again", "live", "--home", home.path).exit_code == 0
    assert reached(KeyRing(home.path), second) == {"live"}


def test_a_home_that_cannot_be_written_serves_its_keys_by_name(
    home: Home, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Its names cannot change either; the log states it once."""
    secret, _ = Keys(home.path).create("site", "read", ["pets"])
    make_earlier(home)

    def refused(_keys: Keys) -> None:
        raise StorageError("the file system is read-only")

    os.utime(home.path, (1, 1))
    with monkeypatch.context() as patch:
        patch.setattr(Keys, "bind", refused)
        ring = KeyRing(home.path)
        assert [reached(ring, secret) for _ in range(3)] == [{"pets"}] * 3
        assert caplog.text.count("cannot bind keys") == 1


def test_keys_of_published_collections_are_for_names(home: Home) -> None:
    """The home of such a server has only the keys."""
    secret, _ = Keys(home.path).create("site", "read", ["pets"])
    home.rename("pets", "dogs")
    assert reached(KeyRing(home.path, published=True), secret) == {"pets"}


# -- every door


@pytest.fixture(scope="module")
def renamed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[RunningServer, dict[str, str]]]:
    """A server with the collection ``dogs``, once ``pets``, and a new ``pets``; and keys for the first one."""
    home = Home(tmp_path_factory.mktemp("renamed") / "home")
    fill(home, "pets", "old")
    secrets = {scope: Keys(home.path).create(scope, scope, ["pets"])[0] for scope in ("read", "write")}
    with RunningServer(ServerSettings(home=home.path, port=0)) as running:
        with Client(running.address, key=secrets["read"]) as client:
            assert client.open("pets").count() == 2
        home.rename("pets", "dogs")
        fill(home, "pets", "classified")
        yield running, secrets


CASES = [
    pytest.param(method, number, id=f"{method.name}-{number}")
    for method in METHODS.values()
    for number in range(len(requests_naming(method, "pets", "dogs", "new-name")))
]


@pytest.mark.parametrize(("method", "number"), CASES)
def test_no_method_gives_an_old_key_the_new_collection(
    renamed: tuple[RunningServer, dict[str, str]], method: Method, number: int
) -> None:
    """The test is a matrix of all methods and all fields of their requests that name a collection."""
    running, secrets = renamed
    with grpc.insecure_channel(running.address) as channel:
        seen = []
        for name in ("pets", "nobody"):
            request = requests_naming(method, name, "dogs", "new-name")[number]
            code, message, response = called(channel, method, request, secrets["write"])
            assert response is None or not str(response)
            assert "classified" not in message
            seen.append((code, message.replace(name, "NAME")))
    assert seen[0] == seen[1]
    assert seen[0][0] in (grpc.StatusCode.NOT_FOUND, grpc.StatusCode.PERMISSION_DENIED)


def test_the_renamed_collection_is_open(renamed: tuple[RunningServer, dict[str, str]]) -> None:
    """It has its new name, which lists show."""
    running, secrets = renamed
    with Client(running.address, key=secrets["write"]) as client:
        assert client.names() == ["dogs"]
        collection = client.open("dogs")
        assert collection.items.get("a").labels == ("old",)
        collection.items.put([NewItem("c", rows={"v": [2, 1]})])
        assert collection.train(Recipe(spec="pca", views=("v",), dim=1)).name == "pca"


def test_pages_of_a_search_belong_to_their_key(renamed: tuple[RunningServer, dict[str, str]]) -> None:
    """Another key with the token reads nothing, and does not close them."""
    running, secrets = renamed
    search = METHODS["/crossview.v1.SearchService/Search"]
    query: Any = {"vector": {"values": [1, 2]}, "view": "v"}
    with grpc.insecure_channel(running.address) as channel:
        first = search.request(parent="collections/dogs", page_size=1, queries=[query], k=2)
        _, message, page = called(channel, search, first, secrets["write"])
        assert page is not None, message
        second = search.request(parent="collections/dogs", page_size=1, page_token=page.next_page_token)
        assert called(channel, search, second, secrets["read"])[0] is grpc.StatusCode.NOT_FOUND
        assert called(channel, search, second, secrets["write"])[0] is grpc.StatusCode.OK


DOORS = {
    (
        "core/dispatch/permission.py",
        "permit",
    ): "every name in a request, of every method and transport; pages call methods",
    ("core/cache.py", "_used"): "a collection that a service has just opened",
    ("core/jobs/job_service.py", "ListOperations"): "the collection of a filter",
    ("core/services/collection_service.py", "ListCollections"): "each listed name",
    ("core/services/collection_service.py", "ListAliases"): "each listed alias",
}
"""The functions that ask for the right to a collection, all through ``Identity``."""


def test_every_door_asks_the_one_check() -> None:
    """Only ``Identity`` reads the collections of a key; a new one fails here until it is listed."""
    doors, lookers = set(), set()
    for path in SERVER.rglob("*.py"):
        file = str(path.relative_to(SERVER))
        if file.startswith(("wire/pb/", "core/keys/keys.py")):  # what makes the grants
            continue
        tree = ast.parse(path.read_text())
        for function in ast.walk(tree):
            if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            for node in ast.walk(function):
                if isinstance(node, ast.Attribute) and node.attr in ("reaches", "check_reaches"):
                    doors.add((file, function.name))
                if isinstance(node, ast.Compare) and any("collections" in ast.unparse(one) for one in node.comparators):
                    lookers.add((file, function.name))
    assert doors - {("wire/identity.py", "check_reaches")} == DOORS.keys()
    assert lookers == {("wire/identity.py", "reaches")}


def test_a_name_that_changes_hands_during_a_call_opens_nothing(home: Home) -> None:
    """The right is checked again once the collection is open."""
    secret, _ = Keys(home.path).create("site", "read", ["pets"])
    ring = KeyRing(home.path)
    assert ring.required()
    who = ring.identity(secret)
    collections = OpenCollections(home)
    with acting(who), collections.use("pets") as collection:
        assert collection.count() == 2
    assert who.reaches("pets")
    home.rename("pets", "dogs")
    fill(home, "pets", "new")
    with acting(who), pytest.raises(NotFoundError), collections.use("pets"):
        pass
    with collections.use("pets") as collection:
        assert collection.count() == 2
    collections.close()


def test_a_waiting_job_does_not_run_in_another_collection(home: Home) -> None:
    """It fails like one whose collection is deleted."""
    jobs = Jobs(home)
    try:
        request = SubmitJobRequest(train=pb.TrainRequest(parent="collections/pets", learner="pca", dim=1))
        slots_full = jobs.submit(request)[0].name.rpartition("/")[2]
        until(lambda: jobs.records.get(slots_full).done)
        identity = jobs.records.identity_of(slots_full)
        home.rename("pets", "dogs")
        fill(home, "pets", "new")
        assert jobs.records.identity_of(slots_full) == identity
        (slot, *_) = jobs._slots
        with pytest.raises(NotFoundError, match="deleted or renamed"):
            slot._check_collection(SubmitJobRequest(train=request.train, request_id=slots_full))
    finally:
        jobs.close()


# -- what the commands state


def test_the_commands_name_the_keys(home: Home, tmp_path: Path) -> None:
    """They are the commands that free a name, and those that take one back; the list shows the collections of a key."""

    def done(*words: Any) -> Any:
        result = run(*words, "--home", home.path)
        assert result.exit_code == 0, result.output
        return result

    def listed() -> list[str]:
        return [line.split("\t")[2] for line in done("key", "list").stdout.splitlines()[1:]]

    done("key", "create", "site", "--scope", "read", "--collections", "pets")
    done("key", "create", "every", "--scope", "read")
    done("backup", "pets", tmp_path / "copy.db")
    assert "keys of the collection, site: follow it to dogs" in done("rename", "pets", "dogs").stderr
    assert listed() == ["all", "dogs"]
    assert "site: keep it" in done("restore", "dogs", tmp_path / "copy.db", "--yes").stderr
    assert "site: lost it" in done("delete", "dogs", "--yes").stderr
    assert listed() == ["all", "a deleted collection (once pets)"]
    restored = done("restore", "pets", tmp_path / "copy.db")
    assert "crossview key grant KEY-NAME pets" in restored.stderr
    (site,) = [one for one in json.loads(done("key", "list", "--json").stdout)["result"] if one["name"] == "site"]
    assert (site["collections"], site["deleted"]) == ([], ["pets"])
    assert "site (read, pets, never expires)" in done("key", "grant", "site", "pets").stdout
    assert listed() == ["all", "pets"]
    assert "every" not in restored.stderr
    with pytest.raises(InvalidInputError, match="every collection already"):
        Keys(home.path).grant("every", "pets")


def test_a_server_logs_the_keys(home: Home, caplog: pytest.LogCaptureFixture) -> None:
    """Its callers learn nothing about the keys of others."""
    Keys(home.path).create("site", "read", ["pets"])
    admin, _ = Keys(home.path).create("boss", "admin")
    caplog.set_level(logging.INFO, "crossview.server")
    with (
        RunningServer(ServerSettings(home=home.path, port=0)) as running,
        Client(running.address, key=admin) as client,
    ):
        client.rename("pets", "dogs")
        client.delete("dogs")
    assert "collection 'pets' is now 'dogs', and these keys keep it: site" in caplog.text
    assert "collection 'dogs' is deleted, so these keys lose it: site" in caplog.text


@pytest.mark.parametrize("through", ["command", "server"])
def test_the_keys_of_a_kept_name_follow_the_alias(home: Home, ring: KeyRing, through: str) -> None:
    """Programs do this that search a collection while another one replaces it; a key for the new name stays there."""
    fill(home, "new", "next")
    secret, _ = Keys(home.path).create("site", "read", ["pets"])
    if through == "command":
        noted = run("rename", "pets", "again", "--keep-alias", "--home", home.path).stderr
        assert "site: follow it to again, and keep the alias pets" in noted
    else:
        admin, _ = Keys(home.path).create("boss", "admin")
        with (
            RunningServer(ServerSettings(home=home.path, port=0)) as running,
            Client(running.address, key=admin) as client,
        ):
            client.rename("pets", "again", keep_alias=True)
    other, _ = Keys(home.path).create("other", "read", ["again"])
    assert reached(ring, secret) == reached(ring, other) == {"again", "pets"}
    home.set_alias("pets", "new")
    assert reached(ring, secret) == {"again", "pets"}
    assert reached(ring, other) == {"again"}


def test_a_damaged_identity_gives_nobody_the_collection(home: Home, ring: KeyRing) -> None:
    """No key reaches it, nor can one be made for it; a caller without a key still reaches it."""
    secret, _ = Keys(home.path).create("site", "read", ["pets"])
    (home.path / "pets" / "identity").write_text("x")
    os.utime(home.path)
    assert reached(ring, secret) == set()
    with pytest.raises(CrossviewError, match="identity of collection 'pets' is damaged"):
        Keys(home.path).create("other", "read", ["pets"])
    assert Identity().reaches("pets")
