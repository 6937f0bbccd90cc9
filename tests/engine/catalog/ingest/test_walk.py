"""The search of folders finds pictures, and patterns leave files out."""

import os
import socket
from pathlib import Path

import pytest
from drawn import draw, encode
from PIL import Image

from crossview.engine.catalog.ingest.exclusions import MADE_BY_SYSTEMS
from crossview.engine.catalog.ingest.walk import Walk, walk
from crossview.engine.values.errors import InvalidInputError

PNG = encode(draw("red", 0))


def tree(root: Path, *names: str) -> Path:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(PNG)
    return root


def names(found: Walk) -> list[str]:
    return sorted(file.relative for file in found.files)


def test_names_and_first_bytes_say_what_is_a_picture(tmp_path: Path) -> None:
    picture = Image.open(tree(tmp_path, "z.png") / "z.png")
    for name in ("a.jfif", "b.JIF", "jpeg", "0001"):
        picture.convert("RGB").save(tmp_path / name, "JPEG")
    for kind in ("WEBP", "GIF", "TIFF", "BMP"):
        picture.convert("RGB").save(tmp_path / f"like-{kind}", kind)
    picture.convert("RGB").save(tmp_path / "c.mpo", "MPO", save_all=True, append_images=[picture.convert("RGB")])
    picture.save(tmp_path / "d.apng", "PNG", save_all=True, append_images=[picture])
    for name, content in (("text", b"BM is a text without a suffix"), ("empty", b""), ("picture.txt", PNG)):
        (tmp_path / name).write_bytes(content)
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(tmp_path / "socket"))
    found = walk([tmp_path])
    assert names(found) == sorted(
        [
            "a.jfif",
            "b.JIF",
            "c.mpo",
            "d.apng",
            "z.png",
            "jpeg",
            "0001",
            "like-WEBP",
            "like-GIF",
            "like-TIFF",
            "like-BMP",
        ]
    )
    assert dict(found.skipped) == {"other files": 5}


@pytest.mark.parametrize(
    ("patterns", "left"),
    [
        (["*.tmp.png"], ["a.png", "d/b.png", "d/e/a.png", "e/a.png"]),
        (["a.png"], ["d/b.png", "x.tmp.png"]),
        (["/a.png"], ["a.png", "d/b.png", "d/e/a.png", "e/a.png", "x.tmp.png"]),
        (["e/"], ["a.png", "d/b.png", "x.tmp.png"]),
        (["**/e"], ["a.png", "d/b.png", "x.tmp.png"]),
        (["d/e"], ["a.png", "d/b.png", "e/a.png", "x.tmp.png"]),
        (["d/*", "e/*.png"], ["a.png", "x.tmp.png"]),
        (["a.png/"], ["a.png", "d/b.png", "d/e/a.png", "e/a.png", "x.tmp.png"]),
        (["[dx]*"], ["a.png", "e/a.png"]),
    ],
)
def test_patterns_of_names_and_paths(tmp_path: Path, patterns: list[str], left: list[str]) -> None:
    """Patterns of the option and of an ignore file mean the same."""
    tree(tmp_path, "a.png", "x.tmp.png", "d/b.png", "d/e/a.png", "e/a.png")
    expected = left if patterns != ["/a.png"] else [name for name in left if name != "a.png"]
    assert names(walk([tmp_path], patterns)) == sorted(expected)
    (tmp_path / ".crossviewignore").write_text("# a comment\n\n" + "\n".join(patterns) + "\n", encoding="utf-8")
    assert names(walk([tmp_path])) == sorted(expected)


def test_an_ignore_file_holds_for_its_folder_and_those_below(tmp_path: Path) -> None:
    tree(tmp_path, "a.png", "#b.png", "d/a.png", "d/#b.png", "d/e/a.png", "d/e/f/a.png")
    (tmp_path / "d/.crossviewignore").write_text("\\#b.png\ne/a.png\n", encoding="utf-8")
    assert names(walk([tmp_path])) == ["#b.png", "a.png", "d/a.png", "d/e/f/a.png"]
    assert names(walk([tmp_path / "d/e"])) == ["a.png", "f/a.png"]


def test_a_pattern_that_is_none_is_named(tmp_path: Path) -> None:
    """An odd line or ignore file never ends the search."""
    tree(tmp_path, "a.png", "b.png", "d/a.png", "e/a.png")
    for pattern in ("", "/", "!a.png"):
        with pytest.raises(InvalidInputError, match="is not a pattern of files to leave out"):
            walk([tmp_path], [pattern])
    (tmp_path / ".crossviewignore").write_bytes(b"!a.png\nb.png\n\xff\xfe*\n")
    os.mkfifo(tmp_path / "d/.crossviewignore")
    (tmp_path / "e/.crossviewignore").symlink_to(tmp_path / "e/.crossviewignore")
    found = walk([tmp_path])
    assert names(found) == ["a.png", "d/a.png", "e/a.png"]
    reasons = {one.key.removeprefix(f"{tmp_path}/"): one.reason for one in found.failures}
    assert reasons[".crossviewignore"].startswith("line 1: '!a.png' is not a pattern")
    assert reasons["d/.crossviewignore"] == "its patterns are not used: not a regular file"
    assert reasons["e/.crossviewignore"].startswith("its patterns are not used: ")


def test_folders_that_systems_make_are_left_out_and_named(tmp_path: Path) -> None:
    folders = (*MADE_BY_SYSTEMS, ".thumbnails", ".Trash-1000")
    tree(tmp_path, "a.png", *(f"{name}/a.png" for name in folders), "d/@eaDir/a.png/SYNOPHOTO_THUMB_M.jpg")
    found = walk([tmp_path])
    assert names(found) == ["a.png"]
    assert dict(found.skipped) == {"excluded": len(MADE_BY_SYSTEMS) + 1, "hidden": 2}
    (note,) = found.notes()
    assert note.startswith("folders that systems make are left out: 1 #recycle")
    assert "2 @eaDir" in note
    assert note.endswith("to index one, name it as a path")
    assert names(walk([tmp_path / "lost+found"])) == ["a.png"]
