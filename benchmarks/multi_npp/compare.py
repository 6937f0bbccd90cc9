"""Figures of all methods against the best baseline's, trial by trial, at the largest dimension."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.multi_npp.methods import BASELINES, PAIR, WIDEST

NEIGHBORS = 5  # of the accuracy that is compared
METRICS: tuple[tuple[str, int | None], ...] = (("accuracy", NEIGHBORS), ("map", None))
Row = Mapping[str, Any]


def compared(trials: Sequence[Sequence[Row]]) -> list[dict[str, Any]]:
    """Returns one row per method and figure: its mean over the trials, and its mean difference to the best baseline's.

    Figures are accuracy and mAP, from either view of the paper to either. The best baseline is the one with the
    greatest mean; within a view it is the original space. "standard_error" is that of the mean of the differences,
    trial by trial, or None for a single trial.

    Args:
        trials: the rows of each trial, the same figures in all of them.
    """
    found = []
    for query, database in ((query, database) for query in PAIR for database in PAIR):
        for metric, k in METRICS:
            values = _by_method(trials, (query, database, metric, k))
            known = ["original"] if query == database else BASELINES
            baselines = {name: values[name].mean() for name in known if name in values}
            if not baselines:
                continue
            best = max(baselines, key=lambda name: float(baselines[name]))
            figure = {"query_view": query, "database_view": database, "metric": metric, "k": k, "baseline": best}
            found += [{"method": name, **figure, **_against(mine, values[best])} for name, mine in values.items()]
    return found


def _by_method(trials: Sequence[Sequence[Row]], figure: tuple[Any, ...]) -> dict[str, NDArray[np.float64]]:
    values: dict[str, list[float]] = {}
    for rows in trials:
        for row in rows:
            if row["dim"] in (*WIDEST, None) and figure == tuple(row[name] for name in _FIGURE):
                values.setdefault(row["method"], []).append(row["value"])
    return {name: np.array(mine) for name, mine in values.items()}


_FIGURE = ("query_view", "database_view", "metric", "k")


def _against(mine: NDArray[np.float64], best: NDArray[np.float64]) -> dict[str, Any]:
    difference = mine - best
    count = len(difference)
    error = float(difference.std(ddof=1) / np.sqrt(count)) if count > 1 else None
    return {"value": float(mine.mean()), "difference": float(difference.mean()), "standard_error": error}
