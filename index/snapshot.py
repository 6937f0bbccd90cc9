"""Snapshot files: one header line of JSON, then the index's bytes, replaced atomically and checked when read."""

import hashlib
import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_MAGIC = b"crossview-index 1\n"


class SnapshotError(ValueError):
    """A snapshot that is damaged, truncated, or of another kind of index; it can always be rebuilt."""


def write_snapshot(path: Path, kind: str, payload: bytes | memoryview, meta: Mapping[str, Any]) -> None:
    """Write a snapshot beside ``path`` and rename it into place, so that a reader sees the old or the new one whole.

    Raises OSError when the disk is full or read-only; the previous snapshot then stays.
    """
    header = {"kind": kind, "size": len(payload), "checksum": _checksum(payload), "meta": dict(meta)}
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(_MAGIC + json.dumps(header).encode() + b"\n")
            file.write(payload)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def read_snapshot(path: Path, kind: str) -> tuple[bytes, dict[str, Any]]:
    """Return (payload, meta) of a snapshot.

    Raises FileNotFoundError when there is none and SnapshotError when it cannot be trusted.
    """
    with path.open("rb") as file:
        if file.readline() != _MAGIC:
            raise SnapshotError(f"{path} is not an index snapshot of this version")
        try:
            header = json.loads(file.readline())
            found, size, checksum, meta = header["kind"], header["size"], header["checksum"], header["meta"]
        except (ValueError, KeyError, TypeError) as error:
            raise SnapshotError(f"{path} has a damaged header") from error
        payload = file.read()
    if found != kind:
        raise SnapshotError(f"{path} holds a {found} index, not {kind}")
    if len(payload) != size or _checksum(payload) != checksum:
        raise SnapshotError(f"{path} is damaged: its checksum does not match")
    return payload, meta


def _checksum(payload: bytes | memoryview) -> str:
    return hashlib.blake2b(payload, digest_size=16).hexdigest()
