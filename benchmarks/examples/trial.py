"""One split of one set: questions by examples of unseen items, answered by the product and by rivals."""

import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.svm import LinearSVC

from benchmarks.sets.named import load
from benchmarks.sets.split import Split
from crossview.engine.collection import Collection
from crossview.engine.home import Home
from crossview.engine.item import NewItem
from crossview.engine.query import Query, SearchRequest
from crossview.engine.recipe import Recipe
from crossview.engine.spaces.examples import BACKGROUND, standard
from crossview.engine.spaces.item_embeddings import every_page
from crossview.engine.strategy import COMBINE

FIRST, GIVEN, ROUNDS = 10, 3, 5
"""Hits that count, examples of each kind, and rounds of feedback."""
RAW, LEARNED = "raw", "default"
ONE, ROCCHIO, SVM = "one example", "Rocchio", "linear SVM"
RANDOM, HARD = "random", "first wrong hits"
"""The counter-examples: of other classes, or the first hits of other classes of a search by the first example."""
_LATER = "later = true"

Floats = NDArray[np.float64]
Places = Sequence[int]
"""Positions among the unseen items."""


class Unseen(NamedTuple):
    """The unseen items of a split in one space of a collection."""

    collection: Collection
    space: str
    keys: Sequence[str]
    labels: NDArray[Any]
    vectors: Mapping[str, Floats]
    """(n, D) by view, scaled to a mean square length of 1."""

    def search(self, like: Places, unlike: Places, **options: Any) -> list[int]:
        """Return the first hits of a search of the product, without the examples."""
        queries = [Query(key=self.keys[one]) for one in like]
        queries += [Query(key=self.keys[one], weight=-1.0) for one in unlike]
        request = SearchRequest(queries, k=FIRST, space=self.space, filter=_LATER, **options)
        (found,) = self.collection.search(request)
        return [self.keys.index(hit.key) for hit in found.hits]

    def ranked(self, like: Places, unlike: Places, score: Callable[[Floats, Places, Places], Floats]) -> list[int]:
        """Return the first items by the sum of standard scores over the views, without the examples."""
        total = np.sum([standard(score(rows, like, unlike)) for rows in self.vectors.values()], axis=0)
        total[[*like, *unlike]] = -np.inf
        first: list[int] = np.argsort(-total, kind="stable")[:FIRST].tolist()
        return first

    def precision(self, found: Places, label: Any) -> float:
        """Return the share of hits of a class."""
        return float(np.mean(self.labels[found] == label)) if len(found) else 0.0


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
    given = rows[[*like, *unlike, *drawn]]
    answers = np.repeat([1, 0], [len(like), len(unlike) + len(drawn)])
    model = LinearSVC(C=1.0, class_weight="balanced").fit(given, answers)
    return np.asarray(model.decision_function(rows), np.float64)


RIVALS = {ROCCHIO: rocchio, SVM: linear_svm}
METHODS = (ONE, *COMBINE, *RIVALS)


def run(task: tuple[str, int, int], data: Path, cache: Path) -> dict[str, Any]:
    """Return the figures of one split: [space, counter-examples, method, precision] and [space, method, precision of
    each round]."""
    name, seed, questions = task
    began, split = time.monotonic(), load(name, data, cache)(seed)
    figures, curves = list[list[Any]](), list[list[Any]]()
    with tempfile.TemporaryDirectory() as folder:
        views = [f"{view}=vectors:dim={rows.shape[1]}" for view, rows in split.rows.items()]
        with Home(folder).create("items", views) as collection:
            for unseen in _spaces(collection, split, seed):
                figures += [[unseen.space, *one] for one in _answers(unseen, np.random.default_rng(seed), questions)]
                curves += [[unseen.space, *one] for one in _feedback(unseen, np.random.default_rng(seed), questions)]
    return {"data": name, "seed": seed, "figures": figures, "curves": curves, "seconds": time.monotonic() - began}


