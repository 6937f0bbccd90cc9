"""Several views in one list: each view alone, and each way to fuse them, on unseen items.

    python -m benchmarks fusion --data DIR [--sets NAME ...] [--models DIR] [--json OUT] [--report DIR] [--trials N]

Four fifths of each set have labels; the others come later without labels, ask each other, and alone are hits, in the
views themselves (``raw``) and in the default space. All items of a list count. Then the ways are timed on drawn
vectors. With a folder of models, folders of pictures are also searched before any training.
"""

import argparse
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.frame.benchmark import Benchmark, Document, numbers, seeds_of, trial_arguments
from benchmarks.frame.headlines import stated
from benchmarks.frame.journal import cache_folder, run_trials
from benchmarks.frame.tables import mean_and_error, rows_of_trials, table
from benchmarks.fusion.trial import AMONG, ERROR, MAP, RAW, WAYS, before_training, run, untrained_lines
from benchmarks.pretrained.rows import IMAGENET
from benchmarks.sets.named import load, sets_argument, sets_of
from crossview.engine.collections.collection import Collection
from crossview.engine.collections.home import Home
from crossview.engine.values.item import NewItem
from crossview.engine.values.query import Query, SearchRequest

SETS = ("corel1k", "merged20", "osr8")
PICTURES = ("merged20", "merged10", "corel1k", "osr8")
DIM, VIEWS, CLASSES, TIMES, AT_ONCE = 64, ("first", "second", "third"), 20, 9, 20_000
APART, ONCE, AGAIN = "a list for each view", "first search, ms", "next searches, ms"


