"""The settings of a server from options, the environment and a file."""

import re
import string
import tempfile
from dataclasses import fields
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from terminal import done, run

from crossview.engine.values.errors import InvalidInputError
from crossview.server.wire.configuration import SETTINGS, configured, kind_of
from crossview.server.wire.settings import ServerSettings

VALUES = {bool: "true", int: "3", float: "0.5", str: "localhost", Path: "/a/b", tuple: "a, b"}
ADDED = {
    "tls_cert": {"TLS_KEY": "/k"},
    "tls_key": {"TLS_CERT": "/c"},
    "tls_client_ca": {"TLS_KEY": "/k", "TLS_CERT": "/c"},
    "bundle": {"ENGINE": "milvus:e.db"},
    "engine": {"BUNDLE": "/bundles"},
}


def read(text: str, folder: Path) -> ServerSettings:
    file = folder / "crossview.toml"
    file.write_text(text)
    return configured({}, {}, file, {}).settings


OTHER_VALUES = {"http_origins": "http://a,http://b", "log_format": "json", "trace_url": "http://c:4318"}


@pytest.mark.parametrize("name", SETTINGS)
def test_every_setting_has_a_variable_and_a_line_of_the_file(name: str, tmp_path: Path) -> None:
    """Both give the same; the printed settings of the server give it again."""
    others = {f"CROSSVIEW_SERVE_{key}": value for key, value in ADDED.get(name, {}).items()}
    text = OTHER_VALUES.get(name, VALUES[kind_of(name)])
    found = configured({}, {f"CROSSVIEW_SERVE_{name.upper()}": text, **others}, None, {})
    assert found.origins[name] == f"CROSSVIEW_SERVE_{name.upper()}"
    known = (True, 3, 0.5, "localhost", Path("/a/b"), ("a", "b"), "json", ("http://a", "http://b"), "http://c:4318")
    assert getattr(found.settings, name) in known
    if not others:
        listed = str([one.strip() for one in text.split(",")]).replace("'", '"')
        written = {int: "3", float: "0.5", bool: "true", tuple: listed}.get(kind_of(name), f'"{text}"')
        assert getattr(read(f"{name} = {written}", tmp_path), name) == getattr(found.settings, name)
    (tmp_path / "printed.toml").write_text("\n".join(found.toml()))
    assert configured({}, {}, tmp_path / "printed.toml", {}).settings == found.settings


@given(host=st.text(min_size=1), load=st.lists(st.text(string.printable)), grace=st.floats(0, 1e9), quiet=st.booleans())
def test_what_is_printed_gives_the_same_settings(host: str, load: list[str], grace: float, quiet: bool) -> None:
    made = configured({"host": host, "load": load, "grace_seconds": grace, "log_requests": quiet}, {}, None, {})
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "printed.toml"
        file.write_text("\n".join(made.toml()), encoding="utf-8", newline="")
        assert configured({}, {}, file, {}).settings == made.settings


def test_flags_go_before_the_environment_before_the_file_before_defaults(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "crossview.toml"
    file.write_text('port = 1\njobs = 1\nprocesses = 3\nhome = "homes"\n')
    monkeypatch.setenv("CROSSVIEW_SERVE_PORT", "2")
    monkeypatch.setenv("CROSSVIEW_SERVE_JOBS", "2")
    printed = done("serve", "--config", file, "--port", 50051, "--print-config").splitlines()
    assert "port = 50051  # command line" in printed  # the same as the default
    assert "jobs = 2  # CROSSVIEW_SERVE_JOBS" in printed
    assert f"processes = 3  # {file}, line 3" in printed
    assert f'home = "{tmp_path / "homes"}"  # {file}, line 4' in printed
    assert "threads = 4  # default" in printed
    assert "# socket is not set" in printed
    assert len(printed) == len(fields(ServerSettings))
    monkeypatch.setenv("CROSSVIEW_CONFIG", str(file))
    assert f"processes = 3  # {file}, line 3" in done("serve", "--print-config")
    options = ("--grace", 3, "--load", "a", "--load", "b", "--no-tcp", "--socket", "s", "--processes", 1)
    printed = done("serve", *options, "--print-config").splitlines()
    assert {'load = ["a", "b"]  # command line', "grace_seconds = 3.0  # command line"} <= set(printed)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("# ours\nprot = 1", r"crossview.toml, line 2: there is no setting 'prot'; did you mean 'port'\?"),
        ("xyzzy = 1", r"line 1: there is no setting 'xyzzy'; the settings are home, bundle, engine, host"),
        ("[port]\na = 1", "line 1: port is a whole number, not a table"),
        ("[serve]\nport = 1", "line 1: there is no setting 'serve'"),
        ('port = "50051"', "line 1: port is a whole number, not '50051'"),
        ("port = true", "line 1: port is a whole number, not True"),
        ("log_requests = 1", "line 1: log_requests is true or false, not 1"),
        ("load = 'a'", "line 1: load is a list of texts, not 'a'"),
        ("load = [1]", "line 1: load is a list of texts"),
        ("socket = 1", "line 1: socket is a path in quotes, not 1"),
        ("\n\nport = 70000", "line 3: the server's port is 70000; it must be a whole number from 0 to 65535"),
        ("grace_seconds = nan", "line 1: the server's grace_seconds is nan"),
        ("port = \njobs = 1", "is not a file in TOML: .*line 1"),
        ("port = 1\nport = 2", "is not a file in TOML"),
        ("tls_cert = 'c.pem'", "give both tls_cert and tls_key"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_with_its_line(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=message):
        read(text, tmp_path)


def test_variables_that_cannot_be_used_are_refused(tmp_path: Path) -> None:
    for name, value, message in (
        ("PROT", "1", "CROSSVIEW_SERVE_PROT: there is no setting 'prot'; did you mean 'port'?"),
        ("PORT", "tcp://10.0.0.1:50051", "CROSSVIEW_SERVE_PORT: port is a whole number, not 'tcp://10.0.0.1:50051'"),
        ("PORT", "-1", "CROSSVIEW_SERVE_PORT: the server's port is -1"),
        ("TCP", "maybe", "CROSSVIEW_SERVE_TCP: tcp is true or false, not 'maybe'"),
    ):
        with pytest.raises(InvalidInputError, match=re.escape(message)):
            configured({}, {f"CROSSVIEW_SERVE_{name}": value}, None, {})
    for file in (tmp_path, tmp_path / "none.toml"):
        with pytest.raises(InvalidInputError, match="cannot read the settings in"):
            configured({}, {}, file, {})
    (tmp_path / "b.toml").write_bytes(b"\xff")
    with pytest.raises(InvalidInputError, match="is not a file in TOML"):
        configured({}, {}, tmp_path / "b.toml", {})
    refused = run("serve", "--config", tmp_path / "none.toml")
    assert refused.exit_code == 1
    assert "No such file" in refused.stderr
