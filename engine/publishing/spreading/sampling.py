"""Sampling: a stratified sample of the rows in object storage becomes a collection, to label, train and evaluate on."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crossview.engine.collections.collection import Collection
from crossview.engine.collections.home import Home
from crossview.engine.publishing.object_storage import ObjectStorage
from crossview.engine.publishing.spreading.opened_bundle import fits, newest_bundle, restored_views
from crossview.engine.publishing.spreading.outcomes import Sample
from crossview.engine.publishing.spreading.row_items import check_columns, label_columns, labels_of_table, new_items
from crossview.engine.publishing.spreading.rows_folder import RowsFolder
from crossview.engine.runtime.cancellation import checkpoint
from crossview.engine.runtime.progress import Progress
from crossview.engine.training.training_sample import stratified
from crossview.engine.values.errors import InvalidInputError
from crossview.engine.values.item import Failure, NewItem
from crossview.engine.values.numbers import check_seed

SIZE = 10_000
"""Default for the number of items of a sample."""


@dataclass(frozen=True, kw_only=True)
class SampleRequest:
    """Which rows to draw, and the collection that they become."""

    rows: str
    """The folder of the rows."""
    to: str
    """The name of the new collection."""
    size: int = SIZE
    """Maximum number of items."""
    bundle: str = ""
    """The address of all bundles [default: "", the views take vectors only]."""
    published: str = ""
    """The published name whose newest bundle has the views."""
    seed: int = 0
    thumbnails: bool = False
    """Whether to read the pictures of the sample, for their thumbnails."""


class _Drawn(NamedTuple):
    """The rows of a file that are drawn."""

    name: str
    places: NDArray[np.intp]


def sample_rows(request: SampleRequest, home: Home, progress: Progress | None = None) -> Sample:
    """Make a collection of a stratified sample of rows: labels keep their shares, and each gives at least five items.

    Raises InvalidInputError (size, rows of other views than those of the bundle), NotFoundError (rows, bundle),
    AlreadyExistsError (collection), NotReadyError, StorageError.
    """
    began = time.monotonic()
    check_seed(request.seed)
    if request.size < 1:
        raise InvalidInputError(f"a sample has at least one item, not {request.size}")
    folder = RowsFolder(request.rows)
    with _made(request, folder, home) as collection:
        views = _views(folder, collection)
        labels = _labels(folder, progress)
        drawn = stratified(labels, request.size, request.seed)
        report = list(_imported(request, folder, views, drawn, collection, progress))
        return Sample(
            collection=request.to,
            rows=len(labels),
            items=collection.count(),
            labels=len({label for at in drawn.tolist() for label in labels[at]}),
            failures=tuple(report),
            seconds=time.monotonic() - began,
        )


@contextmanager
def _made(request: SampleRequest, folder: RowsFolder, home: Home) -> Iterator[Collection]:
    """Make the collection for the block; remove it after an error."""
    if bool(request.bundle) != bool(request.published):
        raise InvalidInputError("a bundle has an address and the name that it was published under: give both")
    if request.bundle:
        storage = ObjectStorage(request.bundle)
        collection = restored_views(storage, newest_bundle(storage, request.published), home, request.to)
    else:
        specs = [f"{field.name}=vectors:dim={field.type.list_size}" for field in folder.schema if _is_view(field)]
        collection = home.create(request.to, specs)
    with collection:
        try:
            yield collection
        except BaseException:
            collection.close()
            home.delete(request.to)
            raise


def _is_view(field: object) -> bool:
    return getattr(getattr(field, "type", None), "list_size", 0) > 0


def _views(folder: RowsFolder, collection: Collection) -> list[str]:
    dims = {view.name: view.dim for view in collection.views()}
    return check_columns(folder.schema, fits(collection), dims, str(folder.storage))


def _labels(folder: RowsFolder, progress: Progress | None) -> list[tuple[str, ...]]:
    """Return the labels of every row, in the order of the files."""
    columns, labels = label_columns(folder.schema.names), list[tuple[str, ...]]()
    if not columns:
        return [()] * sum(folder.counts)
    for done, name in enumerate(folder.names, 1):
        checkpoint()
        labels += labels_of_table(folder.table(name, columns))
        if progress is not None:
            progress("reading labels", done, len(folder.names))
    return labels


def _imported(
    request: SampleRequest,
    folder: RowsFolder,
    views: Sequence[str],
    drawn: NDArray[np.intp],
    collection: Collection,
    progress: Progress | None,
) -> Iterator[Failure]:
    """Put the drawn rows into the collection; yield those that cannot be used."""
    done = 0
    for name, places in _by_file(folder, drawn):
        checkpoint()
        entries = new_items(folder.table(name).take(places), views)
        yield from (entry for entry in entries if isinstance(entry, Failure))
        items = [entry for entry in entries if isinstance(entry, NewItem)]
        if request.thumbnails:
            items = list(_with_pictures(items))
        yield from collection.items.put(items).failures
        done += len(places)
        if progress is not None:
            progress("sampling", done, len(drawn))


def _by_file(folder: RowsFolder, drawn: NDArray[np.intp]) -> Iterator[_Drawn]:
    """Yield the drawn places of each file that has some."""
    for name, (first, end) in zip(folder.names, pairwise(accumulate(folder.counts, initial=0)), strict=True):
        places = drawn[np.searchsorted(drawn, first) : np.searchsorted(drawn, end)] - first
        if len(places):
            yield _Drawn(name, places)


def _with_pictures(items: Sequence[NewItem]) -> Iterator[NewItem]:
    """Yield items with their pictures, read from their sources; without it if that cannot be read."""
    for item in items:
        place, _, name = item.source.rpartition("/")
        (content,) = ObjectStorage(place).read_each([name]) if place else (OSError(),)
        yield item if isinstance(content, OSError) else replace(item, image=content)
