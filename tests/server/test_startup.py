"""Commands that only read load only what they use, so that they answer in a moment."""

import json
import subprocess
import sys
from pathlib import Path

from crossview.engine.collections.home import Home
from crossview.server.edge.listen import RunningServer

ROOT = Path(__file__).resolve().parents[2]
HEAVY = ("alembic", "cv2", "faiss", "grpc_reflection.v1alpha", "PIL", "scipy", "sklearn")
LEARNERS = ("crossview.engine.learners.registry", "crossview.engine.spaces.pipeline")
REMOTE = ("crossview.engine.catalog.database", "sqlalchemy")
DOTS = "pictures/dots/dots-00.jpg"


CODE = """
import json, sys
from crossview.server.commands.cli import app
for command in json.loads(sys.argv[1]):
    try:
        app(command)
    except SystemExit as end:
        assert not end.code, end.code
    print(json.dumps([command, sorted(set(json.loads(sys.argv[2])) & set(sys.modules))]), file=sys.stderr)
"""


def loaded(modules: tuple[str, ...], *commands: str, options: tuple[str, ...] = ()) -> dict[str, list[str]]:
    """Return which modules commands load that end well, one after the other in one process."""
    lines = [[*command.split(), *options] for command in commands]
    arguments = (json.dumps(lines), json.dumps(modules))
    run = subprocess.run([sys.executable, "-c", CODE, *arguments], cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    seen = [json.loads(line) for line in run.stderr.splitlines()]
    assert [line for line, _ in seen] == lines
    return {" ".join(line): found for line, found in seen if found}


def test_what_needs_no_collection_loads_no_library() -> None:
    """Versions, help and the learners' descriptions come without NumPy, databases, learners or gRPC."""
    commands = ("--version", "--help", "train --help", "learners", "learners fantope")
    assert loaded((*HEAVY, *LEARNERS, *REMOTE, "grpc", "numpy"), *commands) == {}


def test_collections_are_listed_without_a_database(home: Home) -> None:
    """The names of their folders are enough."""
    assert loaded((*HEAVY, *LEARNERS, *REMOTE, "grpc"), "list", options=("--home", str(home.path))) == {}


def test_a_collection_is_described_without_learners(home: Home) -> None:
    """Listing and showing a home reads the catalog, and loads nothing that learns, searches or decodes."""
    commands = ("list", "list drawn", "show drawn", f"item show drawn {DOTS}")
    assert loaded((*HEAVY, *LEARNERS, "grpc"), *commands, options=("--home", str(home.path))) == {}


def test_a_client_leaves_the_work_to_the_server(server: RunningServer) -> None:
    """Commands on a server load neither the catalog nor modules that learn, search or decode."""
    commands = ("list", "list drawn", "show drawn", f"search drawn --key {DOTS} --view color")
    assert loaded((*HEAVY, *LEARNERS, *REMOTE), *commands, options=("--server", server.address)) == {}
