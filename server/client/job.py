"""A job of a server, as clients get it."""

from dataclasses import dataclass

from crossview.engine.values.evaluation import Evaluation
from crossview.engine.values.info import SpaceInfo, Threshold, ViewInfo
from crossview.engine.values.item import ImportReport
from crossview.engine.values.map import MapInfo

Result = SpaceInfo | Threshold | Evaluation | MapInfo | ImportReport | tuple[ViewInfo, ...]


@dataclass(frozen=True)
class JobStep:
    """The progress of a job: it has done ``done`` of ``total`` steps of ``what``; ``note`` describes the last step."""

    what: str
    done: int
    total: int
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Job:
    """A training, an evaluation or another long request that a server runs without a waiting client."""

    id: str
    kind: str
    """train, extend_space, assign_label, reindex_space, calibrate_space, evaluate, make_map, fit_views or
    import_items."""
    collection: str
    state: str
    """waiting, running, done, failed or cancelled."""
    cancelling: bool
    """Whether a client has requested cancellation."""
    progress: JobStep | None
    """The latest step; None before the first step."""
    log: tuple[JobStep, ...]
    """The last 100 steps with a note."""
    logged: int
    """The number of all steps with a note."""
    created: str
    started: str
    ended: str
    """These times are ISO 8601, UTC; "" before the event."""
    error: str
    """The reason why the job failed or was cancelled; otherwise ""."""
    call_id: str
    """The id of the call that submitted the job, as in the log of the server; "" from an earlier server."""
    traceparent: str
    """The place of this call in a trace, as the header of W3C Trace Context; "" without a trace."""
    result: Result | None
    """The result of the method that the job runs; None unless the job is done."""

    @property
    def has_ended(self) -> bool:
        """Whether the job is done, failed or cancelled."""
        return bool(self.ended)
