"""What README, the tour and the guides that say so tell people to type works."""

import ast
import contextlib
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
from messy_tree import build
from PIL import Image
from quick_commands import quick_commands
from terminal import done, result_of

from crossview.engine.conditions.where import parse
from crossview.engine.home import Home
from crossview.engine.item import IndexOptions, ItemUpdate, NewItem
from crossview.server.demo.dataset import write_pictures
from crossview.server.listen import RunningServer
from crossview.server.settings import ServerSettings

ROOT = Path(__file__).parent.parent


def blocks(document: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", (ROOT / document).read_text(), re.DOTALL)


NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
DRAWN = re.compile(r"-\d\d\.jpg")
TIMED = re.compile(r"[\d.]+ s \([\d.]+ items/s\)|[\d.]+ s\b")


def check_printed(document: str, output: str) -> None:
    """Every line of the document's outputs is printed, in this order.

    Columns on the right may be left out. Times are not compared, nor which of the drawn pictures of a class comes
    first, and figures only roughly: processors differ.
    """
    printed = iter([_comparable(line) for line in output.splitlines() if line.strip()])
    for line in filter(str.strip, "".join(blocks(document, "text")).splitlines()):
        words, figures = _comparable(line.removesuffix("..."))
        assert any(
            other.startswith(words) and np.allclose(figures, others[: len(figures)], rtol=0.05, atol=0.05)
            for other, others in printed
            if len(others) >= len(figures)
        ), f"{document}: not printed, or not in this place: {line}\n{output}"


def _comparable(line: str) -> tuple[str, list[float]]:
    """Return the words of a line, with its numbers replaced, and the numbers."""
    line = " ".join(TIMED.sub("TIME", DRAWN.sub("-NN.jpg", line)).replace("\u2500", "").split())
    return NUMBER.sub("N", line), [float(one) for one in NUMBER.findall(line)]


DEMO = "crossview demo --out tour --keep"
Run = Callable[[list[str], Path], str]


def started(arguments: list[str], folder: Path, commands: Path = Path(sys.executable).parent) -> str:
    path = f"{commands}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    finished = subprocess.run(
        arguments,
        cwd=folder,
        env=os.environ | {"PATH": path, "PYTHONPATH": str(ROOT), "CROSSVIEW_HOME": str(folder / "home")},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert finished.returncode == 0, finished.stdout + finished.stderr
    return finished.stdout


@pytest.fixture(scope="module")
def run() -> Iterator[Run]:
    """Run a program in a folder; the commands of a shell have their imports already. Programs in Python start anew."""
    with quick_commands() as commands:
        yield lambda arguments, folder: started(arguments, folder, commands)


def printed(program: str, folder: Path) -> str:
    """Return what a program prints that runs here, in a folder: it has its imports already, and warnings are errors."""
    output = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(output):
        patch.chdir(folder)
        patch.setenv("CROSSVIEW_HOME", str(folder / "home"))
        exec(program, {"__name__": "__main__"})  # noqa: S102 - as the document has it
    return output.getvalue()


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which the first line of several guides ran, once for all of them; its output is in a file."""
    folder = tmp_path_factory.mktemp("demo")
    (folder / "output.txt").write_text(started(shlex.split(DEMO), folder))
    return folder


def after_demo(lines: str, demo: Path, folder: Path) -> str:
    """Return lines that print what the demo printed where they run it, and give the folder what it made."""
    assert re.search(rf"^{DEMO}(?: *#.*)?$", lines, re.M)
    shutil.copytree(demo / "tour", folder / "tour")
    return lines.replace(DEMO, f"cat {demo}/output.txt")


@pytest.mark.long
def test_the_readers_path_of_the_readme(tmp_path: Path, run: Run, demo: Path) -> None:
    """The tour gives a hit across views, and the programs run after it, in process and over gRPC."""
    tour = after_demo(blocks("README.md", "sh")[0].replace(". .venv/bin/activate\n", ""), demo, tmp_path)
    output = run(["bash", "-euc", tour], tmp_path)
    check_printed("README.md", output)
    assert (tmp_path / "leaves.png").read_bytes().startswith(b"\x89PNG")
    own = run(["bash", "-euc", blocks("README.md", "sh")[1].replace("~/Pictures", "tour/pictures")], tmp_path)
    assert "240 added" in own
    local, remote = blocks("README.md", "python")
    remote = local + remote.replace("50051", "50127") + "print(*(answer.target for answer in answers), sep='\\n')\n"
    (tmp_path / "remote.py").write_text(remote)
    served = 'set -m; crossview serve --home tour/mine --port 50127 & sleep 5; "$0" remote.py; kill %1'
    answers = run(["bash", "-euc", served, sys.executable], tmp_path)
    targets = [line.split()[0] for line in answers.splitlines() if line.split()[0] in ("color", "sift")]
    assert targets == ["color", "sift", "color", "sift"]


@pytest.mark.long
def test_the_tour(tmp_path: Path, run: Run, demo: Path) -> None:
    """Every line of the tour runs as it stands."""
    (tour,) = blocks("docs/tour.md", "sh")
    output = run(["bash", "-euc", "set -m\n" + after_demo(tour, demo, tmp_path)], tmp_path)
    check_printed("docs/tour.md", output)
    assert '"distance"' in output
    assert (tmp_path / "leaves.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.long
def test_the_guide_of_attributes(tmp_path: Path, run: Run) -> None:
    """Every line of it runs as it stands, and so does its program."""
    output = run(["bash", "-euc", "".join(blocks("docs/guides/attributes.md", "sh"))], tmp_path)
    assert "wrote moods/sheet.png" in output
    assert "scores of busy, light" in output
    (program,) = blocks("docs/guides/attributes.md", "python")
    printed(program + "assert len(busiest.hits) == 5", tmp_path)


@pytest.mark.long
def test_the_guide_of_metadata(tmp_path: Path, run: Run) -> None:
    """Every line of it runs as it stands, with the messy tree as the pictures, and none of it answers with a note."""
    facts = build(tmp_path / "PICTURES")
    output = run(["bash", "-euc", "".join(blocks("docs/guides/metadata.md", "sh"))], tmp_path)
    assert re.search(r"Canon EOS 5D\s+3$", output, re.M)
    placed = [path for path, known in facts.metadata.items() if "latitude" in known]
    assert f"{len(placed)} of {len(placed)} items" in output
    assert re.search(r"sea & sand\s+1$", output, re.M)
    for item in result_of("list", "trip", "--where", "file exists", "--limit", 1000, "--home", tmp_path / "home"):
        stated = facts.metadata.get(item["key"].removeprefix("PICTURES/"), {})
        assert item["file"].items() >= stated.items()


@pytest.mark.long
def test_the_guide_of_models(tmp_path: Path, run: Run) -> None:
    """Every line of it runs as it stands, with tiny models as the folders."""
    tiny_models = pytest.importorskip("tiny_models")
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    tiny_models.clip_folder(tmp_path / "clip-folder")
    tiny_models.picture_folder(tmp_path / "pictures-folder", classes=("a red flower", "a green one", "snow"))
    (tiny_models.clip_folder(tmp_path / "texts-folder") / "vision_model.onnx").unlink()
    (tmp_path / "PICTURES").mkdir()
    for color in ("red", "green", "blue"):
        Image.new("RGB", (60, 40), color).save(tmp_path / "PICTURES" / f"{color}.png")
        (tmp_path / "LABELLED" / f"1_{color}").mkdir(parents=True)
        for bright in range(100, 250, 15):
            shade = Image.new("RGB", (60, 40), color).point(lambda value, bright=bright: value * bright // 255)
            shade.save(tmp_path / "LABELLED" / f"1_{color}" / f"{color}{bright}.png")
    output = run(["bash", "-euc", "".join(blocks("docs/guides/models.md", "sh"))], tmp_path)
    for line in filter(str.strip, "".join(blocks("docs/guides/models.md", "text")).splitlines()):
        assert output.count(line.removesuffix(" ...")) > 1, line
    found = re.findall(r"^1\s.*?(\w+)\.png", output, re.M)
    assert [name.rstrip("0123456789") for name in found] == [*["red"] * 4, found[4], "red"]
    assert found[4] != "red"  # the item that is like red.png, other than itself


def test_the_guide_of_conditions(tmp_path: Path) -> None:
    """Its program counts the same twice, those of examples and explanations find items, and all conditions are read."""
    with Home(tmp_path / "tour" / "mine").create("art", ["v=vectors:dim=1"]) as art:
        art.items.put(
            [
                NewItem(f"{label}-{n}1.jpg", rows={"v": [n]}, labels=label)
                for label in ("waves", "bricks")
                for n in (1, 2, 3)
            ]
        )
    *_, program = blocks("docs/guides/search.md", "python")
    assert printed(program, tmp_path) == "3\n3\n"
    examples, views, feedback = blocks("docs/guides/examples.md", "python")
    assert "waves-31.jpg" in printed(examples, tmp_path)
    fused = printed("import crossview\n" + views, tmp_path)
    assert re.findall(r"^(\w+) of v \['bricks-11.jpg'", fused, re.M) == ["distance", "rank", "learn"]
    said = printed(feedback, tmp_path)
    assert "waves-31.jpg" in said
    assert "examples=2, counter_examples=1, people={'ann': 3})] 2" in said
    (program,) = blocks("docs/guides/explanations.md", "python")
    assert printed(program, tmp_path).startswith("v v 2 1.0 +100%\n")
    documents = [path.read_text() for path in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md"))]
    stated = [text for document in documents for text in re.findall(r"--(?:holdout-)?where '([^'\n]+)'", document)]
    assert len(stated) > 4
    for text in stated:
        parse(text)


@pytest.fixture(scope="module")
def art(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the collection of the tour, whose items have albums and years."""
    folder = tmp_path_factory.mktemp("guide")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("crossview.server.demo.dataset.SIZE", (112, 84))
        write_pictures(folder / "pictures", 4)
    with Home(folder / "tour" / "mine").create("art", ["color", "gist"]) as made:
        made.index([folder / "pictures"], IndexOptions(labels="folder", workers=1))
        made.items.update(
            [
                ItemUpdate(item.key, attributes={"album": f"album {number % 5}", "year": 2019 + number % 4})
                for number, item in enumerate(made.items())
            ]
        )
    return folder


@pytest.mark.parametrize("served", [False, True], ids=["here", "served"])
def test_the_guide_of_searches(art: Path, served: bool) -> None:
    """Every line finds something, and the program prints the same here and through a server."""
    (lines, _), (program, _) = blocks("docs/guides/search.md", "sh"), blocks("docs/guides/search.md", "python")
    home = art / "tour" / "mine"
    with RunningServer(ServerSettings(home=home, port=0)) as running:
        where = ("--server", running.address) if served else ("--home", home)
        for line in lines.splitlines():
            found = (
                result_of(*shlex.split(line)[1:], *where)
                if "--csv" not in line
                else done(*shlex.split(line)[1:], *where)
            )
            assert found, line
        if served:
            program = program.replace(
                'crossview.open("art", home="tour/mine")', f'crossview.connect("{running.address}").open("art")'
            )
        output = printed(program, art)
    albums, total, keys = output.splitlines()
    assert len(set(ast.literal_eval(albums))) == 3
    assert int(total) > 10
    assert len(ast.literal_eval(keys)) == 3


def test_the_guide_of_http(art: Path, run: Run) -> None:
    """Every line of curl is answered, with a hit or a count."""
    _, lines, *_ = blocks("docs/guides/http.md", "sh")
    with RunningServer(ServerSettings(home=art / "tour" / "mine", port=0, http_port=0)) as running:
        output = run(["bash", "-euc", lines.replace("localhost:8080", f"localhost:{running.http_port}")], art)
    for wanted in ('"hits":[{"item":"collections/art/items/pictures/', '"items":"', '{"status":"SERVING"}'):
        assert wanted in output
    assert '"openapi": "3.1' in (art / "openapi.json").read_text().replace('":"', '": "')


def test_the_guide_of_feedback(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    """Its commands search, undo and remember."""
    monkeypatch.setenv("CROSSVIEW_HOME", str(tmp_path / "home"))
    with Home(tmp_path / "home").create("art", ["v=vectors:dim=1"]) as art:
        art.items.put([NewItem(f"art/{n}.jpg", rows={"v": [n]}, attributes={"year": 1895 + n}) for n in range(10)])
    *_, searches, remembering = blocks("docs/guides/examples.md", "sh")
    output = run(["bash", "-euc", searches], tmp_path)
    assert "examples: 2, counter-examples: 1 (kept by roses)" in output
    assert "undone: like art/2.jpg" in output
    assert output.endswith("deleted 1 judgements of roses\n")
    output = run(["bash", "-euc", remembering], tmp_path)
    assert "3 answers in flowers: 12 comparisons" in output
    assert "wrote 12 comparisons to flowers.csv" in output
    assert output.endswith("deleted 3 answers that remembered roses\n")


def test_the_guide_of_moving(tmp_path: Path, run: Run) -> None:
    """Its commands move a collection, and import a table and prices; its programs read both."""
    rows = np.arange(24, dtype=np.float32).reshape(6, 4)
    with Home(tmp_path / "home").create("art", ["clip=vectors:dim=4"]) as art:
        art.items.put_vectors("clip", [f"art/{n}.jpg" for n in range(6)], rows)
    table = {"sku": [f"A{n}" for n in range(6)], "title": [f"thing {n}" for n in range(6)], "category": ["toys"] * 6}
    pyarrow.parquet.write_table(pyarrow.table({**table, "emb": list(rows)}), tmp_path / "shop.parquet")
    (tmp_path / "prices.csv").write_text("sku,price\n" + "".join(f"A{n},{n}.5\n" for n in range(6)))
    out, data = blocks("docs/guides/moving.md", "sh")
    output = run(["bash", "-euc", out], tmp_path)
    assert "exported art to" in output
    assert "imported art-copy: 6 items, 1 spaces" in output
    output = run(["bash", "-euc", data], tmp_path)
    check_printed("docs/guides/moving.md", output)
    reading, importing = blocks("docs/guides/moving.md", "python")
    assert run([sys.executable, "-W", "error", "-c", reading], tmp_path) == "[12. 13. 14. 15.]\n"
    assert run([sys.executable, "-W", "error", "-c", importing], tmp_path).splitlines()[1] == "6"


@pytest.mark.long
def test_the_guide_of_class_trees(tmp_path: Path, run: Run, demo: Path) -> None:
    """The first lines run on drawn pictures, with the tree as it stands there; votes are measured by it."""
    tree, lines = (blocks("docs/guides/taxonomies.md", language)[0] for language in ("text", "sh"))
    (tmp_path / "kinds.txt").write_text(tree)
    output = run(["bash", "-euc", after_demo(lines, demo, tmp_path)], tmp_path)
    assert "240 added" in output
    assert output.count("hierarchical_accuracy") == 3
    assert output.count("lca_loss") == 3


@pytest.mark.long
def test_same_or_different(tmp_path: Path, run: Run, demo: Path) -> None:
    """On drawn pictures: a threshold, two that are the same, and figures of pairs that did not set it."""
    (guide,) = blocks("docs/guides/same-or-different.md", "sh")
    output = run(["bash", "-euc", after_demo(guide, demo, tmp_path)], tmp_path)
    assert "calibrated on 20 similar and 20 dissimilar stated pairs" in output
    assert "\nsame: distance" in output
    assert "of 40 pairs are the same" in output
    assert "true_accept_rate_0.01" in output
    assert "accuracy is that at its threshold" in output


@pytest.mark.long
def test_the_guide_of_changes(tmp_path: Path, run: Run) -> None:
    """A camera's pictures: cars that come and go are found, and the report says so without any other file."""
    first, *_ = blocks("docs/guides/changes.md", "sh")
    output = run(["bash", "-euc", first], tmp_path)
    assert "24 of 24 times a car came or went" in output
    assert "240 versions from 2026-06-01 00:00 to 2026-06-10 23:00 by their names, period 4h" in output
    page = (tmp_path / "why" / "index.html").read_text(encoding="utf-8")
    assert page.count("<img ") == page.count('alt="') >= 4
    assert "://" not in page


def test_the_guide_of_duplicates(tmp_path: Path, run: Run) -> None:
    """Copies are found, the script is written, a judgement is honoured, and the program prints the identical file."""
    write_pictures(tmp_path / "pictures", 3)
    (tmp_path / "copies").mkdir()
    name = Path("dots") / "dots-00.jpg"
    (tmp_path / "copies" / name.name).write_bytes((tmp_path / "pictures" / name).read_bytes())
    finding, judging = blocks("docs/guides/duplicates.md", "sh")
    output = run(["bash", "-euc", finding], tmp_path)
    assert "identical" in output
    assert "wrote move.sh: read it" in output
    (program,) = blocks("docs/guides/duplicates.md", "python")
    assert "dots-00.jpg" in printed(program, tmp_path)
    judged = run(["bash", "-euc", judging], tmp_path)
    assert "not the same photograph" in judged
    assert "undone: " in judged


def test_the_readme_is_short() -> None:
    """A reader sees all of it in a few minutes."""
    assert len((ROOT / "README.md").read_text().splitlines()) <= 150
    assert len((ROOT / "ARCHITECTURE.md").read_text().splitlines()) < 250
