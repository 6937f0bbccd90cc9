"""Fitting of views as new revisions: visual words from a sample of pictures, text views from the items' texts."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, islice
from typing import Any

import numpy as np

from crossview.engine.catalog import state
from crossview.engine.catalog.bulk import batches
from crossview.engine.catalog.catalog import Catalog, Transaction
from crossview.engine.catalog.checks import check_labels
from crossview.engine.catalog.extractors import (
    find_view,
    inputs_of,
    next_extractor,
    step_for_rows,
    unfitted_extractor,
    views_of,
)
from crossview.engine.catalog.ingest.plan import MAX_SAMPLE
from crossview.engine.catalog.views import ViewRecord
from crossview.engine.catalog.writing import ViewsChangedError
from crossview.engine.runtime.cancellation import checkpoint
from crossview.engine.values.errors import InvalidInputError, NotReadyError
from crossview.engine.values.item import Failure, Picture, PictureForm, content_hash, pictures_of
from crossview.engine.values.numbers import check_seed
from crossview.features.base import Extractor, FeatureRows, ImageExtractor, Labels
from crossview.features.errors import ImageError
from crossview.features.inputs import MODELS
from crossview.features.pictures import IN_PROCESS, Pictures, PictureTask
from crossview.features.reading import samples
from crossview.features.registry import stored_params
from crossview.features.worker import cores

MAX_TEXTS = 50_000
"""Maximum number of texts for fitting a view; larger sets are sampled at random."""
_READ_AT_ONCE = 32
"""Pictures in memory at a time."""


def unfitted(views: Iterable[ViewRecord]) -> dict[str, ViewRecord]:
    """Return the unfitted views that learn from pictures, by name."""
    return {view.name: view for view in views if view.revision == 0 and "image" in inputs_of(view)}


def empty_images(views: Mapping[str, ViewRecord]) -> dict[str, ImageExtractor]:
    """Return new, unfitted extractors of the picture views."""
    extractors = {name: next_extractor(view) for name, view in views.items()}
    return {name: extractor for name, extractor in extractors.items() if isinstance(extractor, ImageExtractor)}


def fit_views(
    catalog: Catalog,
    images: Iterable[PictureForm | Picture],
    names: Sequence[str] = (),
    refit: bool = False,
    seed: int = 0,
    workers: int | None = None,
    pictures: Pictures = IN_PROCESS,
) -> None:
    """Fit the named views, or all unfitted ones: text views on the texts of the items, others on encoded pictures.

    Without names and pictures, only views of texts are fitted, if there are any. A view that learns nothing, but reads
    pictures as an earlier version did, reads them as a new view does from its next revision on.
    Unreadable pictures are left out. A picture without labels gets those of an item with the same bytes. ``workers`` is
    the number of threads that read pictures if ``pictures`` reads them in this process [default: one per core].

    Raises InvalidInputError for a view that learns nothing, for a fitted view (unless ``refit``) and for an invalid
    seed, NotFoundError for an unknown view, NotReadyError for too few pictures or texts.
    """
    check_seed(seed)
    images = pictures_of(images)
    first = list(islice(images, 1))
    with catalog.read() as tx:
        views = _chosen(tx, names, refit)
        if not names and not first and views_of(tx, "text"):
            views = [view for view in views if "image" not in inputs_of(view)]
    pairs = [(view, next_extractor(view)) for view in views]
    for view, extractor in pairs:
        if _learns_nothing(view):
            with catalog.write() as tx:
                _add_revision(tx, view, tx.views.state(view, view.revision), extractor)
    pairs = [(view, extractor) for view, extractor in pairs if not _learns_nothing(view)]
    pictured = {view.name: (view, extractor) for view, extractor in pairs if isinstance(extractor, ImageExtractor)}
    if pictured:

        def read(batch: Sequence[PictureTask]) -> list[dict[str, FeatureRows] | ImageError]:
            return pictures.run(samples, batch, checkpoint, workers or cores())

        _fit_pictures(catalog, chain(first, images), pictured, seed, read)
    for view, _ in pairs:
        if view.name not in pictured:
            fit_texts(catalog, view, seed)


def _fit_pictures(
    catalog: Catalog,
    images: Iterable[Picture],
    views: Mapping[str, tuple[ViewRecord, ImageExtractor]],
    seed: int,
    read: Callable[[Sequence[PictureTask]], list[dict[str, FeatureRows] | ImageError]],
) -> None:
    extractors = {name: picture for name, (_, picture) in views.items()}
    parts: dict[str, list[FeatureRows]] = {name: [] for name in extractors}
    with catalog.read() as tx:
        stored_labels = {stored.content_hash: stored.labels for stored in tx.items.known().values()}
    labels: list[tuple[str, ...]] = []
    for batch in batches(islice(images, MAX_SAMPLE), _READ_AT_ONCE):
        for picture in batch:
            check_labels(picture.labels)
        tasks = [PictureTask(picture.image, extractors) for picture in batch]
        for picture, result in zip(batch, read(tasks), strict=True):
            if isinstance(result, ImageError):
                continue
            labels.append(picture.labels or stored_labels.get(content_hash(picture.image), ()))
            for name, rows in result.items():
                parts[name].append(rows)
    reasons = []
    for name, sampled in parts.items():
        try:
            fit_view(catalog, views[name][0], sampled, seed, labels=labels)
        except NotReadyError as error:
            reasons.append(str(error))
    if reasons:
        raise NotReadyError("; ".join(reasons))


def fit_texts(catalog: Catalog, view: ViewRecord, seed: int) -> None:
    """Fit a text view on the texts of the collection's items; NotReadyError for too few texts."""
    with catalog.read() as tx:
        ids = tx.items.with_text()
        if len(ids) > MAX_TEXTS:
            ids = np.random.default_rng(seed).choice(ids, MAX_TEXTS, replace=False).tolist()
        texts, keys = tx.items.texts(ids), tx.items.keys()
        if not texts:
            raise NotReadyError(
                f"view {view.name!r} learns from texts, but no item has a text: give the items texts with: ",
                step_for_rows(view),
            )
    fit_view(catalog, view, list(texts.values()), seed, [keys[item] for item in texts], "texts")


