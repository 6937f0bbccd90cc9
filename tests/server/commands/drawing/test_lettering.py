"""Contact sheets take names in any script, any format, and arguments that are not UTF-8."""

import io
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageDraw
from terminal import BACKENDS, done, reached, result_of, run

from crossview.engine.collections.home import Home
from crossview.engine.values.errors import InvalidInputError
from crossview.engine.values.item import NewItem
from crossview.server.commands.drawing import lettering
from crossview.server.commands.drawing.lettering import Lettering, legible, system_fonts, unknown
from crossview.server.commands.drawing.search_results import Strip, Tile
from crossview.server.commands.drawing.sheet import FORMATS, contact_sheet, write_sheet


@pytest.fixture
def letters() -> Lettering:
    return Lettering(ImageDraw.Draw(Image.new("RGB", (10, 10))), 14)


@pytest.fixture
def no_fonts(monkeypatch: pytest.MonkeyPatch):
    """A system without fontconfig."""
    monkeypatch.setattr(lettering, "_FONTS", ("there-is-no-such-command",))
    for cache in (system_fonts, lettering._file):
        cache.cache_clear()
    yield
    monkeypatch.undo()
    for cache in (system_fonts, lettering._file):
        cache.cache_clear()


def drawn(text: str) -> bytes:
    """Return the pixels of a text."""
    paper = Image.new("L", (400, 40), 255)
    Lettering(ImageDraw.Draw(paper), 20).line((5, 5), text, 0)  # type: ignore[arg-type]
    return paper.tobytes()


SCRIPTS = {"Latin": "éŁß", "Cyrillic": "Жяд", "Greek": "Ωλ", "Chinese": "中文", "Korean": "한국", "Japanese": "ねこ"}


@pytest.mark.parametrize("text", SCRIPTS.values(), ids=SCRIPTS)
def test_characters_are_drawn_in_a_font_that_has_them_or_as_codes(text: str) -> None:
    """Each character gives a picture of its own, never the box of a font that lacks it."""
    assert len({drawn(one) for one in text} | {drawn("\U0010fffd")}) == len(text) + 1
    missing = unknown([text])
    assert legible(text) == "".join(f"<U+{ord(one):04X}>" if one in missing else one for one in text)


def test_installed_fonts_are_used() -> None:
    """If fontconfig knows a font with Cyrillic letters, it draws them."""
    known = [file for file in system_fonts() if any(ord("Ж") in part for part in file.ranges)]
    if not known:
        pytest.skip("no font with Cyrillic letters is installed")
    assert unknown(["Жé"]) == ""
    assert legible("Же\u0301") == "Же\u0301"
    assert drawn("Ж") != drawn("<U+0416>")


@pytest.mark.usefixtures("no_fonts")
def test_without_fonts_everything_is_readable() -> None:
    """ASCII is drawn as it is and other characters by their codes, which a note lists once each."""
    assert legible("été 中.jpg") == "<U+00E9>t<U+00E9> <U+4E2D>.jpg"
    assert unknown(["été", "中é", "plain\n"]) == "é中"
    assert drawn("中") == drawn("<U+4E2D>")


@given(text=st.text(max_size=40), width=st.integers(30, 300))
@settings(max_examples=50, deadline=None)
def test_any_text_fits(text: str, width: int) -> None:
    """The label of any key fits; a label that fits is whole, and of a longer one the end is kept."""
    letters = Lettering(ImageDraw.Draw(Image.new("RGB", (10, 10))), 14)
    short = letters.shortened(text, width)
    assert letters.width(short) <= width
    letters.line((0, 0), short, (0, 0, 0))
    if letters.width(text) <= width:
        assert short == text


def test_the_end_of_a_long_key_stays_readable(letters: Lettering) -> None:
    """The name of the file distinguishes one key from the next."""
    short = letters.shortened("photos-2/2019/holiday in Italy/lake/IMG_1234.jpg", 136)
    assert short.endswith("1234.jpg")
    assert short.startswith("ph")
    assert "..." in short


@pytest.mark.parametrize("label", ["a\nb.jpg", "a\r\n\tb", "\x00\x1b[31m", "\udcff", "中\n文", " "])
def test_any_label_is_drawn(label: str, tmp_path: Path) -> None:
    """Line breaks and control characters in the name of a file do not stop a sheet."""
    tile = Tile(None, label, text=label)
    write_sheet(tmp_path / "sheet.png", [Strip(label, tile, [tile])], label)
    assert "\n" not in legible(label)


@pytest.mark.parametrize("suffix", [*FORMATS, ".PNG", ".Jpg"])
def test_the_ending_chooses_the_format(tmp_path: Path, suffix: str) -> None:
    """It may be in upper or lower case."""
    write_sheet(path := tmp_path / f"sheet{suffix}", [Strip("t", Tile(None), [Tile(None)])])
    if suffix == ".pdf":
        assert path.read_bytes().startswith(b"%PDF")
        return
    with Image.open(path) as opened:
        assert opened.format == FORMATS[suffix.lower()]
        opened.load()


