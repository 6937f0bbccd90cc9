"""An oracle beside three servers: every answer is compared with an exact scan of the states that it can be of.

``python -m benchmarks oracle [--json OUT] [--report DIR] [--minutes 30] [--seed 0]``

Each row says whose it is and which write gave it. Three servers of one home, one of them of two processes, a program
and the command line write, delete, label, train, activate, compact, back up and restore at once; servers and commands
are killed meanwhile. Readers of all of them ask without a pause. Each answer must be that of one state that the
collection was in between the question and the answer: keys, distances, labels, attributes, order. After each round
every reader must see the whole collection as the acknowledged writes, in an order that they can have had, leave it.
The run ends at the first round after which it does not.
"""

import argparse
import itertools
import math
import random
import tempfile
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NoReturn
from unittest.mock import patch

from rich.console import Console

from benchmarks.frame.benchmark import Benchmark, Document
from benchmarks.serve.figures import OURS, Limit, figure, judged
from benchmarks.serve.oracle.cast import (
    NAME,
    CommandLine,
    Program,
    Reader,
    Server,
    commanded,
    through,
    timed,
)
from benchmarks.serve.oracle.histories import History, Verdict, explained, judge
from benchmarks.serve.oracle.plan import Planner, question
from benchmarks.serve.oracle.questions import Answer, Counting, Everything, Listing, Maps, Search
from benchmarks.serve.oracle.states import NUMBERS, VIEWS, ForeignRowError, State
from benchmarks.serve.oracle.writes import (
    DONE,
    Activate,
    Call,
    Command,
    Copy,
    Delete,
    Import,
    Label,
    Put,
    Restore,
    Train,
    Write,
)
from crossview.engine.collections.home import Home
from crossview.engine.values.errors import BusyError

WRONG, LOST = "wrong answers", "rounds after which an acknowledged write is gone or elsewhere"
FAULTS, ENDED = "calls that failed by a server", "ends of a server that nobody killed"
RAISED = "exceptions in a server's log or in a thread of the program"
LIMITS = dict.fromkeys((WRONG, LOST, FAULTS, ENDED, RAISED), Limit(most=0))
_SERVERS: Mapping[str, list[str]] = {"one": [], "two": [], "of two": ["--processes", "2"]}
_READERS, _PAUSE = 2, 0.03  # of each server and the program; seconds between their questions
_MOST_WRITES, _KEPT_COPIES, _SHOWN, _AT_ONCE = 4, 3, 20, 8
_COMMANDED, _KILLED, _COPIED, _COMPACTED = 0.25, 0.03, 0.1, 0.1  # shares of rounds
_CHAIN, _SPREAD, _CUT_OFF = 8, 0.8, 0.15
"""Writes of a chain beside a command, and the most seconds between two; the share of commands that are killed."""


_LISTED = 0.5
"""Share of the questions of commands that list items; the others search by key."""
_TRACEBACK = "Traceback (most recent call last)"


class LostError(Exception):
    """No order of the acknowledged writes leads to what readers see."""


