"""No library that runs models writes into the folder of the person who uses it, or looks up another machine."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import tiny_models as tiny

pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
_RUN = """
import socket, sys
asked = []
def look(event, given):
    if event in ("socket.connect", "socket.getaddrinfo"):
        asked.append(event)
sys.addaudithook(look)
from pathlib import Path
from crossview.features.models.session import open_session
from crossview.features.models.manifest import Tokens
from crossview.features.models.tokens import Tokenizer
folder = Path(sys.argv[1])
session = open_session((folder / "text_model.onnx").read_bytes())
Tokenizer((folder / "tokenizer.json").read_bytes(), Tokens(file="tokenizer.json", longest=8))
print(asked)
"""


def test_a_model_leaves_no_file_outside_and_asks_for_no_address(tmp_path: Path) -> None:
    person, folder = tmp_path / "person", tmp_path / "model"
    person.mkdir()
    folder.mkdir()
    tiny.text_folder(folder)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "ORT_"))}
    run = [sys.executable, "-c", _RUN, str(folder)]
    done = subprocess.run(run, env={**kept, "HOME": str(person)}, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout.strip()) == (0, "[]"), done.stderr
    assert list(person.rglob("*")) == []
