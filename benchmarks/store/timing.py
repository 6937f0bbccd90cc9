"""Methods timed in turns, so that whatever else the machine does falls on all of them; ratios are of the same turn."""

import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

OURS = "crossview"

Seconds = NDArray[np.float64]
Run = Callable[[int], Any]


def take_turns(runs: Mapping[str, Run], rounds: int, warm: bool = True) -> dict[str, Seconds]:
    """Return the seconds of every method in every round, shape (rounds,); each begins a round in turn.

    A run is called with the number of the round. With ``warm``, it is called with the round's before first, untimed, so
    that the processor's caches are the method's own, and not those of the one before it.
    """
    names, seconds = list(runs), {name: np.empty(rounds) for name in runs}
    for number in range(rounds):
        turn = number % len(names)
        for name in names[turn:] + names[:turn]:
            if warm:
                runs[name](number - 1)
            began = time.perf_counter()
            runs[name](number)
            seconds[name][number] = time.perf_counter() - began
    return seconds


def figure(task: str, method: str, metric: str, value: float | str) -> dict[str, Any]:
    """Return one row."""
    return {"task": task, "method": method, "metric": metric, "value": value}


def compared(task: str, seconds: Mapping[str, Seconds], per: int = 1) -> list[dict[str, Any]]:
    """Return medians of every method, in ms for one of ``per`` equal parts, and how many times longer ours takes.

    The ratio to a method, a median of those of the rounds, stands in the method's rows.
    """
    rows = [figure(task, name, "ms", 1000 * float(np.median(values)) / per) for name, values in seconds.items()]
    rivals = [name for name in seconds if name != OURS]
    return rows + [figure(task, rival, "ratio", float(np.median(seconds[OURS] / seconds[rival]))) for rival in rivals]
