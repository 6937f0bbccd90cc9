"""The manifest of an exported collection: what the folder contains, with a checksum of each file."""

import hashlib
import json
import os
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from crossview.engine.catalog.file_errors import file_errors
from crossview.engine.catalog.folder import sync_folder
from crossview.engine.catalog.private import make_file
from crossview.engine.values.errors import InvalidInputError
from crossview.features.files import read_regular

FORMAT = "crossview collection"
VERSION = 1
"""The version of the layout of the folder; the schema of the tables has its own."""
MANIFEST = "manifest.json"
"""The last file that an export writes: a folder without it is unfinished."""
UNFINISHED = "unfinished.json"
"""The finished parts of an export that is under way, or was interrupted."""
_PATH = re.compile(r"(rows/)?[a-z][a-z0-9_-]*\.parquet")
"""Names of files: none leads out of the folder."""
_MOST_BYTES = 1 << 28
_DIGEST = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, kw_only=True)
class Part:
    """One file of Parquet: rows of one table, or of one view."""

    path: str
    """Below the folder of the export."""
    table: str
    rows: int
    bytes: int
    sha256: str
    view: str = ""
    """The name of the view of the rows; "" for another table."""
    view_id: int = 0
    dim: int = 0


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """The content of the folder of an export."""

    name: str
    """The name of the exported collection."""
    schema: str
    """The version of the catalog's tables."""
    crossview: str
    """The version of the program that wrote the folder."""
    created: str
    """ISO 8601 in UTC."""
    state: str
    """The identity of the exported state."""
    items: int = 0
    active_space: str = ""
    parts: tuple[Part, ...] = ()
    format: str = FORMAT
    version: int = VERSION
    counts: Mapping[str, int] = field(default_factory=dict)
    """The number of rows of each table."""

    def write(self, path: Path) -> None:
        """Write the manifest with a checksum of itself, as a whole or not at all; StorageError."""
        content = asdict(self)
        text = json.dumps({**content, "sha256": _checksum(content)}, indent=1, ensure_ascii=False)
        part = path.with_name(f".{path.name}.part")
        with file_errors():
            part.unlink(missing_ok=True)
            make_file(part)
            with part.open("w", encoding="utf-8") as file:
                file.write(text + "\n")
                file.flush()
                os.fsync(file.fileno())
            os.replace(part, path)
        sync_folder(path.parent)

    @property
    def digest(self) -> str:
        """The checksum of the manifest, which identifies the export."""
        return _checksum(asdict(self))


def is_export(path: Path) -> bool:
    """Return whether a path is a folder that an export has written, or begun to write."""
    return any((path / name).is_file() for name in (MANIFEST, UNFINISHED))


def read_manifest(path: Path) -> Manifest:
    """Read the manifest of an export; InvalidInputError for an unfinished, damaged or newer one."""
    file = path / MANIFEST
    if not file.is_file() and (path / UNFINISHED).is_file():
        raise InvalidInputError(
            f"the export in {path} is unfinished: run the export again to finish it, or choose another folder"
        )
    content = _read(file)
    version = content.get("version")
    if content.get("format") != FORMAT or type(version) is not int:
        raise InvalidInputError(f"{file} does not describe an exported collection: name the folder of an export")
    if version > VERSION:
        raise InvalidInputError(
            f"the export in {path} has format {version}, newer than format {VERSION} of this crossview: "
            "upgrade crossview"
        )
    return _manifest(file, content)


def read_unfinished(path: Path) -> Manifest | None:
    """Return what an interrupted export has finished; None if its list cannot be used."""
    try:
        file = path / UNFINISHED
        return _manifest(file, _read(file))
    except InvalidInputError:
        return None


def damaged(path: Path, how: str) -> InvalidInputError:
    """Return the error for a damaged file of an export; ``how`` describes the damage."""
    return InvalidInputError(f"{path} is damaged: {how}; copy the file again, or export the collection again")


def _read(file: Path) -> dict[str, Any]:
    try:
        content = json.loads(read_regular(file, _MOST_BYTES))
    except OSError as error:
        raise InvalidInputError(f"{file} cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise damaged(file, str(error)) from None
    if not isinstance(content, dict):
        raise damaged(file, "it is not a JSON object")
    return content


def _manifest(file: Path, content: dict[str, Any]) -> Manifest:
    """Return a manifest with checked values."""
    checksum = content.pop("sha256", None)
    if checksum != _checksum(content):
        raise damaged(file, "its checksum does not match")
    try:
        parts = tuple(Part(**part) for part in content.pop("parts"))
        manifest = Manifest(**{**content, "parts": parts})
    except (TypeError, KeyError) as error:
        raise damaged(file, str(error)) from None
    checked: tuple[Manifest | Part, ...] = (manifest, *parts)
    for record in checked:
        types = {"int": int, "str": str, int: int, str: str}
        kinds = {each.name: types.get(each.type, object) for each in fields(record)}
        wrong = [name for name, kind in kinds.items() if kind is not object and type(getattr(record, name)) is not kind]
        if wrong:
            raise damaged(file, f"{wrong[0]} has a wrong type")
    for part in parts:
        if not _PATH.fullmatch(part.path) or not _DIGEST.fullmatch(part.sha256) or min(part.rows, part.bytes) < 0:
            raise damaged(file, f"the part {part.path[:40]!r} is not valid")
    return manifest


def _checksum(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
