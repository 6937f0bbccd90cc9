"""A generation in its engine: a collection of the engine with the items, and one for each target."""

import base64
import hashlib
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from crossview.engine.publishing.expression import quoted
from crossview.engine.publishing.index_kinds import EngineIndex
from crossview.engine.publishing.milvus import MOST_FOUND, Milvus
from crossview.engine.publishing.records import (
    BY_SERVER,
    DELETED,
    FLOATS,
    Fields,
    Record,
    item_fields,
    item_row,
    record_of,
    shown_fields,
    shown_row,
    target_fields,
    target_row,
)
from crossview.engine.runtime.cancellation import checkpoint
from crossview.engine.spaces.target import Target
from crossview.engine.values.errors import InvalidInputError
from crossview.engine.values.item import Failure, Item
from crossview.index.base import EXACT

T = TypeVar("T")
_PREFIX, _OF_ITEMS = "cv_", "_items"
_STATE = ""
"""The key of the row that describes the state of a generation; no item has an empty key."""
_ITEMS, _LIVE = f'key != "{_STATE}"', f"{DELETED} == false"
_BYTES_AT_ONCE = 8 << 20
_ROWS_AT_ONCE, _QUERIES_AT_ONCE, _KEYS_AT_ONCE = 1_000, 100, 1_000
_WRITING, _LOOK_EVERY = 600.0, 0.5
"""Seconds that the engine may take to write a collection, and between two looks at the building of indexes."""
_ITEM = 300
"""Bytes of a row of the engine besides its vector, roughly."""
Placed = Mapping[str, NDArray[Any]]
"""The vectors of items in a target, by key: floats, or codes as the indexes of this program store them."""


class Names(NamedTuple):
    """The names that a published collection has in the engine, which takes letters, digits and underscores."""

    alias: str
    """The name that stands for the generation in use."""
    prefix: str
    """The beginning of the names of one generation."""

    @classmethod
    def of(cls, name: str, digest: str) -> "Names":
        """Return the names of a published collection and the digest of its bundle."""
        alias = alias_of(name)
        return cls(alias, f"{alias}_{digest[:12]}")

    @classmethod
    def of_items(cls, collection: str) -> "Names":
        """Return the names of the generation whose items are in a collection of the engine."""
        prefix = collection.removesuffix(_OF_ITEMS)
        return cls(prefix.rpartition("_")[0], prefix)

    @property
    def items(self) -> str:
        """The collection of the engine with the items of the generation; the alias stands for it."""
        return f"{self.prefix}{_OF_ITEMS}"

    def target(self, place: int) -> str:
        """Return the collection of the engine with a target, by its place among the targets of the space."""
        return f"{self.prefix}_t{place}"


def drop(engine: Milvus, names: Names) -> None:
    """Remove a generation from the engine, its items last."""
    own = [name for name in engine.call("list_collections") if name.startswith(f"{names.prefix}_")]
    for name in sorted(own, key=lambda name: name == names.items):
        engine.call("drop_collection", name)


def alias_of(name: str) -> str:
    """Return the alias of a published collection in the engine; names that differ have different aliases."""
    plain = re.sub(r"[^A-Za-z0-9]", "_", name)
    return _PREFIX + (plain if plain == name else f"{plain[:100]}_{hashlib.sha256(name.encode()).hexdigest()[:8]}")


class Found(NamedTuple):
    """An item that a search finds."""

    key: str
    distance: float
    row: Mapping[str, Any]
    """The fields of ``shown_fields``."""


