"""The random plan: the writes of a round, and the questions of readers."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar, cast

from benchmarks.serve.oracle.questions import Counting, Listing, Question, Search
from benchmarks.serve.oracle.states import LEARNED, NUMBERS, VIEWS, State, key_of, row
from benchmarks.serve.oracle.writes import Activate, Copy, Delete, Import, Label, Put, Restore, Train, Write
from crossview.engine.catalog.description import RAW
from crossview.engine.values.conditions.filter import EVERY_ITEM, Filter

LABELS = ("red", "green", "blue", "amber")
FEWEST = 80
"""Items below which none are deleted, so that there is enough to learn from."""
_MOST = 30
"""Items of one write."""
Kind = TypeVar("Kind", bound=Write)
_WEIGHTS: dict[type[Write], int] = {Import: 4, Put: 4, Delete: 2, Label: 2, Train: 1, Activate: 1, Restore: 4}


@dataclass
class Planner:
    """Draws writes; each gets the next count."""

    random: random.Random
    count: int = 0

    def write(self, state: State, copies: Sequence[Copy], kinds: Sequence[type[Kind]]) -> Kind:
        """Return a write of one of some kinds that suits a state."""
        makers: dict[type[Write], Callable[[], Write | None]] = {
            Import: self._import,
            Put: lambda: self._put(state),
            Delete: lambda: self._delete(state),
            Label: self._label,
            Train: self._train,
            Activate: lambda: self._activate(state),
            Restore: lambda: self._restore(copies),
        }
        self.count += 1
        while True:
            (kind,) = self.random.choices(kinds, [_WEIGHTS[kind] for kind in kinds])
            if (write := makers[kind]()) is not None:
                return cast(Kind, write)

    def filled(self) -> Import:
        """Return the first write: every second item, with rows of all views."""
        self.count += 1
        return Import(count=self.count, numbers=range(0, NUMBERS, 2), views=tuple(VIEWS), labels=LABELS[:1])

    def _numbers(self) -> list[int]:
        """Return items beside each other, so that writes of a round often share some."""
        size = self.random.randint(1, _MOST)
        first = self.random.randrange(0, NUMBERS, _MOST // 2)
        return [number % NUMBERS for number in range(first, first + size)]

    def _import(self) -> Write:
        views = self.random.choice([("v", "w"), ("v", "w"), ("v",), ("w",)])
        labels = tuple(sorted(self.random.sample(LABELS, self.random.randint(1, 2))))
        return Import(count=self.count, numbers=self._numbers(), views=views, labels=labels)

    def _put(self, state: State) -> Write:
        """Return rows of which some are often stored already."""
        view, share = self.random.choice(list(VIEWS)), self.random.choice([0.0, 0.0, 0.5, 1.0])
        counts = dict.fromkeys(self._numbers(), self.count)
        for number in counts:
            stored_count = getattr(state.items.get(number), view, None)
            if stored_count is not None and self.random.random() < share:
                counts[number] = stored_count
        return Put(count=self.count, view=view, counts=counts)

    def _delete(self, state: State) -> Write | None:
        numbers = self._numbers()
        return Delete(count=self.count, numbers=numbers) if len(state.items) > FEWEST + len(numbers) else None

    def _label(self) -> Write:
        return Label(count=self.count, numbers=self._numbers(), label=self.random.choice(LABELS))

    def _train(self) -> Write:
        return Train(count=self.count, space=self.random.choice(list(LEARNED)))

    def _activate(self, state: State) -> Write | None:
        if not state.spaces:
            return None
        name = self.random.choice(sorted(state.spaces))
        generation, _ = self.random.choice(state.spaces[name].trainings)
        return Activate(count=self.count, space=name, generation=generation)

    def _restore(self, copies: Sequence[Copy]) -> Write | None:
        return Restore(count=self.count, copy=self.random.choice(copies)) if copies else None


def question(random: random.Random, at: "Callable[[], int]") -> Question:
    """Draw what a reader asks; ``at`` gives the count of the last write, near which rows are worth asking for."""
    chance = random.random()
    if chance < 0.1:
        return Listing(_filter(random))
    if chance < 0.2:
        return Counting(_filter(random))
    view = random.choice(list(VIEWS))
    space = random.choice([RAW, RAW, "", *LEARNED])
    target = random.choice(list(VIEWS)) if space == "cca" else view
    k, number = random.choice([1, 10, 10, 60]), random.randrange(NUMBERS)
    if random.random() < 0.4:
        return Search(view, target, k, space, number=number, filter=_filter(random))
    near = row(view, number, max(1, at() - random.randrange(40)))
    return Search(view, target, k, space, vector=tuple(near.tolist()), filter=_filter(random))


def _filter(random: random.Random) -> Filter:
    chance = random.random()
    if chance < 0.7:
        return EVERY_ITEM
    if chance < 0.85:
        return Filter(labels=(random.choice(LABELS),))
    return Filter(key_prefix=key_of(random.randrange(NUMBERS))[:-1])
