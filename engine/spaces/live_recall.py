"""Live recall: of approximate searches, one query in a hundred is asked again exactly, in the background."""

import logging
import math
import random
import threading
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from queue import Full, Queue
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crossview.engine.spaces.indexed import IndexedSpace
from crossview.engine.spaces.recall_tuning import ROUNDING
from crossview.engine.spaces.space import Vectors
from crossview.engine.spaces.target import Target
from crossview.engine.values.index_choice import IndexChoice, LiveFigure, SearchRecall
from crossview.engine.values.info import SpaceInfo
from crossview.features.background import begun
from crossview.index.base import Neighbors, Searcher, Selection

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
        found = searcher.search(vectors, k, only, effort)
        if effort and not recall and (row := self._drawn(len(vectors))) is not None:
            place = Place(indexed.space.name, indexed.space.generation, str(target), view)
            choice = indexed.choices[str(target)]
            question = _Question(place, choice, searcher, vectors[row : row + 1], only, found.distances[row])
            self._put(question)
        return found

    def figures(self) -> Mapping[Place, LiveFigure]:
        """Return the recall of the last checked queries, by their place."""
        with self._lock:
            return {place: LiveFigure(*one.figure()) for place, one in self._checked.items()}

    def promised(self) -> Mapping[Place, float]:
        """Return the recall that checked searches promise, by their place."""
        with self._lock:
            return {place: one.choice.recall for place, one in self._checked.items()}

    def described(self, space: SpaceInfo) -> SpaceInfo:
        """Return the description of a space with the recall of its searches in this process."""
        figures = self.figures()

        def with_live(target: str, one: SearchRecall) -> SearchRecall:
            return replace(one, live=figures.get(Place(space.name, space.generation, target, one.view)))

        indexes = (
            replace(index, searches=tuple(with_live(index.target, one) for one in index.searches))
            for index in space.indexes
        )
        return replace(space, indexes=tuple(indexes))

    def forget(self, space: str) -> None:
        """Forget the recall of a space whose indexes are others now."""
        with self._lock:
            self._checked = {place: one for place, one in self._checked.items() if place.space != space}

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
        wanted = int(np.isfinite(exact).sum())
        if not wanted:
            return
        share = float((question.distances[:wanted] <= exact[wanted - 1] * (1 + ROUNDING)).mean())
        with self._lock:
            known = self._checked.get(question.place)
            if known is None or known.choice != question.choice:
                known = self._checked[question.place] = _Checked(question.choice)
            known.shares.append(share)
            known.hits = wanted
            self._warn(question.place, known)

    def _warn(self, place: Place, known: _Checked) -> None:
        count, recall, error = known.figure()
        now = time.monotonic()
        if count < _FEWEST or recall + _SURE * error >= known.choice.recall or now < known.warned + _UNTIL_NEXT_WARNING:
            return
        known.warned = now
        _log.warning(
            "searches of %s in target %s of space %s find %.3f of the nearest items, not %g: measure the index again "
            "with: `collection.spaces.reindex('%s')`",
            place.view,
            place.target,
            place.space,
            recall,
            known.choice.recall,
            place.space,
        )
