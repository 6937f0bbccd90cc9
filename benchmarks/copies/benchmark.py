"""Copies: how soon photographs are found by exact and changed copies of their files, inside a trained collection.

    python -m benchmarks copies --data DIR [--json OUT] [--photographs N] [--trials N] [--report DIR]

DIR holds ``corel1k`` (photographs in folders of classes). 80 % of each class are indexed, the spaces learn from them,
and the others are indexed later. Half of the photographs whose copies are made are learned, half are later ones. The
copies are the file itself, resized (.5), recompressed (JPEG quality 40), cropped (5 %) and greyscale. Each is a query
of each view, in each target, as a user searches by a picture. The reference across views is the search by the copy's
own raw features in the target view: what these do not find, no space needs to find.
"""

import argparse
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.frame.benchmark import Benchmark, Document, MissingDataError, positive, seeds_of, trial_arguments
from benchmarks.frame.beside import best_in_bold
from benchmarks.frame.journal import by_seed, run_trials
from benchmarks.frame.tables import rows_with, summary, table
from benchmarks.photographs import pictures_by_class, train_and_test
from crossview.engine.collections.collection import Collection
from crossview.engine.collections.home import Home
from crossview.engine.training.copy_recall import LENGTHS, Original, Ranks, originals, ranks
from crossview.engine.training.settling import OF_ITEMS
from crossview.engine.values.evaluation import EvaluationRequest
from crossview.engine.values.item import IndexOptions
from crossview.engine.values.recipe import DEFAULT, Recipe
from crossview.features.copy_kinds import KINDS

PHOTOGRAPHS = "corel1k"
VIEWS = ("color", "sift", "gist")
RAW, OURS = "raw", "default"
METHODS: Mapping[str, str] = {OURS: DEFAULT, "kernel cca": OF_ITEMS, "npp-hash": "npp-hash:64"}
"""Learners by name; each has its own defaults. ``raw``, the views themselves, stands beside them."""
LEARNED, LATER = "learned", "later"
FOUND_BY_RAW = "recall@10, found by raw"
"""Recall at 10 across views of the copies that the raw features of the target view find in the first ten."""
NAMES = ("method", "items", "kind", "query_view", "database_view", "metric")
_CLOSE = ("resized", "recompressed")


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Return settings, rows and trials."""
    images = options.data / PHOTOGRAPHS
    if not images.is_dir():
        raise MissingDataError.of(options.data, PHOTOGRAPHS)
    seeds = seeds_of(options)
    settings = {"seeds": list(seeds), "photographs": options.photographs, "views": VIEWS, "methods": dict(METHODS)}
    trials = run_trials(options, settings, by_seed(seeds), run, images, options.photographs)
    return {"settings": settings, "rows": rows(trials), "trials": trials}


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", type=Path, required=True, help=f"folder with {PHOTOGRAPHS}")
    parser.add_argument("--photographs", type=positive, default=200, help="number of photographs to copy")
    trial_arguments(parser, trials=1)


def run(seed: int, images: Path, photographs: int) -> dict[str, Any]:
    """Return the figures of one split, each [method, items, kind, query view, view, metric, value]."""
    began = time.monotonic()
    files = pictures_by_class(images)
    learned, later = train_and_test(np.array([file.parent.name for file in files]), seed)
    with tempfile.TemporaryDirectory() as folder, Home(folder).create("photographs", views=VIEWS) as collection:
        keys = {LEARNED: _index(collection, [files[place] for place in learned], seed)}
        for name, learner in METHODS.items():
            recipe = Recipe(spec=learner, views=VIEWS, seed=seed)
            collection.train(recipe, space=_space(name))
        keys[LATER] = _index(collection, [files[place] for place in later], seed) - keys[LEARNED]
        figures = []
        for items, count in ((LEARNED, photographs - photographs // 2), (LATER, photographs // 2)):
            if drawn := count and originals(collection, VIEWS[0], count, seed, sorted(keys[items])):
                figures += [[method, items, *figure] for method, *figure in measured(collection, drawn)]
    return {"seed": seed, "figures": figures, "seconds": time.monotonic() - began}


def _index(collection: Collection, files: Sequence[Path], seed: int) -> set[str]:
    """Index photographs with their folders as labels; return the keys of all items."""
    collection.index(files, IndexOptions(labels="folder", seed=seed))
    return {item.key for item in collection.items(limit=collection.count())}


def _space(method: str) -> str:
    return method.replace(" ", "-")


def measured(collection: Collection, drawn: Sequence[Original]) -> Iterator[tuple[Any, ...]]:
    """Yield method, kind, query view, view, metric and value of searches by the copies of some photographs."""
    methods = {_space(name): name for name in (RAW, *METHODS)}
    by_view: dict[str, Ranks] = {}
    for view in VIEWS:
        by_view[view] = ranks(collection, drawn, EvaluationRequest(view=view, spaces=tuple(methods), k=LENGTHS))
    for view, by_place in by_view.items():
        for (space, target, kind), own in by_place.items():
            about = methods[space], kind, view, target
            yield from ((*about, f"recall@{k}", float(np.mean(own <= k))) for k in LENGTHS)
            by_raw = by_view[target][RAW, target, kind] <= max(LENGTHS)
            if view != target and by_raw.any():
                yield *about, FOUND_BY_RAW, float(np.mean(own[by_raw] <= max(LENGTHS)))


def rows(trials: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return mean and deviation over the splits of every figure."""
    groups: dict[tuple[str, ...], list[float]] = {}
    for trial in trials:
        for *key, value in trial["figures"]:
            groups.setdefault(tuple(key), []).append(value)
    return [{**dict(zip(NAMES, key, strict=True)), **summary(values)} for key, values in groups.items()]


