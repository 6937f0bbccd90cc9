"""Stages of work: which part of a call or a job took which time, recorded only if something listens.

A context variable carries the recording, so that the functions between a caller and a stage need not pass it on.
Threads have contexts of their own: work that goes on in another thread takes along ``present()`` and enters ``within``.
Without a recording, a stage costs a fraction of a microsecond. Stages have names of steps and of views, never content.
"""

import time
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar, Token
from typing import Any

MOST = 500
"""Maximum number of stages of a recording; it counts further ones."""
Packed = tuple[str, float, float, int, Mapping[str, str]]
"""A stage that travels between processes: name, begin, end, position of the stage around it (-1: none), facts."""


class Stage:
    """One stage; ``began`` and ``ended`` are seconds of the monotonic clock, which all processes of a machine share."""

    __slots__ = ("around", "began", "ended", "facts", "name")

    def __init__(self, name: str, around: "Stage | None", began: float, facts: Mapping[str, object]) -> None:
        self.name: str = name
        self.around: Stage | None = around
        self.facts: Mapping[str, object] = facts
        self.began: float = began
        self.ended: float = began


class Recording:
    """The stages of a call or a job, in the order in which they began. Several threads may add stages."""

    def __init__(self) -> None:
        self.stages: list[Stage] = []
        self.dropped: int = 0
        """Number of stages beyond ``MOST``."""

    def add(self, name: str, began: float, **facts: object) -> None:
        """Add a stage that ends now, inside the present stage of this recording, if there is one."""
        here = _here.get()
        new = Stage(name, here[1] if here is not None and here[0] is self else None, began, facts)
        new.ended = time.monotonic()
        self.keep(new)

    def share(self, other: "Recording") -> None:
        """Add the stages of work that this call or job shares with others."""
        for entry in other.stages:
            self.keep(entry)
        self.dropped += other.dropped

    def keep(self, stage: Stage) -> bool:
        """Add a stage; return False if there are too many."""
        kept = len(self.stages) < MOST
        if kept:
            self.stages.append(stage)
        else:
            self.dropped += 1
        return kept

    def packed(self) -> list[Packed]:
        """Return the stages for another process."""
        places = {id(stage): place for place, stage in enumerate(self.stages)}
        return [
            (
                *(entry.name, entry.began, entry.ended),
                -1 if entry.around is None else places.get(id(entry.around), -1),
                {name: str(value) for name, value in entry.facts.items()},
            )
            for entry in self.stages
        ]

    def take(self, packed: Iterable[Packed], around: Stage | None = None) -> None:
        """Add the stages of another process, inside a stage."""
        stages: list[Stage] = []
        for name, began, ended, place, facts in packed:
            stages.append(stage := Stage(name, around if place < 0 else stages[place], began, facts))
            stage.ended = ended
            self.keep(stage)


Place = tuple[Recording, Stage | None] | None
"""A recording and its present stage; None: nothing listens."""
_here: ContextVar[Place] = ContextVar("stage", default=None)
_IDLE: AbstractContextManager[Any] = nullcontext()


class _Within:
    """See ``within``; one written with contextmanager takes several times as long."""

    __slots__ = ("_place", "_token")
    _token: Token[Place]

    def __init__(self, place: Place) -> None:
        self._place = place

    def __enter__(self) -> None:
        self._token = _here.set(self._place)

    def __exit__(self, *_: object) -> None:
        _here.reset(self._token)


class _Open:
    """See ``stage``."""

    __slots__ = ("_recording", "_stage", "_token")
    _token: Token[Place]

    def __init__(self, recording: Recording, stage: Stage) -> None:
        self._recording, self._stage = recording, stage

    def __enter__(self) -> None:
        kept = self._recording.keep(self._stage)
        self._token = _here.set((self._recording, self._stage if kept else self._stage.around))

    def __exit__(self, *_: object) -> None:
        self._stage.ended = time.monotonic()
        _here.reset(self._token)


def stage(name: str, since: float | None = None, **facts: object) -> AbstractContextManager[Any]:
    """Record the block as a stage, which began at ``since`` [default: now], if something listens."""
    here = _here.get()
    if here is None:
        return _IDLE
    return _Open(here[0], Stage(name, here[1], time.monotonic() if since is None else since, facts))


def listening(recording: Recording | None) -> AbstractContextManager[Any]:
    """Let the stages of the block enter a recording; None changes nothing."""
    return _IDLE if recording is None else _Within((recording, None))


def present() -> Place:
    """Return the place for the stages of another thread that works for this one."""
    return _here.get()


def within(place: Place) -> AbstractContextManager[Any]:
    """Record the stages of the block at a place of another thread; None: record nothing."""
    return _Within(place)
