"""Placing: rows in object storage become the items of a published generation, each partition on its own."""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, partial
from heapq import nsmallest
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crossview.engine.publishing.address import EngineAddress
from crossview.engine.publishing.filling import SAMPLE, Filling, K, Truth
from crossview.engine.publishing.generation import Generation, Placed
from crossview.engine.publishing.index_kinds import AUTO, EngineIndex
from crossview.engine.publishing.milvus import Milvus
from crossview.engine.publishing.object_storage import ObjectStorage
from crossview.engine.publishing.placing import placed
from crossview.engine.publishing.publication import Publication
from crossview.engine.publishing.records import Record
from crossview.engine.publishing.serving import Serving
from crossview.engine.publishing.spreading.executor import HERE, Executor
from crossview.engine.publishing.spreading.opened_bundle import fits, newest_bundle
from crossview.engine.publishing.spreading.row_items import check_columns, records_of_table
from crossview.engine.publishing.spreading.rows_folder import RowsFolder
from crossview.engine.runtime.progress import Progress
from crossview.engine.spaces.target import Target
from crossview.engine.values.errors import InvalidInputError
from crossview.engine.values.item import Failure

_SAMPLED = 5
"""Files from which the queries of the check come."""


@dataclass(frozen=True, kw_only=True)
class PlaceRequest:
    """Which rows to place, by which bundle, and where."""

    rows: str
    """The folder of the rows."""
    bundle: str
    """The address of all bundles."""
    published: str
    """The published name, whose newest bundle is used."""
    engine: Milvus
    index: str = AUTO
    """The kind of index of targets in the engine, see ``engine_index``."""


def place_rows(request: PlaceRequest, executor: Executor = HERE, progress: Progress | None = None) -> Publication:
    """Fill the generation of a bundle with all rows, check it, and put it in use; the same call continues.

    Raises InvalidInputError (rows of other views, an engine in a file for a cluster), NotFoundError (rows, bundle),
    NotReadyError (answers that differ, an engine that refuses), EngineUnavailableError, EngineFullError, StorageError.
    """
    began, storage = time.monotonic(), ObjectStorage(request.bundle)
    if request.engine.address.is_file and executor.elsewhere:
        raise InvalidInputError(
            f"engine {request.engine.address} is a file, which one process can open: place without a cluster, or into "
            "a server"
        )
    bundle = newest_bundle(storage, request.published)
    with closing(Serving(storage, bundle.folder, request.engine)) as serving:
        filled = RowsFilling(request, serving, executor, progress).filled()
    publication = Publication(
        name=bundle.name,
        space=bundle.space,
        generation=bundle.generation,
        bundle=f"{storage}/{bundle.folder}",
        items=filled.items,
    )
    return replace(filled.into(publication), seconds=time.monotonic() - began)


class PlaceTask(NamedTuple):
    """A file of rows to place."""

    number: int
    """Its place among the files."""
    name: str
    put: bool
    """Whether to write its items; otherwise they are in the engine, and only answer the queries of the check."""


class PlacedFile(NamedTuple):
    """The outcome for a file of rows."""

    number: int
    failures: tuple[Failure, ...]
    counts: Mapping[str, int]
    """Number of its items in each target."""
    nearest: Mapping[str, list[list[tuple[float, str]]]]
    """The distances and keys of its items nearest to each query, by target."""


class Queries(NamedTuple):
    """Items whose answers are checked in a target."""

    keys: list[str]
    vectors: NDArray[Any]
    """As the target has them, (n, width)."""


