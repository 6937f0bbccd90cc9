"""Copies carry the kept fields of deleted items, and invalid ones of a foreign copy change nothing."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from file_system import ONE, write

from crossview.engine.collections.collection import Collection
from crossview.engine.collections.home import Home
from crossview.engine.values.item import ItemUpdate

KEPT = {
    "labels": ["cat"],
    "labels_given": True,
    "notion_labels": {"mood": ["calm"]},
    "attributes": {"year": 1999},
    "text": "a cat",
    "text_from_labels": False,
}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    write(tmp_path / "tree/0.png", 0)
    write(tmp_path / "tree/1.png", 1)
    return tmp_path / "tree"


@pytest.fixture
def pruned(home: Home, tree: Path) -> Iterator[Collection]:
    """A collection whose only labelled item was deleted while its file was missing."""
    with home.create("pets", ["color"]) as made:
        made.index([tree], ONE)
        made.items.update([ItemUpdate("tree/0.png", labels=("cat",), attributes={"year": 1999}, text="a cat")])
        (tree / "0.png").unlink()
        made.items.delete(made.index([tree], ONE).missing)
        yield made


def test_a_backup_and_an_export_carry_them(home: Home, pruned: Collection, tree: Path, tmp_path: Path) -> None:
    home.backup("pets", tmp_path / "copy.db")
    home.export("pets", tmp_path / "exported")
    home.restore("restored", tmp_path / "copy.db")
    home.import_("moved", tmp_path / "exported").close()
    write(tree / "0.png", 0)
    for name in ("pets", "restored", "moved"):
        with home.open(name) as made:
            assert made.index([tree], ONE).added == 1
            item = made.items.get("tree/0.png")
            assert (item.labels, item.attributes, item.text) == (("cat",), {"year": 1999}, "a cat")


@pytest.mark.parametrize(
    "changed",
    [
        *({"labels": labels} for labels in ("cat", [""], None)),
        *({"attributes": attributes} for attributes in ([], {"a": 1e400})),
        *({"notion_labels": labels} for labels in (["mood"], {"mood": [3]})),
        {"text": 5},
    ],
)
def test_invalid_ones_change_nothing(home: Home, pruned: Collection, tree: Path, changed: dict[str, Any]) -> None:
    with closing(sqlite3.connect(home.path / "pets/catalog.db", isolation_level=None)) as database:
        database.execute("UPDATE kept_fields SET fields = ?", [json.dumps(KEPT | changed)])
    write(tree / "0.png", 0)
    assert pruned.index([tree], ONE).added == 1
    item = pruned.items.get("tree/0.png")
    assert (item.labels, item.attributes, item.text) == ((), {}, "")
