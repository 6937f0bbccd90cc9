"""An export that is damaged, foreign or hostile is refused with a reason, and nothing stays."""

import hashlib
import json
import os
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from crossview.engine.catalog.transfer import manifest
from crossview.engine.collections.home import Home
from crossview.engine.values.errors import (
    InvalidInputError,
)

DAMAGES = {
    "flipped": (
        lambda path: path.write_bytes(path.read_bytes()[:-20] + b"x" + path.read_bytes()[-19:]),
        "is damaged: its checksum does not match; copy the file again, or export the collection again",
    ),
    "short": (lambda path: path.write_bytes(path.read_bytes()[:-1]), r"is damaged: it has [\d,]+ bytes and not"),
    "missing": (lambda path: path.unlink(), "is missing: copy the whole folder of the export again"),
    "pipe": (lambda path: (path.unlink(), os.mkfifo(path)), "is damaged: it has 0 bytes"),
}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("name", ["items.parquet", "rows/v-0000.parquet", "generations.parquet"])
def test_a_damaged_file_is_named(export: Path, home: Home, damage: str, name: str) -> None:
    """Nothing of the import stays."""
    do, message = DAMAGES[damage]
    do(export / name)
    if damage == "pipe":
        message = "is damaged|cannot be read"
    with pytest.raises(InvalidInputError, match=message) as raised:
        home.import_("again", export)
    assert name in str(raised.value)
    assert list(home.path.iterdir()) == []


def signed(export: Path, **changes: object) -> None:
    """Change the manifest, with a right checksum."""
    found = json.loads((export / "manifest.json").read_text())
    del found["sha256"]
    found |= changes
    found["sha256"] = manifest._checksum(found)
    (export / "manifest.json").write_text(json.dumps(found))


def replaced(export: Path, name: str, table: object) -> None:
    """Replace a file by another, with right checksums."""
    pq.write_table(table, export / name)
    found = json.loads((export / "manifest.json").read_text())
    data = (export / name).read_bytes()
    for part in found["parts"]:
        if part["path"] == name:
            part |= {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest(), "rows": len(table)}  # type: ignore[arg-type]
    signed(export, parts=found["parts"])


def test_a_newer_format_is_refused(export: Path, home: Home) -> None:
    signed(export, version=2)
    with pytest.raises(
        InvalidInputError, match="has format 2, newer than format 1 of this crossview: upgrade crossview"
    ):
        home.import_("again", export)
    signed(export, version=1, schema="9999")
    with pytest.raises(InvalidInputError, match=r"unknown schema version '9999', of crossview .*: upgrade"):
        home.import_("again", export)


def test_what_is_no_export_is_refused(export: Path, home: Home, tmp_path: Path) -> None:
    (export / "manifest.json").write_text("{")
    with pytest.raises(InvalidInputError, match=r"manifest\.json is damaged"):
        home.import_("again", export)
    (export / "manifest.json").write_text('{"version": 1}')
    with pytest.raises(InvalidInputError, match="does not describe an exported collection"):
        home.import_("again", export)
    with pytest.raises(InvalidInputError, match="cannot be read: No such file"):
        home.import_("again", tmp_path / "nothing")


@pytest.mark.parametrize("path", ["../outside.parquet", "/outside.parquet", "rows/../items.parquet", "a\nb.parquet"])
def test_no_file_outside_is_read(export: Path, home: Home, path: str) -> None:
    found = json.loads((export / "manifest.json").read_text())["parts"]
    signed(export, parts=[{**found[0], "path": path}, *found[1:]])
    with pytest.raises(InvalidInputError, match="is not valid"):
        home.import_("again", export)
    (export / "items.parquet").rename(export / "moved.parquet")
    (export / "items.parquet").symlink_to(export / "moved.parquet")
    signed(export, parts=found)
    with pytest.raises(InvalidInputError, match=r"items.parquet cannot be read"):
        home.import_("again", export)


def test_content_that_crossview_never_writes_is_refused(export: Path, home: Home) -> None:
    """Checksums may be right: values are checked like those of a copy."""
    items = pq.read_table(export / "items.parquet")
    keys = items["key"].to_pylist()
    for changed, message in (
        (["", *keys[1:]], "column key of table items holds ''"),
        ([keys[1], *keys[1:]], "UNIQUE constraint failed"),
    ):
        replaced(export, "items.parquet", items.set_column(1, "key", [changed]))
        with pytest.raises(InvalidInputError, match=message):
            home.import_("again", export)
    replaced(export, "items.parquet", items.drop_columns(["text"]))
    with pytest.raises(InvalidInputError, match="its columns or rows are not those of"):
        home.import_("again", export)
    replaced(export, "items.parquet", items.slice(2))
    with pytest.raises(InvalidInputError, match="refers to a missing row of table items"):
        home.import_("again", export)
    assert home.names() == []


def test_damage_with_a_right_checksum_is_refused_or_harmless(export: Path, home: Home) -> None:
    """An import is whole or refused with a reason; no other error is raised, and nothing stays."""
    random = np.random.default_rng(0)
    original = {path: path.read_bytes() for path in export.rglob("*.parquet")}
    listed = json.loads((export / "manifest.json").read_text())["parts"]
    reasons = set()
    for _ in range(60):
        part = listed[random.integers(len(listed))]
        data = bytearray(original[export / part["path"]])
        for place in random.integers(0, len(data), random.integers(1, 6)):
            data[place] = random.integers(256)
        (export / part["path"]).write_bytes(data)
        changed = {**part, "sha256": hashlib.sha256(data).hexdigest()}
        signed(export, parts=[changed if one is part else one for one in listed])
        try:
            home.import_("again", export).close()
            home.delete("again")
        except InvalidInputError as error:
            reasons.add(str(error))
        assert list(home.path.iterdir()) == []
        (export / part["path"]).write_bytes(original[export / part["path"]])
    assert len(reasons) > 10
