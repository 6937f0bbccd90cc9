"""One function reads the files that people name; it waits for no pipe and reads no device without an end."""

import ast
import os
from pathlib import Path

import pytest

from crossview.features.files import open_regular, read_regular

ROOT = Path(__file__).parents[2]
_READERS = {"read_bytes", "read_text", "memory_map", "imread"}
_OTHERS = {
    "engine/catalog/database_copies.py": "a copy that this process made",
    "engine/catalog/lock.py": "a file of the home",
    "engine/catalog/models.py": "a file of the home, copied",
    "engine/findings/changes/label_file.py": "a person may name a pipe, which a shell connects",
    "engine/collections/home.py": "a file of the home",
    "engine/catalog/ingest/table.py": "a person may name a pipe, which a shell connects",
    "engine/catalog/ingest/orderings_file.py": "a person may name a pipe, which a shell connects",
    "engine/catalog/ingest/taxonomy_file.py": "a person may name a pipe, which a shell connects",
    "engine/values/labels.py": "a file of the package",
    "engine/publishing/serving.py": "a copy that this process made",
    "engine/runtime/memory.py": "the kernel's",
    "engine/training/guide.py": "a file of the package",
    "engine/catalog/transfer/arrow_sources.py": "opened by open_regular before",
    "features/extras.py": "a file of a package",
    "features/files.py": "the function itself",
    "features/models/catalogue.py": "files that pip has downloaded into a folder of this process",
    "features/models/memory_limit.py": "the kernel's",
    "features/models/stored.py": "a file of the home, in a folder that only this user can change",
    "features/models/trial.py": "copies that this process made, and the kernel's",
    "features/text.py": "a file of the package",
    "index/snapshot.py": "a file of the home, by an opener of its own",
}
"""The other readers, and why they need no check."""


def test_the_other_readers_are_listed() -> None:
    """A new reader of files uses ``open_regular``, or is listed above with its reason."""
    readers = {
        str(path.relative_to(ROOT))
        for room in ("engine", "features", "index")
        for path in (ROOT / room).rglob("*.py")
        if any(_reads(node) for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    }
    assert readers == set(_OTHERS)


def _reads(node: ast.AST) -> bool:
    """Return whether a call reads a file by its path."""
    if not isinstance(node, ast.Call):
        return False
    if isinstance(node.func, ast.Attribute) and node.func.attr in _READERS:
        return not node.args or node.func.attr != "read_bytes"  # ``read_bytes`` of an index takes an argument
    if isinstance(node.func, ast.Name):
        modes = [one.value for one in node.args[1:2] if isinstance(one, ast.Constant)] or ["r"]
        return node.func.id == "open" and "r" in modes[0]
    if isinstance(node.func, ast.Attribute) and node.func.attr == "open":
        owner = node.func.value
        if isinstance(owner, ast.Name) and owner.id in ("os", "Pillow", "webbrowser", "home"):
            return False
        modes = [one.value for one in node.args[:1] if isinstance(one, ast.Constant)]
        return bool(modes and isinstance(modes[0], str) and set(modes[0]) <= set("rb+")) or any(
            keyword.arg in ("encoding", "newline") for keyword in node.keywords if not modes
        )
    return False


@pytest.mark.parametrize("kind", ["pipe", "device", "folder", "missing", "loop"])
def test_only_regular_files_are_read(tmp_path: Path, kind: str) -> None:
    """Others are refused at once: a pipe without a writer would wait for ever, and /dev/zero never ends."""
    path = tmp_path / kind
    match kind:
        case "pipe":
            os.mkfifo(path)
        case "device":
            path = Path("/dev/zero")
        case "folder":
            path.mkdir()
        case "loop":
            path.symlink_to(path)
    with pytest.raises(OSError, match=r"regular|directory|levels|No such file"):
        read_regular(path)


def test_links_are_followed_unless_the_folder_is_a_strangers(tmp_path: Path) -> None:
    """A link in a stranger's bundle could lead out of the folder."""
    (tmp_path / "a").write_bytes(b"abc")
    (tmp_path / "link").symlink_to("a")
    assert read_regular(tmp_path / "link", 2) == b"ab"
    with pytest.raises(OSError, match="symbolic links"):
        open_regular(tmp_path / "link", follow=False)
