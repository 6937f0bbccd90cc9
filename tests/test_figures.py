"""The documents' figures are those of the committed results."""

import csv
import json
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from benchmarks import figures
from benchmarks.frame.digest import code_digest
from benchmarks.frame.plots import digest_in
from benchmarks.pages import PAGES, README
from benchmarks.pages.writing import FOLDER, MARK, texts, with_table
from benchmarks.registry import MODULES, benchmark
from crossview.engine.learners.registry import LEARNERS

DOCUMENT = {
    "benchmark": "extract",
    "command": "python -m benchmarks extract --data ../shared/data/corel1k",
    "date": "2026-01-02",
    "commit": "0123456789",
    "dirty": False,
    "machine": {"cpu": "a processor", "cores": 2, "memory_gib": 4.0, "system": "Linux"},
    "settings": {},
    "rows": [
        {"method": "color", "metric": "5-NN accuracy, raw", "value": 0.7, "std": 0.02},
        {"method": "color", "metric": "ms an image, one core", "value": 0.5},
        {"method": "sift", "metric": "ms an image, one core", "value": 20.0},
    ],
    "seconds": 1234.5,
}
WORDS = 600
"""The most words of a page, as ``wc -w`` counts them."""
PAGE, PLOT = f"{FOLDER}/extraction.md", f"{figures.PLOTS}/extraction.svg"


@pytest.fixture
def root(tmp_path):
    """A project with one result."""
    (tmp_path / figures.RESULTS).mkdir(parents=True)
    (tmp_path / "docs").mkdir()
    (tmp_path / figures.RESULTS / "extract.json").write_text(json.dumps(DOCUMENT), encoding="utf-8")
    (tmp_path / figures.README).write_text(f"# It\n{MARK}old{MARK}\nEnd\n", encoding="utf-8")
    return tmp_path


def test_the_committed_documents_show_the_committed_results():
    """A person who commits a result or changes a report writes the documents again."""
    assert figures.main(["--check"]) == 0


def test_the_page_is_written_from_the_results(root, capsys):
    """A chapter has a result's report and its command; the check fails until it is written, and after an edit."""
    assert figures.main(["--check"], root) == 1
    assert "docs/benchmarks/extraction.md differs from the results" in capsys.readouterr().err
    assert figures.main([], root) == 0
    assert figures.main(["--check"], root) == 0
    page = root / PAGE
    text = page.read_text(encoding="utf-8")
    assert "## extract\n\n| figure | value |" in text
    assert (root / FOLDER / "tables/extraction/extract.csv").read_text(encoding="utf-8").startswith("figure,value\n")
    assert f"`{DOCUMENT['command']}`, commit 0123456, 2026-01-02; 2 cores of a processor, 4.0 GiB; 1,234 s." in text
    page.write_text(text.replace("0.7", "0.8"), encoding="utf-8")
    assert figures.main(["--check"], root) == 1


def test_a_plot_of_other_data_is_out_of_date(root, capsys):
    """The digest in the file is that of the drawn data: the check needs no drawing, and a plot is drawn once."""
    figures.main([], root)
    drawn = (root / PLOT).read_bytes()
    figures.main([], root)
    assert (root / PLOT).read_bytes() == drawn
    rows = [row | {"value": row["value"] + 1} for row in DOCUMENT["rows"]]
    (root / figures.RESULTS / "extract.json").write_text(json.dumps(DOCUMENT | {"rows": rows}), encoding="utf-8")
    assert figures.main(["--check"], root) == 1
    assert f"{PLOT} differs from the results" in capsys.readouterr().err
    before = digest_in(root / PLOT)
    figures.main([], root)
    assert digest_in(root / PLOT) != before
    assert figures.main(["--check"], root) == 0


def test_plots_are_the_same_in_every_run(root):
    """A plot that is drawn again differs in no byte: it has no date, and its names do not depend on chance."""
    figures.main([], root)
    drawn = (root / PLOT).read_bytes()
    (root / PLOT).unlink()
    figures.main([], root)
    assert (root / PLOT).read_bytes() == drawn


def test_files_of_no_result_are_removed(root):
    """A page, a plot or a table that no result makes any more is out of date until it is removed."""
    figures.main([], root)
    left = [root / FOLDER / "old.md", root / figures.PLOTS / "old.svg", root / FOLDER / "tables" / "old.csv"]
    for path in left:
        path.write_text("old", encoding="utf-8")
    assert figures.main(["--check"], root) == 1
    figures.main([], root)
    assert not any(path.exists() for path in left)


