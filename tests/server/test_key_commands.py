"""The commands on keys, and commands with a key: a real command line and a real server."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from terminal import run

from crossview.engine.collections.home import Home
from crossview.engine.values.item import NewItem
from crossview.server.edge.listen import RunningServer
from crossview.server.wire.settings import ServerSettings


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = Home(tmp_path / "home")
    for name in ("pets", "secret"):
        with made.create(name, ["v=vectors:dim=2"]) as collection:
            collection.items.put([NewItem("a", rows={"v": [1, 2]}, source="/home/ann/pics/a")])
    return made


@pytest.fixture
def address(home: Home) -> Iterator[str]:
    with RunningServer(ServerSettings(home=home.path, port=0)) as running:
        yield running.address


def created(home: Home, *options: str) -> str:
    """Return the key that a command prints, alone on stdout."""
    result = run("key", "create", *options, "--home", home.path)
    assert result.exit_code == 0, result.output
    (line,) = result.stdout.splitlines()
    return str(line)


def test_a_key_from_its_creation_to_its_end(home: Home, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server runs all the time; only the creation prints a key."""
    assert run("list", "--server", address).stdout.split() == ["pets", "secret"]
    key = created(home, "website", "--scope", "read", "--collections", "pets", "--expires", "90d")
    assert "the server needs a key: give it as --api-key" in run("list", "--server", address).stderr
    assert run("list", "--server", address, "--api-key", key).stdout.split() == ["pets"]
    monkeypatch.setenv("CROSSVIEW_KEY", key)
    assert run("list", "--server", address).stdout.split() == ["pets"]
    shown = json.loads(run("item", "show", "pets", "a", "--server", address, "--json").stdout)["result"]
    assert shown["source"] == "a"
    refused, missing = (run("show", name, "--server", address) for name in ("secret", "nobody"))
    assert refused.stderr.replace("secret", "nobody") == missing.stderr
    assert f"list the collections of the key with: crossview list --server {address}" in missing.stderr
    assert "needs 'write'" in run("view", "add", "pets", "color", "--server", address).stderr
    assert run("job", "list", "--server", address).stdout.strip() == "no jobs"
    listed = run("key", "list", "--home", home.path)
    assert [line.split("\t")[:3] for line in listed.stdout.splitlines()] == [
        ["key", "scope", "collections"],
        ["website", "read", "pets"],
    ]
    revoked = run("key", "revoke", "website", "--home", home.path)
    assert "servers of this home refuse every call" in revoked.stderr
    gone = run("list", "--server", address)
    assert "it was revoked" in gone.stderr
    assert key not in listed.output + revoked.output + gone.output + refused.output


def test_the_commands_report_mistakes(home: Home) -> None:
    """A report is one line that names the remedy."""
    created(home, "one", "--scope", "write")
    for words, message in (
        (("create", "one", "--scope", "read"), "revoke it first with: crossview key revoke"),
        (("create", "two", "--scope", "root"), "read, write or admin, not 'root'"),
        (("create", "two", "--scope", "read", "--expires", "soon"), "such as 12h, 90d or 1y"),
        (("create", "two"), "Missing option '--scope'"),
        (("revoke", "two"), "no key 'two'; there are: one"),
    ):
        result = run("key", *words, "--home", home.path)
        assert result.exit_code != 0
        assert message in result.output
    assert (
        "the home has no collection perts yet"
        in run("key", "create", "two", "--scope", "read", "--collections", "perts", "--home", home.path).stderr
    )


def test_a_key_is_for_a_server(home: Home) -> None:
    """A local home has none."""
    result = run("list", "--home", home.path, "--api-key", "cv_secret")
    assert "--api-key is for a server" in result.output
    assert "cv_secret" not in result.output