UNTRAINED = (
    f"Per cent of the first {AMONG} hits in the query's class, and of copies (half the size, JPEG quality "
    "40, cropped by 5 %, without colours) whose original is the first hit. Four fifths of each class are indexed; the "
    "others are the new pictures. No label is used. Without a way, the view ranks alone. The one list of a search "
    "without options is `distance`; `instances` is the same list after a training without labels. Weights of views "
    "come from their common neighbours; their power was chosen on the "
    f"sets {', '.join(SETS)} and `scenes`; `merged10` was looked at, too."
)


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Return settings, rows and trials."""
    seeds, cache = seeds_of(options), cache_folder(options)
    for name in sets_of(options):
        load(name, options.data, cache)
    settings = {"seeds": list(seeds), "sets": sets_of(options), "dim": DIM}
    tasks = {f"{name} seed {seed}": (name, seed) for seed in seeds for name in sets_of(options)}
    trials = run_trials(options, settings, tasks, run, options.data, cache)
    rows = [row for size in options.sizes for row in timed(size)]
    if options.models is not None:
        names = {f"{name} before training": name for name in PICTURES}
        for trial in run_trials(options, settings, names, before_training, options.data, options.models):
            rows += trial["rows"]
    return {"settings": settings, "rows": rows, "trials": trials}


def timed(size: int) -> list[dict[str, Any]]:
    """Return the milliseconds of searches by keys over drawn vectors of three views, the first of each way apart."""
    generator, rows = np.random.default_rng(0), list[dict[str, Any]]()
    views = [f"{view}=vectors:dim={DIM}" for view in VIEWS]
    with tempfile.TemporaryDirectory() as folder, Home(folder).create("drawn", views) as collection:
        for start in range(0, size, AT_ONCE):
            collection.items.put(_drawn(generator, start, min(start + AT_ONCE, size)))
        for way in (APART, *WAYS[RAW]):
            seconds = [_seconds(collection, f"{number:08d}", way) for number in range(TIMES + 1)]
            for metric, value in ((ONCE, seconds[0]), (AGAIN, float(np.median(seconds[1:])))):
                rows.append({"items": size, "method": way, "metric": metric, "value": 1000 * value})
    return rows


def _drawn(generator: np.random.Generator, start: int, end: int) -> list[NewItem]:
    matrices = {view: generator.standard_normal((end - start, DIM), np.float32) for view in VIEWS}
    return [
        NewItem(
            f"{start + place:08d}",
            rows={view: rows[place] for view, rows in matrices.items()},
            labels=(f"class {(start + place) % CLASSES}",),
        )
        for place in range(end - start)
    ]


def _seconds(collection: Collection, key: str, way: str) -> float:
    requests = [SearchRequest([Query(key=key)], fuse=way)]
    if way == APART:
        requests = [SearchRequest([Query(view, key=key)]) for view in VIEWS]
    began = time.perf_counter()
    for request in requests:
        collection.search(request)
    return time.perf_counter() - began


def markdown(document: Document) -> str:
    """Return the report."""
    trials, settings = document["trials"], document["settings"]
    first = [row for row in document["rows"] if "items" not in row]
    about = (
        f"mAP in per cent over all unseen items, {len(settings['seeds'])} splits, ± standard error. Four fifths of the "
        "items have labels, from which `learn` learns the weights of the views; the others have none, ask each other "
        "and alone are hits. The default space holds out a fifth of the labelled items, and only from these its fusion "
        "learns. A view alone ranks by distance; `calibration error` is that of the match of the first 20 hits."
    )
    parts = ["# Fusion of several views", about]
    for space, ways in WAYS.items():
        lines = [["set", *_views(trials), *ways, "best way over best view", "over rank"]]
        lines += [_line(trials, space, name, ways) for name in settings["sets"]]
        parts += [f"## {space}", table(lines)]
    errors = [["set", "space", "way", "calibration error"]]
    for space, ways in WAYS.items():
        for name in settings["sets"]:
            for way in ways:
                if values := _values(trials, space, name, way, ERROR):
                    errors.append([name, space, way, f"{np.mean(values):.3f}"])
    if first:
        parts += ["## Before any training", UNTRAINED, table(untrained_lines(first)), IMAGENET]
    times = [row for row in document["rows"] if "items" in row]
    return "\n\n".join([*parts, "## Calibration", table(errors), "## Time", table(_times(times))])


def _views(trials: Sequence[Mapping[str, Any]]) -> list[str]:
    ways = {way for of_space in WAYS.values() for way in of_space}
    return list(dict.fromkeys(figure[1] for trial in trials for figure in trial["figures"] if figure[1] not in ways))


def _values(trials: Sequence[Mapping[str, Any]], space: str, name: str, method: str, metric: str = MAP) -> list[float]:
    names = [space, method, metric]
    return [
        figure[3] for trial in trials if trial["data"] == name for figure in trial["figures"] if figure[:3] == names
    ]


def _line(trials: Sequence[Mapping[str, Any]], space: str, name: str, ways: Sequence[str]) -> list[str]:
    figures = {method: _values(trials, space, name, method) for method in (*_views(trials), *ways)}
    means = {method: float(np.mean(values)) for method, values in figures.items() if values}
    best = max(ways, key=lambda way: means[way])
    view = max((method for method in means if method not in ways), key=lambda method: means[method])
    gains = [np.subtract(figures[best], figures[other]) for other in (view, ways[0])]
    cells = (mean_and_error(figures[method]) for method in (*_views(trials), *ways))
    return [name, *cells, *(mean_and_error(gain, sign="+") for gain in gains)]


def _times(rows: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    lines = [["items", "way", ONCE, AGAIN]]
    for size, method in dict.fromkeys((row["items"], row["method"]) for row in rows):
        of = {row["metric"]: row["value"] for row in rows if (row["items"], row["method"]) == (size, method)}
        lines.append([f"{size:,}", method, f"{of[ONCE]:.0f}", f"{of[AGAIN]:.1f}"])
    return lines


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", required=True, type=Path, help="folder of the sets")
    parser.add_argument("--sizes", type=numbers, default=(100_000,), help="numbers of items to time")
    parser.add_argument("--models", type=Path, help="folder of models, to search pictures before any training")
    sets_argument(parser, SETS)
    trial_arguments(parser, trials=3)


BENCHMARK = Benchmark(
    "fusion",
    __doc__,
    _arguments,
    measure,
    markdown,
    headline=stated(
        "Search by all views of an item at once, default space: mAP of unseen items",
        "{0:.3f}",
        "{1:.3f} (ranks of the views), {2:.3f} (view sift alone)",
        {"space": "default", "method": "learn", "metric": MAP},
        {"space": "default", "method": "rank", "metric": MAP},
        {"space": "default", "method": "sift", "metric": MAP},
        rows=lambda document: rows_of_trials(document, "space", "method", "metric"),
    ),
)
