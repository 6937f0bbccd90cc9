"""Tables of the benchmark of a taught model, and whether its promise holds."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from benchmarks.frame import beside
from benchmarks.frame.benchmark import Document
from benchmarks.frame.databases import TRAINED, UNSEEN
from benchmarks.frame.tables import table
from benchmarks.pretrained.rows import COLOR, IMAGENET, MODEL
from benchmarks.pretrained.taught_methods import METHODS, PROBE, RAW, TAUGHT, TAUGHT_BESIDE
from benchmarks.pretrained.taught_trial import ACCURACY, COPY, SEARCHES
from benchmarks.sets.standing import standard_error
from benchmarks.unseen.report import Figures, figures_of
from crossview.engine.values.evaluation import MIXED
from crossview.features.copy_kinds import EXACT, KINDS

Values = NDArray[np.float64]
CHANGED = tuple(kind for kind in KINDS if kind != EXACT)
WANTED = 0.03
"""The promised gain of class mAP over the raw cosine."""
_TITLES = (
    ("mAP, unseen", UNSEEN, (beside.MAP,)),
    ("mAP, learned", TRAINED, (beside.MAP,)),
    ("copies first, searches", SEARCHES, tuple(COPY + kind for kind in CHANGED)),
    ("copies first, space alone", MIXED, tuple(COPY + kind for kind in CHANGED)),
    ("coverage, unseen", UNSEEN, (beside.COVERAGE,)),
    ("coverage, learned", TRAINED, (beside.COVERAGE,)),
    (ACCURACY, UNSEEN, (ACCURACY,)),
)
"""Head, database and metrics, whose mean counts, of each column."""
_PROMISED = 6
"""The first columns, of which the promise speaks."""


class SetFigures(NamedTuple):
    """The figures of one set."""

    name: str
    figures: Figures
    overlap: float
    """Held-out items divided by training items."""

    @classmethod
    def of(cls, name: str, trials: Sequence[Mapping[str, Any]]) -> Self:
        """Return the figures of a set in the trials of all sets."""
        own = [trial for trial in trials if trial["data"] == name]
        train, held_out = own[0]["sizes"]
        return cls(name, figures_of(own), held_out / train)

    def values(self, method: str, query: str, target: str, database: str, metrics: Sequence[str]) -> Values | None:
        """Return the mean of metrics in each split, (splits,); None if the method lacks one."""
        of = [self.figures.get((self.name, database, query, target, metric), {}).get(method) for metric in metrics]
        numbers = [number for number in of if number is not None]
        return np.mean(numbers, axis=0) if len(numbers) == len(of) else None

    def differences(self, method: str, other: str, database: str, metrics: Sequence[str]) -> tuple[float, float] | None:
        """Return mean and standard error of a method's figures within the model's view less those of another."""
        first, second = (self.values(name, MODEL, MODEL, database, metrics) for name in (method, other))
        if first is None or second is None:
            return None
        error = standard_error(first - second, self.overlap) if len(first) > 1 else float("nan")
        return float((first - second).mean()), error


def markdown(document: Document) -> str:
    """Return the report: the promise, then every figure of each set."""
    settings = document["settings"]
    text = (
        f"{len(settings['seeds'])} random splits of 80 to 20 %; means in per cent, ± the standard error of paired "
        f"differences. {IMAGENET} Held-out pictures search each other (unseen) or the pictures that were learned from "
        "(learned). Copies are smaller, recompressed, cropped or greyscale pictures that find their picture first: by "
        "the vectors of the space alone, or in searches of a collection, which put near copies first."
    )
    sets = [SetFigures.of(name, document["trials"]) for name in settings["sets"]]
    parts = ["# A taught model: what learning adds to the rows of a pretrained model", text]
    parts += ["## Differences to the raw cosine", _promise(), table(_differences(sets, RAW, (TAUGHT, TAUGHT_BESIDE)))]
    parts += ["## Differences to the linear probe", table(_differences(sets, PROBE, (TAUGHT, TAUGHT_BESIDE)))]
    for figures in sets:
        parts += [f"## {figures.name}: within a view", table(_within(figures))]
        parts += [f"## {figures.name}: between {COLOR} and {MODEL}", table(_across(figures))]
        parts += [f"## {figures.name}: kinds of copies, {MODEL} asks {MODEL}", table(_copies(figures))]
    return "\n\n".join(parts)


def _promise() -> str:
    return (
        f"Promised are at least {100 * WANTED:.0f} points of class mAP, and no less in copies and coverage. A figure "
        "**in bold** is behind its promise by more than two standard errors."
    )


def _differences(sets: Sequence[SetFigures], other: str, methods: Sequence[str]) -> list[list[str]]:
    columns = _TITLES[:_PROMISED] if other == RAW else [column for column in _TITLES if column[1] != SEARCHES]
    lines = [["set", "learned", *(title for title, *_ in columns)]]
    for figures in sets:
        for method in methods:
            cells = []
            for _, database, metrics in columns:
                limit = WANTED if metrics == (beside.MAP,) else 0.0
                difference = figures.differences(method, other, database, metrics)
                cells.append(_difference(difference, limit if other == RAW else -np.inf))
            lines.append([figures.name, method, *cells])
    return lines


def _difference(difference: tuple[float, float] | None, limit: float) -> str:
    if difference is None:
        return ""
    mean, error = difference
    text = f"{100 * mean:+.1f}" + (f" ± {100 * error:.1f}" if np.isfinite(error) else "")
    return f"**{text}**" if mean + 2 * np.nan_to_num(error) < limit else text


def _within(figures: SetFigures) -> list[list[str]]:
    lines = [["learned", "view", *(title for title, *_ in _TITLES)]]
    for name, method in METHODS.items():
        for query, target in method.directions():
            if query == target:
                values = [figures.values(name, query, target, database, metrics) for _, database, metrics in _TITLES]
                lines.append([name, query, *map(_mean, values)])
    return lines


def _across(figures: SetFigures) -> list[list[str]]:
    columns = [("own in first 10", UNSEEN, beside.RECALL), ("own in first 1", UNSEEN, "recall@1")]
    columns += [("mAP, unseen", UNSEEN, beside.MAP), ("mAP, learned", TRAINED, beside.MAP)]
    columns += [("coverage, unseen", UNSEEN, beside.COVERAGE)]
    lines = [["learned", "query → items", *(title for title, *_ in columns)]]
    for name, method in METHODS.items():
        for query, target in method.directions():
            if query != target:
                values = [figures.values(name, query, target, database, (metric,)) for _, database, metric in columns]
                lines.append([name, f"{query} → {target}", *map(_mean, values)])
    return lines


def _copies(figures: SetFigures) -> list[list[str]]:
    lines = [["learned", "by", *KINDS]]
    for name in METHODS:
        for database, title in ((MIXED, "the space alone"), (SEARCHES, "searches")):
            numbers = [figures.values(name, MODEL, MODEL, database, (COPY + kind,)) for kind in KINDS]
            if any(number is not None for number in numbers):
                lines.append([name, title, *map(_mean, numbers)])
    return lines


def _mean(values: Values | None) -> str:
    return "" if values is None else f"{100 * values.mean():.1f}"