def test_a_result_without_a_page_is_an_error():
    """A new result is not lost: the message states where to name it."""
    with pytest.raises(ValueError, match=r"no page has the results another: name them in a page of benchmarks/pages"):
        texts({"another": DOCUMENT})


def test_each_result_is_on_one_page():
    """Each committed result is on exactly one page, and each page and plot has its results."""
    committed = set(figures.results(figures.ROOT / figures.RESULTS))
    on_pages = [name for page in PAGES.values() for name in page.results]
    assert sorted(on_pages) == sorted(committed)
    for page in PAGES.values():
        assert page.plots or page.name == "lean", page.name  # a table of ratios alone
        assert {plot.result for plot in page.plots} <= set(page.results)


def test_pages_and_plots_refer_to_each_other():
    """Each plot is on a page under a text that replaces it, is small, and each page leads to the measures."""
    folder = figures.ROOT / FOLDER
    shown = set()
    for path in folder.glob("*.md"):
        text = path.read_text(encoding="utf-8")
        plots = re.findall(r"!\[([^\]]+)\]\((plots/[^)]+)\)", text)
        assert len(plots) == text.count("!["), path.name
        assert all(len(alt) >= 60 for alt, _ in plots), path.name
        shown |= {folder / name for _, name in plots}
        if path.stem not in ("index", "data"):
            assert "(index.md#measures)" in text, path.name
            assert text.rstrip().splitlines()[-1].startswith("`python -m benchmarks "), path.name
            assert len(text.split()) <= WORDS, path.name
    assert shown == set((figures.ROOT / figures.PLOTS).glob("*.svg"))
    assert all(path.stat().st_size <= 60_000 for path in shown)


def test_pages_and_tables_refer_to_each_other():
    """Each page leads to the CSV files of all its tables, which state the same figures; each excerpt shows rows."""
    folder = figures.ROOT / FOLDER
    linked = set()
    for page in PAGES.values():
        text = (folder / f"{page.name}.md").read_text(encoding="utf-8")
        paths = [folder / link for link in re.findall(r"\((tables/[^)]+\.csv)\): [\d,]+ rows$", text, re.M)]
        assert paths, page.name
        linked |= set(paths)
        files = [path.read_text(encoding="utf-8").splitlines() for path in paths]
        cells = {cell for lines in files for row in csv.reader(lines) for cell in row}
        reports = text.split("[Measures]")[1].split("## Tables in full")[0]
        rows = [line.strip("| ").split(" | ") for line in reports.splitlines() if re.match(r"\| (?!---)", line)]
        shown = {re.sub(r"\*\*|`", "", cell.strip()) for row in rows[1:] for cell in row if re.search(r"\d", cell)}
        assert {cell for cell in shown if re.match(r"[-+\d*]", cell)} <= cells, page.name
        assert {excerpt.result for excerpt in page.excerpts} <= set(page.results)
    assert linked == set((folder / "tables").rglob("*.csv"))


def test_the_index_leads_to_every_page():
    """A title in the index is the link to its page."""
    text = (figures.ROOT / FOLDER / "index.md").read_text(encoding="utf-8")
    for page in PAGES.values():
        assert page.question.endswith("?"), page.name
        assert f"| [{page.title}]({page.name}.md) | " in text
    assert "## Measures" in text


def test_the_readme_shows_five_papers_and_four_results_with_their_pages():
    """A row of a table has our figure and another one, and its link leads to a page."""
    block = (figures.ROOT / figures.README).read_text(encoding="utf-8").split(MARK)[1]
    papers, others = (
        [line.split(" | ") for line in text.splitlines() if line.startswith("| ")][2:]
        for text in block.strip().split("\n\n")[:2]
    )
    assert (len(papers), len(others)) == (5, len(README)) == (5, 4)
    for link, shown in [*((row[0], row[-2:]) for row in papers), *((row[-1], row[1:3]) for row in others)]:
        page = re.search(r"\((docs/[^)]+)\)", link)
        assert page
        assert (figures.ROOT / page.group(1)).is_file()
        assert all(any(digit.isdigit() for digit in cell) for cell in shown)


