"""The questions of one collection: the next question for a person, and the stored answers."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crossview.engine.catalog.catalog import Catalog, Transaction, now
from crossview.engine.catalog.description import RAW
from crossview.engine.catalog.joined import joined_view
from crossview.engine.findings.questions.beliefs import Metric
from crossview.engine.findings.questions.choosing import choose
from crossview.engine.findings.questions.collected_answers import ANSWERS_AT_ONCE
from crossview.engine.spaces.space import Space
from crossview.engine.spaces.target import Target
from crossview.engine.spaces.version import SearchState, Version
from crossview.engine.spaces.versions import Versions
from crossview.engine.values.comparisons import (
    QUESTIONS,
    SINGLE,
    Answer,
    Question,
    QuestionRequest,
    check_notion,
    check_person,
)
from crossview.engine.values.errors import InvalidInputError, NotFoundError, NotReadyError
from crossview.engine.values.numbers import check_count, check_seed

_REPEATED = 0.1
"""Share of questions that another person has answered, which measure the agreement of people."""
MOST_DRAWN = 4_096
"""Maximum number of items, besides those of answers, that one question is chosen among: its time and memory do not grow
with the collection."""


class _Items(NamedTuple):
    """The items for questions."""

    keys: Sequence[str]
    features: NDArray[np.float32] | None
    """(n, D); None without features."""


class Questions:
    """Questions to people about the items of a collection, and the answers, which the catalog stores.

    Every method raises StorageError; writing methods raise BusyError.
    """

    def __init__(self, catalog: Catalog, versions: Callable[[], Versions]) -> None:
        self._catalog, self._versions = catalog, versions

    def next(self, request: QuestionRequest) -> Question:
        """Return the next question for a person; one in ten is a question that another person has answered.

        In a collection of more than 4,096 items, the question is chosen among as many drawn at random, and the items of
        answers.

        Raises InvalidInputError, NotFoundError for an unknown view, NotReadyError for too few items.
        """
        _check(request)
        rng, size = np.random.default_rng(request.seed), QUESTIONS[request.kind]
        with self._catalog.read() as tx:
            answers = tx.answers.page(request.notion)
            ids = tx.items.ids_of({key for answer in answers for key in (answer.anchor, *answer.near, *answer.far)})
            if request.view:
                joined_view(tx, request.view)
        again = _asked_of_others(answers, request, set(ids))
        if again and rng.random() < _REPEATED:
            return again[int(rng.integers(len(again)))]
        items = self._items(request.view, set(ids.values()), int(rng.spawn(1)[0].integers(1 << 31)))
        if len(items.keys) <= size:
            what = f"with view {request.view!r} there are" if request.view else "there are"
            raise NotReadyError(f"a {request.kind} question needs {size + 1} items, and {what} {len(items.keys)}")
        anchor, *candidates = _chosen(items, answers, size, rng)
        keys = tuple(items.keys[place] for place in candidates)
        return Question(notion=request.notion, anchor=items.keys[anchor], candidates=keys)

    def answer(self, answer: Answer) -> Answer:
        """Store an answer, and return it with its id and time.

        Raises InvalidInputError for an invalid answer, NotFoundError for an unknown item.
        """
        answer.check()
        with self._catalog.write() as tx:
            keys = (answer.anchor, *answer.near, *answer.far)
            ids = tx.items.ids_of(keys)
            if unknown := [key for key in keys if key not in ids]:
                raise NotFoundError(f"no item {unknown[0]!r} in collection {tx.name()!r}")
            return tx.answers.add(replace(answer, feedback=""), now())

    def undo(self, notion: str, person: str) -> Answer:
        """Delete and return the last answer of a person in a notion; NotFoundError if there is none."""
        check_notion(notion)
        check_person(person)
        with self._catalog.write() as tx:
            last = tx.answers.last(notion, person)
            if last is None:
                raise NotFoundError(f"{person} has given no answer in the notion {notion!r}")
            tx.answers.delete(last.id)
            return last

    def answers(self, notion: str = "", person: str = "", after: int = 0, limit: int = ANSWERS_AT_ONCE) -> list[Answer]:
        """Return up to ``limit`` answers with ids above ``after``, in the order in which people gave them.

        ``notion`` and ``person`` restrict the answers; ``every_answer`` reads all pages.
        """
        check_count("limit", limit)
        with self._catalog.read() as tx:
            return tx.answers.page(notion, person, after, limit)

    def _items(self, view: str, answered: set[int], seed: int) -> _Items:
        """Return the items with a row of a view, or all items: those in answers, and others drawn by the seed."""
        if not view:
            with self._catalog.read() as tx:
                return _Items(_keys_of(tx, _drawn(np.array(tx.items.ids(), np.int64), answered, seed)), None)

        def targets(_: Version, raw: Space) -> Sequence[Target]:
            return raw.targets_for(view)

        def held(state: SearchState) -> _Items:
            version, indexed = state
            (target,) = indexed.space.targets_for(view)
            index = indexed.indexes[target].index
            ids = _drawn(index.ids(), answered, seed)
            with version.read() as tx:
                return _Items(_keys_of(tx, ids), np.asarray(index.get(ids), np.float32))

        return self._versions().answered(RAW, targets, held)


def _drawn(ids: NDArray[np.int64], answered: set[int], seed: int) -> NDArray[np.int64]:
    """Return all of a few ids; of many, those in answers and a random sample."""
    if len(ids) <= MOST_DRAWN:
        return ids
    sample = np.random.default_rng(seed).choice(ids, MOST_DRAWN, replace=False)
    return np.union1d(sample, np.intersect1d(ids, sorted(answered)).astype(np.int64))


def _keys_of(tx: Transaction, ids: NDArray[np.int64]) -> list[str]:
    """Return the keys of existing items, in the order of their ids."""
    keys: dict[int, str] = {item: key for item, key in tx.items.each("key", ids.tolist())}  # noqa: C416 - rows are not pairs
    return [keys[item] for item in ids.tolist()]


def _check(request: QuestionRequest) -> None:
    check_notion(request.notion)
    check_person(request.person)
    if request.kind not in QUESTIONS:
        raise InvalidInputError(f"the kind of a question must be {' or '.join(QUESTIONS)}, not {request.kind!r}")
    if request.seed is not None:
        check_seed(request.seed)


def _asked_of_others(answers: Sequence[Answer], request: QuestionRequest, keys: set[str]) -> list[Question]:
    """Return the questions of the requested kind that other people have answered and this person has not."""
    questions: dict[tuple[str, frozenset[str]], None] = {}
    own = set()
    for answer in answers:
        candidates = frozenset((*answer.near, *answer.far))
        if answer.person == request.person:
            own.add((answer.anchor, candidates))
        elif answer.kind == request.kind and {answer.anchor, *candidates} <= keys:
            questions[answer.anchor, candidates] = None
    return [
        Question(notion=request.notion, anchor=anchor, candidates=tuple(sorted(candidates)))
        for anchor, candidates in questions
        if (anchor, candidates) not in own
    ]


def _chosen(items: _Items, answers: Sequence[Answer], size: int, rng: np.random.Generator) -> list[int]:
    """Return the positions of anchor and candidates: of the most informative question if items have features."""
    if items.features is not None:
        places = {key: place for place, key in enumerate(items.keys)}
        triplets = _placed((triplet for answer in answers for triplet in answer.triplets), places)
        unsure = [(a.anchor, *a.near, *a.far) for a in answers if not a.triplets and a.kind == SINGLE]
        asked_triplets = np.concatenate([triplets, _placed(unsure, places)])
        with suppress(ValueError):  # the person has answered every drawn question: choose at random
            (question,) = choose(
                Metric.of(items.features, triplets), size=size, seed=int(rng.integers(1 << 31)), asked=asked_triplets
            )
            return [question.anchor, *question.candidates]
    return [int(place) for place in rng.choice(len(items.keys), size + 1, replace=False)]


def _placed(triplets: Iterable[tuple[str, ...]], places: Mapping[str, int]) -> NDArray[np.int64]:
    """Return triplets of keys as positions of items, (n, 3), without triplets of other items."""
    rows = [[places[key] for key in triplet] for triplet in triplets if all(key in places for key in triplet)]
    return np.array(rows, np.int64).reshape(-1, 3)
