"""Worker processes: spawned, with few threads each, and ended with the process that started them."""

import multiprocessing
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from typing import Any, TypeVar

from threadpoolctl import threadpool_limits

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")

Result = TypeVar("Result")


def each(
    tasks: Mapping[str, Any], run: Callable[..., Result], *arguments: Any, workers: int
) -> Iterator[tuple[str, Result]]:
    """Yield every task's name with ``run(task, *arguments)``, as they finish.

    Every run has one thread: small matrices gain nothing from more, and figures do not depend on how sums are cut.
    ``run`` is a function of a module, so that other processes find it; of one worker, it runs in this process.
    """
    if workers == 1:
        with threadpool_limits(1):
            yield from ((name, run(task, *arguments)) for name, task in tasks.items())
        return
    with pool(workers) as executor:
        pending = {executor.submit(_on_one_thread, run, task, *arguments): name for name, task in tasks.items()}
        for future in as_completed(pending):
            yield pending[future], future.result()


def alone(run: Callable[..., Result], *arguments: Any, threads: int | None = None) -> Result:
    """Return what ``run`` returns in a fresh process, whose peak memory is its own, with any threads for None."""
    with pool(1, threads) as executor:
        return executor.submit(run, *arguments).result()


@contextmanager
def pool(
    workers: int, threads: int | None = 1, prepare: Callable[[], None] | None = None
) -> Iterator[ProcessPoolExecutor]:
    """Give an executor of spawned processes that end when this process ends, however it ends.

    Each has so many threads (None: as many as it likes), and calls ``prepare`` before its first task.
    """
    context = multiprocessing.get_context("spawn")
    with thread_limit(threads), ProcessPoolExecutor(workers, context, start_worker, (prepare,)) as executor:
        yield executor


def start_worker(prepare: Callable[[], None] | None = None) -> None:
    """Make this spawned process end with its parent, then prepares it."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    if prepare:
        prepare()


@contextmanager
def thread_limit(threads: int | None) -> Iterator[None]:
    """Set how many threads the processes that are started meanwhile use; None: nothing is changed."""
    before = {name: os.environ.get(name) for name in THREADS}
    if threads is not None:
        os.environ.update(dict.fromkeys(THREADS, str(threads)))
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None) if value is None else os.environ.update({name: value})


def _on_one_thread(run: Callable[..., Result], *arguments: Any) -> Result:
    with threadpool_limits(1):
        return run(*arguments)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)  # the parent was killed: nobody waits for the result
