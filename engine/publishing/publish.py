"""Publishing: a bundle to object storage, the items to an engine, then one change of an alias.

Blue and green: the new generation is filled and checked beside the one in use. Every step can be repeated, so the same
call finishes an interrupted publication, and does nothing for one that is finished.
"""

import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path

import numpy as np

from crossview.engine.collection import Collection
from crossview.engine.errors import InvalidInputError, NotReadyError
from crossview.engine.item import Failure
from crossview.engine.publishing import aliases
from crossview.engine.publishing.bundle import make_bundle, upload
from crossview.engine.publishing.generation import Generation, Names
from crossview.engine.publishing.index_kinds import EngineIndex
from crossview.engine.publishing.object_storage import ObjectStorage
from crossview.engine.publishing.placing import placed
from crossview.engine.publishing.publication import Publication, PublishedTarget, PublishRequest
from crossview.engine.publishing.records import WIDEST, Record
from crossview.engine.publishing.serving import Serving, described
from crossview.engine.publishing.source import changed_since, ids_after, records_of
from crossview.engine.publishing.suggesting import calibrations
from crossview.engine.query import Query, SearchRequest
from crossview.engine.runtime.cancellation import checkpoint
from crossview.engine.runtime.progress import Progress
from crossview.engine.spaces.indexed import IndexedSpace
from crossview.engine.spaces.target import Target
from crossview.engine.spaces.version import Version

RECALL = 0.99
_SAMPLE, _K = 50, 10
"""Items whose answers are compared with those of the embedded indexes, and hits of each."""
_ROUNDS = 5
"""Comparisons with a collection that changes meanwhile."""
_ROUNDING = 1e-3
_CHUNKS = 20
"""Chunks of items between two notes of the state."""


def publish(collection: Collection, request: PublishRequest, progress: Progress | None = None) -> Publication:
    """Publish a space of a collection; the same call continues an interrupted publication.

    Raises InvalidInputError (name, kind of index, rows too wide for the engine), NotFoundError (space), NotReadyError
    (nothing to publish, answers that differ from the embedded ones, an engine that refuses), EngineUnavailableError,
    EngineFullError, StorageError.
    """
    began, storage = time.monotonic(), ObjectStorage(request.to)
    with tempfile.TemporaryDirectory(prefix="crossview-bundle-") as made:
        folder, name = Path(made), request.name or collection.name
        bundle = make_bundle(collection.opened.folder, request.space, name, folder, partial(calibrations, collection))
        found = Publication(
            name=name,
            space=bundle.space,
            generation=bundle.generation,
            bundle=f"{storage}/{bundle.folder}",
            items=collection.count(),
            sequence=bundle.sequence,
        )
        if not request.dry_run:
            upload(bundle, folder, storage)
        elif request.engine is None:
            return found
    if request.engine is None:
        return replace(found, seconds=time.monotonic() - began)
    if request.dry_run:
        return _planned(collection, request, found)
    with closing(Serving(storage, bundle.folder, request.engine)) as serving:
        _check_widths(serving)
        filled = Filling(collection, serving, request.index, progress).filled()
        return replace(filled.into(found), seconds=time.monotonic() - began)


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
    """The id up to which all items were reached."""
    efforts: Mapping[str, int] = field(default_factory=dict)
    published: float = 0.0
    """When it was complete, in seconds since 1970; 0 before."""

    def to_json(self) -> dict[str, object]:
        """Return the state as JSON values."""
        return {**asdict(self), "indexes": {name: one._asdict() for name, one in self.indexes.items()}}


