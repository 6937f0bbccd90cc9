"""A large collection from its files to its answers: loading, training, evaluation, searches and writes.

    python -m benchmarks million [--json OUT] [--report DIR] [--items 1000000] [--queries 500]

An item has a row of 128 numbers in the view a, one of 64 in the view b, one of 50 labels and four attributes. Both rows
are noisy maps of one latent vector, which lies around one of 1,000 centres, twenty for each label. Items are loaded by
three ways, each in a process of its own: vectors from .npy files with a table, the table alone, and Parquet. Queries
are new items. They search for the items of either view in the space of the default training and in one of cca; FAISS's
flat index of the same vectors takes turns with them. At last, single items change, under each kind of index.
"""

import argparse
import resource
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from benchmarks.frame.benchmark import Benchmark, Document, positive
from benchmarks.frame.tables import rows_with, table
from benchmarks.frame.workers import alone
from benchmarks.store.timing import take_turns

if TYPE_CHECKING:
    from crossview.engine.collections.collection import Collection

WIDTHS: Mapping[str, int] = {"a": 128, "b": 64}
LABELS, CENTRES, LATENT, K, RECALL = 50, 1_000, 48, 10, 0.99
SPACES = ("default", "cca")
KINDS = ("flat", "ivf", "scan", "hnsw")
LOADS = ("vectors and table", "vectors", "table alone", "Parquet")
_NAME, _SPREAD, _NOISE, _BLOCK, _CHANGES = "items", 0.6, 0.5, 100_000, 60
Rows = NDArray[np.float32]


def measure_all(options: argparse.Namespace) -> dict[str, Any]:
    """Return settings, and the rows of every step."""
    console, rows = Console(stderr=True), list[dict[str, Any]]()
    with tempfile.TemporaryDirectory(prefix="crossview-million-") as root:
        folder = Path(root)
        alone(draw, folder, options.items, options.queries, options.seed)
        steps: list[tuple[str, str, Callable[..., Mapping[str, float]]]] = [("load", way, load) for way in LOADS]
        steps += [("train", space, train) for space in SPACES]
        steps += [("evaluate", space, evaluate) for space in SPACES]
        steps += [("search", space, search) for space in (*SPACES, "raw")]
        steps += [("write", kind, write) for kind in KINDS]
        for part, method, run in steps:
            console.print(f"{part}, {method} ...", highlight=False)
            figures = alone(run, folder, method)
            rows += [
                {"part": part, "method": method, "metric": name, "value": value} for name, value in figures.items()
            ]
    settings = {"items": options.items, "queries": options.queries, "seed": options.seed, "k": K, "recall": RECALL}
    return {"settings": settings, "rows": rows}


