"""Recall of approximate indexes: measured before use, and checked in use, by one query in a hundred."""

import logging
import math
import random
import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from queue import Full, Queue
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crossview.engine.catalog.catalog import Transaction
from crossview.engine.catalog.joined import joined_view
from crossview.engine.runtime.cancellation import checkpoint
from crossview.engine.spaces.indexed import IndexedSpace
from crossview.engine.spaces.space import Space, Vectors
from crossview.engine.spaces.target import Target
from crossview.engine.values.errors import call
from crossview.engine.values.index_choice import Curve, IndexChoice, LiveFigure, MeasuredRecall, Point, SearchRecall
from crossview.engine.values.info import SpaceInfo
from crossview.features.background import begun
from crossview.index.base import Index, Neighbors, Searcher, Selection

_QUERIES = 300
"""Number of queries by which recall is measured; as many others confirm it."""
_DRAWN = 4
"""Items to draw for each query, so that enough of them were not learned from."""
_K = (10, 100)
_SHARES = (0.5, 0.1, 0.02)
_FILTERED = 100
"""Number of queries by which recall under filters is measured."""
_ENOUGH = 0.9995
"""Recall from which on greater efforts are not tried."""
_TIMES = 2
"""Number of such efforts in a row, so that not one lucky effort decides."""
ROUNDING = 1e-5
"""Relative difference up to which distances are equal: an item as near as the k-th nearest counts as found."""


def with_recall(tx: Transaction, space: Space, target: Target, index: Index, choice: IndexChoice) -> IndexChoice:
    """Return a choice with the measured recall of its index for queries of each view.

    Queries are items drawn by chance that the space did not learn from, if there are enough, and their own place in the
    target does not count. Distances decide, so that one of several equally near items is as good as another.
    """
    if not index.efforts(_K[0]):
        return choice
    views = space.views if space.cross_view else (target.view,)
    measured = tuple(_measured(tx, space, view, target, index, choice.recall) for view in views)
    return replace(choice, measured=tuple(recall for recall in measured if recall is not None), items=len(index))