def test_commands_of_papers_name_learners():
    named = {page.command.partition("--learner ")[2].partition(" ")[0] for page in PAGES.values() if page.paper}
    assert named - {""} <= LEARNERS.keys()


def test_what_surrounds_the_table_stays(root):
    """Only the text between the two comments is written."""
    figures.main([], root)
    first, _, last = (root / figures.README).read_text(encoding="utf-8").split(MARK)
    assert (first, last) == ("# It\n", "\nEnd\n")


def test_a_readme_without_its_place_is_an_error():
    """The place of the table must be marked."""
    with pytest.raises(ValueError, match="must have <!-- figures --> twice"):
        with_table("# It\n", {})


def test_results_have_no_paths_of_a_machine():
    """Commands of committed results can be run elsewhere: their paths are relative."""
    for path in Path(figures.ROOT, figures.RESULTS).glob("*.json"):
        command = json.loads(path.read_text(encoding="utf-8"))["command"]
        assert command.startswith("python -m benchmarks ")
        assert " /" not in command, path.name


def test_every_printed_command_runs_a_benchmark():
    """A reader who pastes a command of the documents gets past its parser; the output has a place by default."""
    texts = [path.read_text(encoding="utf-8") for path in (figures.ROOT / "docs").rglob("*.md")]
    texts += [path.read_text(encoding="utf-8") for path in figures.ROOT.glob("*.md")]
    printed = {command for text in texts for command in re.findall(r"python -m benchmarks ([^`\n]+)", text)}
    commands = [words for words in map(shlex.split, printed) if words[0] in MODULES]
    assert len(commands) >= 20
    for name, *options in commands:
        assert benchmark(name).parser().parse_args(options).json == Path("bench-out", f"{name}.json")


def test_results_that_are_older_than_their_code_are_named(root, capsys):
    """The check names them by the first part that differs, without an error, and leaves out those of unknown code."""
    run = benchmark("extract").run
    now, path = code_digest(run), root / figures.RESULTS / "extract.json"
    for digest, named in ((now, ""), (now | {"learners": "x", "product": "x"}, "stale (learners changed): extract\n")):
        path.write_text(json.dumps(DOCUMENT | {"digest": digest}), encoding="utf-8")
        figures.main([], root)
        assert figures.main(["--check"], root) == 0
        assert capsys.readouterr().err == named
    assert figures.older_than_code({"extract": DOCUMENT | {"digest": None}}) == {}


def test_the_index_lists_results_of_unknown_code(root):
    """It states the reason."""
    path = root / figures.RESULTS / "extract.json"
    path.write_text(json.dumps(DOCUMENT | {"digest": None, "digest_reason": "its commit is lost"}), encoding="utf-8")
    figures.main([], root)
    text = (root / FOLDER / "index.md").read_text(encoding="utf-8")
    assert "| extract | 2026-01-02 | its commit is lost |" in text


def test_each_committed_result_has_a_digest_or_the_reason_why_not():
    for name, document in figures.results(figures.ROOT / figures.RESULTS).items():
        assert document["digest"] or document["digest_reason"], name


def test_a_commit_that_the_repository_lacks_is_marked(root, capsys):
    """The check fails until the result and its chapter state it; without git the commit is unknown."""
    git = "git", "-c", "user.name=a", "-c", "user.email=a@example.org"
    result, page = root / figures.RESULTS / "extract.json", root / PAGE
    assert figures.main([], root) == 0
    assert "not in the repository" not in page.read_text(encoding="utf-8")
    subprocess.run([*git, "init", "-q"], cwd=root, check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "a"], cwd=root, check=True)
    assert figures.main(["--check"], root) == 1
    assert "lacks the commit of extract.json" in capsys.readouterr().err
    assert figures.main([], root) == 0
    assert json.loads(result.read_text(encoding="utf-8")) == DOCUMENT | {"commit_lost": True}
    assert "commit 0123456 (not in the repository), 2026-01-02;" in page.read_text(encoding="utf-8")
    assert figures.main(["--check"], root) == 0
    head = subprocess.run([*git, "rev-parse", "HEAD"], cwd=root, check=True, capture_output=True, text=True).stdout
    result.write_text(json.dumps(DOCUMENT | {"commit": head.strip()}), encoding="utf-8")
    assert figures.without_commit(root) == {}
