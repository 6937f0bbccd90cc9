"""Speed and quality of feature extraction: our whole path beside OpenCV's SIFT alone, and raw 5-NN accuracy by view.

    python -m benchmarks extract --data DIR [--json OUT] [--limit N] [--trials N] [--seed N]

DIR holds ``images/<class>/<picture>`` (or the class folders themselves). Speed is taken on one core, picture by picture
with all the parts interleaved, so that whatever else the machine does falls on all of them alike; medians are reported.
"""

import argparse
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import KNeighborsClassifier
from threadpoolctl import threadpool_limits

from benchmarks.frame.benchmark import Benchmark, positive
from benchmarks.frame.headlines import stated
from benchmarks.frame.record import Row, usable_cores
from benchmarks.frame.workers import pool
from benchmarks.photographs import pictures_by_class, train_and_test
from crossview.features.base import ImageExtractor
from crossview.features.color import Color
from crossview.features.decode import decode
from crossview.features.forest import Forest
from crossview.features.gist import Gist
from crossview.features.sift import Sift
from crossview.features.worker import become_worker

REFERENCE = "cv2.SIFT.detectAndCompute"
WHOLE = "decode + color + sift + gist"
VIEWS: dict[str, type[ImageExtractor]] = {"color": Color, "sift": Sift, "gist": Gist, "forest": Forest}
IN_WHOLE = ("color", "sift", "gist")
FITTED = tuple(name for name, view in VIEWS.items() if not view().fitted)
_NEIGHBORS = 5

RowsByView = dict[str, NDArray[np.float32]]
States = Mapping[str, Mapping[str, NDArray[Any]]]


