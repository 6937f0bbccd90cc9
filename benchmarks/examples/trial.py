"""One split of one set: questions by examples, answered by the product and by rivals, and rounds of feedback.

In the views themselves (``raw``), which learned from no item, all items are examples and hits; in the default space,
only those that it has not learned from. That is half of each class: of a fifth, rounds of feedback leave too few.
"""

import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split
from sklearn.svm import LinearSVC

from benchmarks.sets.named import load
from benchmarks.sets.split import Split
from crossview.engine.collections.collection import Collection
from crossview.engine.collections.home import Home
from crossview.engine.spaces.examples import BACKGROUND, standard
from crossview.engine.spaces.item_files import every_page
from crossview.engine.values.item import NewItem
from crossview.engine.values.query import Query, SearchRequest
from crossview.engine.values.recipe import Recipe
from crossview.engine.values.strategy import COMBINE

FIRST, GIVEN, ROUNDS = 10, 3, 5
"""Hits that count, examples of each kind, and rounds of feedback."""
RAW, LEARNED = "raw", "default"
JUDGED = {RAW: 10, LEARNED: 3}
"""Items that a person judges in each round: so few of the unseen ones that some of a class are left at the end."""
ONE, ROCCHIO, SVM = "one example", "Rocchio", "linear SVM"
RANDOM, HARD = "random", "first wrong hits"
"""The counter-examples: of other classes, or the first hits of other classes of a search by the first example."""
SAME, OWN = "same judgements", "own judgements"
"""The judgements of a round: of the first hits of all methods in turn, for all; or of those of the method alone."""
_LATER = "later = true"

Floats = NDArray[np.float64]
Places = Sequence[int]
"""Positions among the items of a pool."""
Ranked = Callable[[Places, Places], list[int]]
"""Returns the items of a pool without the examples, best first."""


class Pool(NamedTuple):
    """The items that are examples and hits, in one space of a collection."""

    collection: Collection
    space: str
    filter: str
    """The condition that they fulfil."""
    places: Mapping[str, int]
    """Their positions, (n,), by key."""
    labels: NDArray[Any]
    vectors: Mapping[str, Floats]
    """(n, D) by view, scaled to a mean square length of 1."""

    @property
    def keys(self) -> list[str]:
        """Their keys."""
        return list(self.places)

    def search(self, like: Places, unlike: Places, k: int = FIRST, **options: Any) -> list[int]:
        """Return the first hits of a search of the product, without the examples."""
        keys = self.keys
        queries = [Query(key=keys[place]) for place in like]
        queries += [Query(key=keys[place], weight=-1.0) for place in unlike]
        request = SearchRequest(queries, k=k, space=self.space, filter=self.filter, **options)
        (result,) = self.collection.search(request)
        return [self.places[hit.key] for hit in result.hits]

    def ranked(
        self, like: Places, unlike: Places, score: Callable[[Floats, Places, Places], Floats], k: int = FIRST
    ) -> list[int]:
        """Return the first items by the sum of standard scores over the views, without the examples."""
        total = np.sum([standard(score(rows, like, unlike)) for rows in self.vectors.values()], axis=0)
        total[[*like, *unlike]] = -np.inf
        most = min(k, len(total) - len(like) - len(unlike))
        first: list[int] = np.argsort(-total, kind="stable")[:most].tolist()
        return first

    def precision(self, places: Places, label: Any) -> float:
        """Return the share of hits of a class."""
        return float(np.mean(self.labels[places] == label)) if len(places) else 0.0

    def average_precision(self, places: Places, label: Any) -> float:
        """Return the mean precision at the items of a class in a list of all items that are left."""
        right = self.labels[places] == label
        ranks = np.flatnonzero(right) + 1
        return float(np.mean(np.arange(1, len(ranks) + 1) / ranks)) if len(ranks) else 0.0


def rocchio(rows: Floats, like: Places, unlike: Places) -> Floats:
    """Score by the distance to the first example, moved by .75 and .25 of the means (Salton and Buckley, 1990)."""
    point = rows[like[0]] + 0.75 * rows[like].mean(axis=0)
    if len(unlike):
        point = point - 0.25 * rows[unlike].mean(axis=0)
    gaps = rows - point / (1.5 if len(unlike) else 1.75)
    return np.asarray(-np.linalg.norm(gaps, axis=1), np.float64)