def fit_missing_texts(catalog: Catalog, seed: int) -> list[Failure]:
    """Fit the unfitted text views if an item has a text; return the failures of views with too few texts."""
    with catalog.read() as tx:
        missing = [view for view in views_of(tx, "text") if view.revision == 0]
        if not missing or not tx.items.with_text():
            return []
    failures = []
    for view in missing:
        try:
            fit_texts(catalog, view, seed)
        except NotReadyError as error:
            failures.append(Failure(view.name, str(error)))
    return failures


def fit_view(
    catalog: Catalog,
    view: ViewRecord,
    samples: Sequence[Any],
    seed: int,
    keys: Sequence[str] | None = None,
    kind: str = "pictures",
    labels: Labels | None = None,
) -> None:
    """Fit a view on samples of pictures, with labels if known, or on texts, and store the new revision.

    If another process has fitted the view since ``view`` was read, its revision stays and this one is dropped. The
    revision stores ``keys``, so that an evaluation can report whether its queries were among them.

    Raises NotFoundError if the view has been deleted since, ViewsChangedError if another view has its name.
    """
    checkpoint()
    try:
        fitted = next_extractor(view).fit(samples, seed, labels)
    except ValueError as error:
        raise NotReadyError(f"view {view.name!r} cannot be fitted: ", error) from error
    fit = state.pack({"fitted": fitted.to_state(), "pictures": len(samples), "keys": keys, "seed": seed, "kind": kind})
    with catalog.write() as tx:
        _add_revision(tx, view, fit, fitted)


def _add_revision(tx: Transaction, view: ViewRecord, fit: bytes | None, extractor: Extractor) -> None:
    now = find_view(tx, view.name)
    if (now.id, now.history) != (view.id, view.history):
        raise ViewsChangedError(
            f"view {view.name!r} was deleted and added again, or restored from a copy, during fitting: fit it again"
        )
    if now.revision == view.revision:
        tx.views.add_revision(view, fit, stored_params(extractor))
        tx.next_sequence()


def _learns_nothing(view: ViewRecord) -> bool:
    """Return whether no item determines the rows of other items; models determine their views."""
    return view.extractor in MODELS or unfitted_extractor(view).fitted


def _chosen(tx: Transaction, names: Sequence[str], refit: bool) -> list[ViewRecord]:
    if not names:
        missing = [view for view in tx.views.all() if view.revision == 0]
        if not tx.items.with_text():
            missing = [view for view in missing if "text" not in inputs_of(view)]
        return missing
    views = [find_view(tx, name) for name in dict.fromkeys(names)]
    for view in views:
        is_earlier = stored_params(unfitted_extractor(view)) != stored_params(next_extractor(view))
        if _learns_nothing(view) and not is_earlier:
            raise InvalidInputError(f"view {view.name!r} learns nothing, so it needs no fitting")
        if view.revision > 0 and not refit:
            raise InvalidInputError(
                f"view {view.name!r} is already fitted (revision {view.revision}); another fit makes every row "
                "and every space of the view obsolete: confirm it with refit"
            )
    return views
