"""Speed of views by models: our rows beside a bare loop over onnxruntime, two processes, kept rows, and sentences.

    python -m benchmarks model-speed --data DIR --models DIR [--json OUT] [--limit N] [--turns N]

DATA holds ``images/<class>/<picture>``, MODELS the folders ``lite0`` (EfficientNet-Lite0) and ``minilm``
(all-MiniLM-L6-v2). Times on one core are taken input by input with all methods in turn, so that other work on the
machine falls on all of them alike; so are the runs of one and of two processes. Figures are medians; that of our time
over the bare loop's is the median of the ratios of each input.
"""

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.frame.benchmark import Benchmark, Document, positive
from benchmarks.frame.headlines import stated
from benchmarks.frame.record import Row
from benchmarks.frame.tables import figures_table, table
from benchmarks.frame.workers import alone
from benchmarks.photographs import pictures_by_class
from benchmarks.speed.bare_models import BarePictures, BareSentences, session
from crossview.engine.catalog.ingest.extraction import extract, rows_of_picture
from crossview.engine.catalog.model_rows import row_of_text
from crossview.engine.catalog.models import FOLDER
from crossview.engine.catalog.row_cache import forget_rows
from crossview.engine.collections.home import Home
from crossview.engine.values.item import IndexOptions
from crossview.features.decode import decode
from crossview.features.onnx import Onnx
from crossview.features.picture_pool import PicturePool
from crossview.features.pictures import PictureTask
from crossview.features.reading import rows
from crossview.features.worker import become_worker

