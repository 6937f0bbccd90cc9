"""The log of changes: a line of JSON for each call that may change something."""

import json
import logging
import os
from datetime import UTC, datetime
from io import TextIOWrapper
from logging.handlers import WatchedFileHandler
from pathlib import Path

from crossview.engine.catalog.private import open_file
from crossview.engine.values.errors import CrossviewError, StorageError
from crossview.server.core.dispatch.call import Call
from crossview.server.wire.methods import Touch
from crossview.server.wire.status import Code

AUDIT_LOG = "crossview.audit"
"""Name of the logger of changes."""
_log, _server_log = logging.getLogger(AUDIT_LOG), logging.getLogger("crossview.server")


class AuditLog:
    """An ``Around`` that logs the time, key, method, collection, number of items and result of each change.

    Refused calls count as well, except those without a valid key, with which strangers could fill the disk.
    """

    def begin(self, call: Call) -> None:
        """See ``Around``."""

    def end(self, call: Call) -> None:
        """See ``Around``."""
        if (
            call.method.touches is Touch.NOTHING
            or call.code is Code.UNAUTHENTICATED
            or not _log.isEnabledFor(logging.INFO)
        ):
            return
        entry = {
            "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "key": call.caller.identity.name,
            "method": call.method.name,
            "collection": None if call.collection == "-" else call.collection,
            "job": call.job,
            "items": call.items,
            "result": call.code.name,
        }
        _log.info("%s", json.dumps(entry))


class _PrivateFile(WatchedFileHandler):
    """A handler that appends to a file that only this user may read; it opens the file again if that is moved."""

    def emit(self, record: logging.LogRecord) -> None:
        """Append a line. A failure is only logged: the change is made, so its call must not fail."""
        try:
            super().emit(record)
        except (OSError, CrossviewError) as error:
            _server_log.error("the log of changes lacks %s: %s", record.getMessage(), error)

    def _open(self) -> TextIOWrapper:
        descriptor = open_file(Path(self.baseFilename), os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        return os.fdopen(descriptor, "a", encoding="utf-8")


def log_changes(path: Path) -> None:
    """Append the changes of the servers of this process to a file; raise StorageError if that is impossible."""
    try:
        handler = _PrivateFile(path, encoding="utf-8")
    except FileNotFoundError as error:
        raise StorageError("the folder of the log of changes does not exist: create it first", detail=path) from error
    handler.setFormatter(logging.Formatter("%(message)s"))
    _log.addHandler(handler)
    _log.setLevel(logging.INFO)
    _log.propagate = False
