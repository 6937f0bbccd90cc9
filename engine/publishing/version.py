"""The published form of a version: the space comes from a bundle, and the items are in an engine.

Items of an engine have keys, and the search of this program has numbers for items; each request gives the keys that it
meets numbers of its own.
"""

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, fields
from itertools import compress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crossview.engine.catalog.item_pages import Shown
from crossview.engine.catalog.rows import ViewRows
from crossview.engine.catalog.words import Mask
from crossview.engine.publishing.expression import Expression, expression_of, passing, quoted
from crossview.engine.publishing.generation import Found, Generation
from crossview.engine.publishing.milvus import MOST_FOUND
from crossview.engine.publishing.records import Record, item_of
from crossview.engine.spaces.indexed import IndexedSpace
from crossview.engine.spaces.space import Vectors
from crossview.engine.spaces.target import Target
from crossview.engine.spaces.version import SearchState, Version
from crossview.engine.values.conditions.tree import Condition
from crossview.engine.values.errors import InvalidInputError, NotFoundError, few, warn_of
from crossview.engine.values.hits import TEXT_SHOWN
from crossview.engine.values.item import Item
from crossview.index.base import EXACT, Ids, Neighbors
from crossview.index.positions import Selection

_MANY = 1 << 60
"""A number of items that no engine has: searches ask for as many hits as they want."""
_SPARE = 4
"""Hits to find for each wanted one, if some are left out afterwards."""
_LISTED = 5_000
"""Keys of one expression."""


class Numbers:
    """The numbers of the items that one request meets."""

    def __init__(self) -> None:
        self._of: dict[str, int] = {}
        self.keys: list[str] = []
        """The key of each number."""

    def of(self, key: str) -> int:
        """Return the number of a key."""
        number = self._of.get(key)
        if number is None:
            number = self._of[key] = len(self.keys)
            self.keys.append(key)
        return number


@dataclass(frozen=True, kw_only=True)
class EngineSelection(Selection):
    """The items that pass a condition, as the engine and this program decide it together."""

    condition: Condition
    expression: Expression

    def passing(self, items: Sequence[Item]) -> Mask:
        """Return which of the items that the expression keeps pass, (n,)."""
        return passing(self.condition, items)


@dataclass(frozen=True, eq=False, kw_only=True)
class PublishedVersion(Version):
    """A version for one request, whose items are those of a generation in an engine."""

    generation: Generation
    numbers: Numbers = field(default_factory=Numbers)
    met: dict[str, Item] = field(default_factory=dict)
    """The items that searches found, by key."""
    records: dict[str, Record] = field(default_factory=dict)
    """The items that were read with their rows, by key."""

    @classmethod
    def over(cls, version: Version, generation: Generation) -> "PublishedVersion":
        """Return the version of a bundle with the items of a generation."""
        values = {attribute.name: getattr(version, attribute.name) for attribute in fields(Version)}
        return cls(**values | {"missing": False, "live": PublishedSearches()}, generation=generation)

    def rows(self, view: str, ids: Iterable[int]) -> ViewRows:
        """Return the rows of those of the items that have a view."""
        parts, numbers = [part.name for part in self.joined_view(view).parts], sorted(ids)
        records = self._read([self.numbers.keys[number] for number in numbers])
        having = [
            number
            for number in numbers
            if (record := records.get(self.numbers.keys[number])) is not None
            and all(part in record.rows for part in parts)
        ]
        rows = [np.concatenate([records[self.numbers.keys[number]].rows[part] for part in parts]) for number in having]
        width = self.joined_view(view).dim
        return ViewRows(np.array(having, np.int64), np.array(rows, np.float32).reshape(len(rows), width))

    def ids_of(self, keys: Iterable[str]) -> dict[str, int]:
        """Return the numbers of those of the keys that items have."""
        return {key: self.numbers.of(key) for key in self._read(list(keys))}

    def views_of(self, key: str) -> tuple[str, ...]:
        """Return the views that an item has; NotFoundError for an unknown key."""
        records = self._read([key])
        if not records:
            raise NotFoundError(f"no item {key!r} in collection {self.collection!r}")
        return tuple(records[key].rows)

    def _read(self, keys: Sequence[str]) -> dict[str, Record]:
        """Return the items of those of the keys that exist, each read once."""
        if lacking := [key for key in keys if key not in self.records]:
            self.records.update(self.generation.records(lacking, self.generation.consistency))
        return {key: self.records[key] for key in keys if key in self.records}

    def full_items(self, keys: Sequence[str]) -> Mapping[str, Item]:
        """Return the items of some keys with all that conditions ask."""
        return {key: record.item for key, record in self._read(keys).items()}

    def tested(self, keys: Sequence[str], selection: EngineSelection) -> list[str]:
        """Return those of some keys whose items pass a condition that the engine cannot decide."""
        items = self.full_items(keys)
        having = [key for key in keys if key in items]
        return list(compress(having, selection.passing([items[key] for key in having])))

    def shown(self, ids: Set[int]) -> dict[int, Shown]:
        """Return the content of items for hits."""
        keys = {number: self.numbers.keys[number] for number in ids}
        items = {key: self.met.get(key) or self.records[key].item for key in keys.values() if self._knows(key)}
        if lacking := [key for key in keys.values() if key not in items]:
            items |= self.full_items(lacking)
        return {number: _shown(items[key]) for number, key in keys.items() if key in items}

    def _knows(self, key: str) -> bool:
        return key in self.met or key in self.records

    def selection(self, only: Condition, space: IndexedSpace, target: Target) -> Selection:
        """Return the items that pass a condition; warn of what the engine cannot decide."""
        expression = expression_of(only, self.generation.engine.negates)
        if expression.inexact:
            warn_of(
                f"the engine cannot decide {few(map(repr, expression.inexact))}: hits are tested after the search, "
                "which takes longer"
            )
        return EngineSelection(np.empty(0, np.int64), self, condition=only, expression=expression)


