"""Processors: linear algebra runs on one, loops over blocks run on all."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from functools import cache
from threading import Lock
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

Block = TypeVar("Block")
Result = TypeVar("Result")


class _Limit:
    """A limit on threads that overlapping users share: the first sets it, and the last removes it.

    The number of threads belongs to the process. If each user restored the number that it found, the second of two
    overlapping users would restore the limit of the first for good.
    """

    def __init__(self) -> None:
        self.threads = 1  # for loops over blocks; 1 outside a limit, because the library's own threads work there
        self._lock, self._users = Lock(), 0
        self._limiter: Any = None

    def enter(self) -> None:
        with self._lock:
            self._users += 1
            if self._users == 1:
                libraries = _libraries()
                self.threads = max((library["num_threads"] for library in libraries.info()), default=1)
                self._limiter = libraries.limit(limits=1)

    def leave(self) -> None:
        with self._lock:
            self._users -= 1
            if not self._users:
                self._limiter.restore_original_limits()
                self.threads = 1


@cache
def _libraries() -> ThreadpoolController:
    return ThreadpoolController().select(user_api="blas")  # once, because the look-up takes longer than a small fit


_limit = _Limit()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Keep linear algebra of the whole process on one thread during the block; blocks may nest and overlap.

    A library's threads spin while they wait for each other. On small matrices they gain little if processors are idle.
    If processors are busy, the eigenvectors of 1,000 columns take 30 times as long on two threads as on one.
    """
    _limit.enter()
    try:
        yield
    finally:
        _limit.leave()


def over(blocks: Sequence[Block], function: Callable[[Block], Result]) -> list[Result]:
    """Return the results of a function over blocks, in order, on as many threads as linear algebra had without limit.

    Each thread takes the next free block, so that a busy processor delays only its own block. Each block sees the
    context variables of the caller, so that cancellation reaches it.
    """
    if _limit.threads == 1 or len(blocks) < 2:
        return [function(block) for block in blocks]
    with ThreadPoolExecutor(_limit.threads) as pool:
        return [future.result() for future in [pool.submit(copy_context().run, function, block) for block in blocks]]


def in_turn(blocks: Iterable[Block], function: Callable[[Block], Result]) -> Iterator[Result]:
    """Yield the results of a function over blocks, in order, computed as by ``over``, of which few are in memory.

    The caller's thread takes the blocks, for example from a file, while the others compute at most one block each more
    than the caller has used. If the caller leaves, they finish their blocks and take no more.
    """
    if _limit.threads == 1:
        yield from map(function, blocks)
        return
    ahead: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(_limit.threads) as pool:
        try:
            for block in blocks:
                ahead.append(pool.submit(copy_context().run, function, block))
                if len(ahead) > _limit.threads:
                    yield ahead.popleft().result()
            while ahead:
                yield ahead.popleft().result()
        finally:
            for future in ahead:
                future.cancel()
