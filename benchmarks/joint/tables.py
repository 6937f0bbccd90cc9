"""Curves of error by number of triplets, of objects whose distances in every notion are given by a table."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from benchmarks.frame.tables import mean_and_error, summary, table
from benchmarks.joint.methods import Method, area, tuned
from benchmarks.joint.notion_measures import neighbor_error
from benchmarks.joint.people import drawn
from benchmarks.joint.sets import Notions
from crossview.engine.learners.frame.comparisons import Comparisons

Trials = Sequence[Mapping[str, Any]]

JOINT, INDEPENDENT, POOLED = "joint", "independent", "pooled"
TEST = 5_000
"""Test triplets of a notion."""


def compared(notions: Notions, counts: Sequence[int], generator: np.random.Generator) -> Comparisons:
    """Return so many random triplets of each notion; notions are "0", "1" ..."""
    parts = [drawn(distances, count, generator) for distances, count in zip(notions.distances, counts, strict=True)]
    return Comparisons(np.concatenate(parts), notions=np.repeat(np.arange(len(parts)).astype(str), counts))


def curves(notions: Notions, methods: Sequence[Method], budgets: Sequence[int], seed: int) -> list[dict[str, Any]]:
    """Return the errors of methods by number of triplets of all notions, which are the same for all methods."""
    return [point(notions, method, [budget // len(notions.names)] * len(notions.names), seed) | {"triplets": budget}
            for budget in budgets for method in methods]  # fmt: skip


def point(notions: Notions, method: Method, counts: Sequence[int], seed: int) -> dict[str, Any]:
    """Return a method's errors by notion after so many triplets of each."""
    train = compared(notions, counts, np.random.default_rng([seed, 1]))
    test = compared(notions, [TEST] * len(counts), np.random.default_rng([seed, 2]))
    embedded = tuned(method, train, notions.count, len(counts), seed)
    neighbors = (
        [] if notions.classes is None else [neighbor_error(rows, notions.classes).value for rows in embedded.rows]
    )
    return {
        "method": method.name,
        "errors": embedded.errors(test),
        "neighbor errors": neighbors,
        "widths": [rows.shape[1] for rows in embedded.rows],
        "alphas": list(embedded.alphas),
    }


def consistency(notions: Notions, seed: int) -> float:
    """Return the mean share of random triplets that two notions order equally, of those in which neither has a tie."""
    triplets = drawn(notions.distances[0], TEST, np.random.default_rng([seed, 3]))
    orders = [
        np.sign(distances[triplets[:, 0], triplets[:, 1]] - distances[triplets[:, 0], triplets[:, 2]])
        for distances in notions.distances
    ]
    pairs = [order * earlier for place, order in enumerate(orders) for earlier in orders[:place]]
    return float(np.mean([np.mean(pair[pair != 0] > 0) for pair in pairs]))


def gains(trials: Trials, budgets: Sequence[int], width: int) -> dict[str, list[float]]:
    """Return by what share joint and pooled areas under the error are smaller than independent ones, by trial."""
    saved: dict[str, list[float]] = {JOINT: [], POOLED: []}
    for trial in trials:
        errors = {(row["method"], row["triplets"]): float(np.mean(row["errors"])) for row in trial["curves"]}
        names = {sharing: f"{sharing}, D = {width}" for sharing in (JOINT, INDEPENDENT, POOLED)}
        areas = {name: area(budgets, [errors[name, budget] for budget in budgets]) for name in names.values()}
        for sharing, values in saved.items():
            values.append(1 - areas[names[sharing]] / areas[names[INDEPENDENT]])
    return saved


def rows(trials: Trials) -> list[dict[str, Any]]:
    """Return mean and deviation of the mean error over the notions, and of that of nearest neighbours."""
    summaries = []
    for method, budget in _points(trials):
        names = {"method": method, "triplets": budget}
        for metric in ("errors", "neighbor errors"):
            if values := _values(trials, method, budget, metric):
                summaries.append({**names, "metric": metric.removesuffix("s"), **summary(values)})
    return summaries


def errors_table(trials: Trials, metric: str = "errors") -> str:
    """Return the mean errors in per cent, a line for each method and a column for each number of triplets."""
    budgets = list(dict.fromkeys(budget for _, budget in _points(trials)))
    lines = [["method", *(f"{budget:,}" for budget in budgets)]]
    for method in dict.fromkeys(method for method, _ in _points(trials)):
        lines.append([method, *(mean_and_error(_values(trials, method, budget, metric)) for budget in budgets)])
    return table(lines)


def gains_line(trials: Trials, budgets: Sequence[int], widths: Sequence[int]) -> str:
    """Return consistency and gains in words."""
    agreement = mean_and_error([trial["consistency"] for trial in trials], 1, 2)
    parts = []
    for width in widths:
        saved = gains(trials, budgets, width)
        parts.append(f"D = {width}: joint {mean_and_error(saved[JOINT])} %, pooled {mean_and_error(saved[POOLED])} %")
    return f"Triplet consistency {agreement}. Area under the error saved against independent: {'; '.join(parts)}."


def progress(trial: Mapping[str, Any]) -> str:
    """Return the mean errors of a trial in one line."""
    cells = (f"{row['method']} at {row['triplets']:,}: {100 * np.mean(row['errors']):.1f}" for row in trial["curves"])
    return ", ".join(cells)


def _points(trials: Trials) -> list[tuple[str, int]]:
    return list(dict.fromkeys((row["method"], row["triplets"]) for trial in trials for row in trial["curves"]))


def _values(trials: Trials, method: str, budget: int, metric: str) -> list[float]:
    return [
        float(np.mean(row[metric]))
        for trial in trials
        for row in trial["curves"]
        if (row["method"], row["triplets"]) == (method, budget) and row[metric]
    ]
