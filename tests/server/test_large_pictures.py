"""On the command line, the refusal of a large picture names the option that reads it, and the option works."""

import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from terminal import done, run

from crossview.engine.collections.home import Home
from crossview.features import pictures as picture_files

LIMIT = ("--max-megapixels", "0.01")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = Home(tmp_path / "home")
    made.create("scans", ["color"]).close()
    return made


@pytest.fixture
def scan(tmp_path: Path) -> Path:
    (tmp_path / "scans").mkdir()
    noise = np.random.default_rng(0).integers(0, 255, (300, 400, 3), dtype=np.uint8)
    Image.fromarray(noise).save(tmp_path / "scans" / "scan.png")
    return tmp_path / "scans" / "scan.png"


@pytest.mark.parametrize("workers", [1, 2])
def test_a_picture_that_is_refused_is_read_with_the_option_that_the_message_names(
    home: Home, scan: Path, workers: int
) -> None:
    """Index does so, and commands that take a picture to search by."""
    for number in range(6 * (workers - 1)):  # so many that processes of their own read them
        Image.open(scan).rotate(number).save(scan.with_name(f"{number}.png"))
    here = ("--home", home.path)
    asked = ("index", "scans", scan.parent, "--workers", workers, *here)
    refused = run(*asked, *LIMIT).output
    assert "at most 10,000 may be in memory" in refused
    option = re.search(r"--max-megapixels \d+", refused)
    assert option
    assert "0 could not be used" in done(*asked, *option[0].split())
    for command in (
        ("search", "scans", scan, "--view", "color"),
        ("embed", "scans", scan, "--view", "color", "--out", scan.with_suffix(".npy")),
    ):
        result = run(*command, *LIMIT, *here)
        assert (result.exit_code, option[0] in result.stderr) == (1, True)
        done(*command, *option[0].split(), *here)


def test_a_large_file_is_read_with_the_option_that_the_message_names(
    home: Home, scan: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its bytes have a limit, too, which goes with that of its pixels."""
    monkeypatch.setattr(picture_files, "MAX_FILE_BYTES", 1000)
    monkeypatch.setattr(picture_files, "_BYTES_A_PIXEL", 0.001)
    asked = ("index", "scans", scan, "--workers", 1, "--home", home.path)
    option = re.search(r"--max-megapixels \d+", run(*asked).output)
    assert option
    assert "1 added" in done(*asked, *option[0].split())


def test_the_limit_of_a_server_is_its_own(home: Home, scan: Path) -> None:
    """An impossible limit is refused."""
    result = run("search", "scans", scan, "--view", "color", "--server", "localhost:1", *LIMIT)
    assert result.exit_code == 2
    assert "crossview serve --max-megapixels N" in " ".join(result.stderr.replace("│", " ").split())
    assert run("index", "scans", scan, "--max-megapixels", 0, "--home", home.path).exit_code == 2
