"""``crossview open`` starts a server with pages, or finds the running one, and prints the address of the page."""

import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from crossview.engine.collections.home import Home
from crossview.engine.values.errors import InvalidInputError
from crossview.server.core.succession import pages_of
from crossview.server.wire.settings import ServerSettings

OPEN = [sys.executable, "-m", "crossview.server.commands.cli", "open", "--no-browser"]


def test_it_serves_until_it_is_interrupted_and_the_next_one_finds_it(tmp_path: Path) -> None:
    with Home(tmp_path).create("art", views=("color",)):
        pass
    command = [*OPEN, "--home", str(tmp_path), "art"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            address = next(line for line in server.stdout if line.startswith("open ")).removeprefix("open ").strip()
            assert address.startswith("http://127.0.0.1:")
            assert "No items yet" in httpx.get(address, timeout=300).text
            again = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
            assert again.stdout == f"open {address}\n"
        finally:
            server.send_signal(signal.SIGINT)
    assert server.returncode == 0
    assert pages_of(tmp_path) is None


def test_a_collection_that_does_not_exist_starts_no_server(tmp_path: Path) -> None:
    done = subprocess.run([*OPEN, "--home", str(tmp_path), "none"], capture_output=True, text=True, timeout=300)
    assert (done.returncode, "no collection 'none'" in done.stderr) == (1, True)


def test_pages_need_one_process_and_choose_a_port() -> None:
    assert ServerSettings(web=True).http_port == 0
    assert ServerSettings(web=True, http_port=8080).http_port == 8080
    with pytest.raises(InvalidInputError, match="one process"):
        ServerSettings(web=True, processes=2)
