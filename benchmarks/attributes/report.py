"""Table 8 and figures 11 and 12 of the quadruplet paper, ours beside the paper's."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.attributes.held_out import CHOSEN, EVEN, RULES
from benchmarks.attributes.methods import ATTRIBUTE_METHODS, CLASSIFIERS, FEATURES, RA, RA_ORDERED, RA_SQUARED
from benchmarks.frame.benchmark import Document
from benchmarks.frame.plots import panels
from benchmarks.frame.tables import mean_and_error, summary, table

Trials = Sequence[Mapping[str, Any]]
BOTH = "Q+Pwise"
BOTH_IS = {"osr8": "QWSL-1", "pubfig": "OQWSL + pairs"}
"""The paper's Q+Pwise: QWSL for scenes, OQWSL with pairs at the first and last class for faces."""
PAPER: Mapping[tuple[str, str], tuple[float, float]] = {
    (FEATURES, "LMNN"): (71.2, 71.5),
    (FEATURES, "LMNN-G"): (70.7, 69.9),
    (RA, "Gaussian"): (71.3, 71.3),
    (RA, "LMNN"): (71.8, 74.2),
    ("OQWSL-1", "LMNN-G"): (73.5, 74.1),
    ("OQWSL-1", "LMNN"): (73.9, 75.7),
    ("QWSL-1", "LMNN-G"): (74.6, 74.8),
    ("QWSL-1", "LMNN"): (74.3, 77.0),
    (BOTH, "Gaussian"): (74.1, 74.5),
    (BOTH, "LMNN-G"): (74.6, 76.5),
    (BOTH, "LMNN"): (74.3, 77.6),
}
"""Table 8: accuracy in per cent on OSR and PubFig."""
_COLUMNS = ("osr8", "pubfig")
_PICTURES = {"osr8": "scenes", "pubfig": "faces"}
AS_PRINTED = 10
"""Splits of the paper."""
_CLASSES = ("held_out", "seen")
_HELD_OUT = (
    "Two of the eight classes, each pair in turn, have no training picture and are described by the orderings alone. "
    "Share of unseen pictures that are given their class among all eight, in per cent: of the two held-out classes, "
    "and of the six others."
)
_AGAINST = (RA, RA_ORDERED, RA_SQUARED)


def progress(trial: Mapping[str, Any]) -> str:
    """Return a line on a finished split."""
    by_method = {name: figures["accuracy"]["Gaussian"] for name, figures in trial["methods"].items()}
    line = ", ".join(f"{name} {100 * value:.1f}" for name, value in by_method.items())
    return f"{line}; {trial['seconds']:.0f} s"


def accuracies(trials: Trials, data: str, method: str, classifier: str) -> NDArray[np.float64]:
    """Return an accuracy of every split of a set, as a share."""
    name = BOTH_IS[data] if method == BOTH else method
    return np.array([trial["methods"][name]["accuracy"][classifier] for trial in trials if trial["data"] == data])


def rows(trials: Trials) -> list[dict[str, Any]]:
    """Return mean and deviation of all accuracies, and of the gains over relative attributes by pairs."""
    summaries = []
    for data in dict.fromkeys(trial["data"] for trial in trials):
        for method in (FEATURES, *ATTRIBUTE_METHODS):
            for classifier in CLASSIFIERS:
                names = {"data": data, "method": method, "classifier": classifier, "metric": "accuracy"}
                summaries.append({**names, **summary(accuracies(trials, data, method, classifier))})
        for method in ATTRIBUTE_METHODS:
            for pairs in _curve(trials, data, method):
                names = {"data": data, "method": method, "pairs": pairs, "metric": "accuracy, Gaussian"}
                summaries.append({**names, **summary(_curve(trials, data, method)[pairs])})
        for rule in RULES:
            for odds in (EVEN, CHOSEN):
                for classes in _CLASSES:
                    names = {"data": data, "method": rule, "odds": odds, "metric": f"accuracy, {classes} classes"}
                    summaries.append({**names, **summary(_of_held_out(trials, data, rule, odds, classes))})
    return summaries


def markdown(document: Document) -> str:
    """Return the report."""
    trials, settings = document["trials"], document["settings"]
    sets = [name for name in _COLUMNS if name in settings["sets"]]
    text = (
        f"{len(settings['seeds'])} splits, {settings['train']} training pictures of each class; mean accuracy over the "
        "classes in per cent, ± standard error. Scenes by our GIST, faces by the features that Parikh and Grauman "
        "published; the paper's figures are on features of theirs. Cross-validation chooses the settings of each "
        "classifier. "
        f"{BOTH} is what the paper calls so: " + ", ".join(f"on {name} {BOTH_IS[name]}" for name in sets) + "."
    )
    parts = ["# Relative attributes by pairs and by quadruplets", text, "## Beside the paper", _beside(trials, sets)]
    if len(settings["seeds"]) > AS_PRINTED:
        first = [trial for trial in trials if trial["seed"] in settings["seeds"][:AS_PRINTED]]
        parts += [f"## Beside the paper, the first {AS_PRINTED} splits, as many as it has", _beside(first, sets)]
    for name in sets:
        parts += [f"## {name}, by classifier", _by_classifier(trials, name)]
        for against in _AGAINST:
            parts += [f"## {name}, gain over {against}, points, paired", _gains(trials, name, against)]
        parts += [f"## {name}, Gaussian, by the number of pairs of classes", _curves(trials, name)]
    parts += ["## Classes without a training picture", _HELD_OUT, _held_out(trials, sets)]
    return "\n\n".join(parts)


