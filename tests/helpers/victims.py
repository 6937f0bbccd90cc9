"""Processes of their own that work on the collection ``bad`` until they are killed.

They are forked from a process that has imported the libraries and done nothing else: a new interpreter would import for
a second before there is anything to kill.
"""

import importlib
import multiprocessing
import os
import random as chance
import signal
import time
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
from living import Asked, Change, make

from crossview.engine.collections.home import Home

_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(
    [
        *(
            f"crossview.engine.{name}"
            for name in ("home", "collection", "ingest.importing", "spaces.search", "training.trainer")
        ),
        "crossview.server.core.jobs.worker",  # a process of tests has one such process, for jobs as well
    ]
)


class Victim:
    """A process, and its reports while it lives."""

    def __init__(self, work: Callable[..., None], *arguments: Any) -> None:
        self._reports, theirs = _CONTEXT.Pipe(duplex=False)
        self._process = _CONTEXT.Process(target=work, args=(theirs, *arguments))
        self._process.start()
        theirs.close()
        assert self._reports.recv() == "begun"

    def killed(self, after: float | None = None) -> list[Any]:
        """Kill it some seconds from now, by default wait until it ends by itself; return its reports."""
        if after is not None:
            time.sleep(after)
            self._process.kill()
        reports = []
        try:
            while True:
                reports.append(self._reports.recv())
        except EOFError:
            self._process.join()
            assert self._process.exitcode in (0, -signal.SIGKILL)
            self._process.close()
            self._reports.close()
            return reports


def write(reports: Connection, path: Path, changes: Sequence[Change], point: str = "", count: int = 1) -> None:
    """Make changes, and report each that was acknowledged; die at the count-th time at a point, ``module:function``."""
    if point:
        _die_at(point, count)
    reports.send("begun")
    with Home(path).open("bad") as collection:
        for change in changes:
            make(collection, change)
            reports.send("made")


def rename(reports: Connection, path: Path, old: str, new: str, keep: bool, point: str, count: int) -> None:
    """Rename a collection; die at the count-th time at a point."""
    _die_at(point, count)
    reports.send("begun")
    Home(path).rename(old, new, keep_alias=keep)
    reports.send("made")


def switch(reports: Connection, path: Path, alias: str, names: Sequence[str]) -> None:
    """Point an alias to each of some collections in turn, for ever, and report each that was acknowledged."""
    reports.send("begun")
    while True:
        for name in names:
            Home(path).set_alias(alias, name)
            reports.send(name)


def read(reports: Connection, path: Path, seed: int) -> None:
    """Open the collection, search it and close it, again and again; report the answers."""
    random = np.random.default_rng(seed)
    reports.send("begun")
    while True:
        with Home(path).open("bad") as collection:
            for _ in range(chance.Random(seed).randrange(1, 20)):
                asked = Asked.of(random)
                asked.find(collection)
                reports.send(asked)


def _die_at(point: str, count: int) -> None:
    module, _, name = point.rpartition(":")
    *outer, last = name.split(".")
    holder = importlib.import_module(module)
    for part in outer:
        holder = getattr(holder, part)
    real, left = getattr(holder, last), [count]

    def fatal(*arguments: Any, **options: Any) -> Any:
        left[0] -= 1
        if left[0] <= 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*arguments, **options)

    setattr(holder, last, fatal)
