"""A published collection: the methods that search and change the items in an engine, with what a bundle knows."""

import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence, Set
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NoReturn, Self, TypeVar, Unpack

import numpy as np
from numpy.typing import NDArray

from crossview.engine.publishing import aliases
from crossview.engine.publishing.milvus import Milvus
from crossview.engine.publishing.object_storage import ObjectStorage
from crossview.engine.publishing.placing import placed
from crossview.engine.publishing.records import Record
from crossview.engine.publishing.serving import Serving, current_bundle
from crossview.engine.publishing.source import records_of
from crossview.engine.publishing.suggesting import suggest
from crossview.engine.publishing.version import PublishedSpace
from crossview.engine.spaces.arranging import is_arranged
from crossview.engine.spaces.item_vectors import embed
from crossview.engine.spaces.search import answer, check_queries, check_search, no_targets, searched_targets
from crossview.engine.spaces.space import Space
from crossview.engine.spaces.target import on_common_scale
from crossview.engine.spaces.thresholds import checked_pairs, same
from crossview.engine.values.errors import EngineUnavailableError, InvalidInputError, NotFoundError
from crossview.engine.values.hits import HitLists
from crossview.engine.values.info import CollectionInfo, SpaceInfo
from crossview.engine.values.item import Failure, ImportReport, Item, ItemUpdate, NewItem, one_or_several
from crossview.engine.values.query import (
    Embedding,
    HitList,
    OneQuery,
    Query,
    SameRequest,
    SearchRequest,
    Suggestions,
    SuggestRequest,
    Verdict,
    request_of,
)
from crossview.engine.values.strategy import Nearest
from crossview.features.pictures import IN_PROCESS, Pictures

T = TypeVar("T")
_log = logging.getLogger(__name__)
_LOOK_EVERY = 1.0
"""Seconds between two looks at the alias."""
_LAST_CALLS = 60.0
"""Seconds that the calls of a former generation have to end."""


