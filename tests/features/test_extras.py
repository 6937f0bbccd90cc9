"""The command that installs an extra fits the way in which this copy was installed, and one place builds it."""

import json
import re
import shlex
import sys
from pathlib import Path

import pytest

from crossview.features import extras
from crossview.features.errors import ImageError
from crossview.features.extras import install_command, lacking

ROOT = Path(__file__).parents[2]
ROOMS = ("crossview", "engine", "features", "index", "server")


class _Installed:
    """A distribution whose installer recorded this origin."""

    def __init__(self, origin: object) -> None:
        self._origin = origin

    def read_text(self, name: str) -> str | None:
        assert name == "direct_url.json"
        return None if self._origin is None else json.dumps(self._origin)


@pytest.fixture(autouse=True)
def _anew():
    install_command.cache_clear()
    yield
    install_command.cache_clear()


# The origins are as PEP 610 has them.
@pytest.mark.parametrize(
    ("origin", "words"),
    [
        (None, ["crossview[heic]"]),
        ({"dir_info": {"editable": True}, "url": "file:///home/ann/my%20clone"}, ["-e", "/home/ann/my clone[heic]"]),
        ({"dir_info": {}, "url": "file:///home/ann/clone"}, ["/home/ann/clone[heic]"]),
        (
            {"archive_info": {"hashes": {"sha256": "0"}}, "url": "file:///srv/crossview-1-py3-none-any.whl"},
            ["/srv/crossview-1-py3-none-any.whl[heic]"],
        ),
        (
            {
                "url": "https://git.example/crossview",
                "vcs_info": {"vcs": "git", "commit_id": "abc"},
            },
            ["crossview[heic] @ git+https://git.example/crossview@abc"],
        ),
        (
            {"archive_info": {}, "url": "https://files.example/crossview-1-py3-none-any.whl"},
            ["crossview[heic] @ https://files.example/crossview-1-py3-none-any.whl"],
        ),
    ],
)
def test_the_command_follows_the_origin(origin, words, monkeypatch):
    monkeypatch.setattr(extras, "distribution", lambda name: _Installed(origin))
    assert shlex.split(install_command("heic")) == [sys.executable, "-m", "pip", "install", *words]


def test_this_copy_is_a_clone():
    assert shlex.split(install_command("map"))[-2:] == ["-e", f"{ROOT}[map]"]


def test_an_error_names_the_extra_and_its_detail_the_command():
    """A server sends the message, without the folders of its machine."""
    error = lacking(ImageError, "HEIC needs pillow-heif", "heic")
    assert error.message == "HEIC needs pillow-heif, which crossview[heic] installs"
    assert str(error) == f"{error.message} (run: {install_command('heic')})"


def test_no_other_place_builds_such_a_command():
    """Messages on extras are built in one place, so that all name a command that works."""
    own = re.compile(r"pip install (?:--upgrade )?['\"]?crossview")
    paths = (path for room in ROOMS for path in (ROOT / room).rglob("*.py"))
    assert [str(path) for path in paths if own.search(path.read_text(encoding="utf-8"))] == []
