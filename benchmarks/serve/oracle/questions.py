"""The questions of readers, and exact scans that decide whether an answer fits a state."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.serve.oracle.states import LEARNED, VIEWS, Record, Seen, State, key_of, number_of
from crossview.engine.catalog.description import RAW
from crossview.engine.collections.collection import Collection
from crossview.engine.spaces.indexed import stored_generation
from crossview.engine.spaces.sketches import Sketch
from crossview.engine.spaces.space import Space
from crossview.engine.values.any_collection import AnyCollection
from crossview.engine.values.conditions.filter import EVERY_ITEM, Filter
from crossview.engine.values.errors import InvalidInputError, NotFoundError
from crossview.engine.values.query import Query, SearchRequest

REFUSAL = "refused"
"""The answer where there is no such item, row or space."""
_TOLERANCE = 1e-5  # of squared distances, as a share of the squared lengths of rows
_FAR = 1e6
"""Distance, in the same unit, of other items than near copies."""
_REACHED = 1 + 1e-5
"""Distance of near copies, in units of the largest, with the error of a sum in single precision."""

Exact = NDArray[np.float64]


class ShownItem(NamedTuple):
    """An item that an answer shows."""

    key: str
    distance: float
    labels: tuple[str, ...]
    attributes: Mapping[str, Any]
    views: tuple[str, ...] = ()


class Affine(NamedTuple):
    """The embeddings of the rows of a view by a generation."""

    matrix: Exact
    offset: Exact

    def of(self, rows: Exact) -> Exact:
        """Return the embeddings of rows."""
        return rows @ self.matrix + self.offset


@dataclass
class Maps:
    """The facts about the generations that trainings made."""

    known: dict[tuple[int, str], Affine] = field(default_factory=dict)
    sketches: dict[tuple[int, str], Sketch] = field(default_factory=dict)
    """The sketches, which decide which rows are near copies, by training and view."""

    def learn(self, collection: Collection) -> None:
        """Look up what the generations of a collection make of the rows of each view."""
        with collection._opened.catalog.read() as tx:
            for generation in tx.spaces.generations():
                training, views = generation.summary["seed"], LEARNED[generation.space]["views"]
                if (training, views[0]) not in self.known:
                    space = stored_generation(tx, generation.space, generation.generation).space
                    self.known |= {(training, view): _affine(space, view) for view in views}
                    self.sketches |= {(training, view): space.sketch_of[view] for view in views}

    def of(self, state: State, space: str, view: str) -> Affine | None:
        """Return the map from rows to vectors of a space of a state; None if it is unknown."""
        if space in ("pca", RAW):  # which keep distances
            return Affine(np.eye(VIEWS[view]), np.zeros(VIEWS[view]))
        return self.known.get((state.spaces[space].training, view))

    def knows_copies(self, state: State, space: str, view: str) -> bool:
        """Return whether it is known which rows of a view are near copies."""
        return space == RAW or (state.spaces[space].training, view) in self.sketches

    def copies(self, state: State, space: str, view: str, row: Exact) -> dict[int, float]:
        """Return the numbers of the items whose rows are near copies of a row, with their distances from 0 to 1."""
        if space == RAW:
            return {}
        sketch, (numbers, rows) = self.sketches[state.spaces[space].training, view], state.matrix(view)
        points = sketch.points(np.vstack([row, rows]).astype(np.float32)).astype(np.float64)
        gaps = np.sqrt(((points[1:] - points[0]) ** 2).sum(axis=1)) / (sketch.reach or 1.0)
        return {number: gap for number, gap in zip(numbers.tolist(), gaps.tolist(), strict=True) if gap <= _REACHED}


def _affine(space: Space, view: str) -> Affine:
    probes = np.vstack([np.zeros(VIEWS[view]), np.eye(VIEWS[view])]).astype(np.float32)
    (embedded,) = space.probe(view, probes, [view]).values()
    vectors = embedded.astype(np.float64)
    return Affine(vectors[1:] - vectors[0], vectors[0])


class Question(ABC):
    """A question that readers ask about the collection."""

    @abstractmethod
    def asked_of(self, reader: AnyCollection) -> Any:
        """Return the answer of a reader; ``REFUSAL`` is one."""

    @abstractmethod
    def fits(self, answer: Any, state: State, maps: Maps) -> bool:
        """Return whether an answer is that of a state."""


@dataclass(frozen=True)
class Search(Question):
    """The nearest items of a row, or of an item's row."""

    view: str
    target: str
    k: int
    space: str
    vector: tuple[float, ...] | None = None
    number: int | None = None
    filter: Filter = EVERY_ITEM

    def asked_of(self, reader: AnyCollection) -> Any:
        """Search."""
        by = {"vector": self.vector} if self.number is None else {"key": key_of(self.number)}
        request = SearchRequest(
            [Query(self.view, **by)],
            targets=(self.target,),
            k=self.k,
            space=self.space,
            filter=self.filter,
        )
        try:
            (result,) = reader.search(request)
        except (NotFoundError, InvalidInputError):
            return REFUSAL
        return [ShownItem(hit.key, hit.distance, tuple(hit.labels), hit.attributes) for hit in result.hits]

    def fits(self, answer: Any, state: State, maps: Maps) -> bool:
        """Return whether keys, distances and what is shown are those of an exact scan."""
        space, row = self.space or state.active or RAW, self._row(state)
        if row is None or not self._answers(space, state):
            return bool(answer == REFUSAL)
        if answer == REFUSAL:
            return False
        numbers, rows = state.matrix(self.target)
        passing = [
            number != self.number and passes(self.filter, number, state.items[number]) for number in numbers.tolist()
        ]
        numbers, rows = numbers[passing], rows[passing]
        if len(answer) != min(self.k, len(numbers)) or not _shown(answer, state, numbers):
            return False
        query, items = (maps.of(state, space, view) for view in (self.view, self.target))
        if query is None or items is None or not maps.knows_copies(state, space, self.view):
            return True
        copies = maps.copies(state, space, self.view, row)
        return is_exact_scan(answer, numbers, items.of(rows), query.of(row), copies)

    def judged(self, answer: Any, state: State, maps: Maps) -> bool:
        """Return whether distances can be judged: not where a generation was gone when its round ended."""
        space = self.space or state.active or RAW
        return answer == REFUSAL or (
            all(maps.of(state, space, view) for view in (self.view, self.target))
            and maps.knows_copies(state, space, self.view)
        )

    def _row(self, state: State) -> Exact | None:
        if self.number is None:
            return np.array(self.vector, np.float32).astype(np.float64)
        numbers, rows = state.matrix(self.view)
        own = np.flatnonzero(numbers == self.number)
        return rows[own[0]] if len(own) else None

    def _answers(self, space: str, state: State) -> bool:
        if space == RAW:
            return self.view == self.target
        return space in state.spaces and {self.view, self.target} <= set(LEARNED[space]["views"])


