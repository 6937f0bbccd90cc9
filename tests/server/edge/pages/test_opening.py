"""``crossview open`` starts a server with pages, or finds the running one, and prints the address of the page."""

import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from browsing import chromium, faultless

from crossview.engine.collections.home import Home
from crossview.engine.values.errors import InvalidInputError
from crossview.server.core.succession import pages_of
from crossview.server.wire.settings import ServerSettings

OPEN = [sys.executable, "-m", "crossview.server.commands.cli", "open", "--no-browser"]


@contextmanager
def opened(home: Path, name: str) -> Iterator[str]:
    """The address of the page that the command opens; it is interrupted at the end of the block."""
    command = [*OPEN, "--home", str(home), name]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield next(line for line in server.stdout if line.startswith("open ")).removeprefix("open ").strip()
        finally:
            server.send_signal(signal.SIGINT)
    assert server.returncode == 0


def again(home: Path, name: str) -> str:
    """Return what the command prints while a server runs."""
    command = [*OPEN, "--home", str(home), name]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=300).stdout


def indexed(address: str) -> str:
    """Return the page once no job adds pictures any more."""
    while "data-follows-job" in (text := httpx.get(address, timeout=300).text):
        time.sleep(0.2)
    return text


def test_it_serves_until_it_is_interrupted_and_the_next_one_finds_it(tmp_path: Path) -> None:
    with Home(tmp_path).create("art", views=("color",)):
        pass
    with opened(tmp_path, "art") as address:
        assert address.startswith("http://127.0.0.1:")
        assert "No items yet" in httpx.get(address, timeout=300).text
        assert again(tmp_path, "art") == f"open {address}\n"
    assert pages_of(tmp_path) is None


def test_a_folder_becomes_a_collection_whose_pictures_a_job_adds(tmp_path: Path, pictures: Path) -> None:
    """The same folder opens the same collection, and a folder of equal name another one."""
    home, folder, other = tmp_path / "home", tmp_path / "Été 2024", tmp_path / "other" / "ete-2024"
    shutil.copytree(pictures / "dots", folder)
    with opened(home, str(folder)) as address:
        assert address.endswith("/c/ete-2024")
        assert f"{len(list(folder.iterdir()))} items" in indexed(address)
        assert again(home, str(folder)).startswith(f"open {address}\n0 added")
    shutil.copytree(pictures / "dots", other)
    with opened(home, str(other)) as address:
        assert address.endswith("/c/ete-2024-2")


def test_a_collection_without_items_and_folders_takes_the_folder_of_its_name(tmp_path: Path, pictures: Path) -> None:
    """A folder without pictures that can be read leaves it empty, and the page says why."""
    home, folder = tmp_path / "home", tmp_path / "art"
    folder.mkdir()
    (folder / "torn.jpg").write_bytes(b"torn")
    with Home(home).create("art", views=("color",)):
        pass
    with opened(home, f"{folder}/") as address:
        assert address.endswith("/c/art")
        assert "torn.jpg" in indexed(address)


@pytest.mark.long
def test_pictures_appear_while_others_are_described_and_the_rest_can_be_cancelled(
    tmp_path: Path, pictures: Path
) -> None:
    """Searches answer among the pictures that are there."""
    home, folder = tmp_path / "home", tmp_path / "many"
    for number in range(60):
        shutil.copytree(pictures, folder / f"{number:02}")
    for number, path in enumerate(sorted(folder.rglob("*.jpg"))):
        path.write_bytes(path.read_bytes() + number.to_bytes(4, "big"))  # no two files are equal
    with Home(home).create("many", views=("color", "gist")):
        pass
    with (
        opened(home, str(folder)) as address,
        chromium() as browser,
        faultless(browser, int(address.split(":")[2].split("/")[0])) as page,
    ):
        page.goto(address)
        page.wait_for_selector(".tile:nth-child(20)")
        assert re.fullmatch(
            r"[\d,]+ of [\d,]+ pictures described, [\d,]+ to come", page.inner_text(".adding [data-status]")
        )
        page.locator(".tile .hit").first.click()
        page.wait_for_selector(".list h2:has-text('Nearest first')")
        assert page.locator(".tile").count() > 10
        page.locator(".adding #cancel").click()
        page.wait_for_selector(".adding", state="detached")
        count = httpx.post(
            address.partition("/c/")[0] + "/crossview.v1.CollectionService/CountItems",
            json={"parent": "collections/many"},
        ).json()
        assert 0 < int(count["items"]) < len(list(folder.rglob("*.jpg")))


@pytest.mark.parametrize(
    ("name", "message"), [("none", "no collection 'none'"), ("./none", "the folder ./none does not exist")]
)
def test_a_collection_or_folder_that_does_not_exist_starts_no_server(tmp_path: Path, name: str, message: str) -> None:
    done = subprocess.run([*OPEN, "--home", str(tmp_path), name], capture_output=True, text=True, timeout=300)
    assert (done.returncode, message in done.stderr) == (1, True)


def test_pages_need_one_process_and_choose_a_port() -> None:
    assert ServerSettings(web=True).http_port == 0
    assert ServerSettings(web=True, http_port=8080).http_port == 8080
    with pytest.raises(InvalidInputError, match="one process"):
        ServerSettings(web=True, processes=2)
