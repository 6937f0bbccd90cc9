"""Collections: items, views and spaces; what a program works with.

What decodes pictures, learns or searches is imported where it is used, so that a collection is described in a moment.
"""

import logging
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from engine.catalog.catalog import Catalog, Transaction, now
from engine.catalog.checks import MAX_LABEL, check_attributes, check_characters
from engine.catalog.extractors import add_view, load_extractor, view_info
from engine.catalog.folder import CATALOG_FILE, INDEX_FOLDER, LOCK_FILE, WriterLock, catalog_url
from engine.catalog.space_info import RAW, raw_identity, raw_info, space_info
from engine.catalog.spaces import Generation
from engine.catalog.views import ViewRecord
from engine.catalog.writing import delete_items
from engine.errors import CrossviewError, InvalidInputError, NotFoundError, StorageError
from engine.info import CollectionInfo, Evaluation, SpaceInfo, ViewInfo
from engine.ingest.vectors import index_vectors, put_vectors
from engine.item import DeletedPicture, ImportReport, Item, ItemUpdate, NewItem, Picture
from engine.learners.cancellation import checkpoint, uncancellable
from engine.progress import Progress
from engine.query import Embedding, Filter, HitList, Query
from engine.recipe import LEARNER, Pair, Recipe, Tune
from engine.spaces.item_embeddings import ITEMS_AT_ONCE, ItemEmbeddings

if TYPE_CHECKING:
    from engine.comparisons import ItemComparisons
    from engine.spaces.live import LiveSpace
    from engine.spaces.space import Space
    from features import Extractor

_EVERYTHING = Filter()
_log = logging.getLogger(__name__)