class Filling:
    """Fills the generation of a bundle from a catalog, and lets the alias stand for it."""

    def __init__(self, collection: Collection, serving: Serving, index: str, progress: Progress | None = None) -> None:
        self._opened, self._collection = collection.opened, collection
        self._serving, self._progress = serving, progress
        self._failures: list[Failure] = []
        self._generation, self._state = self._begun(index)

    def filled(self) -> Filled:
        """Fill, check and switch; return what was done."""
        while not self._state.published and self._next_chunks():
            checkpoint()
        checked = self._checked_targets()
        self._state.published = self._state.published or time.time()
        self._note()
        kept, switched = self._take_over(), self._switch()
        counts = {str(target): self._generation.count(target) for target in self._serving.space.indexed_targets}
        return Filled(
            items=self._generation.count(),
            targets=tuple(replace(one, items=counts[one.target]) for one in checked),
            failures=tuple(self._failures),
            kept=kept,
            switched=switched,
            sequence=self._state.sequence,
        )

    def _begun(self, index: str) -> tuple[Generation, State]:
        """Return the generation in the engine and its state, begun now or before."""
        serving = self._serving
        with self._opened.read() as tx:
            indexes, sequence = serving.indexes(index, tx.items.count()), tx.sequence()
        made = serving.generation(indexes)
        made.make(described(serving.bundle))
        made.load()
        if stored := made.state():
            stored["indexes"] = {name: EngineIndex(**one) for name, one in stored["indexes"].items()}
            state = State(**stored)
            return replace(made, indexes=state.indexes, efforts=state.efforts), state
        state = State(indexes, list(serving.views), sequence)
        made.set_state(state.to_json())
        return made, state

    def _next_chunks(self) -> bool:
        """Write the next items, and note how far the filling is; return whether there were any."""
        for _ in range(_CHUNKS):
            with self._opened.read() as tx:
                ids, total = ids_after(tx, self._state.after), tx.items.last_id()
                records = records_of(tx, ids, self._serving.views)
            if not ids:
                return False
            self._put(records, new=True)
            self._state.after = ids[-1]
            if self._progress is not None:
                self._progress("publishing", ids[-1], total)
        self._note()
        return True

    def follow(self) -> int:
        """Send the changes of the catalog since the last call; return how many items changed."""
        count = 0
        while True:
            with self._opened.read() as tx:
                changed = changed_since(tx, self._state.sequence)
                if changed.sequence == self._state.sequence:
                    return count
                known = set(tx.items.sorted_keys()) if not changed.whole else set()
            gone = list(changed.gone) if changed.whole else self._unknown(known)
            self._generation.delete(gone)
            for first in range(0, len(changed.live), 1_000):
                checkpoint()
                with self._opened.read() as tx:
                    records = records_of(tx, changed.live[first : first + 1_000], self._serving.views)
                self._put(records)
            count += len(gone) + len(changed.live)
            self._state.sequence = changed.sequence
            self._note()

    def _unknown(self, known: set[str]) -> list[str]:
        """Return the keys in the engine that the catalog does not have, but for those that servers wrote."""
        pages = self._generation.every_record()
        return [one.item.key for page in pages for one in page if not one.by_server and one.item.key not in known]

    def _put(self, records: Sequence[Record], new: bool = False) -> None:
        storable, failures = self._generation.storable(records)
        self._failures += failures
        serving = self._serving
        if storable:
            self._generation.put(storable, placed(serving.space, serving.parts, storable), new)

    def _note(self) -> None:
        self._generation.set_state(self._state.to_json())

    def _checked_targets(self) -> tuple[PublishedTarget, ...]:
        """Send later changes, and return the targets; NotReadyError if they answer otherwise than the collection.

        While the collection changes, the answers can differ, and are compared again.
        """
        targets = list[PublishedTarget]()
        for _ in range(_ROUNDS):
            self.follow()
            self._generation.settle()
            targets, difference = self._compared_targets()
            if not difference or self._state.published:  # later, servers have written into the targets
                break
            if self._is_current():
                raise NotReadyError(f"{difference}: publish it again")
        return tuple(targets)

    def _compared_targets(self) -> tuple[list[PublishedTarget], str]:
        """Return the targets with their number of items and their recall, and a difference to the collection or ""."""
        found, counts, difference = list[PublishedTarget](), self._counts(), ""
        for target in self._serving.space.indexed_targets:
            index, place = self._state.indexes[str(target)], f"target {target} of engine {self._serving.engine.address}"
            effort, recall = self._tuned(target, index) if not target.hidden else (0, None)
            if effort:
                self._state.efforts = {**self._state.efforts, str(target): effort}
            count = self._generation.count(target)
            if recall is not None and recall < RECALL and not index.effort:
                difference = f"{place} finds {recall:.1%} of the nearest items of this collection, and should find all"
            if count != counts[target]:
                difference = f"{place} has {count:,} items, and this collection {counts[target]:,}"
            found.append(
                PublishedTarget(target=str(target), index=index.kind, items=count, effort=effort, recall=recall)
            )
        return found, difference

    def _is_current(self) -> bool:
        """Return whether the collection has neither a later change than those sent nor another generation in use."""
        bundle = self._serving.bundle
        with self._opened.read() as tx:
            generation = tx.spaces.in_use().get(bundle.space, 0)
            return tx.sequence() == self._state.sequence and generation == bundle.generation

    def _counts(self) -> Mapping[Target, int]:
        """Return the number of items that the engine should have in each target."""
        left_out = {one.key for one in self._failures}

        def counted(version: Version, indexed: IndexedSpace) -> dict[Target, int]:
            gone = np.array(sorted(version.ids_of(left_out).values()), np.int64)
            return {
                target: len(one.index) - int(np.isin(gone, one.index.ids()).sum())
                for target, one in indexed.indexes.items()
            }

        space = self._serving.bundle.space
        return self._opened.versions().answered(space, lambda _, one: one.indexed_targets, counted)

    def _tuned(self, target: Target, index: EngineIndex) -> tuple[int, float | None]:
        """Return the least effort that reaches the recall, and its recall on a sample of stored items."""
        space, lost = self._serving.bundle.space, {one.key for one in self._failures}
        sample = self._collection.items(f"view = {target.view}", limit=_SAMPLE, sample=_SAMPLE)
        keys = [item.key for item in sample if item.key not in lost] if "+" not in target.view else []
        if not keys:
            return (index.efforts[len(index.efforts) // 2] if index.effort else 0), None
        queries = [Query(target.view, key=key) for key in keys]
        request = SearchRequest(queries, space=space, targets=(str(target),), k=_K, exact=True)
        answers = self._collection.search(request)
        truth = [[hit.distance for hit in one.hits if hit.key not in lost] for one in answers]
        with self._opened.read() as tx:
            ids = tx.items.ids_of(keys)
            records = records_of(tx, [ids[key] for key in keys], self._serving.views)
        by_key = {record.item.key: record for record in records}
        rows = np.stack([by_key[key].rows[target.view] for key in keys])
        vectors = self._serving.space.probe(target.view, rows, [str(target)])[target]
        best = 0.0
        for effort in index.efforts or (0,):
            lists = self._generation.search(target, vectors, _K + 1, "", effort)
            shares = [
                _share([one.distance for one in hits if one.key != key], farthest)
                for key, hits, farthest in zip(keys, lists, truth, strict=True)
            ]
            best = float(np.mean(shares))
            if best >= RECALL:
                return effort if index.effort else 0, best
        return (index.efforts[-1] if index.effort else 0), best

    def _take_over(self) -> int:
        """Take over what servers wrote into the generation in use; return how many items."""
        former = self._former()
        return self._copied(former) if former else 0

    def _former(self) -> Names | None:
        """Return the other generation that the alias stands for; None if it stands for none."""
        engine, name = self._serving.engine, self._serving.bundle.name
        used, own = aliases.pointed(engine, name), self._generation.names
        return next((one for one in aliases.generations(engine, own.alias) if one.items == used and one != own), None)

    def _copied(self, former: Names) -> int:
        """Copy from a former generation what servers wrote last there, unless this one has it."""
        other = replace(self._generation, names=former, targets=())
        other, count = replace(other, views=other.state().get("views", ())), 0
        for records in other.written_by_servers():
            known = self._generation.records(one.item.key for one in records)
            newer = [one for one in records if not _is_newer(known.get(one.item.key), one)]
            self._put([one for one in newer if not one.deleted])
            self._generation.mark_deleted([one for one in newer if one.deleted])
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


def _is_newer(known: Record | None, other: Record) -> bool:
    """Return whether a server wrote the known item after the other one."""
    return known is not None and known.by_server and known.written >= other.written


def _share(distances: Sequence[float], truth: Sequence[float]) -> float:
    """Return the share of the nearest that are at most as far as the farthest true one."""
    if not truth:
        return 1.0
    most = truth[-1] * (1 + _ROUNDING) + _ROUNDING
    return min(1.0, sum(distance <= most for distance in distances[: len(truth)]) / len(truth))


def _check_widths(serving: Serving) -> None:
    for view in serving.collection.views():
        if view.name in serving.views and view.dim > WIDEST:
            raise InvalidInputError(
                f"rows of view {view.name!r} have {view.dim:,} numbers, and an engine stores at most {WIDEST:,}: "
                "publish a space without this view"
            )


def _planned(collection: Collection, request: PublishRequest, found: Publication) -> Publication:
    """Return what would be published."""
    from crossview.engine.publishing.index_kinds import engine_index

    with collection.opened.read() as tx:
        space, count = collection.opened.loaded.get(tx, found.space), tx.items.count()
    targets = tuple(
        PublishedTarget(target=str(one), index=engine_index(request.index, one, count).kind, items=count)
        for one in space.indexed_targets
    )
    return replace(found, targets=targets)
