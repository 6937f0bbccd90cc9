"""Searches for more or less of an attribute than a photograph has, through a collection, on eight scene classes.

    python -m benchmarks more-less --data DIR [--json OUT] [--trials N] [--report DIR]

DIR holds photographs by class (``images/<class>/``): coast, forest, highway, insidecity, mountain, opencountry, street
and tallbuilding. 30 photographs of each class train the six relative attributes of their GIST; the others are added to
the collection afterwards. Some of these, drawn again for each seed, are queries: each searches all items but itself for
20 hits, once as it is, once for more of each attribute (of which its class has not the most already) or less (not the
least), and once more with all other attributes held. The amount is the product's own, 2 standard deviations, which was
chosen on seeds from 100; others are measured beside it.

Time is that of single searches among many items, each a photograph's GIST with noise, in process and over gRPC of a
server in a process of its own.
"""

import argparse
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from benchmarks.frame.benchmark import Benchmark, positive, seeds_of, trial_arguments
from benchmarks.frame.headlines import stated
from benchmarks.frame.journal import by_seed, cache_folder, run_trials
from benchmarks.more_less import report
from benchmarks.more_less.orderings import ATTRIBUTES, ranks_of, ranks_of_classes
from benchmarks.photographs import photographs
from benchmarks.serve.process import serving
from crossview import connect
from crossview.engine.collections.collection import Collection
from crossview.engine.collections.home import Home
from crossview.engine.values.item import NewItem
from crossview.engine.values.query import AMOUNT, HitList, Query, SearchRequest
from crossview.engine.values.recipe import Recipe
from crossview.engine.values.strategy import EVERY_AXIS
from crossview.features.base import FeatureRows

