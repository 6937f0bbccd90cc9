"""Processors: libraries of linear algebra on one, loops over blocks on all."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from functools import cache
from threading import Lock
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

Block = TypeVar("Block")
Found = TypeVar("Found")


class _Limit:
    """The limit that all who ask for it at a time share: the first sets it, and the last lifts it.

    The number of threads is the process's. Were each to restore what it found, of two that overlap the later would keep
    the other's limit for good.
    """

    def __init__(self) -> None:
        self.threads = 1  # for loops over blocks; 1 outside a limit, where the library's own threads are at work
        self._lock, self._users = Lock(), 0
        self._limiter: Any = None

    def enter(self) -> None:
        with self._lock:
            self._users += 1
            if self._users == 1:
                libraries = _libraries()
                self.threads = max((one["num_threads"] for one in libraries.info()), default=1)
                self._limiter = libraries.limit(limits=1)

    def leave(self) -> None:
        with self._lock:
            self._users -= 1
            if not self._users:
                self._limiter.restore_original_limits()
                self.threads = 1


@cache
def _libraries() -> ThreadpoolController:
    return ThreadpoolController().select(user_api="blas")  # looked for once: that takes longer than small fits


_limit = _Limit()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Keeps linear algebra on one thread meanwhile, in the whole process; may be nested and overlap.

    A library's threads spin while they wait for each other. On small matrices they gain little where processors are
    idle. Where they are not, the eigenvectors of 1,000 columns took 30 times as long on two threads as on one.
    """
    _limit.enter()
    try:
        yield
    finally:
        _limit.leave()


def over(blocks: Sequence[Block], function: Callable[[Block], Found]) -> list[Found]:
    """Returns what a function makes of each block, in order; in as many threads as linear algebra had before its limit.

    Threads take block after block and wait for nobody, so a processor that is busy otherwise holds up none but its own.
    Each block sees the context variables of the caller, so that cancelling reaches it.
    """
    if _limit.threads == 1 or len(blocks) < 2:
        return [function(block) for block in blocks]
    with ThreadPoolExecutor(_limit.threads) as pool:
        return [found.result() for found in [pool.submit(copy_context().run, function, block) for block in blocks]]