@dataclass
class Run:
    """The actors, the known state of the collection, and the results so far."""

    home: Path
    folder: Path
    seed: int
    servers: list[Server]
    program: Program
    line: CommandLine
    state: State = field(default_factory=State)
    copies: list[Copy] = field(default_factory=list)
    maps: Maps = field(default_factory=Maps)
    counts: Counter[str] = field(default_factory=Counter)
    faults: list[dict[str, Any]] = field(default_factory=list)
    beside: "Future[Answer | None] | None" = None
    passed: History | None = None
    """The history of the collection since ``beside`` began."""

    def __post_init__(self) -> None:
        self.random, self.pool = random.Random(self.seed), ThreadPoolExecutor(_AT_ONCE)
        self.planner = Planner(random.Random(self.seed + 1))
        self.open: list[Server | Program] = [*self.servers, self.program]
        draw = partial(question, at=lambda: self.planner.count)
        of = [process for process in self.open for _ in range(_READERS)]
        self.readers = [
            Reader(process, draw, random.Random(self.seed + 2 + number), _PAUSE) for number, process in enumerate(of)
        ]

    def rounds(self, seconds: float) -> None:
        """Make round after round for some seconds; the first one fills the collection."""
        end = time.monotonic() + seconds
        self.round([[self.planner.filled()]])
        for reader in self.readers:
            reader.start()
        try:
            while time.monotonic() < end and not self.counts[LOST]:
                with suppress(LostError):
                    self._round_of_commands() if self.random.random() < _COMMANDED else self._round_of_calls()
        finally:
            for reader in self.readers:
                reader.stop()
            self.pool.shutdown()

    def _round_of_calls(self) -> None:
        self.round([[self._next()] for _ in range(self.random.randint(1, _MOST_WRITES))])

    def _round_of_commands(self) -> None:
        """Make a write by a command, which takes long to begin, and beside it two chains of others until it ends."""
        kinds: tuple[type[Command], ...] = (Put, Delete, Label, Train, Activate, Restore)
        command = self.planner.write(self.state, self.copies, kinds)
        self.round([[self._next() for _ in range(_CHAIN)] for _ in range(2)], command)

    def _next(self) -> Call:
        kinds: tuple[type[Call], ...] = (Import, Put, Delete, Label, Train, Activate)
        return self.planner.write(self.state, self.copies, kinds)

    def round(self, chains: Sequence[Sequence[Call]], command: Command | None = None) -> None:
        """Make writes, those of different chains at once, and judges what readers saw meanwhile and see then."""
        tasks = [self.pool.submit(self._make, chain, command) for chain in chains]
        if command is not None:
            tasks.append(self.pool.submit(self._command, command))
        if self.random.random() < _KILLED:
            tasks.append(self.pool.submit(self._kill, self.random.choice(self.servers), self.random.uniform(0, 0.3)))
        if self.beside is None:
            self.beside = self._beside()
        for task in tasks:
            task.result()
        self._start_ended()
        writes = [write for write in (command, *itertools.chain(*chains)) if write is not None and write.began]
        answers, settled = self._taken(), self._settled(writes)
        self.maps.learn(self.program.collection)
        verdict = judge(self.state, writes, answers, settled, self.maps)
        if verdict is None:
            self._lost(writes, f"it is {self._difference(settled)}")
        self._note(writes, answers, verdict)

    def _start_ended(self) -> None:
        for server in self.servers:
            if not server.alive:
                self.counts[ENDED] += 1
                server.kill()

    def _taken(self) -> list[Answer]:
        """Return what readers have answered, once all are answered that were asked before now."""
        now = time.perf_counter()
        return [answer for reader in self.readers for answer in reader.taken(now)]

    def _make(self, chain: Sequence[Call], command: Command | None) -> None:
        """Make writes one after another, each through a server or the program; beside a command until that ends."""
        for write in chain:
            if command is not None:
                time.sleep(self.random.uniform(0, _SPREAD))
                if command.ended < math.inf:
                    return
            who = self.random.choice(self.open)
            timed(write, who.name, partial(through, write, who.collection))

    def _command(self, write: Command) -> None:
        """Make a write by a command, which is killed now and then."""
        kill_after = self.random.uniform(0.1, 2.0) if self.random.random() < _CUT_OFF else None
        timed(write, self.line.name, partial(commanded, write, self.line, kill_after))

    def _beside(self) -> "Future[Answer | None] | None":
        """Return begins, now and then, what goes on beside several rounds and changes nothing."""
        self.passed = None
        works: list[tuple[float, Callable[[], Answer | None]]] = [
            (1.0 if not self.copies else _COPIED, self._copy),
            (_COMPACTED, self._compact),
            (_COMMANDED, self._command_asks),
        ]
        drawn = next((work for share, work in works if self.random.random() < share), None)
        return None if drawn is None else self.pool.submit(drawn)

    def _compact(self) -> None:
        if self.random.random() < 0.5:
            done = self.line.run(["compact"]).returncode == 0
        else:
            try:
                self.program.collection.storage.compact()
                done = True
            except BusyError:
                done = False
        self.counts["compactions" if done else "compactions refused"] += 1

    def _copy(self) -> Answer | None:
        """Back the collection up, and look into the copy: it must be of one state, too."""
        path = self.folder / f"{time.monotonic_ns()}.copy"
        began = time.perf_counter()
        done = self.line.run(["backup", str(path), "--quiet"])
        ended = time.perf_counter()
        if done.returncode:
            self.counts["backups refused"] += 1
            return None
        with (
            tempfile.TemporaryDirectory(dir=self.folder) as folder,
            closing(Home(folder).restore(NAME, path)) as restored,
        ):
            try:
                value: Any = Everything().asked_of(restored)
            except ForeignRowError as error:
                value = str(error)
        return Answer(Everything(), str(path), began, ended, value)

    def _kill(self, server: Server, after: float) -> None:
        time.sleep(after)
        server.kill()
        self.counts["servers killed"] += 1

    def _command_asks(self) -> Answer:
        number = self.random.randrange(NUMBERS)
        request: Search | Listing = Search("v", "v", 10, "raw", number=number)
        if self.random.random() < _LISTED:
            request = Listing()
        began = time.perf_counter()
        value = self.line.ask(request)
        return Answer(request, self.line.name, began, time.perf_counter(), value)

    def _settled(self, writes: Sequence[Write]) -> Any:
        """Return what every reader sees where nobody writes."""
        try:
            states = [Everything().asked_of(process.collection) for process in self.open]
        except ForeignRowError as error:
            self._lost(writes, str(error))
        if any(state != states[0] for state in states):
            self._lost(writes, "readers differ")
        return states[0]

    def _difference(self, settled: Any) -> str:
        """Return which items and spaces are not as before the round."""
        before = self.state.seen()
        items = {number: record for number, record in settled.items.items() if before.items.get(number) != record}
        gone = sorted(before.items.keys() - settled.items.keys())
        return f"changed items {items}, gone {gone}, {settled.spaces}, {settled.active!r}; before {before.spaces}"

    def _lost(self, writes: Sequence[Write], what: str) -> NoReturn:
        self.counts[LOST] += 1
        self.faults.append({"kind": LOST, "what": what[:4_000], "writes": [_described(write) for write in writes]})
        raise LostError(what)

    def _note(self, writes: Sequence[Write], answers: Sequence[Answer], verdict: Verdict) -> None:
        self.counts["rounds"] += 1
        self.counts["states"] += len(verdict.history.writes)
        self.state = verdict.history.states[-1]
        for write in writes:
            self.counts[f"writes {write.outcome}: {type(write).__name__.lower()}"] += 1
            self.counts["writes acknowledged"] += write.outcome == DONE
            if "ServerFaultError" in write.error:
                self.counts[FAULTS] += 1
                self.faults.append({"kind": FAULTS, "what": write.error, "writes": [_described(write)]})
        self._count(answers, verdict)
        self._end_beside(verdict.history)

    def _end_beside(self, history: History) -> None:
        """Judge what was answered beside this round and those before it."""
        if self.beside is None:
            return
        self.passed = history if self.passed is None else self.passed.then(history)
        if self.beside.done():
            answer, self.beside = self.beside.result(), None
            if answer is not None:
                verdict = explained(self.passed, [answer], self.maps)
                self._count([answer], verdict)
                if isinstance(answer.question, Everything) and not verdict.wrong:
                    self._keep(Copy(Path(answer.who), verdict.of[answer]))

    def _count(self, answers: Sequence[Answer], verdict: Verdict) -> None:
        for answer in answers:
            self.counts[_KINDS[type(answer.question)]] += 1
        for answer, state in verdict.of.items():
            if isinstance(answer.question, Search) and not answer.question.judged(answer.value, state, self.maps):
                self.counts["searches in generations that were gone, judged without distances"] += 1
        for answer in verdict.wrong:
            self.counts[WRONG] += 1
            self.faults.append(_wrong(answer, verdict))

    def _keep(self, copy: Copy) -> None:
        self.copies.append(copy)
        for old in self.copies[:-_KEPT_COPIES]:
            old.path.unlink()
        del self.copies[:-_KEPT_COPIES]

    def note_raised(self, what: str) -> None:
        """Count an exception that no caller has seen, because it ended work in the background."""
        self.counts[RAISED] += 1
        self.faults.append({"kind": RAISED, "what": what[:4_000]})

    def note_raised_in_thread(self, raised: threading.ExceptHookArgs) -> None:
        """Count what ended a thread of the program."""
        self.note_raised("".join(traceback.format_exception(raised.exc_type, raised.exc_value, raised.exc_traceback)))

    def read_logs(self) -> None:
        """Look for exceptions in what the servers have logged; once they have ended."""
        for server in self.servers:
            for part in server.log.read_text(errors="replace").split(_TRACEBACK)[1:]:
                self.note_raised(f"{server.name}: {part}")

    def figures(self) -> dict[str, float]:
        """Return the counts, those with limits first."""
        for reader in self.readers:
            for name, count in reader.unanswered.items():
                self.counts[FAULTS if name == "ServerFaultError" else f"questions without an answer: {name}"] += count
        return {**dict.fromkeys(LIMITS, 0), **dict(sorted(self.counts.items()))}