def headline(document: Document) -> tuple[str, str, str]:
    """Return the accuracy of Q+Pwise with LMNN on both sets."""
    sets = [name for name in _COLUMNS if name in document["settings"]["sets"]]
    ours = [mean_and_error(accuracies(document["trials"], name, BOTH, "LMNN")) for name in sets]
    theirs = [str(PAPER[BOTH, "LMNN"][_COLUMNS.index(name)]) for name in sets]
    pictures = " and ".join(_PICTURES[name] for name in sets)
    task = f"Recognise {pictures} by relative attributes ({BOTH}, LMNN): accuracy, %"
    return task, ", ".join(ours), f"{', '.join(theirs)} in the paper"


def plot(path: Path, document: Document) -> None:
    """Draw accuracy against the number of pairs of classes."""
    sets = [name for name in _COLUMNS if name in document["settings"]["sets"]]
    with panels(path, 1, len(sets), (6.0 * len(sets), 4.5), squeeze=False) as figure:
        for axis, name in zip(figure.axes, sets, strict=True):
            for method in filter(ATTRIBUTE_METHODS.get, ATTRIBUTE_METHODS):
                curve = _curve(document["trials"], name, method)
                axis.plot(list(curve), [100 * np.mean(values) for values in curve.values()], marker=".", label=method)
            axis.set(title=name, xlabel="pairs of classes an attribute", ylabel="accuracy, %")
            axis.legend(fontsize="small")


def _beside(trials: Trials, sets: Sequence[str]) -> str:
    head = [cell for name in sets for cell in (f"{name}, ours", f"{name}, paper")]
    lines = [["scores", "classifier", *head]]
    for (method, classifier), published in PAPER.items():
        cells = [
            cell
            for name in sets
            for cell in (
                mean_and_error(accuracies(trials, name, method, classifier)),
                str(published[_COLUMNS.index(name)]),
            )
        ]
        lines.append([method, classifier, *cells])
    return table(lines)


def _by_classifier(trials: Trials, data: str) -> str:
    lines = [["scores", *CLASSIFIERS]]
    for method in (FEATURES, *ATTRIBUTE_METHODS):
        lines.append(
            [method, *(mean_and_error(accuracies(trials, data, method, classifier)) for classifier in CLASSIFIERS)]
        )
    return table(lines)


def _gains(trials: Trials, data: str, against: str) -> str:
    lines = [["scores", *CLASSIFIERS]]
    for method in ATTRIBUTE_METHODS:
        if method != against:
            gains = [
                accuracies(trials, data, method, classifier) - accuracies(trials, data, against, classifier)
                for classifier in CLASSIFIERS
            ]
            lines.append([method, *(mean_and_error(gain, sign="+") for gain in gains)])
    return table(lines)


def _of_held_out(trials: Trials, data: str, rule: str, odds: str, classes: str) -> NDArray[np.float64]:
    return np.array([trial["held out"][rule][odds][classes] for trial in trials if trial["data"] == data])


def _held_out(trials: Trials, sets: Sequence[str]) -> str:
    head = [cell for name in sets for cell in (f"{name}, held out", f"{name}, seen")]
    lines = [["classes", "odds", *head]]
    for rule in RULES:
        for odds in (EVEN, CHOSEN):
            columns = [_of_held_out(trials, name, rule, odds, classes) for name in sets for classes in _CLASSES]
            lines.append([rule, odds, *map(mean_and_error, columns)])
    return table(lines)


def _curve(trials: Trials, data: str, method: str) -> dict[int, list[float]]:
    """Return the accuracies of all splits by the number of pairs, those that every split has."""
    curves = [trial["methods"][method]["curve"] for trial in trials if trial["data"] == data]
    shared = [count for count in curves[0] if all(count in curve for curve in curves)]
    return {int(count): [curve[count] for curve in curves] for count in shared}


def _curves(trials: Trials, data: str) -> str:
    curves = {method: _curve(trials, data, method) for method, relations in ATTRIBUTE_METHODS.items() if relations}
    counts = sorted({count for curve in curves.values() for count in curve})
    lines = [["scores", *map(str, counts)]]
    for method, curve in curves.items():
        lines.append([method, *(mean_and_error(curve.get(count, ())) for count in counts)])
    return table(lines)
