from pathlib import Path

import pytest
from PIL import Image
from typer.testing import CliRunner

from crossview.server.commands.cli import app
from crossview.server.commands.demo import story


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("crossview.server.commands.demo.dataset.SIZE", (112, 84))
    monkeypatch.setattr(story, "PER_CLASS", 6)
    monkeypatch.setattr(story, "QUERIES_PER_CLASS", 1)
    monkeypatch.setattr(story, "EXTRACTORS", ("color", "sift:words=24", "text:dim=10"))


@pytest.mark.long
@pytest.mark.usefixtures("small")
def test_the_demo_tells_the_whole_story(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every step is printed with its command; a contact sheet is written, and with --keep a home to explore."""
    monkeypatch.chdir(tmp_path.parent)
    result = CliRunner().invoke(app, ["demo", "--out", tmp_path.name, "--keep"])
    assert result.exit_code == 0, result.output
    for command in ("create", "index", "train", "serve", "search", "evaluate"):
        assert f"$ crossview {command} " in result.stdout
    assert "color -> sift" in result.stdout
    assert "text -> color" in result.stdout
    assert len((tmp_path / "captions.csv").read_text().splitlines()) == 61
    with Image.open(tmp_path / "sheet.png") as sheet:
        assert sheet.width > 1000
    assert "demo" in CliRunner().invoke(app, ["list", "--home", str(tmp_path / "home")]).stdout
    again = CliRunner().invoke(app, ["demo", "--out", str(tmp_path), "--keep"])
    assert (again.exit_code, again.stderr.count("\n")) == (1, 1)