def markdown(document: Document) -> str:
    """Return the report: what must hold, then recall at 1, 3 and 10 of every kind of copy in every direction."""
    settings, figures = document["settings"], document["rows"]
    text = (
        f"Copies of {settings['photographs']} photographs, half of which the spaces learned from (learned), the others "
        "indexed later: the file itself, resized (.5), recompressed (JPEG quality 40), cropped (5 %) and greyscale. "
        "The first table has the least share over views, kinds and halves that find their photograph, the best bold; "
        "greyscale is left out across views, where copies count that the raw features of the target view find in the "
        "first ten. In the other tables: share in the first 1 / 3 / 10, means over the splits."
    )
    parts = ["# Copies: how soon photographs are found by changed copies of their files", text, table(_least(figures))]
    for items in (LEARNED, LATER):
        parts += [f"## {items.capitalize()} photographs", table(_directions(figures, items))]
    return "\n\n".join(parts)


def headline(document: Document) -> tuple[str, str, str]:
    """Return the default's least figures, a line of README."""
    least = _least_of(document["rows"])
    ours, raw = (
        ["not measured" if value is None else f"{value:.3f}" for value in least[method]] for method in (OURS, RAW)
    )
    task = "Find a photograph by a resized or recompressed copy of its file: share in the first 3, least over views"
    return task, f"{ours[1]}; across views, in the first 10: {ours[2]}", f"{raw[1]} (without learning)"


_CRITERIA: Mapping[str, tuple[Sequence[str], str, bool]] = {
    "exact: first": (("exact",), "recall@1", False),
    "resized, recompressed: in first 3": (_CLOSE, "recall@3", False),
    "across views: in first 10": (("exact", *_CLOSE, "cropped"), FOUND_BY_RAW, True),
}
"""Kinds of copies, metric and whether across views, by the figure that is to be near 1."""


def _least(figures: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    by_method = _least_of(figures)
    columns = [best_in_bold(column, "recall") for column in zip(*by_method.values(), strict=True)]
    return [["method", *_CRITERIA], *([name, *cells] for name, *cells in zip(by_method, *columns, strict=True))]


def _least_of(figures: Sequence[Mapping[str, Any]]) -> dict[str, list[float | None]]:
    """Return the least value of each criterion by method; None of none."""
    return {
        method: [
            min(
                (
                    row["value"]
                    for row in rows_with(figures, method=method, metric=metric)
                    if row["kind"] in kinds and (row["query_view"] != row["database_view"]) == across
                ),
                default=None,
            )
            for kinds, metric, across in _CRITERIA.values()
        ]
        for method in (*METHODS, RAW)
    }


def _directions(figures: Sequence[Mapping[str, Any]], items: str) -> list[list[str]]:
    """Return a line for each direction and method."""
    values = {tuple(row[name] for name in NAMES): row["value"] for row in figures}
    lines = [["query → items", "method", *KINDS]]
    for place in ((query, target) for query in VIEWS for target in VIEWS):
        for method in (*METHODS, RAW):
            keys = [[(method, items, kind, *place, f"recall@{k}") for k in LENGTHS] for kind in KINDS]
            cells = [" / ".join(f"{values[key]:.2f}" for key in of_kind if key in values) for of_kind in keys]
            if any(cells):
                lines.append([" → ".join(place), method, *cells])
    return lines


BENCHMARK = Benchmark("copies", __doc__, _arguments, measure, markdown, headline=headline)