Way = Callable[[Any], Any]
"""From an input to its row."""
PICTURES, SENTENCES = "lite0", "minilm"
OURS, BARE, KEPT, WHOLE = "crossview", "onnxruntime", "crossview, kept rows", "crossview, whole picture"
PROMISES = (
    ("time of a picture over that of the bare loop", False, (OURS, "time over the bare loop, picture"), 1.15),
    ("speed of two processes over one", True, (OURS, "speed of two processes over one"), 1.7),
    ("largest difference of a picture's row", False, (OURS, "largest difference of rows, picture"), 1e-5),
)
"""The name of each figure, whether it is at least (True) or at most a number, its row, and that number."""
_INDEXED, _AGAIN = "indexing by 2 processes", "indexing by 2 processes, kept rows"
_BATCHES, _THREADS, _RUNS = (1, 4, 8), (1, 2), 10
_AHEAD = 16
_SEED = 0


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Return settings, and rows of all methods."""
    paths = pictures_by_class(options.data)
    paths = paths[:: max(1, len(paths) // options.limit)][: options.limit]
    figures = list[Row]()
    with tempfile.TemporaryDirectory() as folder:
        home = Home(Path(folder) / "home")
        for name in (PICTURES, SENTENCES):
            home.models.add(name, options.models / name)
        for part in (on_one_core, by_processes, indexing, sizes):
            figures += alone(part, home.path, options.models, paths, options.turns, threads=None)
    settings = {"data": options.data.name, "pictures": len(paths), "turns": options.turns}
    return {"settings": settings, "rows": figures}


def on_one_core(place: Path, folder: Path, paths: Sequence[Path], turns: int) -> list[Row]:
    """Return medians of milliseconds a picture and a sentence, ratios, and largest differences of rows."""
    become_worker()
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    names = (folder / PICTURES / "classes.txt").read_text(encoding="utf-8").splitlines()
    texts = [f"a photograph of {name}" for name in names[:: max(1, len(names) // len(paths))]]
    pictures, sentences = BarePictures(folder / PICTURES), BareSentences(folder / SENTENCES)
    figures = list[Row]()
    for what, inputs, bare, methods in (
        ("picture", [path.read_bytes() for path in paths], pictures.row, partial(picture_ways, Home(place))),
        ("sentence", texts, sentences.row, partial(sentence_ways, Home(place))),
    ):
        spent, most = timed(inputs, bare, methods, turns)
        figures += [
            {"method": name, "metric": f"ms a {what}", "value": float(np.median(times)), "std": float(np.std(times))}
            for name, times in spent.items()
        ]
        over = float(np.median(np.divide(spent[OURS], spent[BARE])))
        ratio = {"method": OURS, "metric": f"time over the bare loop, {what}", "value": over}
        figures += [ratio, {"method": OURS, "metric": f"largest difference of rows, {what}", "value": most}]
    return figures


def timed(
    inputs: Sequence[Any], bare: Way, methods: Callable[[str], Mapping[str, Way]], turns: int
) -> tuple[dict[str, list[float]], float]:
    """Return the milliseconds of each method for each input, and the largest difference of our rows from bare ones.

    Each turn begins without kept rows, and computes each row before it asks for the kept one.
    """
    spent: dict[str, list[float]] = {}
    most = 0.0
    for way in (bare, *methods("first").values()):
        way(inputs[0])  # opens its session
    for turn in range(turns):
        ways = {BARE: bare, **methods(f"turn {turn}")}
        names = list(ways)
        for number, item in enumerate(inputs):
            first = number % len(names)
            outputs = dict[str, Any]()
            for name in (*names[first:], *names[:first], OURS):
                method = KEPT if name in outputs else name
                began = time.perf_counter()
                outputs[method] = ways[name](item)
                spent.setdefault(method, []).append(1e3 * (time.perf_counter() - began))
            most = max(most, *(float(np.abs(row - outputs[BARE]).max()) for row in outputs.values()))
    return spent, most


def picture_ways(home: Home, apart: str) -> dict[str, Way]:
    """Return our ways from an encoded picture to its row, without kept rows."""
    view, whole = extractor(home, PICTURES, apart), extractor(home, PICTURES, f"{apart}, whole")
    return {
        OURS: lambda data: rows_of_picture(data, decode(data), {"view": view})["view"],
        WHOLE: lambda data: extract(data, {"view": whole}).rows["view"],
    }


def sentence_ways(home: Home, apart: str) -> dict[str, Way]:
    """Return our way from a sentence to its row, without kept rows."""
    return {OURS: partial(row_of_text, extractor(home, SENTENCES, apart))}


def by_processes(place: Path, _folder: Path, paths: Sequence[Path], turns: int) -> list[Row]:
    """Return the pictures a second of one and of two processes that compute rows, and their ratio."""
    view = extractor(Home(place), PICTURES)
    speeds: dict[int, list[float]] = {1: [], 2: []}
    tasks = [PictureTask(path, {"view": view}) for path in paths]
    with ExitStack() as opened:
        pools = {number: opened.enter_context(closing(PicturePool(number, ahead=_AHEAD))) for number in speeds}
        for turn in range(turns + 1):
            for number, pool in pools.items():
                seconds = clock(partial(pool.run, rows, tasks, lambda: None))
                if turn:  # the first turn starts the processes and opens their sessions
                    speeds[number].append(len(tasks) / seconds)
    figures = [speed_row(f"processes: {number}", values) for number, values in speeds.items()]
    ratio = float(np.median(speeds[2]) / np.median(speeds[1]))
    return [*figures, {"method": OURS, "metric": "speed of two processes over one", "value": ratio}]


def indexing(place: Path, _folder: Path, paths: Sequence[Path], turns: int) -> list[Row]:
    """Return the pictures a second of the whole indexing by two processes, without kept rows and then with them."""
    home = Home(place)
    speeds: dict[str, list[float]] = {_INDEXED: [], _AGAIN: []}
    for turn in range(turns):
        forget_rows(home.path / FOLDER, ())
        for number, (method, values) in enumerate(speeds.items()):
            with home.create(f"c{turn}-{number}", [f"view=onnx:{PICTURES}"]) as collection:
                seconds = clock(partial(collection.index, paths, IndexOptions(workers=2)))
                if collection.count() != len(paths):
                    raise AssertionError(f"{method} has {collection.count()} pictures, not {len(paths)}")
                values.append(len(paths) / seconds)
    return [speed_row(method, values) for method, values in speeds.items()]


def sizes(_place: Path, folder: Path, _paths: Sequence[Path], turns: int) -> list[Row]:
    """Return the milliseconds a picture of the model alone, for batches of pictures and numbers of threads."""
    sessions = {threads: session(folder / PICTURES / "model.onnx", threads) for threads in _THREADS}
    noise = np.random.default_rng(_SEED).normal(size=(max(_BATCHES), 3, 224, 224)).astype(np.float32)
    spent: dict[tuple[int, int], list[float]] = {}
    for _ in range(_RUNS * turns):
        for threads, runner in sessions.items():
            for batch in _BATCHES:
                seconds = clock(partial(runner.run, ["embedding"], {"pixels": noise[:batch]}))
                spent.setdefault((threads, batch), []).append(1e3 * seconds / batch)
    medians = {case: float(np.median(values)) for case, values in spent.items()}
    return [
        {"method": f"threads: {threads}, pictures at once: {batch}", "metric": "ms a picture", "value": value}
        for (threads, batch), value in medians.items()
    ]


class _Apart(Onnx):
    """A view whose rows are kept apart from those of others, so that it begins without any."""

    apart = ""

    @property
    def variant(self) -> str:
        """The name under which its rows are kept."""
        return self.apart


def extractor(home: Home, name: str, apart: str = "") -> Onnx:
    """Return the extractor of a model; ``apart`` names the rows that it shares with no other."""
    model = home.models.get(name)
    inputs, dim = model.rows("")
    onnx = _Apart(model=name, digest=model.digest, dim=dim, inputs=inputs)
    onnx.apart = apart
    return onnx.of(home.path / FOLDER)


def clock(work: Callable[[], object]) -> float:
    """Return the seconds that work takes."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def speed_row(method: str, speeds: Sequence[float]) -> Row:
    """Return the median speed as a row."""
    value, std = float(np.median(speeds)), float(np.std(speeds))
    return {"method": method, "metric": "pictures a second", "value": value, "std": std}


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", type=Path, required=True, help="folder with images/<class>/<picture>")
    parser.add_argument("--models", type=Path, required=True, help="folder with the models lite0 and minilm")
    parser.add_argument("--limit", type=positive, default=300, help="number of pictures, evenly spread")
    parser.add_argument("--turns", type=positive, default=5, help="number of passes over the inputs")


