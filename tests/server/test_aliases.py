"""Collections are renamed, copied and named by aliases, here and through a server."""

import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from long_jobs import ended, endless, learning
from terminal import BOTH, done, fill_rows, reached, result_of, run

from crossview.engine.collections.home import Home
from crossview.engine.values import errors
from crossview.engine.values.item import NewItem
from crossview.engine.values.query import Query, SearchRequest
from crossview.engine.values.recipe import Recipe
from crossview.server.client.client import Client
from crossview.server.commands.backend import Backend, CollectionBackend
from crossview.server.edge.listen import RunningServer

VECTORS = np.eye(4, dtype=np.float32)


def filled(backend: Backend, name: str) -> None:
    with backend.create(name, ["v=vectors:dim=4"]) as made:
        made.items.put([NewItem(f"{name}/{number}", rows={"v": row}) for number, row in enumerate(VECTORS)])


def origin(collection: CollectionBackend) -> str:
    (found,) = collection.search(SearchRequest([Query("v", vector=VECTORS[0])], k=4))
    (name,) = {hit.key.partition("/")[0] for hit in found.hits}
    assert len(found.hits) == 4
    return name


def test_an_alias_is_usable_as_a_name(backend: Backend) -> None:
    """It serves to search, to write, and to describe; it follows a rename, and its collection cannot be deleted."""
    filled(backend, "first")
    filled(backend, "second")
    assert backend.set_alias("live", "first") == "first"
    assert backend.aliases() == {"live": "first"}
    assert "live" not in backend.names()
    with backend.open("live") as found:
        assert origin(found) == "first"
        assert found.info().name == "first"
        found.items.delete(["first/3"])
    with backend.open("first") as found:
        assert found.count() == 3
    assert backend.set_alias("also", "live") == "first"
    assert backend.set_alias("live", "second") == "second"
    with backend.open("live") as found:
        assert origin(found) == "second"
    backend.rename("second", "third")
    assert backend.aliases() == {"also": "first", "live": "third"}
    with backend.open("live") as found:
        assert origin(found) == "second"
    with pytest.raises(errors.NotReadyError, match="collection 'third' has the alias 'live': point the alias to"):
        backend.delete("third")
    backend.delete_alias("live")
    backend.delete("third")
    assert backend.aliases() == {"also": "first"}


def test_names_are_taken_once(backend: Backend) -> None:
    """A collection or an alias takes them; every refusal names the remedy."""
    filled(backend, "first")
    filled(backend, "second")
    backend.set_alias("live", "first")
    for action, words in (
        (lambda: backend.create("live"), "'live' is an alias of collection 'first'"),
        (lambda: backend.copy("second", "live"), "'live' is an alias of collection 'first'"),
        (lambda: backend.copy("second", "first"), "collection 'first' exists already"),
        (lambda: backend.rename("second", "live"), "'live' is an alias of collection 'first'"),
        (lambda: backend.rename("second", "first"), "collection 'first' exists already"),
        (lambda: backend.set_alias("second", "first"), "'second' is a collection: give the alias another name"),
    ):
        with pytest.raises(errors.AlreadyExistsError, match=words):
            action()
    for action in (lambda: backend.delete("live"), lambda: backend.rename("live", "new")):
        with pytest.raises(errors.InvalidInputError, match="name the collection itself, or delete the alias"):
            action()
    for action in (
        lambda: backend.set_alias("Bad", "first"),
        lambda: backend.set_alias("../out", "first"),
        lambda: backend.rename("second", "Bad name"),
        lambda: backend.copy("second", ""),
    ):
        with pytest.raises(errors.InvalidInputError, match="cannot name a collection"):
            action()
    for action in (
        lambda: backend.set_alias("new", "nobody"),
        lambda: backend.rename("nobody", "new"),
        lambda: backend.copy("nobody", "new"),
        lambda: backend.open("nobody"),
    ):
        with pytest.raises(errors.NotFoundError, match=r"no collection 'nobody'; there are: .*; aliases: live"):
            action()
    with pytest.raises(errors.NotFoundError, match="no alias 'new'; there are: live"):
        backend.delete_alias("new")
    with pytest.raises(errors.InvalidInputError, match="'first' is a collection, not an alias"):
        backend.delete_alias("first")


def test_a_collection_is_renamed_and_its_name_is_free(backend: Backend) -> None:
    """With ``keep_alias`` the old name continues to work."""
    filled(backend, "first")
    with backend.open("first") as found:
        assert origin(found) == "first"
    backend.rename("first", "second")
    with pytest.raises(errors.NotFoundError, match="no collection 'first'"):
        backend.open("first")
    filled(backend, "first")
    backend.rename("second", "third", keep_alias=True)
    assert backend.aliases() == {"second": "third"}
    with backend.open("second") as found:
        assert (found.info().name, origin(found)) == ("third", "first")