def passes(filter: Filter, number: int, record: Record) -> bool:
    """Return whether an item passes a filter."""
    return all(
        bool(set(test.values) & set(record.labels))
        if test.field.kind == "label"
        else key_of(number).startswith(str(test.values[0]))
        for test in filter.condition.tests()
    )


def _shown(answer: Sequence[ShownItem], state: State, numbers: NDArray[np.int64]) -> bool:
    """Return whether every hit is another one of the items, and shows what that has."""
    hits = [number_of(item.key) for item in answer]
    if len(set(hits)) < len(hits) or not set(hits) <= set(numbers.tolist()):
        return False
    pairs = ((item, state.items[number]) for item, number in zip(answer, hits, strict=True))
    return all(item.labels == record.labels and item.attributes == record.attributes for item, record in pairs)


def is_exact_scan(
    answer: Sequence[ShownItem], numbers: NDArray[np.int64], items: Exact, query: Exact, copies: Mapping[int, float]
) -> bool:
    """Return whether an answer is that of an exact scan, after some of the near copies or none.

    The codes that find near copies can miss one, which is then where its distance places it.
    """
    if not len(numbers):
        return not answer
    exact = ((items - query) ** 2).sum(axis=1)
    tolerance = _TOLERANCE * float((items**2).sum(axis=1).max() + (query**2).sum())
    hits = np.array([number_of(item.key) for item in answer])
    squares = np.array([item.distance for item in answer]) ** 2
    closeness = np.array([copies.get(number, _FAR) for number in hits.tolist()])
    first = (abs(squares - exact.min() * closeness**2) <= tolerance) & (np.diff(squares, prepend=0) >= 0)
    most = len(first) if first.all() else int(np.argmin(first))
    return any(
        _scanned(hits[start:], squares[start:], numbers, exact, hits[:start], tolerance) for start in range(most + 1)
    )


def _scanned(
    hits: NDArray[np.int64], squares: Exact, numbers: NDArray[np.int64], exact: Exact, left_out: Any, tolerance: float
) -> bool:
    """Return whether numbers with given squared distances are the nearest of all that are not left out."""
    places = {number: place for place, number in enumerate(numbers.tolist())}
    own = exact[[places[number] for number in hits.tolist()]]
    best = np.sort(exact[~np.isin(numbers, left_out)])[: len(hits)]
    return bool((abs(squares - own) <= tolerance).all() and (abs(squares - best) <= tolerance).all())


@dataclass(frozen=True)
class Listing(Question):
    """Every item that passes a filter."""

    filter: Filter = EVERY_ITEM

    def asked_of(self, reader: AnyCollection) -> Any:
        """List them."""
        items = reader.items(self.filter, limit=1_000)
        return [ShownItem(item.key, 0.0, tuple(item.labels), item.attributes, tuple(item.views)) for item in items]

    def fits(self, answer: Any, state: State, maps: Maps) -> bool:
        """Return whether these items, and no others, are listed in order."""
        every = sorted((number, item) for number, item in state.items.items() if passes(self.filter, number, item))
        listed = [ShownItem(key_of(number), 0.0, item.labels, item.attributes, item.views) for number, item in every]
        return bool(answer == listed)


@dataclass(frozen=True)
class Counting(Question):
    """How many items pass a filter."""

    filter: Filter = EVERY_ITEM

    def asked_of(self, reader: AnyCollection) -> Any:
        """Count them."""
        return reader.count(self.filter)

    def fits(self, answer: Any, state: State, maps: Maps) -> bool:
        """Return whether so many pass."""
        return bool(answer == sum(passes(self.filter, number, record) for number, record in state.items.items()))


@dataclass(frozen=True)
class Everything(Question):
    """The whole collection: asked of a backup, or where nobody writes."""

    def asked_of(self, reader: AnyCollection) -> Any:
        """Read it."""
        return Seen.by(reader)

    def fits(self, answer: Any, state: State, maps: Maps) -> bool:
        """Return whether all answers are those of the state."""
        return bool(answer == state.seen())


@dataclass(eq=False)
class Answer:
    """The answer of one reader to a question, with the times of both by ``time.perf_counter``."""

    question: Question
    who: str
    began: float
    ended: float
    value: Any
