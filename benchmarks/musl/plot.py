"""The plot of the MuSL benchmark."""

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.frame.benchmark import Document
from benchmarks.frame.plots import panels
from benchmarks.frame.tables import summary
from benchmarks.musl.figures import MAIN, Trials, abouts, single, stability, values
from benchmarks.musl.trial import EXAMPLES, KMEANS, METHODS, MUSL, ONE, PER_CLASS, RANDOM, RETRAINED

# Distinct in the common kinds of colour blindness.
COLORS = {MUSL: "#56B4E9", RETRAINED: "#0072B2", KMEANS: "#E69F00", RANDOM: "#555555"}
LABELS = {
    "curve": f"{MAIN} accuracy, %",
    "groupings": "adjusted Rand index between splits",
    "novel": f"{MAIN} accuracy on novel classes, %",
}


def plot(path: Path, document: Document) -> None:
    """Draws accuracy, stability of the groups, and accuracy on novel classes, each against K."""
    trials = document["trials"]
    parts = [part for part in LABELS if abouts(trials, part)]
    with panels(path, 1, len(parts), (5 * len(parts), 4.5)) as figure:
        for part, axis in zip(parts, figure.axes, strict=True):
            for method in METHODS:
                _draw(axis, trials, part, method)
            if part == "curve":
                for method, style in ((ONE, "--"), (PER_CLASS, ":")):
                    level = 100 * float(np.mean(single(trials, method, MAIN)))
                    axis.axhline(level, color="black", linestyle=style, label=method)
            axis.set_xlabel("metrics")
            axis.xaxis.get_major_locator().set_params(integer=True)
            axis.set_ylabel(LABELS[part])
            axis.legend(frameon=False)


def _draw(axis: Any, trials: Trials, part: str, method: str) -> None:
    keys = [key for key in abouts(trials, part, method) if key.get("examples", EXAMPLES[-1]) == EXAMPLES[-1]]
    if not keys:
        return
    places = [key["metrics"] for key in keys]
    if part == "groupings":
        axis.plot(places, [np.mean(stability(trials, **key)) for key in keys], "o-", color=COLORS[method], label=method)
        return
    spreads = [summary(values(trials, part, MAIN, **key)) for key in keys]
    means = [100 * spread["value"] for spread in spreads]
    errors = [100 * spread["std"] / np.sqrt(len(trials)) for spread in spreads]
    axis.errorbar(places, means, errors, marker="o", markersize=3, color=COLORS[method], label=method)