def _shown(item: Item) -> Shown:
    import json

    attributes = json.dumps(item.attributes, ensure_ascii=False) if item.attributes else "{}"
    return Shown(item.key, item.labels, attributes, item.source, item.text[:TEXT_SHOWN])


@dataclass(frozen=True, kw_only=True)
class PublishedSpace(IndexedSpace):
    """A space whose targets are in an engine."""

    version: PublishedVersion

    @classmethod
    def over(cls, space: IndexedSpace, version: PublishedVersion) -> "PublishedSpace":
        """Return a space of a bundle, for one request."""
        values = {attribute.name: getattr(space, attribute.name) for attribute in fields(IndexedSpace)}
        return cls(**values, version=version)

    @property
    def state(self) -> SearchState:
        """All that a search of this space reads."""
        return SearchState(self.version, self)

    def searcher(self, target: Target) -> "EngineSearcher":  # type: ignore[override]  # has what searches need
        """Return the searcher of a target."""
        return EngineSearcher(self.version, target)

    def present(self, target: Target, vector: Vectors, ids: Ids, only: Selection | None) -> set[int]:
        """Return which of some ids a target has among the selected ones."""
        numbers, selection = self.version.numbers, only if isinstance(only, EngineSelection) else None
        keys = [numbers.keys[number] for number in ids.tolist()]
        held = self.version.generation.present(target, keys, selection.expression.text if selection else "")
        if selection is not None and not selection.expression.exact:
            held = set(self.version.tested(sorted(held), selection))
        return {numbers.of(key) for key in held}

    def scores(self, target: Target, ids: Ids) -> None:
        """Return no scores: an engine does not return vectors."""


class PublishedSearches:
    """The searches of published versions, see ``LiveRecall.search``: the engine has one effort for each target."""

    def search(
        self,
        indexed: PublishedSpace,
        view: str,
        recall: float,
        target: Target,
        vectors: Vectors,
        k: int,
        only: Selection | None,
    ) -> Neighbors:
        """Return the k nearest of queries of a view in a target."""
        generation = indexed.version.generation
        if recall >= 1 and not (kind := generation.indexes[str(target)]).can_be_exact:
            warn_of(f"index {kind.kind} of the engine cannot search exactly: this search has its greatest effort")
        effort = EXACT if recall >= 1 else generation.effort(target)
        return indexed.searcher(target).search(vectors, k, only, effort)


class EngineSearcher:
    """The searches of one target of a generation, see ``Searcher``."""

    def __init__(self, version: PublishedVersion, target: Target) -> None:
        self._version, self._target = version, target

    def __len__(self) -> int:
        return _MANY

    def efforts(self, k: int, share: float = 1.0) -> Sequence[int]:
        """Return no efforts: those of an engine are other numbers."""
        return ()

    def search(self, vectors: Vectors, k: int, only: Selection | None = None, effort: int = EXACT) -> Neighbors:
        """Return the k nearest items of each query among the selected ones, -1 where there are fewer."""
        if k > MOST_FOUND:
            raise InvalidInputError(f"an engine finds at most {MOST_FOUND:,} hits, not {k:,}: lower k")
        selection = only if isinstance(only, EngineSelection) else None
        if selection is None or selection.expression.exact:
            text = "" if selection is None else selection.expression.text
            lists = self._version.generation.search(self._target, vectors, k, text, effort)
        else:
            lists = [self._tested(vector[None], k, selection, effort) for vector in vectors]
        return self._neighbors(lists, k)

    def _tested(self, vector: NDArray[Any], k: int, selection: EngineSelection, effort: int) -> list[Found]:
        """Return the k nearest items that pass a condition that the engine cannot decide.

        It tests ever more hits and, if most items do not pass, finds those that pass first.
        """
        generation, limit = self._version.generation, _SPARE * k
        while limit <= MOST_FOUND:
            (hits,) = generation.search(self._target, vector, limit, selection.expression.text, effort)
            passed = set(self._version.tested([hit.key for hit in hits], selection))
            if len(passed) >= k or len(hits) < limit:
                return [hit for hit in hits if hit.key in passed][:k]
            limit *= _SPARE
        keys = list[str]()
        for page in generation.every_record(selection.expression.text):
            items = [record.item for record in page]
            keys += [item.key for item in compress(items, selection.passing(items))]
        nearest = list[Found]()
        for first in range(0, len(keys), _LISTED):
            listed = f"key in [{', '.join(map(quoted, keys[first : first + _LISTED]))}]"
            (hits,) = generation.search(self._target, vector, k, listed, effort)
            nearest = sorted([*nearest, *hits], key=lambda hit: hit.distance)[:k]
        return nearest

    def _neighbors(self, lists: Sequence[Sequence[Found]], k: int) -> Neighbors:
        width = max(map(len, lists), default=0)
        ids = np.full((len(lists), width), -1, np.int64)
        distances = np.full((len(lists), width), np.inf, np.float32)
        for row, hits in enumerate(lists):
            for place, hit in enumerate(hits):
                ids[row, place], distances[row, place] = self._version.numbers.of(hit.key), hit.distance
                if not self._target.hidden:
                    self._version.met[hit.key] = item_of(hit.row)
        return Neighbors(ids, distances)
