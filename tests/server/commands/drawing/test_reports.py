"""Reports are pages that need nothing else, show the figures of their JSON, and run nothing that users wrote."""

import io
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from terminal import BACKENDS, reached, run

from crossview.engine.collections.home import Home
from crossview.engine.values.evaluation import EvaluationRequest
from crossview.engine.values.item import NewItem
from crossview.engine.values.markup import data_uri, element, elided, markup, name
from crossview.engine.values.recipe import Recipe
from crossview.server.commands.drawing.chart import Chart, Series, matrix, ticks
from crossview.server.commands.drawing.page import Page, Section
from crossview.server.commands.drawing.search_results import Strip, Tile
from crossview.server.commands.drawing.sheet import write_sheet

HOSTILE = ("<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "a\u202egpj.exe", "'; x", "n" * 10_000)
"""Labels that try to become markup, to turn the direction of text, or to fill the page."""
VOID = {"br", "img", "link", "meta", "source"}


class Read(HTMLParser):
    """A page as a browser reads it: its elements, its addresses, its text, and the elements that never end."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.addresses: list[str] = []
        self.handlers: list[str] = []
        self.policies: list[str] = []
        self.cells: list[str] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.addresses += [value or "" for key, value in attrs if key in ("src", "href", "srcset", "action")]
        self.policies += [value or "" for key, value in attrs if tag == "meta" and key == "content"]
        self.handlers += [key for key, _ in attrs if key.startswith("on")]
        if tag not in VOID:
            self.open.append(tag)
        if tag in ("td", "th"):
            self.cells.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data
        if self.cells and ("td" in self.open or "th" in self.open):
            self.cells[-1] += data


def check(text: str) -> Read:
    """Return a page after checking that it is whole, loads nothing and runs nothing."""
    read = Read(text)
    assert not read.open
    assert not {"script", "iframe", "object", "embed", "form", "link", "base"} & set(read.tags)
    assert not read.handlers
    assert all(one.startswith(("#part-", "data:image/")) for one in read.addresses), read.addresses
    assert "url(" not in text
    assert "@import" not in text
    assert any(one.startswith("default-src 'none'; img-src data:") for one in read.policies)
    assert not re.search("[\u202a-\u202e\u2066-\u2069\x00]", text)
    return read


def photograph(colour: tuple[int, int, int], seed: int = 0) -> bytes:
    data = io.BytesIO()
    pixels = np.random.default_rng(seed).integers(0, 40, (48, 64, 3)) + np.array(colour)
    Image.fromarray(pixels.astype(np.uint8)).save(data, "JPEG", quality=92)
    return data.getvalue()


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """A collection whose keys and labels are hostile: 12 items of each of the classes, a copy, and a trained space."""
    home = Home(tmp_path_factory.mktemp("reports"))
    rng = np.random.default_rng(0)
    with home.create("odd", ["left=vectors:dim=6", "right=vectors:dim=5", "color"]) as made:
        items = []
        for number, label in enumerate(HOSTILE):
            for copy in range(12):
                row = np.eye(6)[number] + 0.4 * rng.normal(size=6)
                items.append(
                    NewItem(
                        f"{label[:40]}/{number}-{copy}.jpg",
                        image=photograph((30 * number, 40, 100), 50 * number + copy),
                        labels=(label[:1000],),
                        rows={"left": row, "right": row[:5] + 0.2 * rng.normal(size=5)},
                    )
                )
        items.append(NewItem("copy.jpg", image=items[0].image, labels=items[0].labels))
        assert not made.items.put(items).failures
        made.train(Recipe(spec="cca", views=("left", "right"), dim=3, holdout=0.4), space="small")
        made.train(Recipe(spec="cca", views=("left", "right"), dim=5, holdout=0.4), space="large")
    return home


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_evaluation_has_the_figures_of_its_json(home: Home, tmp_path: Path, backend: str) -> None:
    """The JSON is that of --json; tables, curves, confusion and pictures are on a page that needs nothing else."""
    folder = tmp_path / "report"
    with reached(home, backend) as where:
        command = ("evaluate", "odd", "--view", "left", "--space", "small,large", "--report", folder, "--json")
        result = run(*command, *where)
    assert result.exit_code == 0, result.output
    names = {path.name for path in folder.iterdir()}
    pictures = {"precision-recall.png", "accuracy.png", "size.png", "confusion.png", "queries.png"}
    assert names == {"index.html", "evaluation.json", "made.json", *pictures}
    assert (folder / "evaluation.json").read_text(encoding="utf-8") == result.stdout
    found = json.loads(result.stdout)["result"]
    read = check((folder / "index.html").read_text(encoding="utf-8"))
    for row in found["rows"]:
        error = "" if row["standard_error"] is None else f" ± {row['standard_error']:.3f}"
        assert any(f"{row['value']:.3f}{error}" in cell for cell in read.cells), row
    assert len(found["curves"]) == len(found["confusions"]) == 2 * len({row["database"] for row in found["rows"]}) * 2
    for confusion in found["confusions"]:
        assert sum(one["count"] for one in confusion["entries"]) <= found["queries"]
    assert "✓ right" in read.text
    assert "✗ wrong" in read.text
    assert "Best: average precision" in read.text
    made = json.loads((folder / "made.json").read_text(encoding="utf-8"))
    assert made["command"].startswith("crossview evaluate odd --view left")
    assert {"version", "date", "seed", "queries", "space small"} <= made.keys()
    for picture in pictures:
        with Image.open(folder / picture) as opened:
            opened.load()


def test_curves_and_confusion_have_the_counts_of_the_figures(home: Home) -> None:
    """The diagonal of the confusion is the accuracy; the area below the curve is near mAP, which it bounds."""
    with home.open("odd") as opened:
        found = opened.evaluate(EvaluationRequest(view="left", spaces=("small",), k=(5, 10), details=True))
    rows = {(row.database_view, row.database, row.metric, row.k): row.value for row in found.rows}
    for one in found.confusions:
        right = sum(entry.count for entry in one.entries if entry.label == entry.vote)
        total = sum(entry.count for entry in one.entries)
        assert right / total == pytest.approx(rows[one.database_view, one.database, "accuracy", 10])
    for curve in found.curves:
        area = rows[curve.database_view, curve.database, "map", None]
        assert list(curve.precision) == sorted(curve.precision, reverse=True)
        assert area - 0.02 < np.mean(curve.precision) < area + 0.2
    for example in found.examples:
        assert len(example.hits) == len(example.relevant) == 8
    best = [one.value for one in found.examples if one.best]
    worst = [one.value for one in found.examples if not one.best]
    assert min(best) >= max(worst)


def test_an_evaluation_by_items_has_a_report(home: Home, tmp_path: Path) -> None:
    """Without labels there are no classes to confuse; the queries are those that find their own item soonest."""
    where = ("--home", home.path)
    items = tmp_path / "items"
    options = ("evaluate", "odd", "--view", "left", "--targets", "right", "--by", "items", "--report", items)
    assert run(*options, *where).exit_code == 0
    read = check((items / "index.html").read_text(encoding="utf-8"))
    assert "recall" in read.text
    assert not (items / "confusion.png").exists()
    assert "Best: rank" in read.text


def test_an_audit_and_duplicates_have_reports(home: Home, tmp_path: Path) -> None:
    """Their JSON is that of --json; hostile names are text; each kind of finding has its command."""
    where = ("--home", home.path)
    for command, file in (("audit", "audit.json"), ("duplicates", "duplicates.json")):
        folder = tmp_path / command
        result = run(command, "odd", "--report", folder, "--json", *where)
        assert result.exit_code == 0, result.output
        assert (folder / file).read_text(encoding="utf-8") == result.stdout
        read = check((folder / "index.html").read_text(encoding="utf-8"))
        assert f"crossview {command} odd --report" in read.text
        found = json.loads(result.stdout)["result"]
        for finding in found.get("findings", ()):
            assert finding["sentence"] in read.text
        for group in found.get("groups", ()):
            assert group["reason"] in read.text
    assert found["groups"], "the copy is found"
    assert "identical, 100.0%" in read.text


@pytest.mark.parametrize("given", [("--api-key", "cvk_secret"), ("--api-key=cvk_secret",)])
def test_a_key_is_in_no_report(home: Home, tmp_path: Path, given: tuple[str, ...]) -> None:
    """The command on the page shows that a key was given, and not which."""
    with reached(home, "remote") as where:
        result = run("audit", "odd", "--report", tmp_path / "report", *where, *given)
    assert result.exit_code == 0, result.output
    text = (tmp_path / "report" / "index.html").read_text(encoding="utf-8")
    assert "cvk_secret" not in text
    assert "--api-key" in text


def test_a_report_needs_a_folder(home: Home, tmp_path: Path) -> None:
    (file := tmp_path / "file").write_text("mine")
    for command in (("audit", "odd"), ("duplicates", "odd"), ("evaluate", "odd", "--view", "left")):
        result = run(*command, "--report", file, "--home", home.path)
        assert result.exit_code == 2
        assert "is a file: name another" in result.stderr.replace("\n", " ")
    assert file.read_text() == "mine"


def test_a_sheet_can_be_a_page(home: Home, tmp_path: Path) -> None:
    """It has file names, match and distance; the query is marked, and hits wrap."""
    sheet = tmp_path / "sheet.html"
    with home.open("odd") as opened:
        key = opened.items(limit=1)[0].key
    result = run("search", "odd", "--view", "left", "--key", key, "-k", 20, "--out", sheet, "--home", home.path)
    assert result.exit_code == 0, result.output
    read = check(sheet.read_text(encoding="utf-8"))
    assert read.tags.count("li") >= 20
    assert read.text.count("query") >= 1
    assert [path.name for path in tmp_path.iterdir()] == ["sheet.html"]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_tiles_are_text(text: str, tmp_path: Path) -> None:
    tile = Tile(b"<svg onload=alert(1)>", text, name=text, key=text, text=text, note=text, correct=False)
    write_sheet(tmp_path / "sheet.html", [Strip(text, tile, [tile] * 3, badge=text)], text)
    check((tmp_path / "sheet.html").read_text(encoding="utf-8"))


@pytest.mark.parametrize("text", HOSTILE)
def test_charts_of_hostile_names_are_drawn(text: str) -> None:
    series = [Series(text, [(5, 0.25), (10, 0.5)], [0.1, None])] * 9
    drawings = [Chart(text, "k", text, series).drawing(), matrix(text, [text, "b"], {(text, "b"): 3, (text, text): 1})]
    for drawing in drawings:
        check(Page("k", "t", "s", [Section("x", drawing.svg())]).html())
        assert drawing.picture().width == round(2 * drawing.width)


def test_ticks_are_round_and_within() -> None:
    assert ticks(0, 1) == [0, 0.2, 0.4, 0.6, 0.8, 1]
    assert ticks(0.31, 0.52) == [0.35, 0.4, 0.45, 0.5]
    assert ticks(2, 2) == [2]


def test_text_becomes_markup_by_escaping_alone() -> None:
    assert element("a", "<b>", href='"x', hidden=True, title=None) == '<a href="&quot;x" hidden>&lt;b&gt;</a>'
    assert markup("&", [element("br"), None, "x"]) == "&amp;<br>x"
    assert name("\u202ex") == "<bdi>\\u202ex</bdi>"
    assert name("abc", whole="d/abc") == '<bdi title="d/abc">abc</bdi>'
    assert elided("x" * 30 + "end.jpg", 12) == "xxx…xend.jpg"
    assert len(elided("y" * 100, 12)) == 12
    assert data_uri(b"<svg>") == ""