TRAIN, HITS = 30, 20
AMOUNTS = (0.5, 1.0, 1.5, 3.0)
"""Others than the product's, for the share of queries that get more."""
ENOUGH = 0.5
"""Ranks by which the mean class rank of the hits is to change."""
NAME, VIEW, SPACE = "scenes", "gist", "attributes"
SEARCHES, WARM = 60, 5
NOISE = 0.1
"""Noise of the items of timed searches, in standard deviations of each column."""
TIMED: Mapping[str, Mapping[str, Any]] = {
    "as it is": {},
    "more": {"more": {"natural": AMOUNT}},
    "more, the others held": {"more": {"natural": AMOUNT}, "hold": (EVERY_AXIS,)},
    "two bounds": {"at_least": {"natural": 0.0}, "at_most": {"open": 0.5}},
    "more, two bounds, sorted": {
        "more": {"natural": AMOUNT},
        "at_least": {"open": -1.0},
        "at_most": {"open": 1.0},
        "sort_by": "natural",
    },
}
_AT_ONCE, _ADDED_AT_ONCE = 256, 10_000


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Return settings, rows and trials of all seeds, and the times."""
    data = photographs(options.data, cache_folder(options))
    seeds = seeds_of(options)
    settings = {
        "seeds": list(seeds),
        "photographs": len(data.labels),
        "train": TRAIN,
        "queries": options.queries,
        "hits": HITS,
        "amount": AMOUNT,
        "amounts": list(AMOUNTS),
        "enough": ENOUGH,
        "items": options.items,
        "searches": SEARCHES,
        "workers": options.workers,
    }
    trials = run_trials(options, settings, by_seed(seeds), run, data.gist, data.labels, options.queries)
    times = time_searches(data.gist, data.labels, options.items, options.first_seed)
    return {"settings": settings, "rows": report.rows(trials, times), "trials": trials, "times": times}


def run(seed: int, gist: FeatureRows, labels: NDArray[np.str_], queries: int) -> dict[str, Any]:
    """Return the figures of one draw of training photographs and queries, by direction and attribute."""
    began = time.perf_counter()
    generator = np.random.default_rng(seed)
    training = training_items(labels, generator)
    rest = np.setdiff1d(np.arange(len(labels)), training)
    places = generator.choice(rest, min(queries, len(rest)), replace=False)
    with tempfile.TemporaryDirectory() as folder, filled(Home(Path(folder)), gist, labels, training) as collection:
        add(collection, gist, labels, rest)
        figures = Searches(collection, ranks_of(labels.tolist())).figures(places)
    return {"seed": seed, "figures": figures, "seconds": time.perf_counter() - began}


def training_items(labels: NDArray[np.str_], generator: np.random.Generator) -> NDArray[np.int64]:
    """Return the positions of 30 photographs of each class."""
    drawn = [generator.choice(np.flatnonzero(labels == label), TRAIN, replace=False) for label in np.unique(labels)]
    return np.concatenate(drawn)


@contextmanager
def filled(
    home: Home, gist: FeatureRows, labels: NDArray[np.str_], training: NDArray[np.int64]
) -> Iterator[Collection]:
    """Return a collection of the training photographs, with their attributes learned."""
    with home.create(NAME, views=(VIEW,)) as collection:
        add(collection, gist, labels, training)
        settings = {"orderings": ranks_of_classes(), "names": list(ATTRIBUTES)}
        collection.train(Recipe(spec="attributes", views=(VIEW,), settings=settings), space=SPACE)
        yield collection


def add(collection: Collection, gist: FeatureRows, labels: NDArray[np.str_], which: NDArray[np.int64]) -> None:
    """Add photographs, whose keys are their positions."""
    items = [NewItem(str(at), rows={VIEW: gist[at]}, labels=(str(labels[at]),)) for at in which.tolist()]
    collection.items.put(items)


class MeanHits(NamedTuple):
    """Means over the hits of queries, both (q, attributes)."""

    ranks: NDArray[np.float64]
    """Mean ranks of the classes."""
    scores: NDArray[np.float64]


class Searches:
    """The searches of a collection and their figures."""

    def __init__(self, collection: Collection, ranks: NDArray[np.int64]) -> None:
        self._collection, self._ranks = collection, ranks

    def figures(self, places: NDArray[np.int64]) -> dict[str, dict[str, dict[str, float]]]:
        """Return figures by direction and attribute."""
        plain = self._search(places)
        figures: dict[str, dict[str, dict[str, float]]] = {}
        for direction, sign in (("more", 1), ("less", -1)):
            figures[direction] = {}
            for column, attribute in enumerate(ATTRIBUTES):
                ranks = sign * self._ranks[:, column]
                open_ = np.flatnonzero(ranks[places] < ranks.max())
                before = MeanHits(*(values[open_] for values in plain))
                figures[direction][attribute] = self._of(places[open_], direction, column, sign, before)
        return figures

    def _of(
        self, places: NDArray[np.int64], direction: str, column: int, sign: int, before: MeanHits
    ) -> dict[str, float]:
        attribute = ATTRIBUTES[column]
        rest = [at for at in range(len(ATTRIBUTES)) if at != column]
        moved = self._search(places, **{direction: {attribute: AMOUNT}})
        held = self._search(places, **{direction: {attribute: AMOUNT}}, hold=(EVERY_AXIS,))
        gained = sign * (moved.ranks - before.ranks)[:, column]
        own = sign * (moved.ranks[:, column] - self._ranks[places, column])
        away = {name: np.abs(hits.scores - before.scores)[:, rest] for name, hits in (("moved", moved), ("held", held))}
        figures = {
            "queries": float(len(places)),
            "raised": float((gained >= ENOUGH).mean()),
            "gain": float(gained.mean()),
            "raised above own class": float((own >= ENOUGH).mean()),
            "raised, held": float((sign * (held.ranks - before.ranks)[:, column] >= ENOUGH).mean()),
            "score gained": float(sign * (moved.scores - before.scores)[:, column].mean()),
            "score gained, held": float(sign * (held.scores - before.scores)[:, column].mean()),
            "others move": float(away["moved"].mean()),
            "others move, held": float(away["held"].mean()),
            "others move by half, held": float((away["held"].mean(1) <= away["moved"].mean(1) / 2).mean()),
        }
        for amount in AMOUNTS:
            hits = self._search(places, **{direction: {attribute: amount}})
            change = sign * (hits.ranks - before.ranks)[:, column]
            figures[f"raised, {amount:g}"] = float((change >= ENOUGH).mean())
        return figures

    def _search(self, places: NDArray[np.int64], **options: Any) -> MeanHits:
        """Return the mean ranks and scores of the hits of every query."""
        lists: list[HitList] = []
        for start in range(0, len(places), _AT_ONCE):
            queries = [Query(VIEW, key=str(at)) for at in places[start : start + _AT_ONCE].tolist()]
            lists += self._collection.search(SearchRequest(queries, k=HITS, **options))
        hits = [[int(hit.key) for hit in hit_list.hits] for hit_list in lists]
        scores = [[[hit.scores[name] for name in ATTRIBUTES] for hit in hit_list.hits] for hit_list in lists]
        return MeanHits(self._ranks[np.array(hits)].mean(axis=1), np.array(scores).mean(axis=1))


def time_searches(gist: FeatureRows, labels: NDArray[np.str_], items: int, seed: int) -> list[dict[str, Any]]:
    """Return the seconds of single searches among so many items, in process and over gRPC."""
    generator = np.random.default_rng(seed)
    with tempfile.TemporaryDirectory() as folder:
        home = Home(Path(folder) / "home")
        with filled(home, gist, labels, training_items(labels, generator)) as collection:
            _add_many(collection, gist, items, generator)
            times = _times("in process", collection, gist, seed)
        with serving(home.path) as server, connect(server.address) as client:
            return times + _times("over gRPC", client.open(NAME), gist, seed)


def _add_many(collection: Collection, gist: FeatureRows, items: int, generator: np.random.Generator) -> None:
    """Add so many items, each the row of a photograph with noise."""
    deviations = gist.std(axis=0)
    for start in range(0, items, _ADDED_AT_ONCE):
        count = min(_ADDED_AT_ONCE, items - start)
        rows = gist[generator.integers(len(gist), size=count)]
        rows = rows + NOISE * deviations * generator.normal(size=rows.shape)
        keys = [f"item {number}" for number in range(start, start + count)]
        collection.items.put_vectors(VIEW, keys, np.maximum(rows, 0).astype(np.float32))


class Searched(Protocol):
    """A collection, in process or of a server."""

    def search(self, request: SearchRequest) -> list[HitList]:
        """Return the hits of every query."""


def _times(where: str, collection: Searched, gist: FeatureRows, seed: int) -> list[dict[str, Any]]:
    places = np.random.default_rng(seed).integers(len(gist), size=SEARCHES + WARM)
    times = []
    for name, options in TIMED.items():
        seconds = []
        for at in places.tolist():
            request = SearchRequest([Query(VIEW, vector=gist[at])], k=HITS, **options)
            began = time.perf_counter()
            collection.search(request)
            seconds.append(time.perf_counter() - began)
        times.append({"where": where, "search": name, "seconds": seconds[WARM:]})
    return times


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", type=Path, required=True, help="folder of photographs by class")
    parser.add_argument("--queries", type=positive, default=400, help="queries of a trial")
    parser.add_argument("--items", type=positive, default=100_000, help="items among which searches are timed")
    trial_arguments(parser, trials=10)


BENCHMARK = Benchmark(
    "more-less",
    __doc__ or "",
    _arguments,
    measure,
    report.markdown,
    headline=stated(
        "Ask for more of an attribute: share of queries whose hits change as asked",
        "{0:.1f} %",
        "{1:.1f} % (ask for less)",
        {"method": "more", "metric": "raised"},
        {"method": "less", "metric": "raised"},
        factor=100,
    ),
)
