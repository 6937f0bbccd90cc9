"""The settings of a server."""

import math

import pytest

from crossview.engine.values.errors import InvalidInputError
from crossview.server.edge.listen import RunningServer
from crossview.server.wire.settings import ServerSettings


def test_the_defaults_can_be_used() -> None:
    """A server needs no settings; it listens on loopback."""
    assert ServerSettings().host == "127.0.0.1"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("host", ""),
        ("port", -1),
        ("port", 65_536),
        ("port", "50051"),
        ("workers", 0),
        ("threads", 1.5),
        ("message_bytes", 2**31),
        ("grace_seconds", -0.1),
        ("answer_seconds", math.nan),
        ("deletion_seconds", math.inf),
        ("idle_seconds", -1.0),
    ],
)
def test_a_value_that_cannot_be_used_is_refused(name: str, value: object) -> None:
    """The message names the setting, and no server is started."""
    with pytest.raises(InvalidInputError, match=f"the server's {name} is"):
        ServerSettings(**{name: value})  # type: ignore[arg-type]


def test_a_home_that_is_a_file_is_refused(tmp_path) -> None:
    """The refusal comes before the port is taken."""
    (tmp_path / "home").write_text("")
    with pytest.raises(InvalidInputError, match="is a file"):
        RunningServer(ServerSettings(home=tmp_path / "home", port=0))