_KINDS = {Search: "searches", Listing: "lists", Counting: "counts", Everything: "backups read"}


def _described(write: Write) -> dict[str, Any]:
    return {"kind": type(write).__name__, **{name: repr(value)[:1_000] for name, value in vars(write).items()}}


def _wrong(answer: Answer, verdict: Verdict) -> dict[str, Any]:
    about = {name: repr(value)[:4_000] for name, value in vars(answer).items()}
    return {"kind": WRONG, "answer": about, "writes": [_described(write) for write in verdict.history.writes]}


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Return settings, figures, and what was wrong."""
    with tempfile.TemporaryDirectory(prefix="crossview-oracle-") as folder:
        home, files = Path(folder) / "home", Path(folder) / "files"
        files.mkdir()
        Home(home).create(NAME, [f"{view}=vectors:dim={dim}" for view, dim in VIEWS.items()]).close()
        with ExitStack() as stack:
            servers = [stack.enter_context(closing(Server(name, home, how))) for name, how in _SERVERS.items()]
            program = Program(stack.enter_context(closing(Home(home).open(NAME))))
            run = Run(home, files, options.seed, servers, program, CommandLine(home, files))
            stack.enter_context(patch.object(threading, "excepthook", run.note_raised_in_thread))
            Console(stderr=True).print(f"{options.minutes:g} minutes ...", highlight=False)
            run.rounds(60 * options.minutes)
        run.read_logs()
    rows = [figure("oracle", "all", OURS, name, value) for name, value in run.figures().items()]
    settings = {name: getattr(options, name) for name in ("minutes", "seed")}
    return {"settings": settings, "rows": rows, "faults": run.faults[:_SHOWN]}


def markdown(document: Document) -> str:
    """Return the report."""
    about = "{minutes:g} minutes, seed {seed}.".format(**document["settings"])
    return "\n\n".join(["# Three servers beside an oracle", about, judged(document["rows"], LIMITS, ",")])


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--minutes", type=float, default=30.0, help="of rounds")
    parser.add_argument("--seed", type=int, default=0)


BENCHMARK = Benchmark("oracle", __doc__, _arguments, measure, markdown)
