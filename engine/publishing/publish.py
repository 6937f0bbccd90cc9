"""Publishing a collection: a bundle to object storage, and the items of its catalog to an engine."""

import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np

from crossview.engine.catalog.description import RAW
from crossview.engine.catalog.writing import OvertakenError, until_not_overtaken
from crossview.engine.collections.collection import Collection
from crossview.engine.publishing.bundle import make_bundle, upload
from crossview.engine.publishing.filling import SAMPLE, Filling, K, Truth
from crossview.engine.publishing.object_storage import ObjectStorage
from crossview.engine.publishing.publication import Publication, PublishedTarget, PublishRequest
from crossview.engine.publishing.serving import Serving
from crossview.engine.publishing.source import changed_since, ids_after, records_of
from crossview.engine.publishing.suggesting import calibrations
from crossview.engine.runtime.cancellation import checkpoint
from crossview.engine.runtime.progress import Progress
from crossview.engine.spaces.target import Target
from crossview.engine.spaces.version import SearchState
from crossview.engine.spaces.versions import TargetsOf

T = TypeVar("T")
_CHUNKS = 20
"""Chunks of items between two notes of the state."""


def publish(collection: Collection, request: PublishRequest, progress: Progress | None = None) -> Publication:
    """Publish a space of a collection; the same call continues an interrupted publication.

    A space that is trained again meanwhile is published in its new generation.

    Raises InvalidInputError (name, kind of index, rows too wide for the engine), NotFoundError (space), NotReadyError
    (nothing to publish, answers that differ from the embedded ones, an engine that refuses), EngineUnavailableError,
    EngineFullError, StorageError.
    """
    return until_not_overtaken(lambda: _published(collection, request, progress))


def _published(collection: Collection, request: PublishRequest, progress: Progress | None) -> Publication:
    began, storage = time.monotonic(), ObjectStorage(request.to)
    with tempfile.TemporaryDirectory(prefix="crossview-bundle-") as temporary:
        folder, name = Path(temporary), request.name or collection.name
        bundle = make_bundle(collection.opened.folder, request.space, name, folder, partial(calibrations, collection))
        publication = Publication(
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
            return publication
    if request.engine is None:
        return replace(publication, seconds=time.monotonic() - began)
    if request.dry_run:
        return _planned(collection, request, publication)
    with closing(Serving(storage, bundle.folder, request.engine)) as serving:
        filled = CatalogFilling(collection, serving, request.index, progress).filled()
        return replace(filled.into(publication), seconds=time.monotonic() - began)


class CatalogFilling(Filling):
    """Fills the generation of a bundle from the catalog of a collection."""

    def __init__(self, collection: Collection, serving: Serving, index: str, progress: Progress | None = None) -> None:
        self._opened, self._collection = collection.opened, collection
        super().__init__(serving, index, progress)

    def _count(self) -> int:
        return self._collection.count()

    def _sequence(self) -> int:
        with self._opened.read() as tx:
            return tx.sequence()

    def _put_next(self) -> bool:
        if self._state.published:
            return False
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
                keys = set(tx.items.sorted_keys()) if not changed.whole else set()
            gone = list(changed.gone) if changed.whole else self._unknown(keys)
            self._generation.delete(gone)
            for first in range(0, len(changed.live), 1_000):
                checkpoint()
                with self._opened.read() as tx:
                    records = records_of(tx, changed.live[first : first + 1_000], self._serving.views)
                self._put(records)
            count += len(gone) + len(changed.live)
            self._state.sequence = changed.sequence
            self._note()

    def _unknown(self, keys: set[str]) -> list[str]:
        """Return the keys in the engine that the catalog does not have, but for those that servers wrote."""
        pages = self._generation.every_record()
        return [row.item.key for page in pages for row in page if not row.by_server and row.item.key not in keys]

    def _is_current(self) -> bool:
        return self._sequence() == self._state.sequence

    def _counts(self) -> Mapping[Target, int]:
        """Return the number of items that the engine should have in each target."""
        left_out = {failure.key for failure in self._failures}

        def counted(state: SearchState) -> dict[Target, int]:
            gone = np.array(sorted(state.version.ids_of(left_out).values()), np.int64)
            return {
                target: len(target_index.index) - int(np.isin(gone, target_index.index.ids()).sum())
                for target, target_index in state.indexed.indexes.items()
            }

        return self._answered(lambda _, space: space.indexed_targets, counted)

    def _answered(self, targets_of: TargetsOf, answer: Callable[[SearchState], T]) -> T:
        """Return what a function makes of the embedded space; OvertakenError if it is another generation by now."""
        bundle = self._serving.bundle

        def answered(state: SearchState) -> T:
            if bundle.space != RAW and state.space.generation != bundle.generation:
                raise OvertakenError(f"space {bundle.space!r} was trained again meanwhile: publish it again")
            return answer(state)

        return self._opened.versions().answered(bundle.space, targets_of, answered)

    def _truth(self, target: Target) -> Truth | None:
        parts = " and ".join(f"view = {part}" for part in self._serving.parts[target.view])
        lost = {failure.key for failure in self._failures}
        sample = self._collection.items(parts, limit=SAMPLE, sample=SAMPLE)
        keys = [item.key for item in sample if item.key not in lost]
        if not keys:
            return None

        def answered(state: SearchState) -> Truth:
            version, indexed = state
            ids, left_out = version.ids_of(keys), {-1, *version.ids_of(lost).values()}
            rows = version.rows(target.view, ids.values())
            key_of = {number: key for key, number in ids.items()}
            vectors = indexed.space.probe(target.view, rows.rows, [str(target)])[target]
            # not by a search of the collection, in whose lists near copies come first
            hits = indexed.searcher(target).search(vectors, K + 1 + len(left_out))
            distances = [
                [far for other, far in zip(numbers, row, strict=True) if other not in {own, *left_out}][:K]
                for own, numbers, row in zip(rows.ids, hits.ids.tolist(), hits.distances.tolist(), strict=True)
            ]
            return Truth([key_of[own] for own in rows.ids.tolist()], vectors, distances)

        return self._answered(lambda *_: [target], answered)


def _planned(collection: Collection, request: PublishRequest, publication: Publication) -> Publication:
    """Return what would be published."""
    from crossview.engine.publishing.index_kinds import engine_index

    with collection.opened.read() as tx:
        space, count = collection.opened.loaded.get(tx, publication.space), tx.items.count()
    targets = tuple(
        PublishedTarget(target=str(target), index=engine_index(request.index, target, count).kind, items=count)
        for target in space.indexed_targets
    )
    return replace(publication, targets=targets)
