"""A client of a server works without the libraries of the engine, and states which calls need the engine."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from crossview.engine.collections.home import Home
from crossview.engine.values.errors import _LIBRARIES_OF_THE_ENGINE
from crossview.features.extras import install_command
from crossview.server.edge.listen import RunningServer

WITHOUT = """
import sys
import tomllib

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"cv2", "faiss", "prometheus_client", "scipy", "sklearn", "threadpoolctl"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
"""
"""A program that makes the libraries of ``crossview[engine]`` absent in a process."""
CLIENT = """
import crossview
with crossview.connect(sys.argv[1]) as server:
    remote = server.create("remote", ["color"])
    print(remote.index([sys.argv[2]]).added)
    request = crossview.SearchRequest([crossview.Query("color", image=sys.argv[2] + "/dots/dots-00.jpg")], k=1)
    print(remote.search(request)[0].hits[0].key)
"""
OPEN = """
import crossview
crossview.create("here", home=sys.argv[1])
"""


def run(program: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", WITHOUT + program, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture
def address(server: RunningServer, nothing_stays: None) -> str:
    return f"127.0.0.1:{server.port}"


def test_a_client_indexes_a_folder_and_searches_by_a_file(address: str, pictures: Path) -> None:
    done = run(CLIENT, address, pictures)
    assert (done.stdout.split(), done.returncode) == (["18", "pictures/dots/dots-00.jpg"], 0), done.stderr


def test_the_command_works_on_a_server(address: str, pictures: Path) -> None:
    program = "from crossview.server.commands.cli import main; main()"
    where = ("--server", address)
    for command in (["create", "things", "--views", "color"], ["index", "things", pictures], ["list"]):
        done = run(program, *command, *where)
        assert done.returncode == 0, done.stderr
    (pictures / "table.csv").write_text("image,label\ndots/dots-00.jpg,dots\n")
    assert "1 added" in run(program, "import", "table", pictures / "table.csv", *where).stdout
    done = run(program, "search", "things", pictures / "dots/dots-00.jpg", "--view", "color", *where)
    assert "pictures/dots/dots-00.jpg" in done.stdout, done.stderr


def test_what_needs_the_engine_says_how_to_install_it(tmp_path: Path) -> None:
    for done in (
        run(OPEN, tmp_path),
        run("import crossview; crossview.learners"),
        run("import crossview.learners"),
        run("from crossview.learners import MultiNPP"),
        run(
            "from crossview.server.commands.cli import main; main()",
            "serve",
            "--home",
            tmp_path / "home",
            "--port",
            "0",
        ),
        run("from crossview.server.commands.cli import main; main()", "demo", "--out", tmp_path / "demo"),
    ):
        assert done.returncode == 1
        assert install_command("engine") in done.stderr
    assert Home(tmp_path).names() == []


def test_the_demo_names_what_to_install_before_it_draws(tmp_path: Path) -> None:
    """The same command therefore works after the installation."""
    program = "from crossview.server.commands.cli import main; main()"
    done = run(program, "demo", "--keep", "--out", tmp_path / "out")
    assert (done.returncode, done.stdout) == (1, "")
    assert f"run: {install_command('engine')}" in done.stderr
    assert not (tmp_path / "out").exists()


def test_every_library_of_the_extra_is_known() -> None:
    """Otherwise its absence would be an error of Python that names no remedy."""
    modules = {"faiss-cpu": "faiss", "opencv-python-headless": "cv2", "scikit-learn": "sklearn"}
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    names = [line.partition(">")[0] for line in project["optional-dependencies"]["engine"]]
    assert {modules.get(name, name.replace("-", "_")) for name in names} == _LIBRARIES_OF_THE_ENGINE