class Collection:
    """One collection, open. Methods may be called from several threads; one process at a time writes.

    Raises ``engine.errors.CrossviewError`` or ``features.errors.ImageError`` for everything that a user can cause.

    >>> from engine.collection import Collection
    >>> from engine.query import Query
    >>> with Collection.open("flowers") as flowers:  # doctest: +SKIP
    ...     query = Query("color", image=Path("rose.jpg").read_bytes())
    ...     (answers,) = flowers.search([query], targets=["sift"], k=5)
    ...     print([(hit.key, hit.distance) for hit in answers.hits])
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file = folder / CATALOG_FILE
        self._inode = self._file.stat().st_ino
        self._catalog = Catalog(catalog_url(folder))
        self._writer = WriterLock(folder / LOCK_FILE)
        self._loading = threading.Lock()
        self._live: dict[str, LiveSpace] = {}
        self._extractors: dict[tuple[int, int], Extractor] = {}

    @classmethod
    def open(cls, name: str, home: Path | str | None = None) -> "Collection":
        """Open a collection of a home (by default $CROSSVIEW_HOME or ~/.crossview); NotFoundError lists those there."""
        from engine.home import Home

        return Home(home).open(name)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Keep the indexes for the next opening and close the catalog; the collection must not be used afterwards."""
        if self.is_alive():
            with suppress(CrossviewError):
                for live in self._current():
                    _save(live)
        self._catalog.close()

    @property
    def name(self) -> str:
        """The collection's name."""
        return self._folder.name

    # -- what there is

    def info(self) -> CollectionInfo:
        """Return what the collection tells of itself."""
        with self._read() as tx:
            return CollectionInfo(
                self.name,
                tx.items.count(_EVERYTHING),
                tuple(view_info(view) for view in tx.views.all()),
                self._space_infos(tx),
                tx.active_space() or RAW,
                tx.items.label_counts(),
                tx.sequence(),
                sum(map(_size, self._folder.rglob("*"))),
                tx.created(),
                tx.description(),
            )

    def findings(self) -> tuple[str, ...]:
        """Return what is odd in the collection, such as one file that is two items: a sentence each."""
        from engine.catalog.findings import findings

        with self._read() as tx:
            return findings(tx)

    def deleted_pictures(self) -> list[DeletedPicture]:
        """Return what is remembered of items that were deleted and had a picture, in the order of keys."""
        with self._read() as tx:
            return tx.items.deleted_pictures()

    def views(self) -> tuple[ViewInfo, ...]:
        """Return the views."""
        with self._read() as tx:
            return tuple(view_info(view) for view in tx.views.all())

    def spaces(self) -> tuple[SpaceInfo, ...]:
        """Return the trained spaces, then ``raw``, the views themselves."""
        with self._read() as tx:
            return self._space_infos(tx)

    def space(self, name: str) -> SpaceInfo:
        """Return one space; NotFoundError lists those that exist."""
        for one in self.spaces():
            if one.name == name:
                return one
        with self._read() as tx:
            raise _no_space(tx, name)

    def items(self, filter: Filter = _EVERYTHING, after: str = "", limit: int = 100) -> list[Item]:
        """Return up to ``limit`` items that pass the filter, in the order of keys, those above ``after``."""
        if limit < 1:
            raise InvalidInputError(f"limit must be at least 1, not {limit}")
        with self._read() as tx:
            return _with_views(tx, tx.items.page(_checked(filter), after, limit))

    def count(self, filter: Filter = _EVERYTHING) -> int:
        """Return how many items pass the filter."""
        with self._read() as tx:
            return tx.items.count(_checked(filter))

    def item(self, key: str) -> Item:
        """Return one item; NotFoundError if there is none of that key."""
        with self._read() as tx:
            return _with_views(tx, tx.items.by_id([_item_id(tx, key)]))[0]

    def thumbnail(self, key: str) -> bytes:
        """Return an item's small picture (JPEG); NotFoundError where there is none."""
        with self._read() as tx:
            found = tx.items.thumbnail(_item_id(tx, key))
        if found is None:
            raise NotFoundError(f"item {key!r} has no thumbnail: it was imported without a picture")
        return found

    # -- items in and out

    def index(
        self,
        paths: Sequence[Path | str],
        labels: str | Path | None = None,
        workers: int | None = None,
        progress: Progress | None = None,
        seed: int = 0,
        captions: str | Path | None = None,
        replace_labels: bool = False,
        include_deleted: bool = False,
    ) -> ImportReport:
        """Index the pictures below folders, and files named themselves, on ``workers`` processes (all cores).

        Keys are the root's alias and the path below it. A file is one item, however it is reached, under the key that
        it had first. Files that are done already are left out, so an interrupted run is finished by the same call; a
        file that cannot be read is a failure of the report. Views that need it are fitted first, on a sample. Files
        whose items were deleted stay out, unless they are named themselves, have changed, or ``include_deleted``.

        ``labels`` is ``folder`` (each picture has the name of the folder that it is in; labels that somebody chose
        stay), a CSV file (see ``engine.ingest.annotations.AnnotationFile``), or None; ``captions`` a CSV file of texts.
        What they do not name stays, an empty value clears; with ``replace_labels``, pictures that ``labels`` do not
        name lose theirs, and folders replace chosen ones. A line of no picture is a failure, too.

        A program that calls this must be importable by the worker processes (``if __name__ == "__main__":``).

        Raises InvalidInputError, NotReadyError (views cannot be fitted), BusyError, StorageError.
        """
        from engine.ingest.annotations import Annotations
        from engine.ingest.indexing import index_files

        annotations = Annotations(labels, captions, replace_labels)
        with self._write():
            return index_files(self._catalog, paths, annotations, workers, progress, seed, include_deleted)

    def update_items(self, updates: Sequence[ItemUpdate], match_paths: bool = False) -> ImportReport:
        """Change labels, attributes and texts of items that are there; what an update does not name stays.

        Keys are equal in any Unicode form. With ``match_paths``, updates may also name items by the path of their file,
        full or below its root; one of several items with that path changes all. An update of no item is a failure of
        the report.

        Raises BusyError, StorageError.
        """
        from engine.ingest.updating import update_items

        with self._write():
            return update_items(self._catalog, updates, match_paths)

    def import_items(self, items: Sequence[NewItem], workers: int = 1) -> ImportReport:
        """Add or update items by key, in one change; a bad item is a failure of the report.

        What is not named of an item that exists stays, an empty value clears; see ``NewItem``.

        Raises NotReadyError while a view that is needed is not fitted, BusyError, StorageError.
        """
        from engine.ingest.importing import import_items

        with self._write():
            return import_items(self._catalog, items, workers)

    def annotate(self, path: Path | str, cell: str = "label", replace_labels: bool = False) -> ImportReport:
        """Give items what a CSV file says of them: labels, captions and attributes (``engine.ingest.annotations``).

        Items go by key, path below the root, or full path, with or without pictures. What the file does not name stays,
        an empty cell clears; with ``replace_labels``, items that it gives no label lose theirs. Without a first line
        that names the columns, the second ``cell`` is a "label" or a "caption". A line of no item is a failure.

        Raises InvalidInputError (the file cannot be used, or names no item), BusyError, StorageError.
        """
        from engine.ingest.annotating import annotate

        with self._write():
            return annotate(self, path, cell, replace_labels)

    def index_vectors(
        self, view: str, path: Path, keys: Path | None = None, progress: Progress | None = None
    ) -> ImportReport:
        """Give items the rows of a file as their rows of a view, which is added where the collection lacks it.

        ``path`` is a ``.npy`` of shape (n, d), with one key a line in the file ``keys``, or an ``.npz`` with the arrays
        ``keys`` and ``vectors``. Items that do not exist are created. Without keys, rows go to the items in the order
        of keys, if they are as many. Nothing is written unless all can be; rows that are there already are unchanged,
        so an interrupted run is finished by the same call.

        Raises InvalidInputError, NotReadyError (a view to be fitted first), BusyError, StorageError, OSError.
        """
        with self._write():
            return index_vectors(self, view, path, keys, progress)

    def put_vectors(self, view: str, keys: Sequence[str], rows: NDArray[np.float32]) -> ImportReport:
        """Give the items of the keys the rows, shape (n, d), as their rows of a view, in one change.

        Items that do not exist are created; what else is known of those that do stays.

        Raises InvalidInputError, NotFoundError, NotReadyError, BusyError, StorageError.
        """
        with self._write():
            return put_vectors(self._catalog, view, keys, rows)

    def add_view(self, spec: str) -> ViewInfo:
        """Add a view, such as ``text`` or ``clip=vectors:dim=512``; the next ``index`` computes its rows.

        Raises InvalidInputError, AlreadyExistsError, BusyError, StorageError.
        """
        with self._write(), self._catalog.write() as tx:
            return view_info(add_view(tx, spec))

    def fit_views(
        self,
        images: Iterable[bytes | Picture],
        views: Sequence[str] | None = None,
        seed: int = 0,
        workers: int | None = None,
        refit: bool = False,
    ) -> tuple[ViewInfo, ...]:
        """Fit views (by default those that need it and are not fitted) and return all views.

        Views of pictures are fitted on the encoded ones given, with labels if they are each a ``Picture``; views of
        texts on the texts of the collection's items, whose rows are computed at once.

        Raises InvalidInputError (nothing to fit), NotFoundError, NotReadyError (too few pictures or texts), BusyError,
        StorageError.
        """
        from engine.ingest.fitting import fit_views
        from engine.ingest.texts import place_texts

        with self._write():
            fit_views(self._catalog, images, views or (), refit, seed, workers)
            place_texts(self._catalog)
        return self.views()

    def delete_items(self, keys: Sequence[str]) -> int:
        """Delete those items that exist of the keys; return how many."""
        with self._write(), self._catalog.write() as tx:
            return delete_items(tx, keys)

    # -- spaces

    def train(
        self,
        learner: str,
        views: Sequence[str],
        *,
        dim: int | None = None,
        space: str | None = None,
        settings: Mapping[str, Any] | None = None,
        holdout: float = 0.0,
        seed: int = 0,
        pairs: Sequence[Pair] = (),
        tune: Tune | None = None,
        constraints: "ItemComparisons | None" = None,
        rerank: int = 0,
        activate: bool = True,
        progress: Progress | None = None,
    ) -> SpaceInfo:
        """Fit a learner and place every item: a new generation of a space.

        ``learner`` may be a pipeline, such as ``sqrt,cca``; "" stands for ``engine.recipe.LEARNER``.
        It learns from the items that have at least one of the views, each filed under those that it has. A share
        ``holdout`` of them is kept out of training, for ``evaluate``. Similar are, for learners that ask, items that
        share a label, or those of ``pairs``; metrics are learned from ``constraints`` where they are given. With
        ``tune``, settings that are not given are chosen by cross-validation.

        A pipeline that ends in a hasher, such as ``multi-npp,itq:32``, is searched by the number of differing bits;
        with ``rerank`` of R, R codes are found for each hit wanted, and put in the order of the float vectors that they
        stand for.

        It is built beside the generation that answers, which is replaced in one step if ``activate``; a training that
        is stopped leaves nothing.

        Raises InvalidInputError, NotFoundError, NotReadyError (no items, nothing to tune by), BusyError, StorageError.
        """
        from engine.training.trainer import check_space_name, train

        recipe = Recipe(
            learner or LEARNER, tuple(views), dim, settings, holdout, seed, tuple(pairs), tune, constraints, rerank
        )
        name = check_space_name(space or recipe.space_name())
        return self._add(name, activate, lambda tx, generation: train(tx, name, generation, recipe, progress))

    def extend(
        self,
        space: str,
        views: Sequence[str],
        *,
        name: str | None = None,
        activate: bool = True,
        progress: Progress | None = None,
    ) -> SpaceInfo:
        """Add views to a trained space: a new generation of it (or the first of one called ``name``).

        Only the new views are learned, with the settings of the space and from its training items (and, unless some
        were held out, all later ones); distances among the views that it had stay exactly the same.

        Raises InvalidInputError (a view that it has, a learner that cannot), NotFoundError, NotReadyError, BusyError,
        StorageError.
        """
        from engine.training.trainer import add_views, check_space_name

        made = space if name is None else check_space_name(name)

        def fitted(tx: Transaction, generation: int) -> "Space":
            return add_views(tx, _stored(tx, space), made, generation, tuple(views), progress)

        return self._add(made, activate, fitted)

    def assign(self, space: str, label: str, *, activate: bool = True) -> SpaceInfo:
        """Choose, of a space's several metrics, the one for a label that it was not trained on: a new generation of it.

        The items of the label that are there decide, without training; until then they are found under every metric.

        Raises InvalidInputError (a space of one metric, a label that it learned), NotFoundError, NotReadyError (no
        items), BusyError, StorageError.
        """
        from engine.training.trainer import assign

        return self._add(space, activate, lambda tx, generation: assign(tx, _stored(tx, space), generation, label))

    def activate(self, space: str, generation: int | None = None) -> SpaceInfo:
        """Let a space answer by default, by one of its generations (by default the one that answers for it now)."""
        with self._write(), self._catalog.write() as tx:
            known = [one.generation for one in tx.spaces.generations(space)]
            if not known and space != RAW:
                raise _no_space(tx, space)
            if generation is not None and generation not in known:
                there = ", ".join(map(str, known)) or "none to choose from"
                raise NotFoundError(f"space {space!r} has no generation {generation}; there are: {there}")
            self._switch(tx, space, generation)
        with uncancellable():
            return self.space(space)

    def delete_space(self, space: str, generation: int | None = None) -> None:
        """Delete a trained space, or one of its generations that does not answer, and give its disk space back.

        Where it was the active one, ``raw`` is from then on.

        Raises InvalidInputError (``raw``), NotFoundError, NotReadyError (the generation that answers), BusyError,
        StorageError.
        """
        from engine.spaces.deletion import delete_space

        with self._write():
            self.space(space)
            with self._catalog.write() as tx:
                delete_space(tx, space, generation)
            if generation is None:
                self._live.pop(space, None)
            self._give_back()

    def delete_view(self, view: str) -> None:
        """Delete a view with its rows and its fitted states, and give its disk space back; items stay.

        Raises InvalidInputError (the last view), NotFoundError, NotReadyError (spaces use it), BusyError, StorageError.
        """
        from engine.spaces.deletion import delete_view

        with self._write():
            with self._catalog.write() as tx:
                delete_view(tx, view)
            self._live.pop(RAW, None)
            self._give_back()

    # -- searching

    def search(
        self,
        queries: Sequence[Query],
        *,
        targets: Sequence[str] = (),
        k: int = 10,
        space: str = "",
        filter: Filter = _EVERYTHING,
        merge: bool | None = None,
    ) -> list[HitList]:
        """Return the k nearest items of every query in every target, query by query, target by target.

        ``targets`` are by default all that the query's view can be matched against; ``space`` the active one (``raw``
        is always there: the views themselves). ``merge`` makes one list per query, by distance where the targets are
        metrics of one view, else as ``engine.spaces.fusion.fuse`` does; None: only the former are merged. Fewer hits
        than k mean that there are no more.

        Raises InvalidInputError, NotFoundError, NotReadyError, ImageError, StorageError.
        """
        from engine.spaces.search import answer, check_queries

        check_queries(queries, k)
        chosen = _checked(filter)
        while True:
            checkpoint()
            with self._read() as tx:
                live = self._living(tx, space or tx.active_space() or RAW)
                found = answer(tx, live, self._extractor, queries, targets, k, chosen, merge)
            if found is not None:
                return found

    def embed(self, queries: Sequence[Query], *, targets: Sequence[str] = (), space: str = "") -> list[Embedding]:
        """Return what a space makes of every query for every target: float vectors, or packed codes with their bits.

        Arguments and errors are as in ``search``.
        """
        from engine.spaces.search import check_queries, embed

        check_queries(queries)
        with self._read() as tx:
            live = self._living(tx, space or tx.active_space() or RAW)
            return embed(tx, live.space, self._extractor, queries, targets)

    def embed_items(
        self, view: str, *, space: str = "", target: str = "", after: str = "", limit: int = ITEMS_AT_ONCE
    ) -> ItemEmbeddings:
        """Return what a space makes of the rows of a view that items have, of those with keys above ``after``.

        At most ``limit`` items are looked at, fewer where vectors are wide, and those without the view are left out.
        ``target`` is needed where the space has several metrics of the view. ``every_page`` of
        ``engine.spaces.item_embeddings`` goes through all items.

        Raises InvalidInputError, NotFoundError, NotReadyError (no item has the view), StorageError.
        """
        from engine.spaces.embedding_page import embed_items

        with self._read() as tx:
            live = self._living(tx, space or tx.active_space() or RAW)
            return embed_items(tx, live.space, view, target, after, limit)

    def evaluate(
        self,
        *,
        view: str,
        space: str = "",
        targets: Sequence[str] = (),
        k: Sequence[int] = (5, 10, 30, 50, 70, 100),
        refit: bool = False,
        test_size: float = 0.2,
        seed: int = 0,
        spaces: Sequence[str] = (),
        constraints: "ItemComparisons | None" = None,
    ) -> Evaluation:
        """Measure k-NN accuracy, precision@k and mAP of labelled items that the space was not trained on.

        The queries are the items that training held out, the database those it was trained on; with ``refit`` the
        items are split anew (``test_size``, ``seed``) and the learner is fitted on its part of them.

        ``spaces`` names several spaces in place of one. All are measured with the same queries, which none of them was
        trained on, and the same database, which all trained ones were trained on, each where it can match the views;
        the differences to the first one are paired.

        With ``constraints`` it is measured, in place of that, how well distances within the view agree with them, of
        items with labels or without, and whether the space was trained on such items.

        Raises InvalidInputError, NotFoundError, NotReadyError (no labels, nothing held out), StorageError.
        """
        if space and spaces:
            raise InvalidInputError(f"name one space ({space}) or several ({', '.join(spaces)}), not both")
        if len(set(spaces)) < len(spaces):
            raise InvalidInputError(f"name each space once, not {', '.join(spaces)}")
        if constraints is not None and (targets or refit):
            raise InvalidInputError(
                "comparisons are measured within the view, by what the space has learned: leave out targets and refit"
            )
        from engine.training.agreement import agree
        from engine.training.evaluator import evaluate

        with self._read() as tx:
            names = spaces or [space or tx.active_space() or RAW]
            measured = [self._living(tx, name).space for name in names]
            if constraints is not None:
                return agree(tx, measured, view, constraints)
            return evaluate(tx, measured, view, targets, k, refit, test_size, seed)

    # -- inside

    @contextmanager
    def _read(self) -> Iterator[Transaction]:
        self._check_alive()
        with self._catalog.read() as tx:
            yield tx

    @contextmanager
    def _write(self) -> Iterator[None]:
        self._check_alive()
        with self._writer.hold():
            yield

    def _check_alive(self) -> None:
        if not self.is_alive():
            raise NotFoundError(f"collection {self.name!r} has been deleted")

    def is_alive(self) -> bool:
        """Return whether the collection has not been deleted since it was opened."""
        try:
            return os.stat(self._file).st_ino == self._inode
        except OSError:
            return False

    def _space_infos(self, tx: Transaction) -> tuple[SpaceInfo, ...]:
        active, infos = tx.active_space(), []
        for name, number in tx.spaces.answering().items():
            generations = tx.spaces.generations(name)
            answering = next(one for one in generations if one.generation == number)
            infos.append(space_info(answering, generations, name == active))
        return (*infos, raw_info(tx.views.all(), active in ("", RAW), tx.created()))

    def _add(self, name: str, activate: bool, fit: "Callable[[Transaction, int], Space]") -> SpaceInfo:
        """Fit the next generation of a space, place every item and store it."""
        from engine.spaces.live import LiveSpace

        with self._write():
            with self._read() as tx:
                earlier = tx.spaces.generations(name)
                fitted = fit(tx, max([one.generation for one in earlier], default=0) + 1)
                summary, sequence = fitted.summary(), tx.sequence()
                live = LiveSpace(fitted, self._folder / INDEX_FOLDER, (fitted.generation, sequence))
                live.follow(tx, fitted.targets)
            with self._catalog.write() as tx:
                tx.spaces.add(Generation(name, fitted.generation, now(), sequence, summary), fitted.to_state())
                if activate:
                    self._switch(tx, name, fitted.generation)
                    self._live[name] = live
            with uncancellable():
                _save(live)  # only now: a snapshot of a generation never stored would be taken for the next one's
        with uncancellable():
            return self.space(name)

    @staticmethod
    def _switch(tx: Transaction, name: str, generation: int | None) -> None:
        if generation is not None:
            tx.spaces.answer_with(name, generation)
        tx.activate(name)
        tx.next_sequence()

    def _living(self, tx: Transaction, name: str) -> "LiveSpace":
        from engine.spaces.live import LiveSpace
        from engine.spaces.space import raw_space

        identity = _identity(tx, name)
        if identity is None:
            raise _no_space(tx, name)
        with self._loading:
            if name not in self._live or self._live[name].identity != identity:
                space = raw_space(tx.views.all()) if name == RAW else _stored(tx, name)
                self._live[name] = LiveSpace(space, self._folder / INDEX_FOLDER, identity)
            return self._live[name]

    def _current(self) -> "list[LiveSpace]":
        """Return the spaces in memory that the catalog still has: snapshots of others would only take room."""
        with self._read() as tx:
            return [live for name, live in self._live.items() if _identity(tx, name) == live.identity]

    def _give_back(self) -> None:
        """Give the disk space of what was deleted back; where that cannot be, nothing but the space is lost."""
        from engine.spaces.deletion import current_snapshots, remove_snapshots

        try:
            with self._read() as tx:
                keep = current_snapshots(tx)
            remove_snapshots(self._folder / INDEX_FOLDER, keep)
            self._catalog.shrink()
        except (CrossviewError, OSError) as error:
            _log.warning("deleted, but its disk space could not be given back: %s", error)

    def _extractor(self, tx: Transaction, view: ViewRecord) -> "Extractor":
        identity = (view.id, view.revision)
        if identity not in self._extractors:
            self._extractors[identity] = load_extractor(tx, view)
        return self._extractors[identity]


