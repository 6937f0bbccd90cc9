"""The file of the keys is private and atomic, and any fault in the file closes the server."""

import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from crossview.engine.values.errors import InvalidInputError, StorageError
from crossview.server.client.client import Client
from crossview.server.core.keys.keys import FILE, KeyRing, Keys
from crossview.server.edge.listen import RunningServer
from crossview.server.wire.errors import UnauthenticatedError
from crossview.server.wire.identity import Scope
from crossview.server.wire.settings import ServerSettings


def test_the_file_of_the_keys(tmp_path: Path) -> None:
    """It is private, has no key, and a damaged or foreign one closes the server."""
    made = Keys(tmp_path / "home")
    before = os.umask(0)
    try:
        secret, _ = made.create("one", "read", expires="90d")
    finally:
        os.umask(before)
    assert stat.S_IMODE(made.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(made.path.parent.stat().st_mode) == 0o700
    assert secret.split("_", 2)[2] not in made.path.read_text()
    ring = KeyRing(tmp_path / "home")
    assert ring.required()
    assert ring.identity(secret).name == "one"
    with pytest.raises(UnauthenticatedError):
        ring.identity(secret[:-1] + ("A" if secret[-1] != "A" else "B"))
    content = made.path.read_text()
    for damaged in ("", "[]", "{}", content.replace('"version": 2', '"version": 3'), content.replace("read", "root")):
        made.path.write_text(damaged)
        with pytest.raises(StorageError):
            ring.required()
        with pytest.raises(UnauthenticatedError):
            ring.identity(secret)
    made.path.write_text(content)
    made.path.chmod(0o666)
    with pytest.raises(StorageError, match="other users may write"):
        KeyRing(tmp_path / "home").required()
    made.path.unlink()
    made.path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StorageError):
        KeyRing(tmp_path / "home").required()


def test_a_damaged_file_closes_a_server(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The caller learns no path; the log has it."""
    Keys(tmp_path / "home").create("one", "read")
    (tmp_path / "home" / FILE).write_text("{")
    with (
        RunningServer(ServerSettings(home=tmp_path / "home", port=0)) as running,
        Client(running.address) as client,
        pytest.raises(UnauthenticatedError, match="cannot read its keys") as refused,
    ):
        client.names()
    assert str(tmp_path) not in str(refused.value)
    assert str(tmp_path) in caplog.text


def test_changes_at_once_lose_nothing(tmp_path: Path) -> None:
    """Many create and revoke keys while a server reads them."""
    ring = KeyRing(tmp_path)
    kept, _ = Keys(tmp_path).create("kept", "admin")

    def change(number: int) -> str:
        secret, _ = Keys(tmp_path).create(f"key-{number}", "read")
        if number % 2:
            Keys(tmp_path).revoke(f"key-{number}")
        return secret

    with ThreadPoolExecutor(8) as threads:
        changes = [threads.submit(change, number) for number in range(40)]
        while not all(one.done() for one in changes):
            assert ring.required()
            assert ring.identity(kept).scope is Scope.ADMIN
    assert [one.name for one in Keys(tmp_path).all()] == sorted(["kept", *(f"key-{one}" for one in range(0, 40, 2))])
    assert ring.required()
    for number, one in enumerate(changes):
        if number % 2:
            with pytest.raises(UnauthenticatedError):
                ring.identity(one.result())
        else:
            assert ring.identity(one.result()).name == f"key-{number}"
    assert sorted(path.name for path in tmp_path.iterdir()) == [FILE, ".names", ".names.next"]


@pytest.mark.parametrize(
    ("name", "options", "error"),
    [
        ("Upper", {"scope": "read"}, "cannot name a key"),
        ("one", {"scope": "root"}, "read, write or admin, not 'root'"),
        ("one", {"scope": "read", "expires": "5"}, "not a duration"),
        ("one", {"scope": "read", "expires": "999999y"}, "after the year 9999"),
        ("one", {"scope": "read", "collections": []}, "is empty"),
        ("one", {"scope": "read", "collections": ["../x"]}, "not the name of a collection"),
        ("one", {"scope": "admin", "collections": ["a"]}, "has every collection"),
    ],
)
def test_a_key_that_cannot_be(tmp_path: Path, name: str, options: dict[str, Any], error: str) -> None:
    """Each message states the value and the possible ones."""
    with pytest.raises(InvalidInputError, match=error):
        Keys(tmp_path).create(name, **options)
    assert not (tmp_path / FILE).exists()