class RowsFilling(Filling):
    """Fills the generation of a bundle from a folder of rows."""

    def __init__(
        self, request: PlaceRequest, serving: Serving, executor: Executor, progress: Progress | None = None
    ) -> None:
        self._rows, self._executor = RowsFolder(request.rows), executor
        self._bundles = ObjectStorage(request.bundle).address
        self._views = _views(self._rows, serving)
        self._placed = Counter[str]()
        self._nearest = dict[str, list[list[tuple[float, str]]]]()
        self.origin: str = str(self._rows.storage)
        super().__init__(serving, request.index, progress)

    def _count(self) -> int:
        return sum(self._rows.counts)

    def _sequence(self) -> int:
        return 0

    def _put_next(self) -> bool:
        """Place all files that were not reached; unless the generation is published, the others answer the check."""
        names, reached = self._rows.names, self._state.after
        first = reached if self._state.published else 0
        tasks = [PlaceTask(at, names[at], at >= reached) for at in range(first, len(names))]
        done, ended = 0, set(range(reached))
        for placed_file in self._executor.results(self._work(), tasks) if tasks else ():
            self._merge(placed_file)
            ended.add(placed_file.number)
            while self._state.after in ended:
                self._state.after += 1
            self._note()
            done += self._rows.counts[placed_file.number]
            if self._progress is not None:
                self._progress("placing", done, self._count())
        return False

    def _merge(self, file: PlacedFile) -> None:
        """Keep the counts, the failures and the nearest items of all files so far."""
        self._failures += file.failures
        self._placed.update(file.counts)
        for target, lists in file.nearest.items():
            nearest = self._nearest.get(target) or [[] for _ in lists]
            self._nearest[target] = [nsmallest(K + 1, [*two[0], *two[1]]) for two in zip(nearest, lists, strict=True)]

    def _work(self) -> "PlaceWork":
        serving = self._serving
        return PlaceWork(
            rows=str(self._rows.storage),
            views=self._views,
            bundles=self._bundles,
            folder=serving.bundle.folder,
            engine=serving.engine.address,
            indexes=self._generation.indexes,
            queries=self._queries if not self._state.published else {},
            new=not self._state.published,
        )

    @cached_property
    def _queries(self) -> dict[str, Queries]:
        """The queries of the check, for each target that people search."""
        names, records = self._rows.names, list[Record]()
        for name in [names[at] for at in sorted({round(at) for at in np.linspace(0, len(names) - 1, _SAMPLED)})]:
            sampled, _ = records_of_table(self._rows.table(name), self._views)
            places = np.linspace(0, len(sampled) - 1, min(len(sampled), SAMPLE // _SAMPLED)).round().astype(int)
            records += [sampled[at] for at in places.tolist()]
        space, queries = self._serving.space, dict[str, Queries]()
        for target in space.indexed_targets:
            parts = self._serving.parts[target.view]
            having = [record for record in records if all(part in record.rows for part in parts)]
            if having and not target.hidden:
                rows = np.stack([np.concatenate([record.rows[part] for part in parts]) for record in having])
                vectors = space.probe(target.view, rows, [str(target)])[target]
                queries[str(target)] = Queries([record.item.key for record in having], vectors)
        return queries

    def _counts(self) -> Mapping[Target, int]:
        return {target: self._placed[str(target)] for target in self._serving.space.indexed_targets}

    def _truth(self, target: Target) -> Truth | None:
        lists = self._nearest.get(str(target))
        if lists is None:
            return None
        keys, vectors = self._queries[str(target)]
        distances = [[far for far, other in hits if other != key][:K] for key, hits in zip(keys, lists, strict=True)]
        return Truth(keys, vectors, distances)


def _views(rows: RowsFolder, serving: Serving) -> tuple[str, ...]:
    """Return the views of the rows; InvalidInputError for rows that do not suit the bundle."""
    collection = serving.collection
    dims = {view.name: view.dim for view in collection.views()}
    return tuple(check_columns(rows.schema, fits(collection), dims, str(rows.storage)))


@dataclass(frozen=True, kw_only=True)
class PlaceWork:
    """The placing of files, as every process opens it."""

    rows: str
    views: tuple[str, ...]
    bundles: str
    folder: str
    """The path of the bundle below its address."""
    engine: EngineAddress
    indexes: Mapping[str, EngineIndex]
    queries: Mapping[str, Queries]
    """By target."""
    new: bool
    """Whether the generation is not yet published, so that no target has an item that leaves it."""

    @contextmanager
    def opened(self) -> Iterator[Callable[[PlaceTask], PlacedFile]]:
        """See ``Work.opened``: the bundle, and a connection to the engine."""
        with (
            closing(Milvus(self.engine)) as engine,
            closing(Serving(ObjectStorage(self.bundles), self.folder, engine)) as serving,
        ):
            yield partial(self._placed, RowsFolder(self.rows), serving, serving.generation(self.indexes))

    def _placed(self, rows: RowsFolder, serving: Serving, generation: Generation, task: PlaceTask) -> PlacedFile:
        records, failures = records_of_table(rows.table(task.name), self.views)
        storable, refused = generation.storable(records)
        vectors = placed(serving.space, serving.parts, storable) if storable else {}
        if task.put and storable:
            generation.put(storable, vectors, self.new)
        nearest = {
            str(target): _nearest(serving, target, vectors.get(target, {}), self.queries[str(target)].vectors)
            for target in serving.space.indexed_targets
            if str(target) in self.queries
        }
        counts = {str(target): len(of_target) for target, of_target in vectors.items()}
        return PlacedFile(task.number, (*failures, *refused), counts, nearest)


def _nearest(serving: Serving, target: Target, vectors: Placed, queries: NDArray[Any]) -> list[list[tuple[float, str]]]:
    """Return the distances and keys of the vectors nearest to each query, by an exact search."""
    keys = list(vectors)
    if not keys:
        return [[] for _ in queries]
    index = serving.space.empty_index(target).changed((), range(len(keys)), np.stack(list(vectors.values())))
    nearest = index.search(queries, min(K + 1, len(keys)))
    return [
        [(float(distance), keys[at]) for at, distance in zip(ids.tolist(), distances.tolist(), strict=True) if at >= 0]
        for ids, distances in zip(nearest.ids, nearest.distances, strict=True)
    ]
