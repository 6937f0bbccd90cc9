"""Searches of a collection beside FAISS's and NumPy's on the same vectors, in one process, a call on one thread."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import faiss
import numpy as np
from numpy.typing import NDArray

from benchmarks.store.data import KEPT, VIEW, Data, K, keys
from benchmarks.store.timing import OURS, Run, compared, figure, take_turns
from crossview.engine.collections.collection import Collection
from crossview.engine.spaces.item_files import every_page
from crossview.engine.values.conditions.filter import EVERY_ITEM, Filter
from crossview.engine.values.query import HitList, Query, SearchRequest

BATCH, CALLERS, BY_KEY = 64, (1, 4), 500
CODES = "lsh"
FLAT, BITMAP, GATHER, UNFILTERED = "FAISS flat", "FAISS flat, bitmap", "NumPy gather and scan", "FAISS flat, unfiltered"
BINARY = "FAISS binary flat"
FILTERS = {percent: Filter(labels=(percent,)) for percent in KEPT} | {
    "50": Filter(labels=("half",)),
    "99": Filter(without_labels=("rare",)),
}

Figures = list[dict[str, Any]]


def measure_searches(collection: Collection, data: Data, index: Any, rounds: int) -> Figures:
    """Return the figures of searches by vector and by key, in one and several threads, and of filtered ones.

    ``index`` is FAISS's flat one of the same vectors.
    """
    rows: Figures = []
    for size in (1, BATCH):
        blocks = _blocks(data.queries, size)
        ours, flat = _by_vector(collection, blocks), _flat(index, blocks)
        if size == 1:
            rows += _first_time(_name(1, 1), {OURS: ours, FLAT: flat}, min(rounds, len(blocks)))
        for callers in CALLERS:
            rows += _at_once(_name(size, callers), {OURS: ours, FLAT: flat}, callers, size, rounds)
    rows.append(_gained(_by_vector(collection, _blocks(data.queries, 1)), rounds))
    return rows + _by_key(collection, data, index, rounds) + measure_filtered(collection, data, index, rounds)


def measure_codes(collection: Collection, data: Data, rounds: int) -> Figures:
    """Return the figures of searches in the space of codes; ours make codes of their queries, FAISS has them ready."""
    index = faiss.IndexBinaryFlat(64)
    index.add(np.concatenate([page.vectors for page in every_page(collection.items.embed, VIEW, space=CODES)]))
    queries = [Query(VIEW, vector=row) for row in data.queries]
    ready = np.stack([answer.vector for answer in collection.embed(queries, space=CODES)])
    rows: Figures = []
    for size in (1, BATCH):
        ours = _by_vector(collection, _blocks(data.queries, size), CODES)
        flat = _flat(index, _blocks(ready, size))
        if size == 1:
            rows += _first_time(f"64-bit codes: {_name(1, 1)}", {OURS: ours, BINARY: flat}, min(rounds, len(ready)))
        rows += _at_once(f"64-bit codes: {_name(size, 1)}", {OURS: ours, BINARY: flat}, 1, size, rounds, np.asarray)
    return rows


def _first_time(task: str, runs: dict[str, Run], rounds: int) -> Figures:
    """Return the figures of queries whose hits were not found before: the search reads and keeps their items."""
    return compared(f"{task}, the first time", take_turns(runs, rounds, warm=False))


def _name(size: int, callers: int) -> str:
    what = "a query by vector" if size == 1 else f"a batch of {size}"
    return what if callers == 1 else f"{what}, from {callers} threads"


def _blocks(rows: NDArray[Any], size: int) -> list[NDArray[Any]]:
    """Return rows in whole blocks of a size."""
    return [rows[start : start + size] for start in range(0, len(rows) - size + 1, size)]


def _by_vector(collection: Collection, blocks: Sequence[NDArray[Any]], space: str = "raw") -> Run:
    requests = [SearchRequest([Query(VIEW, vector=row) for row in block], space=space, k=K) for block in blocks]
    return lambda number: collection.search(requests[number % len(requests)])


def _flat(index: Any, blocks: Sequence[NDArray[Any]], parameters: Any = None) -> Run:
    return lambda number: index.search(blocks[number % len(blocks)], K, params=parameters)


def _at_once(
    task: str,
    runs: dict[str, Run],
    callers: int,
    size: int,
    rounds: int,
    scale: Callable[[Any], Any] = np.sqrt,
) -> Figures:
    """Return the figures of searches from several threads at once, a few for each thread and round."""
    (theirs,) = (run(0) for name, run in runs.items() if name != OURS)
    recall = figure(task, OURS, "recall", _recall(runs[OURS](0), theirs, scale))
    if callers == 1:
        seconds = take_turns(runs, rounds if size == 1 else max(5, rounds // 20))
        return [*compared(task, seconds, size), recall]
    each = callers * (8 if size == 1 else 1)

    def together(run: Run) -> Run:
        return lambda number: list(pool.map(run, range(number * each, (number + 1) * each)))

    with ThreadPoolExecutor(callers) as pool:
        seconds = take_turns({name: together(run) for name, run in runs.items()}, max(5, rounds // 20))
    return [*compared(task, seconds, each * size), recall]


def _gained(run: Run, rounds: int) -> dict[str, Any]:
    """Return how many times as many queries a second several threads get answered as one, the median of their turns."""
    callers, each = CALLERS[-1], 8 * CALLERS[-1]
    with ThreadPoolExecutor(callers) as pool:

        def numbers(number: int) -> range:
            return range(number * each, (number + 1) * each)

        runs: dict[str, Run] = {
            "one": lambda number: [run(place) for place in numbers(number)],
            "several": lambda number: list(pool.map(run, numbers(number))),
        }
        seconds = take_turns(runs, max(5, rounds // 20))
    gain = float(np.median(seconds["one"] / seconds["several"]))
    return figure(_name(1, callers), OURS, "times as many as from one", gain)


def _by_key(collection: Collection, data: Data, index: Any, rounds: int) -> Figures:
    """Return the figures of many items as queries in one request."""
    count = min(BY_KEY, len(data.vectors))
    request = SearchRequest([Query(VIEW, key=key) for key in keys(0, count)], space="raw", k=K)
    rows = data.vectors[:count]
    runs: dict[str, Run] = {
        OURS: lambda _: collection.search(request),
        FLAT: lambda _: tuple(part[:, 1:] for part in index.search(rows, K + 1)),
    }
    task = f"{BY_KEY} queries by key, each"
    seconds = take_turns(runs, max(5, rounds // 40))
    return [*compared(task, seconds, count), figure(task, OURS, "recall", _recall(*(run(0) for run in runs.values())))]


def measure_filtered(collection: Collection, data: Data, index: Any, rounds: int) -> Figures:
    """Return the figures of filters, of their first use, and of the ways to search a ready list of items."""
    rows: Figures = []
    norms, blocks = np.einsum("nd,nd->n", data.vectors, data.vectors), _blocks(data.queries, 1)
    for percent, condition in FILTERS.items():
        members = data.kept(percent)
        bits = np.packbits(np.isin(np.arange(len(data.vectors)), members), bitorder="little")
        parameters = faiss.SearchParameters(sel=faiss.IDSelectorBitmap(bits))
        runs: dict[str, Run] = {
            OURS: _filter(collection, data, condition),
            BITMAP: _flat(index, blocks, parameters),
            GATHER: _gather(data, members, norms),
            UNFILTERED: _flat(index, blocks),
        }
        task = f"a filter that keeps {percent} %"
        plain = _filter(collection, data, EVERY_ITEM)
        first = take_turns({"first": runs[OURS], "plain": plain}, 1, warm=False)
        recall = _recall(runs[OURS](0), runs[BITMAP](0))
        filtered = max(5, rounds // 4)
        seconds = take_turns({OURS: runs[OURS]}, filtered, warm=False)[OURS]
        rows.append(figure(task, OURS, "a query the first time, ms", 1000 * float(np.median(seconds))))
        rows += compared(task, take_turns(runs, filtered))
        rows.append(figure(task, OURS, "first use, ms", 1000 * float(first["first"][0] - first["plain"][0])))
        rows.append(figure(task, OURS, "recall", recall))
    return rows


def _filter(collection: Collection, data: Data, condition: Filter) -> Run:
    requests = [SearchRequest([Query(VIEW, vector=row)], space="raw", k=K, filter=condition) for row in data.queries]
    return lambda number: collection.search(requests[number % len(requests)])


def _gather(data: Data, members: NDArray[np.int64], norms: NDArray[np.float32]) -> Run:
    def search(number: int) -> tuple[NDArray[Any], NDArray[Any]]:
        query = data.queries[number % len(data.queries)]
        distances = norms[members] - 2 * (data.vectors[members] @ query) + query @ query
        nearest = np.argpartition(distances, K)[:K] if len(members) > K else np.arange(len(members))
        nearest = nearest[np.argsort(distances[nearest])]
        return distances[nearest][None], members[nearest][None]

    return search


def _recall(ours: Sequence[HitList], theirs: tuple[NDArray[Any], NDArray[Any]], scale: Any = np.sqrt) -> float:
    """Return the share of the neighbours there are that ours found; equal distances count as found."""
    distances, ids = theirs
    most = [scale(max(row[there >= 0], default=0.0)) for row, there in zip(distances, ids, strict=True)]
    count = sum(
        hit.distance <= last * 1.0001 for hit_list, last in zip(ours, most, strict=True) for hit in hit_list.hits
    )
    return float(count / max(1, (ids >= 0).sum()))
