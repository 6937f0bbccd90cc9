"""Jobs that last, and waiting for them."""

import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from crossview.engine.values.errors import CrossviewError
from crossview.engine.values.recipe import Recipe, Tune
from crossview.features.priority import WRITES
from crossview.server.client.client import Client
from crossview.server.client.job import Job

BOTH = ("color", "gist")
_STEADY = {"rule": "sqrt", "step": 1e-5, "tol": 0, "max_iter": 10**6}
ENDLESS: dict[str, dict[str, Any]] = {
    "lmnn": {"settings": _STEADY},
    "multi-npp": {"dim": 4, "settings": {"batch_size": 8, "max_iter": 10**6}},
    "musl": {"settings": {"n_bits": 4096, "n_metrics": 16}},
    "lmnn:4": {"settings": _STEADY, "tune": Tune({"mu": (0.1, 0.01)}, folds=2)},
}
"""Trainings of the collection ``rows`` that take longer than any test."""


def endless(spec: str = "multi-npp") -> Recipe:
    """Return a training that does not end by itself."""
    return Recipe(spec=spec, views=BOTH, **ENDLESS[spec])


def until(holds: Callable[[], Any], seconds: float = 300.0) -> None:
    """Wait until something holds; AssertionError if it takes too long."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.02)


def ready(client: Client) -> None:
    """Let the server start the process that carries out its jobs, with all that a training loads."""
    job = client.open("rows").detached().train(Recipe(spec="cca", views=BOTH, settings={"none": 1}))
    with suppress(CrossviewError):
        client.jobs.wait(job.id)


def learning(client: Client, job: str) -> Job:
    """Wait until a job reports that it learns, after the estimate of its cost, and return it."""
    until(lambda: (step := client.jobs.get(job).progress) and step.what != "training")
    return client.jobs.get(job)


def ended(client: Client, job: str) -> Job:
    """Wait until a job has ended, and return it."""
    until(lambda: client.jobs.get(job).has_ended)
    return client.jobs.get(job)


def job_processes(server: int) -> list[int]:
    """Return the processes that carry out the jobs of a server, by its number: forks of one that it has started.

    The process for writes is such a fork, too, but gives way to fewer.
    """
    return [job for child in _children(server) if _forks(child) for job in _children(child) if not _writes(job)]


def _writes(process: int) -> bool:
    with suppress(OSError):
        return os.getpriority(os.PRIO_PROCESS, process) == WRITES
    return False


def _forks(process: int) -> bool:
    with suppress(OSError):
        return b"multiprocessing.forkserver" in Path(f"/proc/{process}/cmdline").read_bytes()
    return False


def _children(parent: int) -> list[int]:
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            state, number = (folder / "stat").read_text().rpartition(")")[2].split()[:2]
            if int(number) == parent and state != "Z":
                found.append(int(folder.name))
    return found


def is_alive(process: int) -> bool:
    """Return whether a process exists and is not a zombie."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def my_job_processes() -> list[int]:
    """Return the processes of the servers that this process runs."""
    return job_processes(os.getpid())