def _measured(
    tx: Transaction, space: Space, view: str, target: Target, index: Index, recall: float
) -> MeasuredRecall | None:
    """Return the recall of queries of a view; None if no item has it."""
    rng = np.random.default_rng(0)
    items, vectors = _queries(tx, space, view, target, rng)
    if not len(items):
        return None
    half = max(1, len(items) // 2)
    first_half, second_half = _Asked(index, items[:half], vectors[:half]), _Asked(index, items[half:], vectors[half:])
    curves = [first_half.curve(k) for k in _K]
    few = _Asked(index, items[:_FILTERED], vectors[:_FILTERED])
    ids = index.ids()
    for share in _SHARES:
        some = index.selection(ids[rng.random(len(ids)) < share])
        curves.append(few.curve(_K[0], share, some))
    along = _along_a_direction(index, rng)
    for share in _SHARES:
        some = index.selection(along[: max(1, int(share * len(along)))])
        curves.append(replace(few.curve(_K[0], share, some), correlated=True))
    measured = MeasuredRecall(view=view, queries=half, curves=tuple(curves))
    effort = measured.effort(_K[0], 1.0, recall)
    confirmed = second_half.recall(_K[0], effort).recall if effort and len(second_half.items) else 1.0
    return MeasuredRecall(view=view, queries=half, curves=tuple(curves), confirmed=confirmed)


def _along_a_direction(index: Index, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return the ids of an index by their position on the line through two of its vectors.

    The first of them are a filter that depends on the vectors, as the condition on a class or a colour does.
    """
    first, second = index.get(rng.choice(index.ids(), 2, replace=False))
    blocks = [(ids, vectors @ (second - first)) for ids, vectors in index.blocks()]
    order = np.argsort(np.concatenate([positions for _, positions in blocks]))
    ids: NDArray[np.int64] = np.concatenate([ids for ids, _ in blocks])[order]
    return ids


def _queries(
    tx: Transaction, space: Space, view: str, target: Target, rng: np.random.Generator
) -> tuple[NDArray[np.int64], Vectors]:
    """Return items with a row of a view, those that the space did not learn from first, and their vectors as queries.

    The order is by chance, so that each half is like the other.
    """
    record = joined_view(tx, view)
    ids = record.ids(tx)
    drawn = rng.choice(ids, min(len(ids), _DRAWN * 2 * _QUERIES), replace=False)
    keys = tx.items.each("key", drawn.tolist())
    learned = {item for item, key in keys if key in space.training_keys}
    fresh = drawn[~np.isin(drawn, np.array(sorted(learned), np.int64))]
    items = fresh if len(fresh) >= _QUERIES else drawn
    stored = record.rows(tx, items[: 2 * _QUERIES].tolist())
    order = rng.permutation(len(stored.ids))
    if not len(order):
        return stored.ids, np.empty((0, target.dim), np.float32)
    vectors = space.probe(view, stored.rows, [str(target)])[target]
    return stored.ids[order], vectors[order]


class _Asked:
    """Queries of an index, with the items that they are."""

    def __init__(self, index: Index, items: NDArray[np.int64], vectors: Vectors) -> None:
        self.index, self.items, self.vectors = index, items, vectors

    def curve(self, k: int, share: float = 1.0, only: Selection | None = None) -> Curve:
        """Return the recall with rising efforts, until hardly anything is missing."""
        return Curve(k=k, share=share, points=tuple(self._points(k, only)))

    def recall(self, k: int, effort: int, only: Selection | None = None) -> Point:
        """Return the recall of searches for k items with an effort."""
        return self._point(k, effort, only, self._farthest(k, only))

    def _points(self, k: int, only: Selection | None) -> Iterator[Point]:
        farthest = self._farthest(k, only)
        share, full = (1.0 if only is None else len(only.ids) / len(self.index)), 0
        for effort in self.index.efforts(k, share):
            checkpoint()
            point = self._point(k, effort, only, farthest)
            yield point
            full = full + 1 if point.recall >= _ENOUGH else 0
            if full == _TIMES:
                return

    def _farthest(self, k: int, only: Selection | None) -> NDArray[np.float32]:
        """Return the distance of the k-th nearest item of each query but itself, shape (n, 1)."""
        return self._others(self.index.search(self.vectors, k + 1, only), k)[:, -1:]

    def _point(self, k: int, effort: int, only: Selection | None, farthest: NDArray[np.float32]) -> Point:
        distances = self._others(self.index.search(self.vectors, k + 1, only, effort), k)
        shares = (distances <= farthest * (1 + ROUNDING)).mean(axis=1)
        return Point(effort, float(shares.mean()), float(shares.std() / np.sqrt(len(shares))))

    def _others(self, hits: Neighbors, k: int) -> NDArray[np.float32]:
        """Return the distances of the first k found items of each query but itself, (n, k), ascending."""
        distances = np.where(hits.ids == self.items[:, None], np.float32(np.inf), hits.distances)
        return np.sort(distances, axis=1)[:, :k]


_log = logging.getLogger(__name__)
_EVERY = 100
"""Queries of which one is asked exactly."""
_SHARE = 0.01
"""Maximum share of a processor's time that exact questions take."""
_CREDIT = 1.0
"""Maximum processor time, in seconds, that quiet times save for later."""
_LAST = 500
"""Number of the last checked queries that count."""
_FEWEST = 5
"""Number of checked queries from which on a recall can be too low."""
_SURE = 3
"""Standard errors by which a recall must be too low."""
_WAITING = 16
_UNTIL_NEXT_WARNING = 3600.0


class Place(NamedTuple):
    """The searches that one recall is about."""

    space: str
    generation: int
    target: str
    view: str


@dataclass(frozen=True)
class _Question:
    place: Place
    choice: IndexChoice
    searcher: Searcher
    vector: Vectors
    """Shape (1, width)."""
    only: Selection | None
    distances: NDArray[np.float32]
    """The distances that the approximate search found, (k,)."""


@dataclass
class _Checked:
    choice: IndexChoice
    shares: deque[float] = field(default_factory=lambda: deque(maxlen=_LAST))
    hits: int = 0
    """Number of nearest items of the last checked query."""
    warned: float = -math.inf

    def figure(self) -> tuple[int, float, float]:
        """Return the number of queries, their mean recall, and its standard error, which is never 0."""
        shares, count = np.array(self.shares), len(self.shares)
        promised = self.choice.recall
        least = math.sqrt(promised * (1 - promised) / max(1, count * self.hits))
        return count, float(shares.mean()), max(least, float(shares.std() / math.sqrt(count)))


class LiveRecall:
    """Checks approximate searches of a collection, and knows their recall. Several threads may call it at once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._questions: Queue[_Question | None] = Queue(_WAITING)
        self._thread: threading.Thread | None = None
        self._closed = threading.Event()
        self._checked: dict[Place, _Checked] = {}

    def search(
        self,
        indexed: IndexedSpace,
        view: str,
        recall: float,
        target: Target,
        vectors: Vectors,
        k: int,
        only: Selection | None,
    ) -> Neighbors:
        """Return the k nearest of queries of a view in a target, with a recall [default: 0, the promised one]."""
        effort, searcher = indexed.effort(view, target, k, only, recall), indexed.searcher(target)
        hits = searcher.search(vectors, k, only, effort)
        if effort and not recall and (row := self._drawn(len(vectors))) is not None:
            place = Place(indexed.space.name, indexed.space.generation, str(target), view)
            choice = indexed.choices[str(target)]
            question = _Question(place, choice, searcher, vectors[row : row + 1], only, hits.distances[row])
            self._put(question)
        return hits

    def figures(self) -> Mapping[Place, LiveFigure]:
        """Return the recall of the last checked queries, by their place."""
        with self._lock:
            return {place: LiveFigure(*checked.figure()) for place, checked in self._checked.items()}

    def promised(self) -> Mapping[Place, float]:
        """Return the recall that checked searches promise, by their place."""
        with self._lock:
            return {place: checked.choice.recall for place, checked in self._checked.items()}

    def described(self, space: SpaceInfo) -> SpaceInfo:
        """Return the description of a space with the recall of its searches in this process."""
        figures = self.figures()

        def with_live(target: str, recall: SearchRecall) -> SearchRecall:
            return replace(recall, live=figures.get(Place(space.name, space.generation, target, recall.view)))

        indexes = (
            replace(index, searches=tuple(with_live(index.target, recall) for recall in index.searches))
            for index in space.indexes
        )
        return replace(space, indexes=tuple(indexes))

    def forget(self, space: str) -> None:
        """Forget the recall of a space whose indexes are others now."""
        with self._lock:
            self._checked = {place: checked for place, checked in self._checked.items() if place.space != space}

    def wait(self) -> None:
        """Wait until all questions so far are answered."""
        self._questions.join()

    def close(self) -> None:
        """Stop checking."""
        self._closed.set()
        if self._thread is not None:
            with self._lock:
                while not self._questions.empty():
                    self._questions.get_nowait()
                    self._questions.task_done()
            self._questions.put(None)
            self._thread.join()

    def _drawn(self, queries: int) -> int | None:
        """Return the row of the query to check, if any of them is drawn."""
        # Drawn by chance: every hundredth query could always be the same one of a program that repeats its queries.
        return next((row for row in range(queries) if random.random() * _EVERY < 1), None)

    def _put(self, question: _Question) -> None:
        with self._lock:
            if self._closed.is_set():
                return
            if self._thread is None:
                self._thread = begun(self._work, "live recall")
            if self._thread is None:
                return
        try:
            self._questions.put_nowait(question)
        except Full:
            return  # exact searches take too long to check so many

    def _work(self) -> None:
        credit, last = _CREDIT, time.monotonic()
        while (question := self._questions.get()) is not None:
            try:
                now = time.monotonic()
                credit, last = min(_CREDIT, credit + _SHARE * (now - last)), now
                started = time.thread_time()
                self._check(question)
                credit -= time.thread_time() - started
            except (ValueError, MemoryError):  # one wrong check must not end all later ones
                _log.exception("a search could not be checked")
            finally:
                self._questions.task_done()
            if credit < 0:
                self._closed.wait(-credit / _SHARE)

    def _check(self, question: _Question) -> None:
        exact = question.searcher.search(question.vector, len(question.distances), question.only).distances[0]
        count = int(np.isfinite(exact).sum())
        if not count:
            return
        share = float((question.distances[:count] <= exact[count - 1] * (1 + ROUNDING)).mean())
        with self._lock:
            tally = self._checked.get(question.place)
            if tally is None or tally.choice != question.choice:
                tally = self._checked[question.place] = _Checked(question.choice)
            tally.shares.append(share)
            tally.hits = count
            self._warn(question.place, tally)

    def _warn(self, place: Place, tally: _Checked) -> None:
        count, recall, error = tally.figure()
        now = time.monotonic()
        if count < _FEWEST or recall + _SURE * error >= tally.choice.recall or now < tally.warned + _UNTIL_NEXT_WARNING:
            return
        tally.warned = now
        _log.warning(
            "searches of %s in target %s of space %s find %.3f of the nearest items, not %g: measure the index again "
            "with: %s",
            place.view,
            place.target,
            place.space,
            recall,
            tally.choice.recall,
            call("collection.spaces.reindex", place.space),
        )
