"""Markdown table and plot of the Fantope toy benchmark, the paper's figures beside ours."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from engine.learners.metrics.spectrum import RANK_TOLERANCE

NONE, CUT = "no regularisation", "no regularisation, cut"
LOW_RANK, TRACE = "descent over L", "trace"
ADMM, FANTOPE, BOTH = "Fantope, ADMM", "Fantope", "Fantope and trace"
METHODS = (NONE, CUT, LOW_RANK, TRACE, ADMM, FANTOPE, BOTH)
PAPER: Mapping[str, tuple[str, str, str]] = {
    NONE: ("89.3", "31", "1.07"),
    CUT: ("", "", ""),
    LOW_RANK: ("92.7", "10", "0.44"),
    TRACE: ("95.1", "4", "0.38"),
    ADMM: ("96.6", "", ""),
    FANTOPE: ("97.5", "10", "0.04"),
    BOTH: ("98.0", "10", "0.03"),
}
PAIRS = (
    (TRACE, NONE),
    (FANTOPE, TRACE),
    (BOTH, FANTOPE),
    (FANTOPE, CUT),
    (FANTOPE, LOW_RANK),
    (BOTH, LOW_RANK),
    (FANTOPE, ADMM),
)
METRICS = ("accuracy", "rank", "rank before the cut", "distance", "seconds")
# Told apart in the common kinds of colour blindness; in the order of the methods.
COLORS = ("#555555", "#D55E00", "#E69F00", "#CC79A7", "#56B4E9", "#0072B2", "#009E73")


def rows(trials: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Returns mean and standard deviation of every figure, and of the paired differences of accuracy."""
    found = [
        {"method": method, "metric": metric, **_summary(_values(trials, method, metric))}
        for method in METHODS
        for metric in METRICS
    ]
    for first, second in PAIRS:
        gains = np.subtract(_values(trials, first, "accuracy"), _values(trials, second, "accuracy"))
        found.append({"method": first, "against": second, "metric": "accuracy gained", **_summary(gains)})
    return found


def markdown(document: Mapping[str, Any]) -> str:
    """Returns the report: accuracy, rank and distance to the target beside the paper's, and paired differences."""
    settings, trials = document["settings"], document["trials"]
    target = ", ".join(f"{value:.2g}" for value in np.mean([trial["target"] for trial in trials], axis=0))
    protocol = (
        f"{settings['rows']:,} rows uniform in [0, 1)^{settings['width']}, a target metric T of rank "
        f"{settings['rank']}; {settings['train']:,} quadruplets to train on, {settings['validation']:,} to "
        f"choose mu and gamma by, {settings['test']:,} to test; {len(trials)} seeds. The eigenvalues of T, as shares "
        f"of the largest, are on average {target}. M and T are divided by their largest elements. Ranks count "
        "eigenvalues above 1e-6 of the largest, least and most of the seeds. ± is the standard error over the seeds."
    )
    head = ["method", "accuracy, %", "paper", "rank", "before the cut", "paper", "distance to T", "paper", "seconds"]
    lines = [head, *(_line(trials, method) for method in METHODS)]
    gains = [["difference in accuracy", "points"]]
    for row in document["rows"]:
        if row["metric"] == "accuracy gained":
            error = 100 * row["std"] / np.sqrt(len(trials))
            gains.append([f"{row['method']} − {row['against']}", f"{100 * row['value']:+.2f} ± {error:.2f}"])
    chosen = [["seed", *METHODS]]
    chosen += [[str(trial["seed"]), *(_chosen(trial["methods"][method]) for method in METHODS)] for trial in trials]
    remark = (
        "The paper gives one run. The second row keeps the ten largest eigenvalues of the first row's metric. Seconds "
        "are those of the fit with the chosen settings."
    )
    parts = ["# A metric of known rank from quadruplets, after Law, Thome and Cord (CVPR 2014), table 1", protocol]
    parts += [
        _table(lines),
        remark,
    ]
    parts += [f"## Paired over seeds\n\n{_table(gains)}", f"## Chosen settings\n\n{_table(chosen)}"]
    return "\n\n".join([*parts, f"The run took {document['seconds']:.0f} s."]) + "\n"


