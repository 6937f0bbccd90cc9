"""A process that runs one model of texts, in which a text that the model fails on harms nothing else."""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from crossview.features.base import FeatureRows
from crossview.features.errors import ModelError, ModelInputError
from crossview.features.models.manifest import Tower, installed, not_installed
from crossview.features.models.memory_limit import MemoryLimit
from crossview.features.models.stored import ModelFile
from crossview.features.worker_process import Answer, TooSlowError, Worker, WorkerProcess, portable

VARIABLE = "CROSSVIEW_TEXT_SECONDS"
"""The maximum time of a model for one text, in seconds. Processes inherit it."""
_SECONDS, _START_SECONDS = 10.0, 120.0
"""Default of the time for a text, and maximum time for loading a model."""
_MEMORY_BYTES = 1 << 30
"""Memory for one text, in addition to that of the model."""
_LOOK_SECONDS = 0.1
_GRACE_SECONDS = 1.0
"""Time that a run may still take after its caller has left, so that calls in a hurry do not end a process each time."""
Check = Callable[[], None]
"""A function that raises an error if the caller has left."""


@dataclass(frozen=True, kw_only=True)
class TextModel:
    """A tower for texts, as its process opens it."""

    name: str
    digest: str
    """That of the whole model."""
    file: ModelFile
    tokenizer: ModelFile
    tower: Tower
    memory_bytes: int
    """Memory that its first run took; 0 if unknown."""


class LeftError(Exception):
    """The caller has left; the process may finish the text."""


class TextWorker(WorkerProcess):
    """The owner's side of a process with a model; the constructor raises RuntimeError, and ModelError for the model."""

    def __init__(self, model: TextModel) -> None:
        if not (installed("onnxruntime") and installed("tokenizers")):
            raise not_installed()
        super().__init__(f"{serve.__module__}.{serve.__name__}", _MEMORY_BYTES)
        self.model = model
        try:
            self.send(model)
            self._result(time.monotonic() + _START_SECONDS)
        except TooSlowError as error:
            self.end()
            raise ModelError(f"model {model.name!r} takes more than {_START_SECONDS:g} seconds to load") from error
        except BaseException:
            self.end()
            raise

    def row(self, text: str, check: Check) -> FeatureRows:
        """Return the row of a text; ModelInputError if the model fails on it.

        After WorkerDiedError and TooSlowError the caller must end the process. After LeftError, whose cause is the
        error of ``check``, it calls ``finished``.
        """
        self.send(text)
        self._until = time.monotonic() + seconds()
        while not self.answers(min(_LOOK_SECONDS, self._until - time.monotonic())):
            if time.monotonic() >= self._until:
                raise TooSlowError
            try:
                check()
            except BaseException as error:
                raise LeftError from error
        row: FeatureRows = self._result(self._until)
        return row

    def finished(self) -> bool:
        """Return whether a run whose caller has left ends within a moment."""
        try:
            self._result(min(self._until, time.monotonic() + _GRACE_SECONDS))
        except ModelError:
            pass
        except Exception:  # noqa: BLE001  # nobody waits for the reason
            return False
        return True

    def _result(self, until: float) -> Any:
        answer = self.receive(until)
        if answer.error is not None:
            raise answer.error
        return answer.result


def seconds() -> float:
    """Return the maximum time for one text; ModelError if the variable is not a number above 0."""
    stated = os.environ.get(VARIABLE) or _SECONDS
    try:
        wanted = float(stated)
    except ValueError:
        wanted = 0.0
    if not 0 < wanted < float("inf"):
        raise ModelError(f"{VARIABLE} is {stated!r}; it must be a number of seconds above 0")
    return wanted


def serve(connection: int, parent: int, memory_bytes: int) -> None:
    """Run a model on texts while the parent lives, with its priority; the descriptors are those of ``Worker``."""
    _Reader(connection, parent, MemoryLimit(memory_bytes)).run()


class _Reader(Worker):
    """The side of the process: its first order names the model, and the others are texts."""

    def __init__(self, connection: int, parent: int, limit: MemoryLimit) -> None:
        super().__init__(connection, parent)
        self._limit = limit
        self._row: Callable[[str], FeatureRows] | None = None

    def answer(self, order: TextModel | str) -> Answer:
        """Open a model, or return the row of a text."""
        try:
            if isinstance(order, str):
                return Answer(self._row(order) if self._row is not None else None)
            self._row = self._opened(order)
            return Answer()
        except Exception as error:  # noqa: BLE001  # the parent raises it
            if isinstance(error, MemoryError) or (isinstance(error, ModelInputError) and _is_memory(error)):
                error = ModelInputError(
                    f"the text takes more than the memory of the model and {_MEMORY_BYTES >> 20:,} MB: shorten it, or "
                    "remove the model and add it again, which measures its memory"
                )
            return Answer(error=portable(error))

    def _opened(self, model: TextModel) -> Callable[[str], FeatureRows]:
        self._limit.make_room({model.digest: model.memory_bytes})
        from crossview.features.models.device import chosen_device
        from crossview.features.models.session import open_session, row_of_text
        from crossview.features.models.tokens import Tokenizer

        tokens = model.tower.tokens
        if tokens is None:
            raise ModelError(f"model {model.name!r} has no tokenizer")
        session = open_session(model.file.read(), device=chosen_device())
        tokenizer = Tokenizer(model.tokenizer.read(), tokens)
        return lambda text: row_of_text(session, model.tower, tokenizer, text)


def _is_memory(error: ModelInputError) -> bool:
    """Return whether onnxruntime had too little memory, which it states only in words."""
    return any(word in error.message.lower() for word in ("alloc", "memory"))
