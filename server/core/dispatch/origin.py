"""The origin of work that outlasts its call: the id of the call, and its place in a trace."""

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

_TRACEPARENT = re.compile(r"(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}")
_TRACESTATE = re.compile(r"[ -~\t]{1,512}")


@dataclass(frozen=True)
class Trace:
    """A place in a trace, as the headers of W3C Trace Context write it; empty without a trace."""

    traceparent: str = ""
    tracestate: str = ""

    @property
    def trace_id(self) -> str:
        """The id of the trace; empty without one."""
        return self.traceparent[3:35]

    @classmethod
    def of(cls, metadata: Iterable[tuple[str, str | bytes]]) -> "Trace":
        """Return the place that the headers of a call name; a wrong or repeated ``traceparent`` counts as none."""
        parents, states = [], []
        for name, value in metadata:
            if name == "traceparent":
                parents.append(value)
            elif name == "tracestate":
                states.append(str(value))
        if len(parents) != 1 or not isinstance(parents[0], str) or not _TRACEPARENT.fullmatch(parents[0]):
            return NO_TRACE
        state = ",".join(states)
        return cls(parents[0], state if _TRACESTATE.fullmatch(state) else "")


NO_TRACE = Trace()


@dataclass(frozen=True)
class Origin:
    """The call that caused some work."""

    call_id: str = ""
    trace: Trace = NO_TRACE


NO_ORIGIN = Origin()
_origin: ContextVar[Callable[[], Origin]] = ContextVar("origin", default=lambda: NO_ORIGIN)


@contextmanager
def caused_by(origin: Callable[[], Origin]) -> Iterator[None]:
    """Let ``origin_here`` return the result of a function inside the block."""
    token = _origin.set(origin)
    try:
        yield
    finally:
        _origin.reset(token)


def origin_here() -> Origin:
    """Return the origin of the work of this thread or task; an empty one outside of a call."""
    return _origin.get()()