def test_a_format_that_cannot_hold_the_sheet_is_named(tmp_path: Path) -> None:
    """WebP has at most 16,383 pixels a side."""
    strips = [Strip("t", Tile(None), [Tile(None)])] * 80
    with pytest.raises(InvalidInputError, match=r"WEBP takes at most 16383 per side: write a \.png"):
        write_sheet(tmp_path / "sheet.webp", strips)
    assert contact_sheet(strips).height > 16_383


def make(home: Home, keys: list[str]) -> None:
    with home.create("odd", ["v=vectors:dim=2"]) as made:
        made.items.put([NewItem(key, rows={"v": [number, 0]}) for number, key in enumerate(keys)])


@pytest.mark.parametrize("name", ["sheet.gif", "sheet", "nowhere/sheet.png"])
def test_a_sheet_that_cannot_be_written_is_refused_before_the_search(tmp_path: Path, name: str) -> None:
    """The message has the allowed suffixes; no collection is opened."""
    result = run("search", "nothing", "--view", "v", "--key", "x", "--out", tmp_path / name, "--home", tmp_path)
    assert result.exit_code == 1
    assert (".png, .jpg, .jpeg, .webp, .pdf" if "/" not in name else "does not exist") in result.output


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_sheet_of_odd_names_says_once_what_it_lacks(
    tmp_path: Path, backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A newline in a key changes nothing; stderr names the characters that no font has and the packages that help."""
    monkeypatch.setattr("crossview.server.commands.drawing.sheet.unknown", lambda texts: "中")
    make(home := Home(tmp_path / "home"), ["a\nb.jpg", "中/文.jpg", "c.jpg"])
    with reached(home, backend) as options:
        asked = ("search", "odd", "--view", "v", "--key", "c.jpg", "--out", tmp_path / "sheet.png", *options)
        result = run(*asked, "--json")
    assert result.exit_code == 0
    assert result.stderr.count("no font here has 中") == 1
    assert "fonts-noto-cjk" in result.stderr
    assert np.asarray(Image.open(io.BytesIO((tmp_path / "sheet.png").read_bytes()))).std() > 0


BYTES = b"\xff\xfe.jpg"
"""A name that is not UTF-8, as the shell completes it."""
ARGUMENT = os.fsdecode(BYTES)
KEY = "photos/\\xff\\xfe.jpg"


@pytest.mark.parametrize("backend", BACKENDS)
def test_keys_are_found_by_the_bytes_of_their_files(tmp_path: Path, backend: str) -> None:
    """Bytes that are not UTF-8 are written out in keys and in arguments, here and through a server."""
    make(home := Home(tmp_path / "home"), [KEY, "other"])
    key = f"photos/{ARGUMENT}"
    with reached(home, backend) as options:
        assert result_of("item", "show", "odd", key, *options)["key"] == KEY
        (found,) = result_of("search", "odd", "--view", "v", "--key", key, *options)
        assert [hit["key"] for hit in found["hits"]] == ["other"]
        (found,) = result_of(
            "search", "odd", "--view", "v", "--key", "other", "--where", f"key prefix photos/{ARGUMENT[0]}", *options
        )
        assert [hit["key"] for hit in found["hits"]] == [KEY]
        assert [item["key"] for item in result_of("list", "odd", "--where", f"key prefix {key}", *options)] == [KEY]
        assert [item["key"] for item in result_of("list", "odd", "--after", key, *options)] == []
        missing = run("item", "show", "odd", ARGUMENT, *options)
        assert (missing.exit_code, "no item" in missing.output) == (1, True)
        assert "Traceback" not in missing.output
        assert "deleted 1 items" in done("item", "delete", "odd", key, "--yes", *options)


def test_a_real_terminal_may_pass_any_bytes(tmp_path: Path) -> None:
    """They may be arguments or the name of a sheet, which is printed too."""
    make(Home(tmp_path / "home"), [KEY, "other"])
    sheet = os.fsencode(tmp_path) + b"/\xff.png"
    command = [
        sys.executable,
        "-m",
        "crossview.server.commands.cli",
        "search",
        "odd",
        "--view",
        "v",
        "--home",
        tmp_path / "home",
    ]
    done = subprocess.run(
        [*command, b"--key", b"photos/" + BYTES, b"--out", sheet],
        capture_output=True,
        env={**os.environ, "LC_ALL": "C.UTF-8", "PYTHONUTF8": "1"},
        cwd=Path(__file__).parents[3],
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert Path(os.fsdecode(sheet)).is_file()
