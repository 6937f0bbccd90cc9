"""Markdown tables of the benchmark of more or less."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from benchmarks.frame.benchmark import Document
from benchmarks.frame.paired import Trials
from benchmarks.frame.tables import mean_and_error, summary, table
from benchmarks.more_less.orderings import ATTRIBUTES

DIRECTIONS = ("more", "less")
Times = Sequence[Mapping[str, Any]]


def rows(trials: Trials, times: Times) -> list[dict[str, Any]]:
    """Return mean and deviation of all figures over the seeds, and the times."""
    summaries = [
        {
            "method": direction,
            "attribute": attribute,
            "metric": metric,
            **summary(_values(trials, direction, attribute, metric)),
        }
        for direction in DIRECTIONS
        for attribute in ATTRIBUTES
        for metric in trials[0]["figures"][direction][attribute]
    ]
    for timing in times:
        for metric, value in _milliseconds(timing).items():
            summaries.append({"method": timing["search"], "where": timing["where"], "metric": metric, "value": value})
    return summaries


def markdown(document: Document) -> str:
    """Return the report."""
    settings, trials = document["settings"], document["trials"]
    protocol = (
        f"{settings['photographs']} photographs of eight scene classes; {settings['train']} of each train the "
        f"attributes of their GIST. {settings['queries']} unseen queries a seed, {len(trials)} seeds, ± the standard "
        "error over seeds. *Raised* is the share of the queries for which the mean class rank of the "
        f"{settings['hits']} nearest changes by {settings['enough']} at least, as asked. *Others* is by how many "
        "standard deviations the hits change in the other attributes; a search can hold these."
    )
    parts = ["# More or less of an attribute", protocol]
    for direction in DIRECTIONS:
        parts += [f"`--{direction}`:", table(_lines(trials, direction))]
    parts += ["Share of the queries raised, by the amount, %:", table(_amounts(trials, settings))]
    what = f"{settings['searches']} single searches for {settings['hits']} hits among {settings['items']:,} items"
    parts += [f"Milliseconds of each of {what}:", table(_time_lines(document["times"]))]
    return "\n\n".join(parts)


def _lines(trials: Trials, direction: str) -> list[list[str]]:
    head = ["attribute", "raised, %", "gain, ranks", "above its own class, %", "raised, others held, %"]
    lines = [
        [*head, "score", "score, held", "others", "others, held", "ratio", "others at most half as far, % of queries"]
    ]
    for attribute in ATTRIBUTES:

        def of(metric: str, attribute: str = attribute) -> Any:
            return _values(trials, direction, attribute, metric)

        lines.append(
            [
                attribute,
                mean_and_error(of("raised")),
                mean_and_error(of("gain"), 1, 2),
                mean_and_error(of("raised above own class")),
                mean_and_error(of("raised, held")),
                mean_and_error(of("score gained"), 1, 2),
                mean_and_error(of("score gained, held"), 1, 2),
                mean_and_error(of("others move"), 1, 2),
                mean_and_error(of("others move, held"), 1, 2),
                mean_and_error(of("others move, held") / of("others move"), 1, 2),
                mean_and_error(of("others move by half, held")),
            ]
        )
    return lines


def _amounts(trials: Trials, settings: Mapping[str, Any]) -> list[list[str]]:
    amounts = sorted([*settings["amounts"], settings["amount"]])
    lines = [["", *(f"{amount:g}" for amount in amounts)]]
    for direction in DIRECTIONS:
        for attribute in ATTRIBUTES:
            names = ["raised" if amount == settings["amount"] else f"raised, {amount:g}" for amount in amounts]
            cells = [mean_and_error(_values(trials, direction, attribute, name)) for name in names]
            lines.append([f"{direction} {attribute}", *cells])
    return lines


def _time_lines(times: Times) -> list[list[str]]:
    lines = [["search", "where", "median", "95 %", "longest"]]
    return lines + [
        [timing["search"], timing["where"], *(f"{value:.1f}" for value in _milliseconds(timing).values())]
        for timing in times
    ]


def _milliseconds(timing: Mapping[str, Any]) -> dict[str, float]:
    median, most = np.percentile(timing["seconds"], (50, 95))
    return {"median, ms": 1e3 * median, "95 %, ms": 1e3 * most, "longest, ms": 1e3 * max(timing["seconds"])}


def _values(trials: Trials, direction: str, attribute: str, metric: str) -> Any:
    return np.array([trial["figures"][direction][attribute][metric] for trial in trials])
