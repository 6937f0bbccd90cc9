"""Pictures of strangers are read as few formats, and no file of this machine that a server names is drawn."""

import ast
import io
from pathlib import Path

import numpy as np
import pytest
from checkout import Checkout
from pages import DrawnPage
from PIL import EpsImagePlugin, Image
from terminal import done, reached

from crossview.engine.collections.home import Home
from crossview.engine.values.item import NewItem
from crossview.server.commands.drawing.region_pictures import version_picture
from crossview.server.commands.drawing.search_results import Strip, Tile
from crossview.server.commands.drawing.sheet import contact_sheet

EPS = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n%%EndComments\n0 0 9 9 rectfill\nshowpage\n%%EOF\n"
SECRET = (255, 0, 255)
PAGE = DrawnPage(hours=40)


def test_no_program_is_started_by_a_thumbnail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pillow draws PostScript by Ghostscript, if it may."""
    program, started = tmp_path / "gs", tmp_path / "started"
    program.write_text(f"#!/bin/sh\ntouch {started}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setattr(EpsImagePlugin, "gs_binary", None)

    class Items:
        def get(self, key: str) -> object:
            return type("Item", (), {"source": ""})()

        def thumbnail(self, key: str) -> bytes:
            return EPS

    contact_sheet([Strip("", Tile(EPS), [Tile(EPS)])])
    version_picture(Items(), "x")  # type: ignore[arg-type]
    assert not started.exists()


def test_pictures_are_opened_with_a_list_of_formats_and_in_one_room() -> None:
    """Otherwise Pillow tries every format that it knows, some of them by other programs."""
    wrong = []
    for path, tree in Checkout(Path(__file__).parents[4]).trees.items():
        if str(path).startswith(("benchmarks/", "tools/")):
            continue
        names = {
            alias.asname or alias.name
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and node.module == "PIL"
            for alias in node.names
            if alias.name == "Image"
        }
        for node in ast.walk(tree):
            match node:
                case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="open"), keywords=keywords):
                    listed = any(keyword.arg == "formats" for keyword in keywords)
                    if name in names and not (listed and str(path).startswith("features/")):
                        wrong.append(f"{path}:{node.lineno}")
    assert wrong == []


@pytest.mark.parametrize(("where", "shown"), [("remote", False), ("local", True)])
def test_a_server_brings_no_file_of_this_machine_into_a_report(tmp_path: Path, where: str, shown: bool) -> None:
    secret = tmp_path / "secret"
    secret.mkdir()
    home = Home(tmp_path / "home")
    items = []
    for hour in range(PAGE.hours):
        data = io.BytesIO()
        PAGE.picture(hour).save(data, "PNG")
        source = secret / PAGE.name(hour)
        Image.new("RGB", (64, 64), SECRET).save(source)
        items.append(NewItem(source.name, image=data.getvalue(), source=str(source)))
    with home.create("page", ["regions=gist:grid=4:size=64"]) as page:
        assert page.items.put(items).added == PAGE.hours
    with reached(home, where) as options:
        done("changes", "page", "--out", tmp_path / "report", *options)
    with Image.open(tmp_path / "report" / "newest.png") as newest:
        assert (np.asarray(newest) == SECRET).all(axis=2).any() == shown