@dataclass(frozen=True, kw_only=True)
class Generation:
    """The items of one bundle in an engine. Writes replace rows by key, so every call can be repeated.

    Methods raise EngineUnavailableError, EngineFullError, and NotReadyError if the engine refuses a call.
    """

    engine: Milvus
    names: Names
    views: Sequence[str]
    """The single views whose rows are stored."""
    targets: Sequence[Target]
    """The targets of the space, with the hidden ones."""
    indexes: Mapping[str, EngineIndex]
    """The index of each target, by its name."""
    rerank: int = 0
    """Candidates for each wanted hit, of codes that float vectors put in order."""
    consistency: str = "Bounded"
    """How fresh the answers of searches are; writes wait until a search can find them."""
    efforts: Mapping[str, int] = field(default_factory=dict)
    """The effort of searches in each target, by its name; exact ones without it."""

    def effort(self, target: Target) -> int:
        """Return the effort of searches in a target."""
        return self.efforts.get(str(target), EXACT)

    def make(self, description: str) -> None:
        """Make the collections of the engine that do not exist, with their indexes; ``description`` is of the items."""
        flat = EngineIndex("flat", "FLAT", "L2", {})
        specs: list[tuple[str, Fields, EngineIndex, str]] = [
            (self._of(target), target_fields(target), self.indexes[str(target)], str(target)) for target in self.targets
        ]
        specs.append((self.names.items, item_fields(self.views), flat, description))
        _at_once(lambda spec: self._make(*spec), specs)

    def _make(self, name: str, fields: Fields, index: EngineIndex, description: str) -> None:
        if not self.engine.call("has_collection", name):
            schema = self.engine.schema(fields, description)
            self.engine.call("create_collection", name, schema=schema, consistency_level=self.consistency)
        if not self.engine.call("list_indexes", name):  # an interrupted call leaves a collection without
            index_params = self.engine.index("vector", index.type, index.metric, index.parameters)
            self.engine.call("create_index", name, index_params=index_params)

    def _of(self, target: Target) -> str:
        return self.names.target(list(self.targets).index(target))

    @cached_property
    def _collections(self) -> Sequence[str]:
        return (self.names.items, *(self._of(target) for target in self.targets))

    def load(self) -> None:
        """Let the engine load what is not in its memory."""
        _at_once(self.engine.load, self._collections)

    def build_indexes(self) -> None:
        """Wait until the engine has built the indexes over all items, so that searches are as quick as they will be."""
        if self.engine.address.is_file:
            return
        for name in self._collections:
            self.engine.call("flush", name, seconds=_WRITING)
        for name in self._collections:
            while self.engine.call("describe_index", name, "vector").get("pending_index_rows", 0):
                checkpoint()
                time.sleep(_LOOK_EVERY)

    def put(self, records: Sequence[Record], placed: Mapping[Target, Placed], new: bool = False) -> None:
        """Write items, and their vectors by target; an item without a vector leaves the target, if it is not ``new``.

        The items are written first, so that whatever a target finds is known.
        """
        self._upsert(self.names.items, [item_row(record, self.views) for record in records])
        for target in self.targets:
            vectors = placed.get(target, {})
            items = [record.item for record in records]
            rows = [target_row(item, target, vectors[item.key]) for item in items if item.key in vectors]
            self._upsert(self._of(target), rows)
            if not new:
                self._delete(self._of(target), [item.key for item in items if item.key not in vectors])

    def storable(self, records: Sequence[Record]) -> tuple[list[Record], list[Failure]]:
        """Return the items that the engine can store, and the reasons why it cannot store the others."""
        accepted, failures = list[Record](), list[Failure]()
        for record in records:
            try:
                self._check_key(record.item.key)
                shown_row(record.item)
                accepted.append(record)
            except InvalidInputError as error:
                failures.append(Failure(record.item.key, str(error)))
        return accepted, failures

    def _check_key(self, key: str) -> None:
        """Raise InvalidInputError for a key that the engine cannot store; Milvus Lite writes keys into SQL unquoted."""
        quoted(key)
        if self.engine.address.is_file and "'" in key:
            raise InvalidInputError(f"Milvus Lite cannot store {key!r}, because of the apostrophe: use a Milvus server")

    def _can_have(self, key: str) -> bool:
        try:
            self._check_key(key)
        except InvalidInputError:
            return False
        return True

    def delete(self, keys: Sequence[str]) -> None:
        """Delete the items that exist among some keys."""
        keys = list(filter(self._can_have, keys))
        self._leave_targets(keys)
        self._delete(self.names.items, keys)

    def mark_deleted(self, records: Sequence[Record]) -> None:
        """Delete items such that the next generation does not get them from the catalog again."""
        self._leave_targets([record.item.key for record in records])
        self._upsert(self.names.items, [item_row(replace(record, deleted=True), self.views) for record in records])

    def _leave_targets(self, keys: Sequence[str]) -> None:
        for target in self.targets:
            self._delete(self._of(target), keys)

    def settle(self) -> None:
        """Wait until searches find every write that was acknowledged, on any server of the engine."""
        if self.engine.address.is_file:
            return
        _at_once(lambda name: self._query(name, [_STATE], ["key"], "Strong"), self._collections)

    def records(self, keys: Iterable[str], consistency: str = "Strong") -> dict[str, Record]:
        """Return the items of some keys, by default as they are after every write of every program."""
        records = dict[str, Record]()
        for some in _batches(list(filter(self._can_have, dict.fromkeys(keys))), _KEYS_AT_ONCE):
            for row in self._query(self.names.items, some, ["*"], consistency, _LIVE):
                records[row["key"]] = record_of(row, self.views)
        return records

    def every_record(self, expression: str = "") -> Iterator[list[Record]]:
        """Yield the items that fulfil an expression, some at a time, in any order."""
        yield from self._pages(_and(_ITEMS, _LIVE, expression))

    def written_by_servers(self) -> Iterator[list[Record]]:
        """Yield the items that servers wrote last, some at a time, with those that they deleted."""
        yield from self._pages(_and(_ITEMS, f"{BY_SERVER} == true"))

    def _pages(self, expression: str) -> Iterator[list[Record]]:
        for page in self.engine.pages(self.names.items, expression, self._fields(["*"]), _KEYS_AT_ONCE):
            yield [record_of(row, self.views) for row in page]

    def count(self, target: Target | None = None) -> int:
        """Return the number of items, or of those in a target."""
        name = self.names.items if target is None else self._of(target)
        text = _and(_ITEMS, _LIVE) if target is None else _ITEMS
        rows = self.engine.call("query", name, filter=text, output_fields=["count(*)"], consistency_level="Strong")
        return int(rows[0]["count(*)"])

    def present(self, target: Target, keys: Sequence[str], expression: str = "") -> set[str]:
        """Return which of some keys a target has, among those that fulfil an expression."""
        return {row["key"] for row in self._query(self._of(target), keys, ["key"], self.consistency, expression)}

    def state(self) -> dict[str, Any]:
        """Return the state of the generation, {} for a new one."""
        rows = self._query(self.names.items, [_STATE], ["attributes"], "Strong")
        return dict(rows[0]["attributes"]) if rows else {}

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Replace the state of the generation."""
        row = item_row(Record(item=Item("x", attributes=state)), self.views)
        self._upsert(self.names.items, [{**row, "key": _STATE}])

    def search(
        self, target: Target, vectors: NDArray[Any], k: int, expression: str = "", effort: int = EXACT
    ) -> list[list[Found]]:
        """Return the k nearest items of each vector, as the indexes of this program store them, (n, width).

        Distances are Euclidean or numbers of bits. Codes with float vectors are put in order by these.
        """
        lists = list[list[Found]]()
        limit = min(MOST_FOUND, k * max(1, self.rerank) if target.floats else k)
        for some in _batches(list(vectors), _QUERIES_AT_ONCE):
            lists += self._search(target, some, limit, expression, effort)
        if target.floats:
            return [self._reordered(target, vector, hits)[:k] for vector, hits in zip(vectors, lists, strict=True)]
        return lists

    def _search(
        self, target: Target, vectors: Sequence[NDArray[Any]], k: int, expression: str, effort: int
    ) -> list[list[Found]]:
        index = self.indexes[str(target)]
        data = [row[: target.code_bytes].tobytes() if target.codes else row.astype(np.float32) for row in vectors]
        lists = self.engine.call(
            "search",
            self._of(target),
            data,
            filter=expression,
            limit=k,
            output_fields=[*shown_fields(target), *([FLOATS] if target.floats else [])],
            search_params={"metric_type": index.metric, "params": index.parameters_of_search(effort, k)},
            consistency_level=self.consistency,
        )
        return [[_found(hit, target) for hit in hits] for hits in lists]

    def _reordered(self, target: Target, vector: NDArray[Any], hits: Sequence[Found]) -> list[Found]:
        """Return hits in the order of the distances of their float vectors."""
        if not hits:
            return []
        own = np.frombuffer(vector[target.code_bytes :].tobytes(), np.float32)
        floats = np.stack([np.frombuffer(base64.b64decode(hit.row[FLOATS]), np.float32) for hit in hits])
        distances = np.sqrt(((floats.astype(np.float64) - own) ** 2).sum(axis=1))
        return [hits[at]._replace(distance=float(distances[at])) for at in np.argsort(distances, kind="stable")]

    def _query(
        self, name: str, keys: Sequence[str], fields: Sequence[str], consistency: str, expression: str = ""
    ) -> list[Mapping[str, Any]]:
        if not keys:
            return []
        condition = _and(f"key in {_listed(keys)}", expression)
        return list(
            self.engine.call(
                "query",
                name,
                filter=condition,
                output_fields=self._fields(fields),
                limit=min(MOST_FOUND, len(keys)),
                consistency_level=consistency,
            )
        )

    def _fields(self, fields: Sequence[str]) -> list[str]:
        """Return the named fields, or all but the vector, which Milvus Lite cannot return for codes."""
        return [name for name in item_fields(self.views) if name != "vector"] if fields == ["*"] else list(fields)

    def _upsert(self, name: str, rows: Sequence[Mapping[str, Any]]) -> None:
        for some in _batches(list(rows), self._rows_at_once):
            self.engine.call("upsert", name, [dict(row) for row in some])

    def _delete(self, name: str, keys: Sequence[str]) -> None:
        for some in _batches(list(keys), _KEYS_AT_ONCE):
            self.engine.call("delete", name, filter=f"key in {_listed(some)}")

    @cached_property
    def _rows_at_once(self) -> int:
        widest = max((4 * target.dim for target in self.targets), default=0)
        return max(1, min(_ROWS_AT_ONCE, _BYTES_AT_ONCE // (_ITEM + 2 * widest * max(1, len(self.views)))))


def _at_once(work: Callable[[T], object], values: Sequence[T]) -> None:
    """Call a function for several values at the same time; the engine takes up to seconds for each."""
    with ThreadPoolExecutor(len(values)) as threads:
        for _ in threads.map(work, values):
            pass


def _found(hit: Mapping[str, Any], target: Target) -> Found:
    distance = float(hit["distance"])
    row = hit["entity"]
    return Found(row["key"], distance if target.codes else float(np.sqrt(max(0.0, distance))), row)


def _and(*expressions: str) -> str:
    """Return the conjunction of expressions; an empty one keeps everything."""
    return " and ".join(f"({expression})" for expression in expressions if expression)


def _listed(keys: Sequence[str]) -> str:
    """Return keys as a list of an expression."""
    return f"[{', '.join(map(quoted, keys))}]"


def _batches(values: Sequence[Any], size: int) -> Iterator[Sequence[Any]]:
    for first in range(0, len(values), size):
        yield values[first : first + size]
