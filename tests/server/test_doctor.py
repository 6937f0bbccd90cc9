"""The doctor names each fault, with a remedy, and its exit code is 1 for errors."""

import os
import shutil
import socket
import sqlite3
import sys
from collections import namedtuple
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from certificates import authority
from packages import install
from terminal import fill_rows, result_of, run

from crossview.engine.collections.home import Home
from crossview.engine.values.errors import StorageError


@pytest.fixture
def place(tmp_path: Path) -> Path:
    fill_rows(Home(tmp_path / "home"), 2)
    return tmp_path


def found(place: Path, config: str = "", status: int = 0) -> dict[str, Any]:
    """Return the checks by name, the worst of each."""
    file = place / "crossview.toml"
    file.write_text(config or "port = 0")
    result = result_of("doctor", "--home", place / "home", "--config", file, status=status)
    assert result["healthy"] == (status == 0)
    ranks = {"ok": 0, "warning": 1, "error": 2}
    assert all(one["remedy"] for one in result["checks"] if one["level"] != "ok")
    return {one["check"]: one for one in sorted(result["checks"], key=lambda one: ranks[one["level"]])}


def test_a_healthy_home(place: Path) -> None:
    checks = found(place)
    assert checks["collection rows"]["message"] == "4 items"
    assert {checks[name]["level"] for name in ("settings", "python", "libraries", "home", "collection rows")} == {"ok"}
    printed = run("doctor", "--home", place / "home")
    assert printed.exit_code == 0
    assert "ok       collection rows: 4 items" in printed.stdout


def test_collections_that_do_not_open(place: Path) -> None:
    """The others are checked as well; an old one is not migrated, and a newer one is refused by every command."""
    home = Home(place / "home")
    for name in ("damaged", "newer", "older"):
        home.create(name, ["color"]).close()
    (home.path / "damaged" / "catalog.db").write_bytes(b"x" * 4096)
    for name, version in (("newer", "9999"), ("older", "0010")):
        with closing(sqlite3.connect(home.path / name / "catalog.db")) as database, database:
            database.execute("UPDATE alembic_version SET version_num = ?", (version,))
    checks = found(place, status=1)
    assert checks["collection damaged"]["level"] == "error"
    assert "schema version 9999, newer than version" in checks["collection newer"]["message"]
    assert "schema version 0010: its next use updates it" in checks["collection older"]["message"]
    assert checks["collection older"]["level"] == "warning"
    assert checks["collection rows"]["level"] == "ok"
    with pytest.raises(StorageError, match=r"newer than version .* of this crossview: upgrade crossview"):
        home.open("newer")
    refused = run("serve", "--home", home.path, "--port", 0, "--load", "newer")
    assert refused.exit_code == 1
    assert "upgrade crossview" in refused.stderr


def test_a_home_that_others_can_read_and_leftovers(place: Path) -> None:
    home = place / "home"
    home.chmod(0o755)
    (home / f".new-{'0' * 32}").mkdir()
    (home / ".import-flowers").mkdir()
    checks = found(place)
    assert checks["home"]["remedy"] == f"chmod -R go= {home}"
    assert checks["leftovers"]["message"] == "an unfinished import of flowers"
    shutil.rmtree(home)
    assert "does not exist" in found(place)["home"]["message"]
    home.touch()
    assert "is a file" in found(place, status=1)["home"]["message"]


def test_settings_ports_and_certificates(place: Path) -> None:
    ours = authority(place)
    old, old_key = ours.sign("old", days=-1)
    soon, soon_key = ours.sign("soon", days=3)
    soon_key.chmod(0o644)
    assert "did you mean 'port'" in found(place, "prot = 1", 1)["settings"]["message"]
    assert "is open to the network" in found(place, "host = '0.0.0.0'\nport = 0", 1)["exposure"]["message"]
    checks = found(place, f"port = 0\ntls_cert = '{old}'\ntls_key = '{old_key}'", 1)
    assert "has expired" in checks["certificate"]["message"]
    checks = found(place, f"port = 0\ntls_cert = '{soon}'\ntls_key = '{soon_key}'\nsocket = '{soon}'", 1)
    assert checks["certificate"]["remedy"] == f"chmod 600 {soon_key}"
    assert "is not a socket" in checks["socket"]["message"]
    with closing(socket.socket()) as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        assert "is in use" in found(place, f"port = {taken.getsockname()[1]}")["port"]["message"]


def test_a_full_disk_and_a_machine_that_is_too_small(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda _: namedtuple("Usage", "free")(10_000_000))
    monkeypatch.setattr("resource.getrlimit", lambda _: (256, 256))
    monkeypatch.setattr("crossview.server.commands.doctor_checks._available_memory", lambda: 2**28)
    checks = found(place, status=1)
    assert checks["disk"]["level"] == "error"
    assert checks["memory"]["level"] == "warning"
    assert checks["descriptors"]["remedy"] == "ulimit -n 65536"
    assert os.path.isdir(place / "home")


def test_libraries_that_are_old_or_missing(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    needed = ["numpy>=99.0", "lark>=1.2", "nowhere>=1; extra == 'engine'", "elsewhere>=1; extra == 'dev'", "odd"]
    monkeypatch.setattr("importlib.metadata.requires", lambda _: needed)
    result = result_of("doctor", "--home", place / "home", status=1)
    messages = [one["message"] for one in result["checks"] if one["check"] == "libraries"]
    assert messages[0].startswith("missing: nowhere")
    assert messages[1].endswith("is older than 99.0")


PACKAGED = """
from crossview.extractors import ImageExtractor
from crossview.learners import PCA

class Light(ImageExtractor):
    name, dim = "light", 3

    def row(self, image):
        return image.mean(axis=(0, 1))

class Short(PCA):
    name = "short"
"""


def test_packages_that_fail_and_views_whose_package_is_gone(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Working packages are named, too; a package that fails hides no other, and its collections open."""
    site = place / "site"
    install(site, "good-views", "crossview.extractors", {"light": "good_views:Light"}, PACKAGED)
    install(site, "good-learners", "crossview.learners", {"short": "good_learners:Short"}, PACKAGED)
    install(site, "bad-views", "crossview.extractors", {"gone": "bad_views.gone:Gone"}, "")
    install(site, "bad-learners", "crossview.learners", {"plain": "bad_learners:plain"}, "plain = 3")
    install(site, "taken", "crossview.extractors", {"color": "taken:Color"}, "")
    monkeypatch.syspath_prepend(site)
    Home(place / "home").create("art", ["color", "light"]).close()
    checks = found(place, status=1)
    levels = {name: one["level"] for name, one in checks.items() if name.startswith("package ")}
    good, bad = ("good-views", "good-learners"), ("bad-views", "bad-learners", "taken")
    assert levels == {f"package {one}": "ok" for one in good} | {f"package {one}": "error" for one in bad}
    assert checks["package good-views"]["message"] == "extractor 'light' of the package good-views 1.2"
    assert "cannot be loaded from bad_views.gone:Gone" in checks["package bad-views"]["message"]
    assert "must be a subclass of MultiViewLearner" in checks["package bad-learners"]["message"]
    assert "is never used: crossview itself has this name" in checks["package taken"]["message"]
    assert checks["package taken"]["remedy"] == "pip install --upgrade taken, or pip uninstall taken"
    assert checks["collection art"]["level"] == "ok"

    sys.path.remove(str(site))
    sys.modules.pop("good_views")
    checks = found(place)
    assert checks["view light of art"]["level"] == "warning"
    assert "of the package good-views 1.2, which is not installed" in checks["view light of art"]["message"]
    assert not [name for name in checks if name.startswith("package ")]
