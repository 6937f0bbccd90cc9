"""Commands that only look load only what they use, so that they answer in a moment."""

import subprocess
import sys
from pathlib import Path

import pytest

from engine.home import Home
from server.listen import RunningServer

ROOT = Path(__file__).resolve().parents[2]
HEAVY = ("alembic", "cv2", "faiss", "grpc_reflection.v1alpha", "PIL", "scipy", "sklearn")
LEARNERS = ("engine.learners.registry", "engine.spaces.pipeline")
REMOTE = ("engine.catalog.database", "sqlalchemy")
DOTS = "pictures/dots/dots-00.jpg"


def loaded(modules: tuple[str, ...], *arguments: str) -> set[str]:
    """Which of the modules a command has loaded when it ends well."""
    code = (
        "import sys\nfrom server.cli import app\n"
        "try:\n    app(sys.argv[2:])\nexcept SystemExit as end:\n    assert not end.code, end.code\n"
        "print('|'.join(sorted(set(sys.argv[1].split(',')) & set(sys.modules))), file=sys.stderr)"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, ",".join(modules), *arguments], cwd=ROOT, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    return set(filter(None, run.stderr.splitlines()[-1].split("|")))


@pytest.mark.parametrize(
    "arguments",
    [
        ("--version",),
        ("--help",),
        ("train", "--help"),
        ("learners",),
        ("learners", "fantope"),
    ],
    ids=" ".join,
)
def test_what_needs_no_collection_loads_no_library(arguments: tuple[str, ...]) -> None:
    """Versions, help and the learners' descriptions come without NumPy, databases, learners or gRPC."""
    assert loaded((*HEAVY, *LEARNERS, *REMOTE, "grpc", "numpy"), *arguments) == set()


def test_collections_are_listed_without_a_database(home: Home) -> None:
    """Their folders tell their names."""
    assert loaded((*HEAVY, *LEARNERS, *REMOTE, "grpc"), "list", "--home", str(home.path)) == set()


@pytest.mark.parametrize(
    "arguments", [("list",), ("list", "drawn"), ("show", "drawn"), ("show", "drawn", "--item", DOTS)], ids=" ".join
)
def test_a_collection_is_described_without_learners(arguments: tuple[str, ...], home: Home) -> None:
    """Listing and showing what a home holds reads the catalog, and loads nothing that learns, searches or decodes."""
    assert loaded((*HEAVY, *LEARNERS, "grpc"), *arguments, "--home", str(home.path)) == set()


@pytest.mark.parametrize(
    "arguments",
    [("list",), ("list", "drawn"), ("show", "drawn"), ("search", "drawn", "--key", DOTS, "--view", "color")],
    ids=" ".join,
)
def test_a_client_leaves_the_work_to_the_server(arguments: tuple[str, ...], server: RunningServer) -> None:
    """Commands on a server load neither the catalog nor what learns, searches or decodes."""
    assert loaded((*HEAVY, *LEARNERS, *REMOTE), *arguments, "--server", server.address) == set()