@dataclass(frozen=True)
class Pictures:
    """The pictures measured on: file contents and class of each."""

    contents: tuple[bytes, ...]
    classes: NDArray[np.str_]


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Return settings, and rows of all parts and views."""
    pictures = read_pictures(options.data, options.limit)
    cores = usable_cores()
    seeds = range(options.seed, options.seed + options.trials)
    settings = {
        "data": options.data.name,
        "pictures": len(pictures.contents),
        "timed": min(options.timed, len(pictures.contents)),
        "seeds": list(seeds),
        "processes": cores,
        "views": {name: VIEWS[name]().params() for name in sorted(VIEWS)},
    }
    return {"settings": settings, "rows": [*time_parts(pictures, options.timed), *whole_path(pictures, seeds, cores)]}


def read_pictures(data: Path, limit: int | None) -> Pictures:
    """Return the pictures in the class folders, sorted by name; every n-th where there are more than the limit."""
    paths = pictures_by_class(data)
    if limit is not None:
        paths = paths[:: max(1, len(paths) // max(1, limit))]
    return Pictures(tuple(path.read_bytes() for path in paths), np.array([path.parent.name for path in paths]))


def time_parts(pictures: Pictures, count: int) -> list[Row]:
    """Median milliseconds of each part on one core and one thread, and the whole path over the reference."""
    cv2.setNumThreads(1)
    contents = pictures.contents[:: max(1, len(pictures.contents) // count)][:count]
    with threadpool_limits(limits=1):
        images = [decode(content).image for content in contents]
        classes = pictures.classes[:: max(1, len(pictures.contents) // count)][:count]
        views = fitted_views([_samples(image) for image in images], classes, seed=0)
        spent: dict[str, list[float]] = {}
        for content, image in zip(contents, images, strict=True):
            luma = cv2.cvtColor(image, cv2.COLOR_BGR2GRAY)
            parts: dict[str, Callable[[], object]] = {
                REFERENCE: partial(cv2.SIFT.create().detectAndCompute, luma, None),
                "decode": partial(decode, content),
            }
            for name, view in views.items():
                parts[name] = partial(view.row, image)
            for name, part in parts.items():
                start = time.perf_counter()
                part()
                spent.setdefault(name, []).append(1e3 * (time.perf_counter() - start))
    spent[WHOLE] = list(np.sum([spent[name] for name in ("decode", *IN_WHOLE)], axis=0))
    rows = [_row(name, "ms an image, one core", np.array(values), np.median) for name, values in spent.items()]
    ratio = float(np.median(spent[WHOLE]) / np.median(spent[REFERENCE]))
    return [*rows, {"method": WHOLE, "metric": "time over reference", "value": ratio}]


def whole_path(pictures: Pictures, seeds: Sequence[int], cores: int) -> list[Row]:
    """Return images a second with all cores, and 5-NN accuracy of each view after its default steps."""
    speeds: list[float] = []
    accuracies: dict[str, list[float]] = {name: [] for name in VIEWS}
    with pool(cores, prepare=become_worker) as workers:
        samples = list(workers.map(_sample, pictures.contents, chunksize=8))
        for seed in seeds:
            train, test = train_and_test(pictures.classes, seed)
            views = fitted_views([samples[i] for i in train], pictures.classes[train], seed)
            states = {name: views[name].to_state() for name in FITTED}
            run = partial(_extract_all, workers, pictures.contents, states, 8 * cores)
            start = time.perf_counter()
            extracted = run(IN_WHOLE)
            speeds.append(len(pictures.contents) / (time.perf_counter() - start))
            extracted |= run([name for name in VIEWS if name not in IN_WHOLE])
            for name, values in accuracies.items():
                values.append(accuracy(_by_steps(name, extracted[name]), pictures.classes, train, test))
    rows = [_row(name, "5-NN accuracy, raw", np.array(values), np.mean) for name, values in accuracies.items()]
    return [_row(WHOLE, f"images a second, {cores} cores", np.array(speeds), np.median), *rows]


def fitted_views(samples: Sequence[RowsByView], classes: NDArray[np.str_], seed: int) -> dict[str, ImageExtractor]:
    """Return the views in their default configuration, with codebooks from the samples and their classes."""
    views = {name: make() for name, make in VIEWS.items()}
    for name in FITTED:
        views[name].fit([sample[name] for sample in samples], seed, [(str(label),) for label in classes])
    return views


def accuracy(
    rows: NDArray[np.float32], classes: NDArray[np.str_], train: NDArray[np.int64], test: NDArray[np.int64]
) -> float:
    """Return share of the test rows whose class is the commonest among their 5 nearest training rows (Euclidean)."""
    classifier = KNeighborsClassifier(_NEIGHBORS).fit(rows[train], classes[train])
    return float(classifier.score(rows[test], classes[test]))


def _by_steps(name: str, rows: NDArray[np.float32]) -> NDArray[np.float32]:
    for step in VIEWS[name].steps:
        if step == "l1":
            rows = rows / np.maximum(np.abs(rows).sum(axis=1, keepdims=True), 1.0)
        elif step == "sqrt":
            rows = np.sqrt(rows)
        else:
            raise ValueError(f"this benchmark does not know the step {step!r} of view {name!r}")
    return rows


def _sample(content: bytes) -> RowsByView:
    return _samples(decode(content).image)


def _samples(image: NDArray[np.uint8]) -> RowsByView:
    return {name: VIEWS[name]().sample(image) for name in FITTED}


def _extract_all(
    workers: ProcessPoolExecutor, contents: Sequence[bytes], states: States, parts: int, names: Sequence[str]
) -> RowsByView:
    chunks = np.array_split(np.arange(len(contents)), min(len(contents), parts))
    jobs = [workers.submit(_extract, [contents[i] for i in chunk], states, names) for chunk in chunks]
    results = [job.result() for job in jobs]
    return {name: np.concatenate([result[name] for result in results]) for name in names}


def _extract(contents: Sequence[bytes], states: States, names: Sequence[str]) -> RowsByView:
    views = {name: VIEWS[name]().load_state(states.get(name, {})) for name in names}
    images = [decode(content).image for content in contents]
    return {name: np.stack([view.row(image) for image in images]) for name, view in views.items()}


def _row(
    method: str, metric: str, values: NDArray[np.float64], summary: Callable[[NDArray[np.float64]], np.floating[Any]]
) -> Row:
    return {"method": method, "metric": metric, "value": float(summary(values)), "std": float(values.std())}


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", type=Path, required=True, help="folder with images/<class>/<picture>")
    parser.add_argument("--limit", type=int, default=None, help="use only about this many pictures, evenly spread")
    parser.add_argument("--timed", type=int, default=100, help="pictures the single-core times are taken on")
    parser.add_argument("--trials", type=positive, default=3, help="random 80/20 splits")
    parser.add_argument("--seed", type=int, default=0, help="seed of the first split; the next count up from it")


BENCHMARK = Benchmark(
    "extract",
    __doc__,
    _arguments,
    measure,
    headline=stated(
        "Extract colours, SIFT words and GIST of a photograph, one core: ms",
        "{0:.1f}",
        "{1:.1f} (SIFT of OpenCV alone)",
        {"method": "decode + color + sift + gist", "metric": "ms an image, one core"},
        {"method": "cv2.SIFT.detectAndCompute", "metric": "ms an image, one core"},
    ),
)
