"""What the README tells people to type works."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def block(language: str) -> str:
    (found,) = re.findall(rf"```{language}\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    return found


def run(arguments: list[str], folder: Path) -> str:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        arguments,
        cwd=folder,
        env=os.environ | {"PATH": path, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_the_tour_and_then_the_program(tmp_path: Path):
    tour = block("sh")
    assert len(tour.strip().splitlines()) == 12
    output = run(["bash", "-euc", "set -m\n" + tour], tmp_path)
    assert "240 added" in output
    assert '"distance"' in output
    assert (tmp_path / "leaves.png").read_bytes().startswith(b"\x89PNG")
    answers = run([sys.executable, "-c", block("python")], tmp_path)
    assert [line.split()[0] for line in answers.splitlines()] == ["color", "sift"]
