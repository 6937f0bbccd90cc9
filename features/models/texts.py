"""The processes that run models on texts: the only place of this program that a text passes on its way to a model.

Each model has processes of its own, which keep it open, so that a text that one model fails on delays no other model.
"""

import atexit
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from crossview.features.background import NO_MORE, begun
from crossview.features.base import FeatureRows
from crossview.features.errors import ModelError, ModelInputError, NotEnoughMemoryError
from crossview.features.models.text_worker import VARIABLE, Check, LeftError, TextModel, TextWorker, seconds
from crossview.features.stages import stage
from crossview.features.worker_process import TooSlowError, WorkerDiedError

_AT_LEAST = 2
"""Processes that a model can have at the same time, on one core too: one text cannot keep all others waiting."""
_KEPT = 4
"""Number of models whose processes stay open; those that were used least recently end."""
_ATTEMPTS = 2
"""Number of processes that try a text. One process can end for another reason."""
_WAKE = 0.1
_ELSEWHERE = "searches by item, picture and vector need no model of texts"


def _nobody_leaves() -> None: ...


_check: ContextVar[Check] = ContextVar("text_check", default=_nobody_leaves)


@contextmanager
def heeding(check: Check) -> Iterator[None]:
    """Let texts in the block call ``check`` about ten times a second, which raises an error if the caller leaves."""
    token = _check.set(check)
    try:
        yield
    finally:
        _check.reset(token)


@dataclass
class _OfModel:
    """The processes of one model."""

    idle: list[TextWorker] = field(default_factory=list)
    started: set[TextWorker] = field(default_factory=set)
    starting: int = 0
    waiting: int = 0
    failures: int = 0
    failure: Exception | None = None
    """The reason why a process could not be started the last time."""


class TextProcesses:
    """Processes that run models on texts, up to ``most`` for each model. Several threads may call the methods.

    A process starts when it is first needed, and stays. A text that takes too much time or memory, or that nobody waits
    for any more, ends its process at most.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._begin()

    def _begin(self) -> None:
        self._changed = threading.Condition()
        self._models: dict[str, _OfModel] = {}
        """The model that was used last at the end."""
        self._closed = False

    def row(self, model: TextModel, text: str) -> FeatureRows:
        """Return the row of a text, as the model returns it.

        Raises ModelInputError if the model fails on the text or exceeds a limit, ModelError if it cannot be used, and
        the errors of the check of ``heeding``.
        """
        check = _check.get()
        for _ in range(_ATTEMPTS):
            with stage("wait for a process"):
                worker = self._taken(model, check)
            try:
                with stage("run the model", process=worker.pid):
                    row = worker.row(text, check)
            except TooSlowError:
                self._end(worker)
                raise ModelInputError(
                    f"the text takes more than {seconds():g} seconds: shorten it, or raise the limit with {VARIABLE}; "
                    f"{_ELSEWHERE}"
                ) from None
            except WorkerDiedError:
                self._end(worker)
            except LeftError as error:
                if begun(self._finish, "texts", worker) is None:
                    self._end(worker)
                if error.__cause__ is not None:
                    raise error.__cause__ from None
                raise
            except ModelError:
                self._give(worker)
                raise
            except BaseException:
                self._end(worker)
                raise
            else:
                self._give(worker)
                return row
        raise ModelInputError(f"the text ends the process that runs the model: shorten it; {_ELSEWHERE}")

    def pids(self) -> list[int]:
        """Return the ids of the processes."""
        with self._changed:
            return sorted(worker.pid for model in self._models.values() for worker in model.started)

    def close(self) -> None:
        """End the processes."""
        with self._changed:
            self._closed = True
            started = [worker for model in self._models.values() for worker in model.started]
            self._models.clear()
            self._changed.notify_all()
        for worker in started:
            worker.end()

    def forget(self) -> None:
        """Forget the processes in a fork of this program, which they do not belong to."""
        for model in self._models.values():
            for worker in model.started:
                worker.abandon()
        self._begin()

    def _of(self, model: TextModel) -> _OfModel:
        """Return the processes of a model; end those of a model that was not used for the longest time."""
        mine = self._models.pop(model.digest, None) or _OfModel()
        for digest in list(self._models)[: max(0, len(self._models) + 1 - _KEPT)]:
            other = self._models[digest]
            if not other.waiting and not other.starting and len(other.idle) == len(other.started):
                del self._models[digest]
                for worker in other.started:
                    worker.end()
        self._models[model.digest] = mine
        return mine

    def _taken(self, model: TextModel, check: Check) -> TextWorker:
        """Take an idle process of a model; start one unless there are ``most``, and wait."""
        with self._changed:
            mine = self._of(model)
            failures = mine.failures
            mine.waiting += 1
            try:
                while not self._has_idle(mine):
                    if self._closed:
                        raise RuntimeError("the processes that run models are closed")
                    if mine.failures > failures:
                        raise _reason(mine.failure)
                    if mine.starting < min(mine.waiting, self._most - len(mine.started)):
                        mine.starting += 1
                        if begun(self._start, "texts", model, mine) is None:
                            mine.starting -= 1
                            mine.failures, mine.failure = mine.failures + (not mine.started), None
                    self._changed.wait(_WAKE)
                    check()
                return mine.idle.pop()
            finally:
                mine.waiting -= 1

    def _has_idle(self, mine: _OfModel) -> bool:
        """Return whether a process is idle; forget processes that have ended."""
        while mine.idle and not mine.idle[-1].alive():
            gone = mine.idle.pop()
            gone.end()
            mine.started.discard(gone)
        return bool(mine.idle)

    def _start(self, model: TextModel, mine: _OfModel) -> None:
        worker, failure = None, None
        try:
            worker = TextWorker(model)
        except Exception as error:  # noqa: BLE001  # ``_taken`` raises it
            failure = error
        with self._changed:
            mine.starting -= 1
            if worker is not None and not self._closed:
                mine.started.add(worker)
                mine.idle.append(worker)
                worker = None
            if failure is not None:
                mine.failures, mine.failure = mine.failures + 1, failure
            self._changed.notify_all()
        if worker is not None:
            worker.end()

    def _give(self, worker: TextWorker) -> None:
        with self._changed:
            mine = self._models.get(worker.model.digest)
            if mine is not None and worker in mine.started:
                mine.idle.append(worker)
            self._changed.notify()

    def _end(self, worker: TextWorker) -> None:
        worker.end()
        with self._changed:
            if (mine := self._models.get(worker.model.digest)) is not None:
                mine.started.discard(worker)
            self._changed.notify_all()

    def _finish(self, worker: TextWorker) -> None:
        """Wait a moment for a text whose caller has left, then end its process."""
        if worker.finished():
            self._give(worker)
        else:
            self._end(worker)


def _reason(failure: Exception | None) -> Exception:
    """Return the error of a caller whose process could not be started."""
    error: Exception = NotEnoughMemoryError(f"no process can run models on texts; {NO_MORE}")
    if isinstance(failure, ModelError):
        error = ModelError(failure.message, detail=failure.detail)
    elif isinstance(failure, WorkerDiedError):
        error = ModelError("loading the model ends the process that does it")
    error.__cause__ = failure
    return error


TEXTS = TextProcesses(max(_AT_LEAST, len(os.sched_getaffinity(0))))
"""Those of this program, started when it first needs them. They end with it."""
atexit.register(TEXTS.close)
os.register_at_fork(after_in_child=TEXTS.forget)