class PublishedCollection:
    """A collection that was published to an engine. Several threads, and several servers, can use it at once.

    It follows the alias of the collection: within seconds of a new publication, it answers from the new generation.
    """

    name: str

    def __init__(self, name: str, storage: ObjectStorage, engine: Milvus, pictures: Pictures = IN_PROCESS) -> None:
        """Open the generation in use. Raises NotReadyError if nothing is published, and the errors of ``Serving``."""
        self.name, self._storage, self._engine, self._pictures = name, storage, engine, pictures
        self._serving = self._opened(current_bundle(engine, name))
        self.memory = self
        """The collection itself: opening a generation loads all that a server needs."""
        self.items: PublishedItems = PublishedItems(self)
        """The items."""
        self._changing = threading.Condition()
        self._users: dict[int, int] = {}
        self._ended = threading.Event()
        self._follower = threading.Thread(target=self._follow, name=f"alias of {name}", daemon=True)
        self._follower.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the calls, and remove what was fetched."""
        self._ended.set()
        self._follower.join()
        self._serving.close()

    def load(self) -> None:
        """Load what the first request needs: opening has done so."""

    @property
    def bundle(self) -> str:
        """The path of the bundle in use, below the address of all bundles."""
        return self._serving.bundle.folder

    def info(self) -> CollectionInfo:
        """Return the description of the collection: that of the bundle, with the number of items of the engine."""
        with self.using() as serving:
            return replace(serving.collection.info(), items=serving.in_use.count())

    def spaces(self) -> tuple[SpaceInfo, ...]:
        """Return the published space."""
        with self.using() as serving:
            return (serving.collection.spaces.get(serving.bundle.space),)

    def open_pages(self, request: SearchRequest) -> NoReturn:
        """Raise InvalidInputError: an engine has no pages."""
        raise InvalidInputError("a published collection has no pages: leave page_size out, and ask for k hits")

    def count(self) -> int:
        """Return the number of items."""
        with self.using() as serving:
            return serving.in_use.count()

    def search(self, request: SearchRequest | None = None, **query: Unpack[OneQuery]) -> list[HitList]:
        """Return the k nearest items of every query in every target, as ``Collection.search``.

        Raises InvalidInputError for what an engine cannot do, such as fusions, groups, sorted lists and scores.
        """
        request = request_of(request, query)
        check_search(request)
        _check_possible(request)

        def answered(_: Serving, indexed: PublishedSpace) -> list[HitList]:
            _check_merged(request, indexed.space)
            return answer(indexed.state, request)

        return HitLists(self._answered(request.space, searched_targets(request), answered))

    def embed(self, queries: Sequence[Query], *, targets: Sequence[str] = (), space: str = "") -> list[Embedding]:
        """Return the vector of every query for every target, as ``Collection.embed``."""
        check_queries(queries)
        return self._answered(
            space,
            no_targets(queries),
            lambda _, indexed: embed(indexed.state, queries, one_or_several(targets)),
        )

    def same(self, request: SameRequest) -> list[Verdict | Failure]:
        """Return whether the two queries of each pair are the same, as ``Collection.same``."""
        check_queries(request.queries)
        return self._answered(
            request.space,
            checked_pairs(request),
            lambda _, indexed: same(indexed.state, request),
        )

    def suggest(self, request: SuggestRequest) -> Suggestions:
        """Return labels for every query, by vote of the nearest labelled items, as ``Collection.suggest``.

        Raises InvalidInputError for a query without a view: an engine makes no list of all views.
        """
        if not all(query.view for query in request.queries):
            raise InvalidInputError("items of a published collection vote in one view: give each query its view")
        return self._answered(
            request.space,
            no_targets(request.queries),
            lambda serving, indexed: suggest(indexed, serving.votes, request),
        )

    def _answered(self, space: str, targets_of: Any, make: Callable[..., T]) -> T:
        with self.using() as serving:
            return serving.answered(space, targets_of, lambda indexed: make(serving, indexed))

    @contextmanager
    def using(self) -> Iterator[Serving]:
        """Give the generation in use, which stays usable during the block, even if another one replaces it."""
        with self._changing:
            serving = self._serving
            self._users[id(serving)] = self._users.get(id(serving), 0) + 1
        try:
            yield serving
        finally:
            with self._changing:
                self._users[id(serving)] -= 1
                self._changing.notify_all()

    def _opened(self, folder: str) -> Serving:
        serving = Serving(self._storage, folder, self._engine, self._pictures)
        try:
            serving.warm_up()
        except BaseException:
            serving.close()
            raise
        return serving

    def _follow(self) -> None:
        """Look at the alias from time to time, and go over to another generation once it is ready to answer."""
        failing = False
        while not self._ended.wait(_LOOK_EVERY):
            try:
                self._go_over()
                failing = False
            except Exception:  # noqa: BLE001 - whatever it is, look again
                if not failing:
                    _log.warning("%r still answers from bundle %s", self.name, self.bundle, exc_info=True)
                failing = True

    def _go_over(self) -> None:
        """Open the generation that the alias stands for, unless it is in use, and answer from it."""
        folder = current_bundle(self._engine, self.name)
        if folder == self._serving.bundle.folder:
            return
        new = self._opened(folder)
        with self._changing:
            former, self._serving = self._serving, new
            self._changing.notify_all()
            self._wait_for_calls(former)
        former.close()

    def await_successor(self, former: Serving) -> None:
        """Wait until another generation answers; EngineUnavailableError if it takes too long."""
        with self._changing:
            if not self._changing.wait_for(lambda: self._serving is not former, _LAST_CALLS):
                raise EngineUnavailableError(f"collection {self.name!r} goes over to another generation: try again")

    def _wait_for_calls(self, former: Serving) -> None:
        """Wait until no call uses a former generation; the caller holds the lock."""
        self._changing.wait_for(lambda: not self._users.get(id(former)), _LAST_CALLS)
        self._users.pop(id(former), None)


def _check_possible(request: SearchRequest) -> None:
    """Raise InvalidInputError for a search that needs all items in memory."""
    reason = "a published collection is searched by its engine, which cannot"
    strategy = request.strategy
    if not isinstance(strategy, Nearest):
        raise InvalidInputError(f"{reason} score all items: leave out weights, moves, combine and lists by score")
    if strategy.fuse or any(not query.view for query in request.queries):
        raise InvalidInputError(f"{reason} fuse targets: name the view of each query, and leave out fuse")
    if strategy.sort_by or is_arranged(request, ()):
        raise InvalidInputError(f"{reason} group or sort hits: leave out per, diversity and sort_by")
    if request.filter.axes:
        raise InvalidInputError(f"{reason} compare scores: leave score conditions out")
    if request.feedback:
        raise InvalidInputError(f"{reason} know feedback, which the collection has: leave it out")


def _check_merged(request: SearchRequest, space: Space) -> None:
    """Raise InvalidInputError for lists that are to be merged without a common scale, which fuses them."""
    merged = isinstance(request.strategy, Nearest) and request.strategy.merge
    for view in {query.view for query in request.queries} if merged else ():
        targets = space.targets_for(view, request.strategy.names)
        if not on_common_scale(targets):
            raise InvalidInputError(
                f"targets {', '.join(map(str, targets))} have no common scale, so that an engine cannot merge their "
                "lists: leave out merge"
            )


class PublishedItems:
    """The items of a published collection.

    A write puts the items as they are and the change together in the collection on the desk, which has the views, the
    checks and the rules of every collection, and sends the result to the engine. It returns when searches find it. Two
    servers that change one item at the same moment leave the later change.
    """

    def __init__(self, collection: PublishedCollection) -> None:
        self._collection = collection

    def get(self, key: str) -> Item:
        """Return one item; NotFoundError if the key does not exist."""
        with self._collection.using() as serving:
            records = serving.in_use.records([key], serving.in_use.consistency)
        if key not in records:
            raise NotFoundError(f"no item {key!r} in collection {self._collection.name!r}")
        return records[key].item

    def put(self, items: Sequence[NewItem], workers: int = 1) -> ImportReport:
        """Add or update items by key, as ``Collection.items.put``."""
        return self._changed(
            [item.key for item in items], lambda serving: serving.desk.items.put(list(items), workers=workers)
        )

    def update(self, updates: Sequence[ItemUpdate], match_paths: bool = False) -> ImportReport:
        """Change labels, attributes and texts of existing items, as ``Collection.items.update``."""
        if match_paths:
            raise InvalidInputError("a published collection knows items by their keys: leave match_paths out")
        keys = [update.key for update in updates]
        return self._changed(keys, lambda serving: serving.desk.items.update(list(updates)))

    def put_vectors(self, view: str, keys: Sequence[str], rows: NDArray[np.float32]) -> ImportReport:
        """Store (n, d) rows as rows of a view of the items with these keys; missing items are created."""
        keys = one_or_several(keys)
        return self._changed(keys, lambda serving: serving.desk.items.put_vectors(view, keys, rows))

    def delete(self, keys: Sequence[str]) -> int:
        """Delete items by key; return the number of deleted items."""

        def deleted(serving: Serving) -> int:
            records = serving.in_use.records(one_or_several(keys))
            now = time.time_ns()
            serving.in_use.mark_deleted([replace(record, written=now, by_server=True) for record in records.values()])
            serving.in_use.settle()
            return len(records)

        return self._kept(deleted)

    def _changed(self, keys: Sequence[str], change: Callable[[Serving], ImportReport]) -> ImportReport:
        def changed(serving: Serving) -> ImportReport:
            desk = serving.desk
            records = serving.in_use.records(keys)
            desk.items.put([_as_new(record) for record in records.values()])
            try:
                return self._sent(serving, change(serving), records.keys())
            finally:
                desk.items.delete(desk.items.keys())

        return self._kept(changed)

    def _kept(self, write: Callable[[Serving], T]) -> T:
        """Return the outcome of a write; make it again if another generation replaced the one that it went to.

        A publication first moves the alias and then copies what servers wrote before. So a write after which the alias
        stands for its generation is copied, and any other write must be made in the new generation as well.
        """
        outcomes = list[T]()
        while True:
            with self._collection.using() as serving:
                with serving.writing:
                    outcomes.append(write(serving))
                if aliases.pointed(serving.engine, serving.bundle.name) in ("", serving.in_use.names.items):
                    return outcomes[0]
            self._collection.await_successor(serving)

    def _sent(self, serving: Serving, report: ImportReport, known_keys: Set[str]) -> ImportReport:
        """Send the items on the desk to the engine, and wait until searches find them; return what was done."""
        with serving.desk.opened.read() as tx:
            records = records_of(tx, sorted(tx.items.keys()), serving.views)
        now = time.time_ns()
        written, failures = serving.in_use.storable([replace(row, written=now, by_server=True) for row in records])
        if written:
            serving.in_use.put(written, placed(serving.space, serving.parts, written))
            serving.in_use.settle()
        changed = sum(failure.key in known_keys for failure in failures)
        return replace(
            report,
            added=report.added - len(failures) + changed,
            updated=report.updated - changed,
            failures=(*report.failures, *failures),
        )


def _as_new(record: Record) -> NewItem:
    item = record.item
    return NewItem(
        item.key,
        rows=record.rows,
        labels=item.labels,
        attributes=item.attributes,
        source=item.source,
        text=item.text or None,
        notion_labels=item.notion_labels,
    )
