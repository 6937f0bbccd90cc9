"""The participants: servers that can be killed, the command line, and readers that ask without a pause."""

import json
import math
import os
import random
import signal
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.frame.record import ROOT
from benchmarks.serve.oracle.questions import REFUSAL, Answer, Listing, Question, Search, ShownItem
from benchmarks.serve.oracle.states import key_of
from benchmarks.serve.oracle.writes import DONE, REFUSED, UNKNOWN, Call, Command, Write
from benchmarks.serve.process import CLI, ServerProcess, until_healthy
from crossview import Client, OverloadedError
from crossview.engine.collections.collection import Collection
from crossview.engine.values.any_collection import AnyCollection
from crossview.engine.values.errors import (
    BusyError,
    CrossviewError,
    InvalidInputError,
    NotFoundError,
    NotReadyError,
    collected_warnings,
)

NAME = "identities"
_USAGE = 2
"""The exit status of a command line that no command understands."""
_NOTHING_DONE = BusyError, InvalidInputError, NotFoundError, NotReadyError, OverloadedError
_AGAIN = 0.05
"""Seconds until a reader asks again that had no answer."""


class Server:
    """A server that is started again where it was killed, and the collection as its clients see it."""

    def __init__(self, name: str, home: Path, options: list[str]) -> None:
        self.name, self._home, self._options = name, home, options
        self._clients: list[Client] = []
        self._start()

    def _start(self) -> None:
        command = [*CLI, "serve", "--home", str(self._home), "--port", "0", *self._options]
        self._process = ServerProcess(command, self.log)
        until_healthy(self._process.address)
        self._clients.append(Client(self._process.address))
        self.collection: AnyCollection = self._clients[-1].open(NAME)

    @property
    def log(self) -> Path:
        """The output of the server and its processes."""
        return self._home.with_name(f"{self.name}.log")

    @property
    def alive(self) -> bool:
        """Whether its process runs."""
        return self._process.alive

    def kill(self) -> None:
        """Kill it with all its processes, and start it again."""
        self._process.end(signal.SIGKILL)
        self._start()

    def close(self) -> None:
        """End it; clients of killed ones stay open until then, because readers may be using them."""
        self._process.end()
        for client in self._clients:
            client.close()


@dataclass(eq=False)
class Program:
    """This process, with the collection open."""

    collection: Collection
    name: str = "program"


@dataclass
class CommandLine:
    """Commands in processes of their own."""

    home: Path
    folder: Path
    name: str = "command line"

    def run(self, words: list[str], kill_after: float | None = None) -> "subprocess.CompletedProcess[str]":
        """Run a command on the collection; a killed one has a negative status.

        Args:
            words: the command, such as "item delete", and its further words, without the name of the collection.
            kill_after: seconds after which the command is killed; None: it is not.

        Raises RuntimeError for words that are not a command line: what the benchmark writes is wrong then.
        """
        command = [*CLI, *words[0].split(), NAME, *words[1:]]
        environment = {**os.environ, "CROSSVIEW_HOME": str(self.home)}
        process = subprocess.Popen(
            command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        output: tuple[str, str] | None = None
        if kill_after is not None:
            with suppress(subprocess.TimeoutExpired):
                output = process.communicate(timeout=kill_after)
            process.kill()
        output = output or process.communicate()
        if process.returncode == _USAGE:
            raise RuntimeError(f"{' '.join(words)}: {output[1]}")
        return subprocess.CompletedProcess(command, process.returncode, *output)

    def ask(self, question: Search | Listing) -> Any:
        """Return the answer to a search by key or a listing."""
        if isinstance(question, Listing):
            words = ["list", "--limit", "1000"]
        else:
            words = ["search", "--view", question.view, "--targets", question.target, "-k", str(question.k)]
            words += ["--key", key_of(question.number or 0)]
            words += ["--space", question.space] if question.space else []
        done = self.run([*words, "--json"])
        if done.returncode:
            return REFUSAL if "no item" in done.stderr or "no row" in done.stderr else done.stderr
        items = json.loads(done.stdout)["result"]
        if isinstance(question, Search):
            items = items[0]["hits"]
        return [
            ShownItem(
                item["key"],
                item.get("distance", 0.0),
                tuple(item["labels"]),
                item["attributes"],
                tuple(item.get("views", ())),
            )
            for item in items
        ]


def timed(write: Write, who: str, make: Callable[[], str]) -> None:
    """Make a write, and note its time and its result, which ``make`` returns."""
    write.who, write.began = who, time.perf_counter()
    try:
        write.outcome = make()
    except _NOTHING_DONE as error:
        write.outcome, write.error = REFUSED, repr(error)
    except (CrossviewError, ValueError) as error:  # the latter of a channel that is closed
        write.outcome, write.error = UNKNOWN, repr(error)
    write.ended = time.perf_counter()


def through(write: Call, collection: AnyCollection) -> str:
    """Make a write through an open collection, here or on a server."""
    write.by(collection)
    return DONE


def commanded(write: Command, line: CommandLine, kill_after: float | None) -> str:
    """Make a write on the command line, which may be killed meanwhile."""
    done = line.run(write.words(line.folder), kill_after)
    write.error = done.stderr if done.returncode else ""
    return UNKNOWN if done.returncode else DONE


@dataclass(eq=False)
class Reader:
    """A thread that asks one server, or this program, as long as it runs."""

    of: Server | Program
    drawn: Callable[[random.Random], Question]
    random: random.Random
    pause: float
    answers: list[Answer] = field(default_factory=list)
    unanswered: Counter[str] = field(default_factory=Counter)
    asking_since: float = math.inf

    def __post_init__(self) -> None:
        self._lock, self._stop = threading.Lock(), threading.Event()
        self._thread = threading.Thread(target=self._ask, name=f"reader of {self.of.name}")

    def start(self) -> None:
        """Begin to ask."""
        self._thread.start()

    def stop(self) -> None:
        """End after the question under way."""
        self._stop.set()
        self._thread.join()

    def _ask(self) -> None:
        while not self._stop.wait(self.pause):
            question = self.drawn(self.random)
            with self._lock:
                began = self.asking_since = time.perf_counter()
            try:
                with collected_warnings():  # that no item has a label is an answer like others here
                    value = question.asked_of(self.of.collection)
            except (CrossviewError, ValueError) as error:
                self.unanswered[type(error).__name__] += 1
                self.asking_since = math.inf
                time.sleep(_AGAIN)
                continue
            with self._lock:
                self.answers.append(Answer(question, self.of.name, began, time.perf_counter(), value))
                self.asking_since = math.inf

    def taken(self, after: float) -> list[Answer]:
        """Wait until what was asked before a time is answered; return the answers since the last time."""
        while True:
            with self._lock:
                if self.asking_since >= after:
                    answers, self.answers = self.answers, []
                    return answers
            time.sleep(0.001)
