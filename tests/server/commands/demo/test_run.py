"""A demo that keeps its home ends with commands that work when they are pasted."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from crossview.server.commands.demo.run import lines_to_try

PROGRAM = Path(sys.executable).with_name("crossview")


def commands(lines: list[str]) -> list[str]:
    """Return the lines for a shell."""
    return [line.strip() for line in lines if line.startswith("    ")]


def pasted(line: str, folder: Path) -> str:
    """Return what a shell without variables of crossview prints for a line."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CROSSVIEW")}
    done = subprocess.run(
        ["bash", "-euc", line], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
    return done.stdout


def test_the_program_is_the_one_that_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its name is printed if a shell finds it, and otherwise its path, from the working folder if it is below."""
    monkeypatch.setenv("PATH", str(PROGRAM.parent))
    assert commands(list(lines_to_try("art", Path("out"), ["list"])))[1] == "crossview list --home out/home"
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert commands(list(lines_to_try("art", Path("out"), ["list"])))[1] == f"{PROGRAM} list --home out/home"
    monkeypatch.chdir(PROGRAM.parent.parent)
    assert commands(list(lines_to_try("art", Path("out"), ["list"])))[1] == "bin/crossview list --home out/home"


def test_folders_with_spaces_stay_one_word(tmp_path: Path) -> None:
    """They do in the home and in the paths of the commands."""
    _, command = commands(list(lines_to_try("art", Path("my out"), ["search art {folder}/a.jpg"])))
    assert command.endswith("crossview search art 'my out'/a.jpg --home 'my out/home'")


@pytest.mark.long
@pytest.mark.parametrize("options", ["", "--notions", "--attributes", "--camera"])
def test_three_things_to_try_work(tmp_path: Path, options: str) -> None:
    """Each runs after the demo, in its working folder; the page is at the printed address."""
    lines = pasted(f"{PROGRAM} demo --keep --out kept {options}", tmp_path).splitlines()
    end = lines[lines.index("The demo keeps its collection in kept.") :]
    page, *three = commands(end)
    (address,) = re.findall(r"http://127\.0\.0\.1:8080/c/\S+(?=,)", "\n".join(end))
    assert page.startswith(f"{PROGRAM} open {address.rpartition('/')[2]} --http-port 8080 ")
    assert len(three) == 3
    for line in three:
        assert pasted(line, tmp_path)
