"""Kept rows of models: HOME/.models has a database for each model, so that no content goes through a model twice."""

import hashlib
import logging
import os
import sqlite3
import threading
import uuid
from collections.abc import Callable, Collection
from contextlib import closing, suppress
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

import numpy as np

from crossview.engine.catalog.private import make_file
from crossview.engine.values.errors import CrossviewError
from crossview.features.base import FeatureRows
from crossview.features.models.extractor import ModelExtractor

MOST_BYTES = 1 << 30
"""Maximum size of the rows of one model."""
_FORMAT = 2
"""Changes whenever pictures or texts become other inputs of models than before."""
_BUSY_SECONDS = 2.0
_END = ".rows"
_LOOK = 64
"""Number of new rows after which a process looks at the size."""
_SCHEMA = "CREATE TABLE rows (output TEXT, content BLOB, row BLOB, PRIMARY KEY (output, content))"
_LESS = """
DELETE FROM rows WHERE rowid IN (SELECT rowid FROM rows ORDER BY rowid LIMIT (SELECT 1 + count(*) / 8 FROM rows))
"""
"""Deletes the eighth that was written first."""
_USED = """
SELECT (page_count - freelist_count) * page_size FROM pragma_page_count, pragma_freelist_count, pragma_page_size
"""
_LOG = logging.getLogger("crossview.models")
_Found = TypeVar("_Found")


class RowCache:
    """Rows of a model by output and content. Several processes, and threads, may use it at once.

    It only saves time, so it raises no error: a process that cannot use the database writes a line to the log, and
    goes on without.
    """

    def __init__(self, path: Path, most_bytes: int = MOST_BYTES) -> None:
        self._path, self._most_bytes = path, most_bytes
        self._lock = threading.Lock()
        self._written = 0
        self._database: sqlite3.Connection | None = None
        self._database = self._tried(self._opened)

    def get(self, output: str, content: bytes, dim: int) -> FeatureRows | None:
        """Return a row, (dim,) float32; None without one."""
        query = "SELECT row FROM rows WHERE output = ? AND content = ?"
        row = self._used(lambda database: database.execute(query, (output, content)).fetchone())
        if row is None or not isinstance(row[0], bytes) or len(row[0]) != 4 * dim:
            return None
        return np.frombuffer(row[0], np.float32).copy()

    def put(self, output: str, content: bytes, row: FeatureRows) -> None:
        """Keep a row; if there are too many, forget those that were written first."""
        values = output, content, row.astype(np.float32).tobytes()
        self._used(lambda database: self._put(database, values))

    def _put(self, database: sqlite3.Connection, values: tuple[str, bytes, bytes]) -> None:
        database.execute("INSERT OR REPLACE INTO rows VALUES (?, ?, ?)", values)
        self._written += 1
        if self._written % _LOOK == 0 and database.execute(_USED).fetchone()[0] > self._most_bytes:
            database.execute(_LESS)

    def _opened(self) -> sqlite3.Connection:
        if not self._path.exists():
            _make(self._path)
        database = sqlite3.connect(self._path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)
        database.execute("PRAGMA synchronous = NORMAL")  # lost rows are computed again
        return database

    def _used(self, work: Callable[[sqlite3.Connection], _Found]) -> _Found | None:
        """Return the result of work on the database; None without one."""
        with self._lock:
            database = self._database
            return None if database is None else self._tried(lambda: work(database))

    def _tried(self, work: Callable[[], _Found]) -> _Found | None:
        try:
            return work()
        except (sqlite3.Error, OSError, CrossviewError) as error:
            _LOG.warning("cannot use the kept rows of a model in %s, and compute rows again: %s", self._path, error)
            self._database = None
            return None


def _make(path: Path) -> None:
    """Make an empty database, unless another process makes it first: none sees one that is not complete."""
    new = path.with_name(f".new-{uuid.uuid4().hex}")
    make_file(new)
    try:
        with closing(sqlite3.connect(new)) as database:
            database.execute("PRAGMA journal_mode = WAL")
            database.execute(_SCHEMA)
        with suppress(FileExistsError):
            os.link(new, path)
    finally:
        new.unlink()


def kept_row(extractor: ModelExtractor, content: bytes) -> FeatureRows | None:
    """Return the row of a content, (dim,) float32, that the home has kept; None without one."""
    cache = _of(extractor)
    return None if cache is None else cache.get(extractor.variant, content, extractor.dim)


def keep_row(extractor: ModelExtractor, content: bytes, row: FeatureRows) -> None:
    """Keep the row of a content, (dim,) float32."""
    cache = _of(extractor)
    if cache is not None:
        cache.put(extractor.variant, content, row)


def content_of(data: bytes, *form: int) -> bytes:
    """Return the name of a content: the SHA-256 of its bytes, and of the numbers that say in which form it was read."""
    return hashlib.sha256(f"{_FORMAT} {form} ".encode() + hashlib.sha256(data).digest()).digest()


def forget_rows(models: Path, digests: Collection[str]) -> None:
    """Delete the kept rows of all models but those with some digests, given the folder of models; OSError."""
    for path in models.glob(f"*{_END}*"):
        if path.name.partition(".")[0] not in digests:
            path.unlink(missing_ok=True)


def _path(models: Path, digest: str) -> Path:
    return models / f"{digest}{_END}"


def _of(extractor: ModelExtractor) -> RowCache | None:
    """Return the kept rows of the model of an extractor; None for an extractor without files."""
    models = extractor.folder
    return None if models is None else _cache(_path(models, extractor.digest), os.getpid())


@lru_cache(maxsize=8)
def _cache(path: Path, _process: int) -> RowCache:
    """Return the cache of a path; a forked process opens its own."""
    return RowCache(path)