def _checked(chosen: Filter) -> Filter:
    for name, value in check_attributes(chosen.attributes).items():
        if isinstance(value, dict | list):
            raise InvalidInputError(
                f"attribute {name!r} compares with text, a number, a boolean or null, not {value!r}"
            )
    for text in (*chosen.labels, *chosen.without_labels, *chosen.keys, chosen.key_prefix):
        check_characters(text, "a label or key of a filter", MAX_LABEL)
    if max(len(chosen.labels), len(chosen.without_labels), len(chosen.keys)) > 10_000:
        raise InvalidInputError("a filter names at most 10,000 labels or keys")
    return chosen


def _size(path: Path) -> int:
    """Return the bytes of a file; 0 for a folder, or for a file that is gone by now."""
    try:
        return path.stat().st_size if path.is_file() else 0
    except FileNotFoundError:
        return 0


def _identity(tx: Transaction, name: str) -> tuple[int, ...] | None:
    """Return what tells a space from another of its name; None where there is no space of the name."""
    return raw_identity(tx.views.all()) if name == RAW else tx.spaces.identity(name)


def _item_id(tx: Transaction, key: str) -> int:
    found = tx.items.ids_of([key])
    if not found:
        raise NotFoundError(f"no item {key!r} in collection {tx.name()!r}")
    return found[key]


def _no_space(tx: Transaction, name: str) -> NotFoundError:
    there = ", ".join([*tx.spaces.answering(), RAW])
    return NotFoundError(f"no space {name!r} in collection {tx.name()!r}; there are: {there}")


def _stored(tx: Transaction, name: str) -> "Space":
    """Return a trained space by the generation that answers for it."""
    if name == RAW:
        raise InvalidInputError(f"{RAW!r} is every view already: name a trained space")
    from engine.spaces.space import Space

    number = tx.spaces.answering().get(name)
    if number is None:
        raise _no_space(tx, name)
    return Space.from_state(name, number, tx.spaces.state(name, number))


def _save(live: "LiveSpace") -> None:
    """Write snapshots; without them nothing is lost but the time to build the indexes again."""
    try:
        live.save()
    except StorageError as error:
        _log.info("%s", error)


def _with_views(tx: Transaction, items: Mapping[int, Item]) -> list[Item]:
    names = {view.id: view.name for view in tx.views.all()}
    views = tx.rows.views_of(items)
    return [replace(item, views=tuple(names[one] for one in views.get(number, ()))) for number, item in items.items()]
