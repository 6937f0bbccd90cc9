"""A file of spans: one JSON object a line, for a look at traces without a collector."""

import json
import logging
import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from crossview.engine.catalog.private import open_file
from crossview.engine.values.errors import CrossviewError, StorageError

_log = logging.getLogger("crossview.traces")


class SpanFile(SpanExporter):
    """Appends spans to a file that only this user may read; raises StorageError if the file cannot be opened."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._append("")
        except OSError as error:
            raise StorageError(f"cannot write traces to {path}: {error.strerror}", detail=path) from error

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Append the spans; log a failure, because the calls have ended."""
        lines = "".join(f"{json.dumps(span_fields(span))}\n" for span in spans)
        try:
            self._append(lines)
        except (OSError, CrossviewError) as error:
            _log.error("the file of traces lacks %d spans: %s", len(spans), error)
            return SpanExportResult.FAILURE
        return SpanExportResult.SUCCESS

    def _append(self, lines: str) -> None:
        """Append lines at once: several processes of a server may share the file."""
        with os.fdopen(open_file(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT), "ab", 0) as file:
            file.write(lines.encode())


def span_fields(span: ReadableSpan) -> dict[str, Any]:
    """Return the fields of a span for JSON; ``start`` is ISO 8601, UTC, and ``ms`` its duration."""
    place, start, end = span.get_span_context(), span.start_time or 0, span.end_time or 0
    seconds, nanoseconds = divmod(start, 10**9)
    time = datetime.fromtimestamp(seconds, UTC).replace(microsecond=nanoseconds // 1000)
    return {
        "trace_id": f"{place.trace_id:032x}" if place else "",
        "span_id": f"{place.span_id:016x}" if place else "",
        "parent_id": f"{span.parent.span_id:016x}" if span.parent else "",
        "name": span.name,
        "start": time.isoformat(timespec="microseconds"),
        "ms": round((end - start) / 1e6, 3),
        "status": span.status.status_code.name,
        "attributes": dict(span.attributes or {}),
    }
