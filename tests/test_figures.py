"""The documents' figures are those of the committed results."""

import json
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from benchmarks import figures
from benchmarks.registry import MODULES, benchmark

DOCUMENT = {
    "benchmark": "extract",
    "command": "python -m benchmarks extract --data ../shared/data/corel1k",
    "date": "2026-01-02",
    "commit": "0123456789",
    "dirty": False,
    "machine": {"cpu": "a processor", "cores": 2, "memory_gib": 4.0, "system": "Linux"},
    "settings": {},
    "rows": [{"method": "color", "metric": "5-NN accuracy, raw", "value": 0.7, "std": 0.02}],
    "seconds": 1234.5,
}


@pytest.fixture
def root(tmp_path):
    """A project with one result."""
    (tmp_path / figures.RESULTS).mkdir(parents=True)
    (tmp_path / "docs").mkdir()
    (tmp_path / figures.RESULTS / "extract.json").write_text(json.dumps(DOCUMENT), encoding="utf-8")
    (tmp_path / figures.README).write_text(f"# It\n{figures.MARK}old{figures.MARK}\nEnd\n", encoding="utf-8")
    return tmp_path


def test_the_committed_documents_show_the_committed_results():
    """Whoever commits a result or changes a report writes the documents anew."""
    assert figures.main(["--check"]) == 0


def test_the_page_is_written_from_the_results(root, capsys):
    """A chapter has a result's report and its command; the check fails until it is written, and after an edit."""
    assert figures.main(["--check"], root) == 1
    assert "docs/benchmarks.md differs from the results" in capsys.readouterr().err
    assert figures.main([], root) == 0
    assert figures.main(["--check"], root) == 0
    page = root / figures.PAGE
    text = page.read_text(encoding="utf-8")
    assert "## extract\n\n| figure | value |" in text
    assert f"`{DOCUMENT['command']}`, commit 0123456, 2026-01-02; 2 cores of a processor, 4.0 GiB; 1,234 s." in text
    page.write_text(text.replace("0.7", "0.8"), encoding="utf-8")
    assert figures.main(["--check"], root) == 1


def test_results_of_one_benchmark_are_in_order_of_their_names(root):
    """The shorter name is first: what was measured first, before what was measured on further data."""
    for name in ("extract-b", "extract-a"):
        (root / figures.RESULTS / f"{name}.json").write_text(json.dumps(DOCUMENT | {"command": name}), encoding="utf-8")
    commands = [document["command"] for document in figures.results(root / figures.RESULTS)]
    assert commands == [DOCUMENT["command"], "extract-a", "extract-b"]


def test_what_surrounds_the_table_stays(root):
    """Only what is between the two comments is written."""
    figures.main([], root)
    first, _, last = (root / figures.README).read_text(encoding="utf-8").split(figures.MARK)
    assert (first, last) == ("# It\n", "\nEnd\n")


def test_a_readme_without_its_place_is_an_error():
    """Where the table would stand must be marked."""
    with pytest.raises(ValueError, match="must have <!-- figures --> twice"):
        figures.with_table("# It\n", [])


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


def test_a_commit_that_the_repository_lacks_is_marked(root, capsys):
    """The check fails until the result and its chapter state it; without git nobody can know."""
    git = "git", "-c", "user.name=a", "-c", "user.email=a@example.org"
    result, page = root / figures.RESULTS / "extract.json", root / figures.PAGE
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