def draw(folder: Path, count: int, queries: int, seed: int) -> None:
    """Write the rows of the items and of the queries, the keys, the table and the Parquet file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    random = np.random.default_rng(seed)
    centres = random.standard_normal((CENTRES, LATENT), np.float32)
    maps = {view: random.standard_normal((LATENT, width), np.float32) / 4 for view, width in WIDTHS.items()}
    center = random.integers(CENTRES, size=count + queries)
    rows = {view: np.empty((count + queries, width), np.float32) for view, width in WIDTHS.items()}
    for first in range(0, count + queries, _BLOCK):
        here = slice(first, min(first + _BLOCK, count + queries))
        size = here.stop - first
        latent = centres[center[here]] + np.float32(_SPREAD) * random.standard_normal((size, LATENT), np.float32)
        for view, width in WIDTHS.items():
            rows[view][here] = latent @ maps[view]
            rows[view][here] += np.float32(_NOISE) * random.standard_normal((size, width), np.float32)
    for view, matrix in rows.items():
        np.save(folder / f"{view}.npy", matrix[:count])
        np.save(folder / f"{view}-queries.npy", matrix[count:])
    keys = [f"item-{number:07}" for number in range(count)]
    (folder / "keys.txt").write_text("\n".join(keys) + "\n", encoding="utf-8")
    columns = {
        "key": keys,
        "label": [f"class {number}" for number in (center[:count] % LABELS).tolist()],
        "album": [f"album {number}" for number in random.integers(1_000, size=count).tolist()],
        "number": random.integers(10**6, size=count).tolist(),
        "score": random.random(count).round(4).tolist(),
        "seen": [("false", "true")[number] for number in random.integers(2, size=count).tolist()],
    }
    with (folder / "table.csv").open("w", encoding="utf-8") as file:
        file.write(",".join(columns) + "\n")
        file.writelines(",".join(map(str, line)) + "\n" for line in zip(*columns.values(), strict=True))
    flags = [text == "true" for text in columns["seen"]]
    vectors = {"b": pa.FixedSizeListArray.from_arrays(pa.array(rows["b"][:count].ravel()), WIDTHS["b"])}
    pq.write_table(pa.table({**columns, "seen": flags, **vectors}), folder / "items.parquet")


def load(folder: Path, way: str) -> dict[str, float]:
    """Make a collection of the files; the one of both views stays for the other steps.

    "vectors and table" loads the view b and the table; "vectors" the view a into a collection of that; "table alone"
    annotates items that have vectors; "Parquet" loads the view b with all columns.
    """
    import crossview
    from crossview.engine.catalog.transfer.foreign import ForeignData

    home, other = crossview.Home(folder / "home"), f"other-{LOADS.index(way)}"
    if way == "vectors":
        with home.open(_NAME) as collection:
            return _taken(lambda: _load_vectors(collection, folder, "a"))
    with home.create(_NAME if way == LOADS[0] else other, [f"b=vectors:dim={WIDTHS['b']}"]) as collection:
        if way == "table alone":
            _load_vectors(collection, folder, "b")
        steps: Mapping[str, Callable[[], object]] = {
            "vectors and table": lambda: (
                _load_vectors(collection, folder, "b"),
                collection.items.annotate(folder / "table.csv"),
            ),
            "table alone": lambda: collection.items.annotate(folder / "table.csv"),
            "Parquet": lambda: ForeignData(folder / "items.parquet", {"b": "vector:b"}).import_into(collection),
        }
        figures = _taken(steps[way])
    if way != LOADS[0]:
        home.delete(other)
    return figures


def _load_vectors(collection: "Collection", folder: Path, view: str) -> object:
    return collection.items.index_vectors(view, folder / f"{view}.npy", folder / "keys.txt")


def train(folder: Path, space: str) -> dict[str, float]:
    """Train a space, place all items and build its indexes."""
    from crossview import Recipe

    recipe = Recipe(views=tuple(WIDTHS), holdout=0.1)
    with _collection(folder) as collection:
        return _taken(lambda: collection.train(replace(recipe, spec=space) if space == "cca" else recipe, space=space))


def evaluate(folder: Path, space: str) -> dict[str, float]:
    """Measure a space by 500 queries that it did not learn from."""
    from crossview import EvaluationRequest

    request = EvaluationRequest(view="b", spaces=(space,), max_queries=500)
    with _collection(folder) as collection:
        return _taken(lambda: collection.evaluate(request))


def search(folder: Path, space: str) -> dict[str, float]:
    """Search one query after another for the items of each view; an index of the raw rows is built before."""
    import faiss

    figures = dict[str, float]()
    queries = {view: np.load(folder / f"{view}-queries.npy") for view in WIDTHS}
    with _collection(folder) as collection:
        if space == "raw":
            collection.spaces.reindex(space, index="ivf", recall=RECALL)
        for target in WIDTHS:
            vectors = np.concatenate(list(_pages(collection, space, target)))
            flat = faiss.IndexFlatL2(vectors.shape[1])
            flat.add(vectors)
            del vectors
            faiss.omp_set_num_threads(1)
            for view in WIDTHS if space != "raw" else (target,):
                times = _compared(collection, flat, (space, view, target), queries[view])
                figures |= {f"{view} to {target}, {name}": value for name, value in times.items()}
    return figures


def write(folder: Path, kind: str) -> dict[str, float]:
    """Change single items of the raw view b, and search after each change."""
    queries, changed = np.load(folder / "b-queries.npy"), list[float]()
    with _collection(folder) as collection:
        collection.spaces.reindex("raw", index=kind, recall=RECALL, targets=["b"])
        keys = collection.items.keys()
        ask = partial(_ask, collection, ("raw", "b", "b"))
        before = [_seconds(partial(ask, query)) for query in np.concatenate([queries[:_CHANGES]] * 2)][_CHANGES:]
        for number, query in enumerate(queries[:_CHANGES]):
            collection.items.put_vectors("b", [keys[number * (len(keys) // _CHANGES)]], query[None])
            changed.append(_seconds(partial(ask, query)))
    later = np.array(changed) - np.array(before)
    return {
        "search, median ms": 1e3 * float(np.median(before)),
        "after a write, median ms": 1e3 * float(np.median(changed)),
        "longer, median ms": 1e3 * float(np.median(later)),
        "longer, 95 % ms": 1e3 * float(np.percentile(later, 95)),
    }


def _compared(collection: "Collection", flat: Any, direction: tuple[str, str, str], queries: Rows) -> dict[str, float]:
    """Return times of ours, of ours exactly, and of FAISS's flat index in turns, and the recall of ours."""
    wide = np.random.default_rng(0).normal(size=(len(queries), flat.d)).astype(np.float32)
    runs: dict[str, Callable[[int], Any]] = {
        "ours": lambda number: _ask(collection, direction, queries[number % len(queries)]),
        "exact": lambda number: _ask(collection, direction, queries[number % len(queries)], exact=True),
        "flat": lambda number: flat.search(wide[number % len(wide)][None], K),
    }
    recalls, first = list[float](), list[float]()
    for query in queries:
        began = time.perf_counter()
        near = _ask(collection, direction, query)
        first.append(time.perf_counter() - began)
        truth = _ask(collection, direction, query, exact=True)
        recalls.append(float(np.mean([distance <= truth[-1] * (1 + 1e-5) for distance in near])))
    seconds = take_turns(runs, len(queries))
    return {
        "first, median ms": 1e3 * float(np.median(first)),
        "median ms": 1e3 * float(np.median(seconds["ours"])),
        "99 % ms": 1e3 * float(np.percentile(seconds["ours"], 99)),
        "exact, median ms": 1e3 * float(np.median(seconds["exact"])),
        "flat, median ms": 1e3 * float(np.median(seconds["flat"])),
        "times flat": float(np.median(seconds["flat"] / seconds["ours"])),
        "recall": float(np.mean(recalls)),
    }


