"""One kind of index of one engine: built, then measured part by part, in processes that lose their own part only."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.frame import asking
from benchmarks.frame.asking import Process, WorkerError
from benchmarks.frame.workers import alone
from benchmarks.scale.data import VIEWS, Condition, Data, conditions
from benchmarks.scale.engines import ENGINES
from benchmarks.scale.truth import UNCHANGED, State, Truth, learn
from benchmarks.scale.worker import BATCH
from benchmarks.store.writing import disk

BUILD, CURVE, CONDITIONS, WRITES, CHANGES = "build", "curve", "conditions", "writes", "changes"
PARTS = (CURVE, CONDITIONS, WRITES, CHANGES)
A_MINUTE = 0.01
"""Share of the items that the writer replaces."""
Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Limits:
    """How much is measured: queries and seconds of each figure, and most seconds of each process."""

    queries: int
    seconds: float
    timeout: float


class Contender:
    """An engine and a kind, in a folder of its own, on the data of another one."""

    def __init__(self, name: str, kind: str, folder: Path, data: Data, limits: Limits) -> None:
        self.method = f"{name} {kind}"
        self._name, self._kind, self._folder, self._data, self._limits = name, kind, folder, data, limits
        self._efforts = ENGINES[name].kinds[kind]
        self._rows: Rows = []

    def measured(self, parts: Sequence[str]) -> Rows:
        """Return the rows of the build and of the parts; of a part that fails, the row "failed" says why."""
        self._folder.mkdir()
        if self._part(BUILD, self._build):
            measure: Mapping[str, Callable[[str], None]] = {
                CURVE: self._curve,
                CONDITIONS: self._conditions,
                WRITES: self._writes,
                CHANGES: self._changes,
            }
            for part in parts:
                self._part(part, measure[part])
        return self._rows

    def _part(self, part: str, measure: Callable[[str], None]) -> bool:
        try:
            measure(part)
        except WorkerError as error:
            self._row(part, "failed", str(error))
            return False
        return True

    def _build(self, part: str) -> None:
        with self._process() as process:
            self._row(part, "seconds", process.ask("build")["seconds"])
            self._row(part, "peak memory", process.peak_memory())
        self._row(part, "disk", disk(self._folder))

    def _curve(self, part: str) -> None:
        with self._opened(part) as process:
            for view, effort in self._each(self._efforts.efforts):
                self._searches(process, part, view, effort)
                answer = process.ask("batches", view=view, effort=effort, limit=self._limits.seconds)
                rate = BATCH * len(answer["seconds"]) / sum(answer["seconds"])
                self._row(part, "queries/s in batches", rate, view, effort)

    def _conditions(self, part: str) -> None:
        with self._opened(part) as process:
            for name, only in conditions(self._data.count).items():
                for view, effort in self._each(self._efforts.usual):
                    self._searches(process, part, view, effort, name, only)

    def _writes(self, part: str) -> None:
        with self._opened(part) as process:
            replaced = 0
            for view, effort in self._each(self._efforts.usual):
                limit = self._limits.seconds
                alone = process.ask("write", view=view, effort=effort, share=0, limit=limit)["seconds"]
                self._row(part, "queries/s alone", len(alone) / sum(alone), view, effort)
                answer = process.ask("write", view=view, effort=effort, share=A_MINUTE, limit=3 * limit)
                self._latencies(part, answer["seconds"], view, effort)
                if answer["writes"]:
                    self._row(part, "write, ms", 1000 * float(np.median(answer["writes"])), view, effort)
                self._row(part, "written of due", answer["achieved"], view, effort)
                replaced = answer["replaced"]
            for view, effort in self._each(self._efforts.usual):
                self._searches(process, part, view, effort, state=State(replaced), timed=False)

    def _changes(self, part: str) -> None:
        state = State(self._data.changed, self._data.changed)
        with self._opened(part) as process:
            for metric, seconds in process.ask("change").items():
                self._row(part, f"{metric}, items/s", self._data.changed / seconds)
            for condition in ("", "maintained"):
                if condition:
                    if (seconds := process.ask("maintain")["seconds"]) is None:
                        break
                    self._row(part, "maintenance, s", seconds)
                for view, effort in self._each(self._efforts.usual):
                    self._searches(process, part, view, effort, condition, state=state)
            self._row(part, "peak memory", process.peak_memory())

    def _searches(
        self,
        process: "_Asked",
        part: str,
        view: str,
        effort: int,
        condition: str = "",
        only: Condition | None = None,
        state: State = UNCHANGED,
        timed: bool = True,
    ) -> None:
        """Ask queries one by one; keep their recall and, with ``timed``, their seconds."""
        limits = self._limits
        answer = process.ask("search", view=view, effort=effort, only=only, most=limits.queries, limit=limits.seconds)
        truth = Truth(self._data.folder, state, only)
        if not truth.is_known(view):
            alone(learn, self._data.folder, state, only, view)  # on all cores, which a run of trials does not have
        self._row(part, "recall", truth.recall(view, np.array(answer["ids"])), view, effort, condition)
        if timed:
            self._latencies(part, answer["seconds"], view, effort, condition)

    def _latencies(self, part: str, seconds: Sequence[float], view: str, effort: int, condition: str = "") -> None:
        self._row(part, "queries/s", len(seconds) / sum(seconds), view, effort, condition)
        for quantile in (50, 95, 99):
            value = 1000 * float(np.percentile(seconds, quantile))
            self._row(part, f"p{quantile}, ms", value, view, effort, condition)

    def _each(self, efforts: Sequence[int]) -> Iterator[tuple[str, int]]:
        return ((view, effort) for effort in efforts for view in VIEWS)

    @contextmanager
    def _opened(self, part: str) -> Iterator["_Asked"]:
        with self._process() as process:
            answer = process.ask("open", effort=self._efforts.usual[0])
            if part == CURVE:
                self._row(part, "first opening, s", answer["first"])
                self._row(part, "opening again, s", answer["again"])
            yield process
            if part == CURVE:
                self._row(part, "peak memory", process.peak_memory())

    @contextmanager
    def _process(self) -> Iterator["_Asked"]:
        python = asking.STORES if ENGINES[self._name].peer else asking.OURS
        arguments = self._name, self._kind, self._folder, self._data.folder.absolute()
        log = self._folder.with_suffix(".log")
        process = _Asked(Process(python, "benchmarks.scale.worker", arguments, self._folder, log), self._limits.timeout)
        try:
            yield process
        finally:
            process.end()

    def _row(
        self, part: str, metric: str, value: float | str, view: str = "", effort: int = 0, condition: str = ""
    ) -> None:
        names = {"items": self._data.count, "part": part, "method": self.method, "queries": view}
        self._rows.append({**names, "effort": effort, "condition": condition, "metric": metric, "value": value})


class _Asked:
    """A process with the seconds that it has left."""

    def __init__(self, process: Process, timeout: float) -> None:
        self._process, self._timeout, self._left = process, timeout, timeout
        self.peak_memory, self.end = process.peak_memory, process.end

    def ask(self, action: str, **arguments: Any) -> dict[str, Any]:
        """Return the answer; WorkerError where the process fails, or took longer than it may in all."""
        began = time.monotonic()
        try:
            return self._process.ask(action, self._left, **arguments)
        except WorkerError as error:
            late = time.monotonic() - began >= self._left
            reason = f"more than {self._timeout:g} s, ended in: {action}" if late else f"{action}: {error}"
            raise WorkerError(reason) from None
        finally:
            self._left -= time.monotonic() - began