def markdown(document: Document) -> str:
    """Return the report: the promises, and a table of all figures."""
    settings, figures = document["settings"], {(row["method"], row["metric"]): row["value"] for row in document["rows"]}
    lines = [["figure", "measured", "promise"]]
    for what, least, key, number in PROMISES:
        lines.append([what, f"{figures[key]:.3g}", f"at {'least' if least else 'most'} {number:g}"])
    about = (
        f"EfficientNet-Lite0 on {settings['pictures']} pictures of {settings['data']}, and all-MiniLM-L6-v2 (8 bits) "
        f"on sentences, medians of {settings['turns']} passes. The bare loop decodes and resizes by Pillow, and runs "
        f"onnxruntime. *{WHOLE}* adds what indexing stores of a picture: thumbnails, fingerprints and metadata."
    )
    return "\n\n".join(["# Speed of views by models", about, table(lines), figures_table(document["rows"])])


BENCHMARK = Benchmark(
    "model-speed",
    __doc__,
    _arguments,
    measure,
    markdown,
    headline=stated(
        "Extract the row of a photograph by a model (EfficientNet-Lite0): ms",
        "{0:.1f}",
        "{1:.1f} (a bare loop over onnxruntime)",
        {"method": "crossview", "metric": "ms a picture"},
        {"method": "onnxruntime", "metric": "ms a picture"},
    ),
)