def write(folder: Path, document: Mapping[str, Any], text: str) -> None:
    """Writes fantope-toy.md and fantope-toy.png into the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "fantope-toy.md").write_text(text + "\n![accuracy and eigenvalues](fantope-toy.png)\n", encoding="utf-8")
    plot(folder / "fantope-toy.png", document["trials"])


def plot(path: Path, trials: Sequence[Mapping[str, Any]]) -> None:
    """Draws the accuracy on every seed beside the paper's, and the mean eigenvalues beside the target's."""
    try:
        import matplotlib
    except ImportError:
        raise ImportError('the plot needs matplotlib: pip install "crossview[bench]"') from None
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
    for place, (method, color) in enumerate(zip(METHODS, COLORS, strict=True)):
        values = 100 * np.array(_values(trials, method, "accuracy"))
        left.plot(values, np.full(len(values), place), "o", color=color, alpha=0.6)
        if PAPER[method][0]:
            left.plot(float(PAPER[method][0]), place, "x", color="black")
        spectra = np.mean([trial["methods"][method]["eigenvalues"] for trial in trials], axis=0)
        shown = np.flatnonzero(spectra > RANK_TOLERANCE)
        right.semilogy(shown + 1, spectra[shown], color=color, marker="o", markersize=3, label=method)
    target = np.mean([trial["target"] for trial in trials], axis=0)
    right.semilogy(np.arange(len(target)) + 1, target, "k--", label="target")
    left.set_yticks(range(len(METHODS)), METHODS)
    left.invert_yaxis()
    left.set_xlabel("test accuracy, %: a point per seed, × the paper's")
    right.set_xlabel("eigenvalue")
    right.set_ylabel("share of the largest, mean over seeds")
    right.set_ylim(bottom=RANK_TOLERANCE)
    for axis in (left, right):
        axis.grid(alpha=0.3)
        axis.spines[["top", "right"]].set_visible(False)
    right.legend(frameon=False)
    figure.savefig(path, dpi=150)
    pyplot.close(figure)


def _line(trials: Sequence[Mapping[str, Any]], method: str) -> list[str]:
    accuracy, distance = (_values(trials, method, metric) for metric in ("accuracy", "distance"))
    ranks = [_range(_values(trials, method, metric)) for metric in ("rank", "rank before the cut")]
    paper = PAPER[method]
    seconds = f"{np.mean(_values(trials, method, 'seconds')):.1f}"
    return [method, _mean(accuracy, 100), paper[0], *ranks, paper[1], _mean(distance, 1, 3), paper[2], seconds]


def _chosen(figures: Mapping[str, Any]) -> str:
    values = figures["settings"]
    return ", ".join(f"{name}={values[name]:g}" for name in ("mu", "gamma", "rho") if values.get(name))


def _values(trials: Sequence[Mapping[str, Any]], method: str, metric: str) -> list[float]:
    return [trial["methods"][method][metric] for trial in trials]


def _summary(values: Any) -> dict[str, float]:
    spread = float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
    return {"value": float(np.mean(values)), "std": spread}


def _mean(values: Sequence[float], factor: float, digits: int = 2) -> str:
    summary = _summary(values)
    error = factor * summary["std"] / np.sqrt(len(values))
    return f"{factor * summary['value']:.{digits}f} ± {error:.{digits}f}"


def _range(values: Sequence[float]) -> str:
    least, most = int(min(values)), int(max(values))
    return str(least) if least == most else f"{least} to {most}"


def _table(lines: Sequence[Sequence[str]]) -> str:
    head, *body = [f"| {' | '.join(line)} |" for line in lines]
    return "\n".join([head, "|" + " --- |" * len(lines[0]), *body])
