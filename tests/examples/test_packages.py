"""The example packages, installed by pip, work through the command line, and their guide is true."""

import json
import re
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from drawn import write_pictures
from programs import started

pytestmark = pytest.mark.long
ROOT = Path(__file__).parents[2]
EXAMPLES = ("edges", "zca")
GUIDE = (ROOT / "docs" / "guides" / "extending.md").read_text(encoding="utf-8")
INSTALL = re.compile(r"^python -m pip install (.*?) ((?:\./\S+ ?)+)$", re.M)
"""The line of the guide that installs the packages: its options, and its folders."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the packages, installed as the guide states except for the place."""
    folder = tmp_path_factory.mktemp("packages")
    for name in EXAMPLES:  # pip builds in the folder of a package
        shutil.copytree(ROOT / "examples" / name, folder / "examples" / name)
    found = INSTALL.search(GUIDE)
    assert found is not None
    options, folders = found[1].split(), found[2].split()
    assert folders == [f"./examples/{name}" for name in EXAMPLES]
    started([sys.executable, "-m", "pip", "install", "-q", *options, "--target", "site", *folders], folder)
    return folder / "site"


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory, site: Path) -> Path:
    """A folder with the collection ``art`` by the packages, and its pictures."""
    folder = tmp_path_factory.mktemp("work")
    write_pictures(folder / "pictures", 8)
    crossview(folder, "create art --views color,edges,fine=edges:grid=8", site)
    assert "24 added" in crossview(folder, "index art pictures --labels folder --workers 2", site)
    crossview(folder, "train art --learner zca:0.2,l2 --views edges --space white --holdout 0.25", site)
    return folder


def crossview(folder: Path, line: str, site: Path | str = "", status: int = 0) -> str:
    """Return the output of a command with the packages in a folder; "" for a program without them."""
    return started(["crossview", *line.split()], folder, status, PYTHONPATH=str(site))


def result(folder: Path, line: str, site: Path | str = "") -> Any:
    """Return the result of a command."""
    found: Mapping[str, Any] = json.loads(crossview(folder, f"{line} --json", site).splitlines()[0])
    return found["result"]


def test_their_own_tests_pass(site: Path) -> None:
    """They hold the contracts of extractors and learners."""
    tests = [site.parent / "examples" / name for name in EXAMPLES]
    options = ["-q", "-W", "error", "-p", "no:cacheprovider", "--import-mode=importlib"]
    assert "2 passed" in started([sys.executable, "-m", "pytest", *options, *tests], site.parent, PYTHONPATH=str(site))


def test_they_work_like_extractors_and_learners_of_crossview(work: Path, site: Path) -> None:
    """A picture finds itself, a trained space is evaluated, and rows have the promised length."""
    views = {view["name"]: view for view in result(work, "show art", site)["views"]}
    assert (views["edges"]["dim"], views["fine"]["dim"], views["fine"]["params"]["grid"]) == (128, 512, 8)
    for view, space in (("edges", "raw"), ("fine", "raw"), ("edges", "white")):
        (found,) = result(work, f"search art pictures/red/1.png --view {view} --space {space} -k 1", site)
        assert found["hits"][0]["key"] == "pictures/red/1.png"
    rows = result(work, "evaluate art --view edges --space raw,white -k 5", site)["rows"]
    assert {row["space"] for row in rows} == {"raw", "white"}
    assert "zca: a learner of the package crossview-zca 0.1.0" in crossview(work, "learners", site)


def test_a_server_computes_rows_by_them(work: Path, site: Path) -> None:
    """The server's processes that read pictures compute them."""
    program = (
        "import sys, crossview\n"
        "from crossview.server.edge.listen import RunningServer\n"
        "from crossview.server.wire.settings import ServerSettings\n"
        "with RunningServer(ServerSettings(home=sys.argv[1], port=0)) as running:\n"
        "    with crossview.connect(running.address) as client:\n"
        "        art = client.open('art')\n"
        "        for space in ('raw', 'white'):\n"
        "            found = art.search(view='edges', image='pictures/red/1.png', space=space, k=1)\n"
        "            print(found[0].hits[0].key)\n"
    )
    output = started([sys.executable, "-c", program, work / "home"], work, PYTHONPATH=str(site))
    assert output.splitlines() == ["pictures/red/1.png"] * 2


def test_without_them_a_collection_stays_usable(work: Path, site: Path) -> None:
    """It is listed and searched by stored rows; messages name the missing package and the remedy, as in the guide."""
    for line in ("show art", "view list art", "list art --limit 2", "space list art"):
        assert result(work, line) == result(work, line, site)
    stored = "search art --key pictures/red/1.png --view edges --space raw -k 3"
    assert result(work, stored) == result(work, stored, site)
    (found,) = result(work, "search art pictures/red/1.png --view color --space raw -k 1")
    assert found["hits"][0]["key"] == "pictures/red/1.png"
    (messages,) = re.findall(r"```text\n(.*?)```", GUIDE, re.DOTALL)
    for line, message in zip(
        ("search art pictures/red/1.png --view edges --space raw", "search art --key pictures/red/1.png --view edges"),
        messages.splitlines(),
        strict=True,
    ):
        assert f"error: {message}" in crossview(work, line, status=1)
    assert "no extractor 'edges'" in crossview(work, "create more --views edges", status=1)
    assert "there is no learner 'zca'" in crossview(work, "train art --learner zca", status=1)


def test_the_commands_of_the_guide_run(tmp_path: Path, site: Path) -> None:
    """They are all lines except the one that installs; this test has installed the packages elsewhere."""
    (lines,) = re.findall(r"```sh\n(.*?)```", GUIDE, re.DOTALL)
    output = started(["bash", "-euc", INSTALL.sub("", lines)], tmp_path, PYTHONPATH=str(site))
    assert "240 added" in output
    assert re.search(r"^white +edges|^edges\s+edges", output, re.M)