def linear_svm(rows: Floats, like: Places, unlike: Places) -> Floats:
    """Score by a linear machine of the examples against the counter-examples and a sample of the items."""
    drawn = np.random.default_rng(0).permutation(len(rows))[:BACKGROUND]
    examples = rows[[*like, *unlike, *drawn]]
    answers = np.repeat([1, 0], [len(like), len(unlike) + len(drawn)])
    model = LinearSVC(C=1.0, class_weight="balanced", dual=False).fit(examples, answers)  # the dual converges slowly
    return np.asarray(model.decision_function(rows), np.float64)


RIVALS = {ROCCHIO: rocchio, SVM: linear_svm}
METHODS = (ONE, *COMBINE, *RIVALS)


def run(task: tuple[str, int, int], data: Path, cache: Path) -> dict[str, Any]:
    """Return the figures of one split: [space, counter-examples, method, precision] of questions, and [space, protocol,
    method, figures] of rounds of feedback."""
    name, seed, questions = task
    began, split = time.monotonic(), halved(load(name, data, cache)(seed), seed)
    figures, curves = list[list[Any]](), list[list[Any]]()
    with tempfile.TemporaryDirectory() as folder:
        views = [f"{view}=vectors:dim={rows.shape[1]}" for view, rows in split.rows.items()]
        with Home(folder).create("items", views) as collection:
            for pool in _pools(collection, split, seed):
                figures += [[pool.space, *figure] for figure in _answers(pool, np.random.default_rng(seed), questions)]
                curves += [[pool.space, *curve] for curve in _feedback(pool, np.random.default_rng(seed), questions)]
    return {"data": name, "seed": seed, "figures": figures, "curves": curves, "seconds": time.monotonic() - began}


def halved(split: Split, seed: int) -> Split:
    """Return the split with half of every class held out."""
    places = np.arange(len(split.labels))
    train, held_out = train_test_split(places, test_size=0.5, stratify=split.labels, random_state=seed)
    return replace(split, train=train, held_out=held_out)


def _pools(collection: Collection, split: Split, seed: int) -> Iterator[Pool]:
    """Yield all items in the views themselves, and the unseen items in the default space, which learned from others."""

    def put(places: Sequence[int], later: bool) -> None:
        collection.items.put(
            [
                NewItem(
                    f"item/{place:06d}",
                    rows={view: rows[place] for view, rows in split.rows.items()},
                    labels=(str(split.labels[place]),),
                    attributes={"later": later},
                )
                for place in places
            ]
        )

    put(split.train.tolist(), False)
    collection.train(Recipe(seed=seed), space=LEARNED)
    put(split.held_out.tolist(), True)
    every = np.sort(np.concatenate([split.train, split.held_out]))
    for space, members, filter in ((RAW, every, ""), (LEARNED, np.sort(split.held_out), _LATER)):
        vectors = {}
        for view in split.rows:
            pages = list(every_page(collection.items.embed, view, space=space, filter=filter))
            rows = np.concatenate([page.vectors for page in pages]).astype(np.float64)
            vectors[view] = rows / np.sqrt(np.mean(np.vecdot(rows, rows)))
        places = {f"item/{place:06d}": position for position, place in enumerate(members.tolist())}
        yield Pool(collection, space, filter, places, split.labels[members], vectors)


def _answers(pool: Pool, random: np.random.Generator, questions: int) -> Iterator[tuple[str, str, float]]:
    """Yield counter-examples, method and mean precision of questions with three examples and counter-examples."""
    precisions: dict[tuple[str, str], list[float]] = {}
    for label, like in _drawn(pool, random, questions):
        nearest = pool.search(like[:1], [])
        negatives = np.flatnonzero(pool.labels != label)
        wrong = [place for place in pool.search(like[:1], [], combine="mean") if pool.labels[place] != label]
        wrong = [*wrong, *random.choice(negatives, GIVEN, replace=False).tolist()][:GIVEN]
        for kind, unlike in ((RANDOM, random.choice(negatives, GIVEN, replace=False).tolist()), (HARD, wrong)):
            answers = {ONE: nearest}
            answers |= {way: pool.search(like, unlike, combine=way) for way in COMBINE}
            answers |= {rival: pool.ranked(like, unlike, score) for rival, score in RIVALS.items()}
            for method, places in answers.items():
                precisions.setdefault((kind, method), []).append(pool.precision(places, label))
    for (kind, method), values in precisions.items():
        yield kind, method, float(np.mean(values))


