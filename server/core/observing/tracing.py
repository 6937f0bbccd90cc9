"""Traces: a span for each call and job, with a span for each of its stages, sent to a collector or to a file."""

import json
import logging
import os
import threading
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from google.longrunning.operations_pb2 import Operation
from opentelemetry.context import Context
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Span, SpanContext, SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from crossview.engine.catalog.private import open_file
from crossview.engine.values.errors import CrossviewError, StorageError
from crossview.features.stages import Packed, Recording
from crossview.server.core.dispatch.call import Call
from crossview.server.core.dispatch.origin import Trace
from crossview.server.core.jobs.operation import metadata_of
from crossview.server.wire.status import Code
from crossview.v1.jobs_pb2 import JobMetadata

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


_FLUSH_SECONDS = 3.0
"""Maximum time that ``close`` waits until the last spans are sent."""
_DELAY_MS = 1_000.0
"""Maximum time in milliseconds for which an ended span waits for others, with which it is sent."""
_FAULTS = (Code.INTERNAL, Code.UNKNOWN, Code.UNAVAILABLE, Code.DEADLINE_EXCEEDED, Code.DATA_LOSS, Code.UNIMPLEMENTED)
"""The statuses that count as errors of the server; others are those of its caller."""
_LONGEST = 100
"""Maximum number of characters of a fact of a stage."""
_LEFT_OUT = "crossview.stages_left_out"
_SCOPE, _UNSET = InstrumentationScope("crossview"), Status()
_W3C = TraceContextTextMapPropagator()


class Tracing:
    """The traces of all calls, as an ``Around``, and of jobs. A thread of its own sends the spans.

    Spans have times, sizes and names of collections, views and keys; they have no content, no item keys and no
    messages of errors. If spans cannot be sent, calls go on, and the spans are lost.

    Args:
        url: the address of a collector (OTLP over HTTP); None: no collector.
        file: the file for lines of JSON; None: no file.
        ratio: share of the traces that begin here to record; calls that belong to a trace follow its flag.
    """

    def __init__(self, url: str | None, file: Path | None, ratio: float) -> None:
        resource = Resource.create({"service.name": "crossview", "service.version": version("crossview")})
        self._provider = TracerProvider(
            sampler=ParentBased(TraceIdRatioBased(ratio)), resource=resource, shutdown_on_exit=False
        )
        exporters = [*([] if url is None else [_collector(url)]), *([] if file is None else [SpanFile(file)])]
        self._senders = [BatchSpanProcessor(exporter, schedule_delay_millis=_DELAY_MS) for exporter in exporters]
        for sender in self._senders:
            self._provider.add_span_processor(sender)
        self._tracer, self._ids = self._provider.get_tracer("crossview"), RandomIdGenerator()
        self._spans: dict[Call, tuple[Span, int]] = {}
        """The spans of the calls in progress, with the difference of the system's clock and the monotonic clock."""

    def begin(self, call: Call) -> None:
        """Begin the span of a call, inside the trace of its headers."""
        ahead = _ahead()
        span = self._tracer.start_span(
            call.method.path.removeprefix("/"),
            _context(call.trace),
            SpanKind.SERVER,
            start_time=_time(call.began, ahead),
        )
        call.trace = _place(span)
        if span.is_recording():
            call.recording = Recording()
            self._spans[call] = span, ahead

    def end(self, call: Call) -> None:
        """End the span of a call, with the spans of its stages."""
        span, ahead = self._spans.pop(call, (None, 0))
        if span is None or call.recording is None:
            return
        try:
            span.set_attributes(_facts(call))
            if call.code in _FAULTS:
                span.set_status(StatusCode.ERROR)
            self._add_stages(call.recording, span.get_span_context(), ahead)
            if call.recording.dropped:
                span.set_attribute(_LEFT_OUT, call.recording.dropped)
            span.end()
        except Exception:  # noqa: BLE001  # the call has its answer
            _log.exception("cannot record the trace of a call")

    def end_job(self, operation: Operation, stages: Sequence[Packed]) -> None:
        """Add the spans of an ended job and of its stages, inside the span of the call that submitted the job."""
        try:
            self._add_job(metadata_of(operation), stages)
        except Exception:  # noqa: BLE001  # the job has its outcome
            _log.exception("cannot record the trace of a job")

    def _add_job(self, metadata: JobMetadata, stages: Sequence[Packed]) -> None:
        created, ended = metadata.create_time.ToNanoseconds(), metadata.end_time.ToNanoseconds()
        started = metadata.start_time.ToNanoseconds() or ended
        context = _context(Trace(metadata.traceparent, metadata.tracestate))
        job = self._tracer.start_span(f"job {metadata.kind}", context, start_time=created)
        if not job.is_recording():
            return
        job.set_attributes(
            {
                "crossview.collection": metadata.collection.removeprefix("collections/"),
                "crossview.state": JobMetadata.State.Name(metadata.state).removeprefix("STATE_").lower(),
                "crossview.request_id": metadata.call_id,
            }
        )
        self._add("wait for a place", job.get_span_context(), (created, started), {})
        work = self._add("work", job.get_span_context(), (started, ended), {})
        recording = Recording()
        recording.take(stages)
        self._add_stages(recording, work, _ahead())
        if recording.dropped:
            job.set_attribute(_LEFT_OUT, recording.dropped)
        job.end(ended)

    def _add_stages(self, recording: Recording, whole: SpanContext, ahead: int) -> None:
        """Add the spans of stages inside a whole."""
        places: dict[int, SpanContext] = {}
        for stage in list(recording.stages):
            around = whole if stage.around is None else places.get(id(stage.around), whole)
            times = _time(stage.began, ahead), _time(stage.ended, ahead)
            places[id(stage)] = self._add(stage.name, around, times, _plain(stage.facts))

    def _add(self, name: str, around: SpanContext, times: tuple[int, int], facts: Mapping[str, Any]) -> SpanContext:
        """Add an ended span, and return its place. The tracer would take ten times as long, in the event loop."""
        place = SpanContext(
            around.trace_id, self._ids.generate_span_id(), False, around.trace_flags, around.trace_state
        )
        span = ReadableSpan(
            name,
            place,
            around,
            self._provider.resource,
            facts,
            status=_UNSET,
            start_time=times[0],
            end_time=times[1],
            instrumentation_scope=_SCOPE,
        )
        for sender in self._senders:
            sender.on_end(span)
        return place

    def close(self) -> None:
        """Send the last spans, and stop; it takes at most a few seconds, also if the collector does not answer."""
        sending = threading.Thread(target=self._provider.shutdown, name="traces", daemon=True)
        sending.start()
        sending.join(_FLUSH_SECONDS)
        if sending.is_alive():
            _log.warning("the last spans could not be sent within %g seconds", _FLUSH_SECONDS)


