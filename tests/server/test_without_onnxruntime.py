"""Without the libraries of ``crossview[onnx]``, work without models goes on, and other work states the remedy."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tiny_models as tiny
from PIL import Image

from crossview.engine.collections.home import Home
from crossview.engine.values.item import IndexOptions
from crossview.features.extras import install_command

pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
INSTALL = install_command("onnx")
WITHOUT = """
import shlex
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"onnxruntime", "tokenizers"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
from crossview.server.commands.cli import app
from typer.testing import CliRunner
import json
found = [CliRunner().invoke(app, shlex.split(line)) for line in sys.stdin]
print(json.dumps([[one.exit_code, one.output] for one in found]))
"""
"""A program that runs command lines in a process in which the libraries are absent."""
WORKS = """
model list
model show clip
list
show art
view list art
count art
search art --like pictures/red.png --view clip
search art PICTURE --view color
embed art --all --view clip --out FOLDER/rows.npy
annotate art pictures/red.png --label warm
index art FOLDER/pictures
view add art another=onnx:clip
view delete art another --yes
create others --views clip=onnx:clip
backup art FOLDER/art.db
restore again FOLDER/art.db
copy art third
doctor
model remove clip --yes
"""
FAILS = """
model add other FOLDER/model
model check clip
search art PICTURE --view clip
search art --text red
index art FOLDER/more --workers 1
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with a model, pictures and a home, in which ``art`` has the pictures."""
    home = Home(tmp_path / "home")
    home.models.add("clip", tiny.clip_folder(tmp_path / "model"))
    for folder, name in (("pictures", "red"), ("pictures", "green"), ("more", "blue")):
        (tmp_path / folder).mkdir(exist_ok=True)
        Image.fromarray(np.full((20, 30, 3), 9 * len(name), np.uint8)).save(tmp_path / folder / f"{name}.png")
    with home.create("art", ["color", "clip=onnx:clip"]) as art:
        assert art.index([tmp_path / "pictures"], IndexOptions(workers=1)).added == 2
    return tmp_path


def test_only_what_runs_a_model_needs_the_libraries(place: Path) -> None:
    works, fails = WORKS.strip().splitlines(), FAILS.strip().splitlines()
    lines = [*fails, *works]
    given = [line.replace("PICTURE", str(place / "pictures/red.png")).replace("FOLDER", str(place)) for line in lines]
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT],
        input="\n".join(f"{line} --home {place / 'home'}" for line in given),
        capture_output=True,
        text=True,
        check=True,
    )
    found = dict(zip(lines, json.loads(done.stdout), strict=True))
    assert {line: output for line, (status, output) in found.items() if line in works and status} == {}
    unclear = {line: one for line, one in found.items() if line in fails and (one[0] != 1 or INSTALL not in one[1])}
    assert unclear == {}
    assert f"-> {INSTALL}" in found["doctor"][1]
    assert "warning  models: not installed: onnxruntime, tokenizers" in found["doctor"][1]