def _feedback(pool: Pool, random: np.random.Generator, questions: int) -> Iterator[tuple[str, str, list[float]]]:
    """Yield protocol, method and mean figures of searches that begin with one example and go on by feedback.

    With the same judgements, the average precision over the items that are left, before feedback and after each round:
    all methods know the same and rank the same items. With its own, the share of the class that a method has shown
    after each round, of what it could have shown in so many places.
    """
    curves: dict[tuple[str, str], list[list[float]]] = {}
    for label, (first, *_) in _drawn(pool, random, max(1, questions // 4)):
        for method, curve in _together(pool, label, first).items():
            curves.setdefault((SAME, method), []).append(curve)
        for method, rank in _ways(pool, JUDGED[pool.space]).items():
            curves.setdefault((OWN, method), []).append(_alone(pool, label, first, rank))
    for (protocol, method), of_method in curves.items():
        yield protocol, method, np.mean(of_method, axis=0).tolist()


def _ways(pool: Pool, k: int) -> dict[str, Ranked]:
    """Return how each method ranks items by judgements; the first example alone is what no feedback gives."""

    def searching(way: str) -> Ranked:
        return lambda like, unlike: pool.search(like, unlike, k, combine=way)

    def scoring(score: Callable[[Floats, Places, Places], Floats]) -> Ranked:
        return lambda like, unlike: pool.ranked(like, unlike, score, k)

    def alone(like: Places, unlike: Places) -> list[int]:
        judged = {*like, *unlike}
        return [place for place in pool.search(like[:1], [], k + len(judged), combine="mean") if place not in judged][
            :k
        ]

    ways = {ONE: alone, **{way: searching(way) for way in COMBINE}}
    return ways | {name: scoring(score) for name, score in RIVALS.items()}


def _together(pool: Pool, label: Any, first: int) -> dict[str, list[float]]:
    """Return the average precision of each method before feedback and after each round of judgements for all."""
    like, unlike = [first], list[int]()
    curves: dict[str, list[float]] = {method: [] for method in METHODS}
    for _ in range(ROUNDS + 1):
        lists = {method: rank(like, unlike) for method, rank in _ways(pool, len(pool.labels)).items()}
        for method, ranking in lists.items():
            curves[method].append(pool.average_precision(ranking, label))
        in_turn = dict.fromkeys(place for places in zip(*lists.values(), strict=True) for place in places)
        for place in list(in_turn)[: JUDGED[pool.space]]:
            (like if pool.labels[place] == label else unlike).append(place)
    return curves


def _alone(pool: Pool, label: Any, first: int, rank: Ranked) -> list[float]:
    """Return the share of a class that a method has shown after each round, of what could have been shown."""
    like, unlike, curve = [first], list[int](), list[float]()
    there = int(np.sum(pool.labels == label)) - 1
    for number in range(1, ROUNDS + 1):
        for place in rank(like, unlike):
            (like if pool.labels[place] == label else unlike).append(place)
        curve.append((len(like) - 1) / min(number * JUDGED[pool.space], there))
    return curve


def _drawn(pool: Pool, random: np.random.Generator, questions: int) -> Iterator[tuple[Any, list[int]]]:
    """Yield classes with enough items for ten hits, and three examples of each."""
    names, counts = np.unique(pool.labels, return_counts=True)
    enough = names[counts >= GIVEN + FIRST]
    for _ in range(questions if len(enough) else 0):
        label = random.choice(enough)
        yield label, random.choice(np.flatnonzero(pool.labels == label), GIVEN, replace=False).tolist()