def test_a_copy_is_a_collection_of_its_own(backend: Backend) -> None:
    """A copy of a trained collection is one, too."""
    with backend.copy("drawn", "again") as copy, backend.open("drawn") as drawn:
        assert copy.info().name == "again"
        assert copy.items(limit=3) == drawn.items(limit=3)
        request = SearchRequest([Query("color", key=drawn.items(limit=1)[0].key)], k=3)
        assert copy.search(request) == drawn.search(request)
        copy.items.delete([copy.items(limit=1)[0].key])
        assert copy.count() == drawn.count() - 1


def test_open_clients_of_a_server_follow_an_alias(server: RunningServer, nothing_stays: None) -> None:
    """Every call answers from the old collection or the new one, in 210 switches, also if the old one is deleted."""
    home = server.collections.home
    elsewhere = Home(home.path)
    filled(home, "round-0")
    elsewhere.set_alias("live", "round-0")
    stop, failed, answers = threading.Event(), [], [0, 0]

    def read(reader: int) -> None:
        with Client(server.address) as client:
            live = client.open("live")
            while not stop.is_set():
                try:
                    assert origin(live) == "round-0"
                    assert live.count() == 4
                    answers[reader] += 1
                except Exception as error:  # noqa: BLE001 - any error fails the test
                    failed.append(error)

    readers = [threading.Thread(target=read, args=(reader,)) for reader in range(2)]
    for one in readers:
        one.start()
    try:
        with Client(server.address) as client:
            for number in range(10):
                elsewhere.copy(f"round-{number}", f"round-{number + 1}").close()
                for _ in range(10):
                    elsewhere.set_alias("live", f"round-{number + 1}")
                    elsewhere.set_alias("live", f"round-{number}")
                client.set_alias("live", f"round-{number + 1}")
                client.delete(f"round-{number}")
    finally:
        stop.set()
        for one in readers:
            one.join()
    assert failed == []
    assert min(answers) > 10


def test_a_job_of_an_alias_stays_with_its_collection(server: RunningServer, nothing_stays: None) -> None:
    """Its collection is that of the moment of its submission; and no collection with a job is renamed."""
    with Client(server.address) as client:
        fill_rows(server.collections.home, 8)
        filled(client, "second")
        client.set_alias("live", "rows")
        first = client.open("live").detached().train(endless())
        second = client.open("live").detached().train(Recipe(spec="pca", views=("color",)))
        client.set_alias("live", "second")
        learning(client, first.id)
        with pytest.raises(errors.BusyError, match="'rows' has jobs that have not ended"):
            client.rename("rows", "third")
        with pytest.raises(errors.BusyError, match="a training, an import or other long work uses collection 'rows'"):
            server.collections.home.rename("rows", "third")
        client.jobs.cancel(first.id)
        assert ended(client, second.id).state == "done"
        assert client.jobs.get(second.id).collection == "rows"
        assert [space.name for space in client.open("rows").spaces()] == ["pca", "raw"]
        client.rename("rows", "third", keep_alias=True)
        assert client.open("rows").count() == 16


@pytest.fixture(params=BOTH)
def where(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[list[str]]:
    """The options that choose the backend of a home with the collection ``pets``."""
    home = Home(tmp_path / "home")
    filled(home, "pets")
    with reached(home, request.param) as options:
        yield options


def test_the_commands_state_what_they_did(where: list[str]) -> None:
    """The command line makes a blue and green switch, and its mistakes."""
    assert "no aliases; make one with: crossview alias" in done("alias", *where)
    assert done("rename", "pets", "pets-1", "--keep-alias", *where) == (
        "renamed pets to pets-1; pets is now its alias\n"
    )
    assert done("copy", "pets", "pets-2", "--quiet", *where) == "copied pets to pets-2: 4 items, 1 spaces\n"
    assert done("alias", "pets", "pets-2", *where) == "pets is now an alias of pets-2\n"
    assert done("alias", *where) == "alias\tcollection\npets\tpets-2\n"
    assert result_of("alias", *where) == [{"alias": "pets", "collection": "pets-2"}]
    refused = run("delete", "pets-2", "--yes", *where).stderr
    assert "crossview alias" in refused
    assert " pets NAME" in refused
    assert done("delete", "pets-1", "--yes", *where) == "deleted pets-1\n"
    assert done("alias", "pets", "--delete", *where) == "deleted alias pets\n"
    assert run("alias", "pets", *where).exit_code == 2
    assert run("alias", "--delete", *where).exit_code == 2
