"""A job of a server, as a client sees it."""

from dataclasses import dataclass

from crossview.engine.evaluation import Evaluation
from crossview.engine.info import SpaceInfo, Threshold, ViewInfo
from crossview.engine.item import ImportReport

Result = SpaceInfo | Threshold | Evaluation | ImportReport | tuple[ViewInfo, ...]


@dataclass(frozen=True)
class JobStep:
    """How far a job is: ``done`` of ``total`` steps of ``what``; a step may have a note."""

    what: str
    done: int
    total: int
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Job:
    """A training, an evaluation or another long request, which a server carries out while nobody need wait."""

    id: str
    kind: str
    """train, extend_space, assign_label, calibrate_space, evaluate, fit_views or import_items."""
    collection: str
    state: str
    """waiting, running, done, failed or cancelled."""
    cancelling: bool
    """Whether somebody has asked to cancel it."""
    progress: JobStep | None
    """The last step; None before the first."""
    log: tuple[JobStep, ...]
    """The steps that had a note, the last 100."""
    logged: int
    """How many had one."""
    created: str
    started: str
    ended: str
    """ISO 8601, UTC; "" before then."""
    error: str
    """Why it failed or was cancelled; else ""."""
    result: Result | None
    """What the request's own method returns; None unless it is done."""

    @property
    def has_ended(self) -> bool:
        """Whether it is done, failed or cancelled."""
        return bool(self.ended)
