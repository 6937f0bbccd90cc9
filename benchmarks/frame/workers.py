"""Runs a benchmark's trials side by side, a process each."""

import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import Any

Trial = dict[str, Any]


def over(seeds: Sequence[int], run: Callable[..., Trial], *arguments: Any, workers: int) -> Iterator[Trial]:
    """Yields ``run(seed, *arguments)`` of every seed in order; ``run`` is a function of a module, to be found again."""
    trial = partial(_trial, run, arguments)
    if workers == 1:
        yield from map(trial, seeds)
        return
    # One thread for each process: small matrices gain nothing from more, and lose much to waiting for each other.
    kept = os.environ.get("OMP_NUM_THREADS")
    os.environ["OMP_NUM_THREADS"] = "1"
    try:
        with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
            yield from pool.map(trial, seeds)
    finally:
        del os.environ["OMP_NUM_THREADS"]
        if kept is not None:
            os.environ["OMP_NUM_THREADS"] = kept


def _trial(run: Callable[..., Trial], arguments: tuple[Any, ...], seed: int) -> Trial:
    return run(seed, *arguments)