def _collector(url: str) -> SpanExporter:
    """Return the sender to a collector; an address without a path gets the usual one."""
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    bare = "/" not in url.partition("://")[2].rstrip("/")
    return OTLPSpanExporter(f"{url.rstrip('/')}/v1/traces" if bare else url)


def _context(trace: Trace) -> Context:
    """Return the context inside a place of a trace."""
    if not trace.traceparent:
        return Context()
    return _W3C.extract({"traceparent": trace.traceparent, "tracestate": trace.tracestate}, Context())


def _place(span: Span) -> Trace:
    """Return the place of a span, for the work that its call causes."""
    place = span.get_span_context()
    parent = f"00-{place.trace_id:032x}-{place.span_id:016x}-{place.trace_flags:02x}"
    return Trace(parent, place.trace_state.to_header())


def _ahead() -> int:
    """Return the nanoseconds by which the system's clock is ahead of the monotonic clock."""
    return time.time_ns() - time.monotonic_ns()


def _time(seconds: float, ahead: int) -> int:
    """Return nanoseconds of the system's clock for seconds of the monotonic clock."""
    return round(seconds * 1e9) + ahead


def _plain(facts: Mapping[str, object]) -> dict[str, Any]:
    return {
        f"crossview.{name}": value if isinstance(value, int | float) else str(value)[:_LONGEST]
        for name, value in facts.items()
    }


def _facts(call: Call) -> dict[str, Any]:
    """Return what is known about an ended call, without content."""
    service, _, name = call.method.path.removeprefix("/").partition("/")
    facts: dict[str, Any] = {
        "rpc.service": service,
        "rpc.method": name,
        "crossview.status": call.code.name,
        "crossview.request_id": call.id,
    }
    queries = getattr(call.request, "queries", None)
    more = {
        "collection": "" if call.collection == "-" else call.collection,
        "error": call.error,
        "key": call.caller.identity.name,
        "queries": 0 if queries is None else len(queries),
        "hits": call.hits,
    }
    return facts | {f"crossview.{fact}": value for fact, value in more.items() if value}
