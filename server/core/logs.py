"""The logs of a server's processes on standard error, as lines of text or of JSON."""

import json
import logging
import os
import time
from typing import Any

_FORMAT = "CROSSVIEW_LOG_FORMAT"
"""The variable by which the processes of a server know the format."""
_TEXT = "%(asctime)s %(levelname)s %(name)s: %(message)s"


def log_to_stderr(form: str | None = None) -> None:
    """Log warnings and errors of this process, and of the processes that it starts, to standard error.

    ``form`` is one of LOG_FORMATS of the settings [default: that of the process that started this one].
    """
    if form is not None:
        os.environ[_FORMAT] = form
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines() if os.environ.get(_FORMAT) == "json" else logging.Formatter(_TEXT))
    logging.basicConfig(level=logging.WARNING, handlers=[handler])


def fields(**values: Any) -> dict[str, dict[str, Any]]:
    """Return the argument ``extra`` of a log call whose JSON line has these fields."""
    return {"fields": values}


class JsonLines(logging.Formatter):
    """Formats a record as one line of JSON: time, level, logger, message, the fields of ``fields``, and an error."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line; it contains no line break."""
        seconds = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        line: dict[str, Any] = {
            "time": f"{seconds}.{int(record.msecs):03d}Z",
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)
