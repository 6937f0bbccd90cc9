"""Moving a collection: the time and memory of export and import, beside building the collection again.

``python -m benchmarks transfer [--data DIR] [--items 100000] [--json OUT]``

Each step runs in a fresh process, whose peak memory is its own. Drawn items have rows of three views, a label, a text
and an attribute, and a space is trained on two of the views; with ``--data``, the photographs of a folder are indexed
and trained as well. Hits, evaluations and the files of another export must be the same after the import.
"""

import argparse
import json
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from benchmarks.frame.benchmark import Benchmark, positive
from benchmarks.frame.workers import alone
from crossview.engine.collections.home import Home
from crossview.engine.values.evaluation import EvaluationRequest
from crossview.engine.values.item import IndexOptions, NewItem
from crossview.engine.values.query import Query, SearchRequest
from crossview.engine.values.recipe import Recipe

Figures = dict[str, float]
_DIMS = {"a": 300, "b": 500, "c": 384}
_BATCH, _CLASSES, _QUERIES = 2_000, 50, 64


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Return settings, and rows of every step."""
    rows = []
    with tempfile.TemporaryDirectory(prefix="crossview-transfer-") as folder:
        home = Path(folder)
        built: dict[str, tuple[Callable[..., Figures], tuple[Any, ...]]] = {"drawn": (_draw, (home, options.items))}
        if options.data is not None:
            built["photographs"] = (_index, (home, options.data))
        for name, (build, arguments) in built.items():
            steps: dict[str, tuple[Callable[..., Figures], tuple[Any, ...]]] = {
                "build": (build, arguments),
                "export": (_export, (home, name)),
                "import": (_import, (home, name)),
            }
            for step, (run, inputs) in steps.items():
                Console(stderr=True).print(f"{name}: {step} ...")
                figures = alone(_measured, run, *inputs)
                rows += [
                    {"method": f"{name}: {step}", "metric": metric, "value": round(value, 4)}
                    for metric, value in figures.items()
                ]
    return {"settings": {"items": options.items, "data": options.data and options.data.name}, "rows": rows}


def _measured(step: Callable[..., Figures], *arguments: Any) -> Figures:
    figures = step(*arguments)
    return {**figures, "peak memory, MiB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


class _Watch:
    """The seconds of the parts of a step, by the clock and of processors, which other processes hardly change."""

    def __init__(self) -> None:
        self.figures: Figures = {}
        self._last = self._now()

    def lap(self, name: str) -> None:
        """End a part."""
        now = self._now()
        wall, busy = (end - start for end, start in zip(now, self._last, strict=True))
        self.figures |= {f"{name}, s": wall, f"{name}, s of processors": busy}
        self._last = self._now()

    @staticmethod
    def _now() -> tuple[float, float]:
        both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        return time.perf_counter(), sum(usage.ru_utime + usage.ru_stime for usage in both)


def _draw(home: Path, count: int) -> Figures:
    rng, watch = np.random.default_rng(0), _Watch()
    middles = {view: rng.random((_CLASSES, dim), np.float32) for view, dim in _DIMS.items()}
    with Home(home).create("drawn", [f"{view}=vectors:dim={dim}" for view, dim in _DIMS.items()]) as collection:
        for start in range(0, count, _BATCH):
            numbers = np.arange(start, min(count, start + _BATCH))
            rows = {
                view: middles[view][numbers % _CLASSES] + 0.3 * rng.random((len(numbers), dim), np.float32)
                for view, dim in _DIMS.items()
            }
            collection.items.put(
                [
                    NewItem(
                        f"set/{number:09}",
                        rows={view: values[at] for view, values in rows.items()},
                        labels=(f"class {number % _CLASSES}",),
                        attributes={"number": number},
                        text=f"item {number} of class {number % _CLASSES}",
                    )
                    for at, number in enumerate(numbers.tolist())
                ]
            )
        watch.lap("index")
        collection.train(Recipe(spec="cca", views=("a", "b"), dim=64, holdout=0.01))
        watch.lap("train")
        collection.feedback.judge("kept", ["set/000000001"], ["set/000000002"], person="ann")
        _answered(collection, home / "drawn.json", watch)
    return watch.figures


def _index(home: Path, data: Path) -> Figures:
    watch = _Watch()
    with Home(home).create("photographs") as collection:
        collection.index([data], IndexOptions(labels="folder"))
        watch.lap("index")
        collection.train(Recipe(views=("color", "gist"), holdout=0.2))
        watch.lap("train")
        _answered(collection, home / "photographs.json", watch)
    return watch.figures


def _answered(collection: Any, path: Path, watch: _Watch) -> None:
    """Write the answers and the evaluation of a collection to a file."""
    answers = [_answers(collection, view, space) for view, space in _asked(collection)]
    watch.lap("first searches")
    measured = collection.evaluate(EvaluationRequest(view=_asked(collection)[0][0], max_queries=500))
    path.write_text(json.dumps([answers, [repr(row) for row in measured.rows]]), encoding="utf-8")


def _asked(collection: Any) -> list[tuple[str, str]]:
    (active,) = [space for space in collection.spaces() if space.active]
    return [*((view, active.name) for view in active.views), *((view.name, "raw") for view in collection.views())]


def _answers(collection: Any, view: str, space: str) -> list[Any]:
    keys = [item.key for item in collection.items(limit=_QUERIES)]
    lists = collection.search(SearchRequest([Query(view, key=key) for key in keys], k=10, space=space))
    return [[hit_list.target, [(hit.key, float(hit.distance).hex()) for hit in hit_list.hits]] for hit_list in lists]


def _export(home: Path, name: str) -> Figures:
    watch = _Watch()
    report = Home(home).export(name, home / f"{name}-export")
    watch.lap("export")
    return {**watch.figures, "MB": report.bytes / 1e6, "files": report.files}


def _import(home: Path, name: str) -> Figures:
    watch = _Watch()
    with Home(home).import_(f"{name}-again", home / f"{name}-export") as collection:
        watch.lap("import")
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        _answered(collection, home / f"{name}-again.json", watch)
    if (home / f"{name}.json").read_bytes() != (home / f"{name}-again.json").read_bytes():
        raise AssertionError(f"{name}: the imported collection answers or evaluates differently")
    Home(home).export(f"{name}-again", home / f"{name}-again-export")
    exports = [
        {part["path"]: part["sha256"] for part in json.loads((home / folder / "manifest.json").read_text())["parts"]}
        for folder in (f"{name}-export", f"{name}-again-export")
    ]
    differing = {path for path in exports[0].keys() | exports[1].keys() if exports[0].get(path) != exports[1].get(path)}
    if differing != {"collection.parquet"}:  # the name and the history of changes
        raise AssertionError(f"{name}: the imported collection differs in {', '.join(sorted(differing))}")
    return {**watch.figures, "peak memory of the import, MiB": peak}


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", type=Path, help="folder of photographs, images/<class>/*.jpg below it")
    parser.add_argument("--items", type=positive, default=100_000, help="drawn items")


BENCHMARK = Benchmark("transfer", __doc__, _arguments, measure)
