"""Filling a generation: its items go to the engine and are checked, then one change of an alias puts it in use.

Blue and green: the new generation is filled and checked beside the one in use. Every step can be repeated, so the same
call finishes an interrupted filling, and does nothing for one that is finished.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crossview.engine.publishing import aliases
from crossview.engine.publishing.generation import Generation, Names
from crossview.engine.publishing.index_kinds import EngineIndex
from crossview.engine.publishing.placing import placed
from crossview.engine.publishing.publication import Publication, PublishedTarget
from crossview.engine.publishing.records import WIDEST, Record
from crossview.engine.publishing.serving import Serving, described
from crossview.engine.runtime.cancellation import checkpoint
from crossview.engine.runtime.progress import Progress
from crossview.engine.spaces.target import Target
from crossview.engine.values.errors import InvalidInputError, NotReadyError
from crossview.engine.values.item import Failure

RECALL = 0.99
SAMPLE, K = 50, 10
"""Items whose answers are compared with exact ones, and hits of each."""
_ROUNDS = 5
"""Comparisons with items that change meanwhile."""
_ROUNDING = 1e-3


@dataclass(frozen=True, kw_only=True)
class Filled:
    """The outcome of a filling."""

    items: int
    targets: tuple[PublishedTarget, ...]
    failures: tuple[Failure, ...]
    kept: int
    switched: bool
    sequence: int

    def into(self, publication: Publication) -> Publication:
        """Return a publication with these facts."""
        return replace(publication, **{name: getattr(self, name) for name in vars(self)})


@dataclass
class State:
    """How far a filling is, as the engine keeps it."""

    indexes: Mapping[str, EngineIndex]
    views: Sequence[str]
    """The single views whose rows the items have."""
    sequence: int
    """The change up to which all changes are in the engine, besides those of items not yet reached."""
    after: int = 0
    """The id, or the number of partitions, up to which all items were reached."""
    efforts: Mapping[str, int] = field(default_factory=dict)
    published: float = 0.0
    """When it was complete, in seconds since 1970; 0 before."""
    origin: str = ""
    """The address of the rows that it was filled from; "" for a catalog."""

    def to_json(self) -> dict[str, object]:
        """Return the state as JSON values."""
        return {**asdict(self), "indexes": {name: index._asdict() for name, index in self.indexes.items()}}


class Truth(NamedTuple):
    """Exact answers to some queries in a target."""

    keys: Sequence[str]
    """The items that the queries are, which are not among the answers."""
    vectors: NDArray[Any]
    """The queries as the target has them, (n, width)."""
    distances: Sequence[Sequence[float]]
    """The distances of the nearest items of each query, ascending."""


class Filling(ABC):
    """Fills the generation of a bundle, and lets the alias stand for it; a subclass knows where the items come from."""

    origin = ""
    """The address of the rows that the items come from; "" for a catalog."""

    def __init__(self, serving: Serving, index: str, progress: Progress | None = None) -> None:
        """Continue the filling of the generation, or begin it; InvalidInputError for one that has another origin."""
        self._serving, self._progress = serving, progress
        self._failures: list[Failure] = []
        check_widths(serving)
        self._generation, self._state = self._begun(index)

    @abstractmethod
    def _count(self) -> int:
        """Return the number of items."""

    @abstractmethod
    def _sequence(self) -> int:
        """Return the number of the last change of the items."""

    @abstractmethod
    def _put_next(self) -> bool:
        """Write the next items, and note how far the filling is; return whether there were any."""

    @abstractmethod
    def _counts(self) -> Mapping[Target, int]:
        """Return the number of items that the engine should have in each target of a generation not yet published."""

    @abstractmethod
    def _truth(self, target: Target) -> Truth | None:
        """Return exact answers in a target; None without any."""

    def follow(self) -> int:
        """Send the changes of the items since the last call; return how many items changed."""
        return 0

    def _is_current(self) -> bool:
        """Return whether the items have not changed since the changes that were sent last."""
        return True

    def filled(self) -> Filled:
        """Fill, check and switch; return what was done."""
        while self._put_next():
            checkpoint()
        self._generation.build_indexes()
        checked = self._checked_targets()
        self._state.published = self._state.published or time.time()
        self._note()
        former = self._former()  # what servers wrote there is taken over before the switch
        kept, switched = self._copied(former) if former else 0, self._switch()
        counts = {str(target): self._generation.count(target) for target in self._serving.space.indexed_targets}
        return Filled(
            items=self._generation.count(),
            targets=tuple(replace(target, items=counts[target.target]) for target in checked),
            failures=tuple(self._failures),
            kept=kept,
            switched=switched,
            sequence=self._state.sequence,
        )

    def _begun(self, index: str) -> tuple[Generation, State]:
        """Return the generation in the engine and its state, begun now or before."""
        serving = self._serving
        indexes = serving.indexes(index, self._count())
        generation = serving.generation(indexes)
        generation.make(described(serving.bundle))
        generation.load()
        if stored := generation.state():
            stored["indexes"] = {name: EngineIndex(**facts) for name, facts in stored["indexes"].items()}
            state = State(**stored)
            if state.origin != self.origin:
                raise InvalidInputError(
                    f"bundle {serving.bundle.folder} was filled from {state.origin or 'a collection'} in engine "
                    f"{serving.engine.address}: publish under another name, or train the space again"
                )
            return replace(generation, indexes=state.indexes, efforts=state.efforts), state
        state = State(indexes, list(serving.views), self._sequence(), origin=self.origin)
        generation.set_state(state.to_json())
        return generation, state

    def _put(self, records: Sequence[Record], new: bool = False) -> None:
        storable, failures = self._generation.storable(records)
        self._failures += failures
        if storable:
            self._generation.put(storable, placed(self._serving.space, self._serving.parts, storable), new)

    def _note(self) -> None:
        self._generation.set_state(self._state.to_json())

    def _checked_targets(self) -> tuple[PublishedTarget, ...]:
        """Send later changes, and return the targets; NotReadyError if they answer otherwise than the items.

        While the items change, the answers can differ, and are compared again.
        """
        targets = list[PublishedTarget]()
        for _ in range(_ROUNDS):
            self.follow()
            self._generation.settle()
            targets, difference = self._compared_targets()
            if not difference or self._state.published:  # later, servers have written into the targets
                break
            if self._is_current():
                raise NotReadyError(f"{difference}: publish it again, and check that no two items have one key")
        return tuple(targets)

    def _compared_targets(self) -> tuple[list[PublishedTarget], str]:
        """Return the targets with their number of items and their recall, and a difference to the items or ""."""
        targets, difference = list[PublishedTarget](), ""
        counts = {} if self._state.published else self._counts()
        for target in self._serving.space.indexed_targets:
            index, place = self._state.indexes[str(target)], f"target {target} of engine {self._serving.engine.address}"
            effort, recall = self._tuned(target, index) if not target.hidden else (0, None)
            if effort:
                self._state.efforts = {**self._state.efforts, str(target): effort}
            count = self._generation.count(target)
            if recall is not None and recall < RECALL and not index.effort:
                difference = f"{place} finds {recall:.1%} of the nearest of the published items, and should find all"
            if count != counts.get(target, count):
                difference = f"{place} has {count:,} items, and {counts[target]:,} were published"
            targets.append(
                PublishedTarget(target=str(target), index=index.kind, items=count, effort=effort, recall=recall)
            )
        return targets, difference

    def _tuned(self, target: Target, index: EngineIndex) -> tuple[int, float | None]:
        """Return the least effort that reaches the recall, and its recall on a sample of stored items."""
        truth = self._truth(target)
        if truth is None:
            middle = index.efforts[len(index.efforts) // 2] if index.effort else 0
            return self._state.efforts.get(str(target), middle), None
        best = 0.0
        for effort in index.efforts or (0,):
            lists = self._generation.search(target, truth.vectors, K + 1, "", effort)
            shares = [
                _share([hit.distance for hit in hits if hit.key != key], farthest)
                for key, hits, farthest in zip(truth.keys, lists, truth.distances, strict=True)
            ]
            best = float(np.mean(shares))
            if best >= RECALL:
                return effort if index.effort else 0, best
        return (index.efforts[-1] if index.effort else 0), best

    def _former(self) -> Names | None:
        """Return the other generation that the alias stands for; None if it stands for none."""
        engine, name = self._serving.engine, self._serving.bundle.name
        used, own = aliases.pointed(engine, name), self._generation.names
        others = (names for names in aliases.generations(engine, own.alias) if names != own)
        return next((names for names in others if names.items == used), None)

    def _copied(self, former: Names) -> int:
        """Copy from a former generation what servers wrote last there, unless this one has it."""
        other = replace(self._generation, names=former, targets=())
        other, count = replace(other, views=other.state().get("views", ())), 0
        for records in other.written_by_servers():
            existing = self._generation.records(record.item.key for record in records)
            newer = [record for record in records if not _is_newer(existing.get(record.item.key), record)]
            self._put([record for record in newer if not record.deleted])
            self._generation.mark_deleted([record for record in newer if record.deleted])
            count += len(newer)
        return count

    def _switch(self) -> bool:
        """Let the alias stand for the generation; then take over what servers wrote meanwhile."""
        engine, name = self._serving.engine, self._serving.bundle.name
        if aliases.pointed(engine, name) == self._generation.names.items:
            return False
        former = self._former()
        aliases.point(engine, name, self._generation.names.items)
        if former:
            self._copied(former)
        aliases.drop_former(engine, name)
        return True


def _is_newer(existing: Record | None, other: Record) -> bool:
    """Return whether a server wrote the known item after the other one."""
    return existing is not None and existing.by_server and existing.written >= other.written


def _share(distances: Sequence[float], truth: Sequence[float]) -> float:
    """Return the share of the nearest that are at most as far as the farthest true one."""
    if not truth:
        return 1.0
    most = truth[-1] * (1 + _ROUNDING) + _ROUNDING
    return min(1.0, sum(distance <= most for distance in distances[: len(truth)]) / len(truth))


def check_widths(serving: Serving) -> None:
    """Raise InvalidInputError for a view whose rows the engine cannot store."""
    for view in serving.collection.views():
        if view.name in serving.views and view.dim > WIDEST:
            raise InvalidInputError(
                f"rows of view {view.name!r} have {view.dim:,} numbers, and an engine stores at most {WIDEST:,}: "
                "publish a space without this view"
            )