def _spaces(collection: Collection, split: Split, seed: int) -> Iterator[Unseen]:
    """Yield the unseen items in the views themselves, and in the default space that learned from the others."""

    def put(places: Sequence[int], later: bool) -> list[str]:
        keys = [f"item/{place:06d}" for place in places]
        collection.items.put(
            [
                NewItem(
                    key,
                    rows={view: rows[place] for view, rows in split.rows.items()},
                    labels=(str(split.labels[place]),),
                    attributes={"later": later},
                )
                for key, place in zip(keys, places, strict=True)
            ]
        )
        return keys

    put(split.train.tolist(), False)
    collection.train(Recipe(seed=seed), space=LEARNED)
    keys = put(np.sort(split.held_out).tolist(), True)
    labels = split.labels[np.sort(split.held_out)]
    for space in (RAW, LEARNED):
        vectors = {}
        for view in split.rows:
            pages = list(every_page(collection.items, view, space, filter=_LATER))
            rows = np.concatenate([page.vectors for page in pages]).astype(np.float64)
            vectors[view] = rows / np.sqrt(np.mean(np.vecdot(rows, rows)))
        yield Unseen(collection, space, keys, labels, vectors)


def _answers(unseen: Unseen, random: np.random.Generator, questions: int) -> Iterator[tuple[str, str, float]]:
    """Yield counter-examples, method and mean precision of questions with three examples and counter-examples."""
    found: dict[tuple[str, str], list[float]] = {}
    for label, like in _drawn(unseen, random, questions):
        one = unseen.search(like[:1], [])
        others = np.flatnonzero(unseen.labels != label)
        wrong = [place for place in unseen.search(like[:1], [], combine="mean") if unseen.labels[place] != label]
        wrong = [*wrong, *random.choice(others, GIVEN, replace=False).tolist()][:GIVEN]
        for kind, unlike in ((RANDOM, random.choice(others, GIVEN, replace=False).tolist()), (HARD, wrong)):
            answers = {ONE: one}
            answers |= {way: unseen.search(like, unlike, combine=way) for way in COMBINE}
            answers |= {rival: unseen.ranked(like, unlike, score) for rival, score in RIVALS.items()}
            for method, places in answers.items():
                found.setdefault((kind, method), []).append(unseen.precision(places, label))
    for (kind, method), values in found.items():
        yield kind, method, float(np.mean(values))


def _feedback(unseen: Unseen, random: np.random.Generator, questions: int) -> Iterator[tuple[str, list[float]]]:
    """Yield method and mean precision of each round: a person judges the ten hits of each, which are not shown
    again."""
    curves: dict[str, list[list[float]]] = {COMBINE[0]: [], ROCCHIO: []}
    for label, like in _drawn(unseen, random, max(1, questions // 4)):
        for method, of_method in curves.items():
            likes, unlikes, curve = like[:1], list[int](), list[float]()
            for _ in range(ROUNDS):
                if method == ROCCHIO:
                    hits = unseen.ranked(likes, unlikes, rocchio)
                else:
                    hits = unseen.search(likes, unlikes, combine=method)
                curve.append(unseen.precision(hits, label))
                likes = [*likes, *(place for place in hits if unseen.labels[place] == label)]
                unlikes = [*unlikes, *(place for place in hits if unseen.labels[place] != label)]
            of_method.append(curve)
    for method, of_method in curves.items():
        yield method, np.mean(of_method, axis=0).tolist()


def _drawn(unseen: Unseen, random: np.random.Generator, questions: int) -> Iterator[tuple[Any, list[int]]]:
    """Yield classes with enough items for ten hits, and three examples of each."""
    names, counts = np.unique(unseen.labels, return_counts=True)
    enough = names[counts >= GIVEN + FIRST]
    for _ in range(questions if len(enough) else 0):
        label = random.choice(enough)
        yield label, random.choice(np.flatnonzero(unseen.labels == label), GIVEN, replace=False).tolist()