def _ask(
    collection: "Collection", direction: tuple[str, str, str], row: Rows, exact: bool = False
) -> NDArray[np.float64]:
    """Return the distances of the hits, (k,)."""
    from crossview import Query, SearchRequest

    space, view, target = direction
    request = SearchRequest([Query(view, vector=row)], space=space, targets=(target,), k=K, exact=exact)
    return np.array([hit.distance for hit in collection.search(request)[0].hits])


def _pages(collection: "Collection", space: str, target: str) -> Iterable[Rows]:
    after = ""
    while True:
        page = collection.items.embed(target, space=space, target=target, after=after)
        if not page.keys:
            return
        yield np.asarray(page.vectors, np.float32)
        after = page.keys[-1]


def _collection(folder: Path) -> "Collection":
    import crossview

    return crossview.Home(folder / "home").open(_NAME)


def _taken(work: Callable[[], object]) -> dict[str, float]:
    """Return the seconds of some work, and the peak of this process."""
    seconds = _seconds(work)
    return {"seconds": seconds, "peak, bytes": 1024.0 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss}


def _seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def markdown(document: Document) -> str:
    """Return the report: a table of long steps, one of searches, and one of writes."""
    settings, rows = document["settings"], document["rows"]
    parts = [f"# {settings['items']:,} items from files to answers", _STEPS, table(list(_steps(rows)))]
    about = _SEARCHES.format(queries=settings["queries"], k=settings["k"], recall=settings["recall"])
    parts += ["## Searches", about, table(list(_searches(rows)))]
    return "\n\n".join([*parts, "## A search after a write", _WRITES, table(list(_writes(rows)))]) + "\n"


_STEPS = (
    "Seconds and peak memory of each step, in a process of its own. An item has 64 numbers, a label and four "
    "attributes; *vectors* adds the 128 numbers of the second view. An evaluation has 500 queries."
)
_SEARCHES = (
    "{queries:,} new items, one after another by one caller in process; the {k} nearest, with a promised recall of "
    "{recall:g}. *Flat* is FAISS with one thread, in turns."
)
_WRITES = "A single item of the view b changes, and the search that follows is compared with the same search before it."


def _steps(rows: Sequence[Mapping[str, Any]]) -> Iterable[list[str]]:
    yield ["step", "seconds", "peak"]
    for row in rows_with(rows, metric="seconds"):
        (peak,) = rows_with(rows, part=row["part"], method=row["method"], metric="peak, bytes")
        yield [f"{row['part']}, {row['method']}", f"{row['value']:.1f}", f"{peak['value'] / 1e9:.2f} GB"]


def _searches(rows: Sequence[Mapping[str, Any]]) -> Iterable[list[str]]:
    columns = (
        "median ms",
        "99 % ms",
        "recall",
        "first, median ms",
        "exact, median ms",
        "flat, median ms",
        "times flat",
    )
    yield ["space", "view to target", *columns]
    for row in rows_with(rows, part="search"):
        direction, _, metric = row["metric"].partition(", ")
        if metric == columns[0]:
            values = {own["metric"]: own["value"] for own in rows_with(rows, part="search", method=row["method"])}
            yield [row["method"], direction, *(f"{values[f'{direction}, {name}']:.3g}" for name in columns)]


def _writes(rows: Sequence[Mapping[str, Any]]) -> Iterable[list[str]]:
    columns = ("search, median ms", "after a write, median ms", "longer, median ms", "longer, 95 % ms")
    yield ["index", *columns]
    for kind in dict.fromkeys(row["method"] for row in rows_with(rows, part="write")):
        values = {row["metric"]: row["value"] for row in rows_with(rows, part="write", method=kind)}
        yield [kind, *(f"{values[name]:.2f}" for name in columns)]


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--items", type=positive, default=1_000_000, help="number of items")
    parser.add_argument("--queries", type=positive, default=500, help="number of queries")
    parser.add_argument("--seed", type=int, default=0)


BENCHMARK = Benchmark("million", __doc__, _arguments, measure_all, markdown)
