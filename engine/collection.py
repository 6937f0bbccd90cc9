"""Collections: what fills, trains and searches them.

What decodes pictures, learns or searches is imported where it is used, so that a collection is described in a moment.
"""

import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from crossview.engine.catalog.catalog import Transaction
from crossview.engine.catalog.description import RAW, check_space_name
from crossview.engine.catalog.extractors import add_view, view_info
from crossview.engine.catalog.folder import CollectionFolder
from crossview.engine.catalog.writing import delete_items
from crossview.engine.changes.important_changes import ImportantChanges
from crossview.engine.errors import CrossviewError
from crossview.engine.evaluation import Evaluation, EvaluationRequest
from crossview.engine.info import SpaceInfo, ViewInfo
from crossview.engine.ingest.vectors import index_vectors, put_vectors
from crossview.engine.item import (
    DEFAULT_INDEXING,
    ImportReport,
    IndexOptions,
    ItemUpdate,
    NewItem,
    Picture,
    one_or_several,
)
from crossview.engine.query import Embedding, HitList, Query, SearchRequest, Suggestions, SuggestRequest
from crossview.engine.recipe import Recipe
from crossview.engine.runtime.progress import Progress
from crossview.engine.spaces.item_embeddings import ITEMS_AT_ONCE, ItemEmbeddings
from crossview.engine.spaces.loaded import LoadedSpaces, stored_space
from crossview.engine.spaces.snapshot_files import SnapshotFiles
from crossview.engine.training.same_or_different import SameOrDifferent
from crossview.features.pictures import IN_PROCESS, Pictures

if TYPE_CHECKING:
    from crossview.engine.questions.asking import Questions
    from crossview.engine.spaces.space import Space
    from crossview.engine.spaces.versions import Versions


class Collection(SameOrDifferent, ImportantChanges):
    """One collection, open. Methods may be called from several threads and processes; they take turns to commit.

    Raises ``engine.errors.CrossviewError`` or ``features.errors.ImageError`` for everything that a user can cause.

    >>> import crossview
    >>> from crossview import Query, SearchRequest
    >>> with crossview.open("flowers") as flowers:  # doctest: +SKIP
    ...     query = Query("color", image=Path("rose.jpg"))
    ...     (found,) = flowers.search(SearchRequest([query], targets="sift", k=5))
    ...     print([(hit.key, hit.distance) for hit in found.hits])
    """

    def __init__(self, folder: CollectionFolder, pictures: Pictures = IN_PROCESS) -> None:
        super().__init__(folder)
        self._pictures = pictures
        self._loaded = LoadedSpaces(self._catalog, pictures)
        self._files = SnapshotFiles(self._catalog, folder)
        self._files.remove_unnamed()
        self._reader: Versions | None = None
        self._beginning = threading.Lock()

    def close(self) -> None:
        """Save the indexes for the next opening and close the catalog.

        What is asked of the collection afterwards raises NotReadyError.
        """
        if self._reader is not None and not self._closed:
            self._reader.close()
            if self.is_alive():
                with suppress(CrossviewError):
                    self._reader.save()
        super().close()

    # -- items in and out

    def index(
        self, paths: Sequence[Path | str], options: IndexOptions = DEFAULT_INDEXING, *, progress: Progress | None = None
    ) -> ImportReport:
        """Index the pictures below folders, and files named themselves.

        Keys are the root's alias and the path below it. A file is one item, however it is reached, under the key that
        it had first. Files that are done are left out, so an interrupted run is finished by the same call; a file that
        cannot be read, or a line of a CSV file that names no picture, is a failure. Views are fitted first on a sample.

        Processes read the pictures, with limits of time and memory for each; ``workers=1`` reads them in this process.

        Raises InvalidInputError, NotReadyError (views cannot be fitted), BusyError, StorageError.
        """
        from crossview.engine.ingest.annotations import Annotations
        from crossview.engine.ingest.indexing import index_files

        annotations = Annotations(options.labels, options.captions, options.replace_labels, options.label_notion)
        return index_files(self._writable, paths, annotations, options, progress, self._pictures.max_pixels)

    def update_items(
        self, updates: Sequence[ItemUpdate], match_paths: bool = False, progress: Progress | None = None
    ) -> ImportReport:
        """Change labels, attributes and texts of existing items; what an update does not name stays.

        Keys are equal in any Unicode form. With ``match_paths``, updates may also name items by the path of their file,
        full or below its root. An update of no item is a failure of the report.

        Raises BusyError, StorageError.
        """
        from crossview.engine.ingest.updating import update_items

        return update_items(self._writable, updates, match_paths, progress)

    def import_items(self, items: Sequence[NewItem], workers: int = 1) -> ImportReport:
        """Add or update items by key, in one change; a bad item is a failure of the report.

        What is not named of an item that exists stays, an empty value clears; see ``NewItem``.

        Raises NotReadyError while a view that is needed is not fitted, BusyError, StorageError.
        """
        from crossview.engine.ingest.importing import import_items

        return import_items(self._writable, items, self._pictures, workers)

    def annotate(
        self,
        path: Path | str,
        cell: str = "label",
        replace_labels: bool = False,
        notion: str = "",
        new_attributes: bool = False,
        progress: Progress | None = None,
    ) -> ImportReport:
        """Annotate items with the labels, captions and attributes of a CSV file (``engine.ingest.annotation_file``).

        Items go by key, path below the root, or full path. What the file does not name stays, an empty cell clears;
        with ``replace_labels``, items that it gives no label lose theirs. Without a first line that names the columns,
        the second ``cell`` is a "label" or a "caption". ``notion``: what labels are in. A line of no item fails. With
        ``new_attributes``, a column that no item has as an attribute may be named like one, or like label or caption.

        Raises InvalidInputError (the file cannot be used, or names no item), BusyError, StorageError.
        """
        from crossview.engine.ingest.annotations import annotate

        return annotate(self, path, cell, replace_labels, notion, new_attributes, progress)

    def index_vectors(
        self, view: str, path: Path, keys: Path | None = None, progress: Progress | None = None
    ) -> ImportReport:
        """Store the rows of a file as items' rows of a view, which is added where the collection lacks it.

        ``path`` is a ``.npy`` of shape (n, d), with one key a line in the file ``keys``, or an ``.npz`` with the arrays
        ``keys`` and ``vectors``. Items that do not exist are created. Without keys, as many rows as there are items go
        to these in the order of keys. Nothing is written unless all can be; the same call finishes an interrupted run.

        Raises InvalidInputError, NotReadyError (a view to be fitted first), BusyError, StorageError, OSError.
        """
        return index_vectors(self, view, path, keys, progress)

    def put_vectors(self, view: str, keys: Sequence[str], rows: NDArray[np.float32]) -> ImportReport:
        """Store rows, shape (n, d), as rows of a view of the items of these keys, which are created or keep the rest.

        Raises InvalidInputError, NotFoundError, NotReadyError, BusyError, StorageError.
        """
        return put_vectors(self._writable, view, one_or_several(keys), rows)

    def add_view(self, spec: str) -> ViewInfo:
        """Add a view, such as ``text`` or ``clip=vectors:dim=512``; the next ``index`` computes its rows.

        Raises InvalidInputError, AlreadyExistsError, BusyError, StorageError.
        """
        with self._writable.write() as tx:
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

        Views of pictures are fitted on encoded ones, with labels if each is a ``Picture``; views of texts on those of
        the items, whose rows are computed at once.

        Raises InvalidInputError (nothing to fit), NotFoundError, NotReadyError (too few), BusyError, StorageError.
        """
        from crossview.engine.ingest.fitting import fit_views
        from crossview.engine.ingest.texts import place_texts

        fit_views(self._writable, images, one_or_several(views or ()), refit, seed, workers, self._pictures)
        place_texts(self._writable)
        return self.views()

    def delete_items(self, keys: Sequence[str]) -> int:
        """Delete items by key, those that exist; return how many."""
        with self._writable.write() as tx:
            return delete_items(tx, one_or_several(keys))

    # -- spaces

    def train(
        self,
        recipe: Recipe,
        *,
        space: str | None = None,
        activate: bool | None = None,
        progress: Progress | None = None,
        request_id: str = "",
    ) -> SpaceInfo:
        """Fit a learner and place every item: a new generation of ``space`` (by default named after the learner).

        It is built beside the one that answers for the space, which it replaces in one step. The space becomes the
        active one if ``activate`` is True, or if it is None and no trained space is active; with False it is only
        stored. A training that is stopped leaves nothing. By ``request_id`` the generation is found again
        (``made_by``).

        Raises InvalidInputError, NotFoundError, NotReadyError (no items, nothing to tune by), BusyError, StorageError.
        """
        from crossview.engine.training.trainer import training

        name = check_space_name(space or recipe.space_name())
        return self._add(name, activate, lambda tx: training(tx, name, recipe, progress), request_id)

    def extend(
        self,
        space: str,
        views: Sequence[str],
        *,
        name: str | None = None,
        activate: bool | None = None,
        progress: Progress | None = None,
        request_id: str = "",
    ) -> SpaceInfo:
        """Add views to a trained space: a new generation of it (or the first of one called ``name``).

        Only the new views are learned, with the settings of the space and from its training items (and, unless some
        were held out, all later ones); distances among the views that it had stay exactly the same.

        Raises InvalidInputError (a view that it has, a learner that cannot), NotFoundError, NotReadyError, BusyError,
        StorageError.
        """
        from crossview.engine.training.extension import added_views

        made = space if name is None else check_space_name(name)

        def extended(tx: Transaction) -> "Callable[[], Space]":
            return added_views(tx, stored_space(tx, space), made, one_or_several(views), progress)

        return self._add(made, activate, extended, request_id)

    def assign(self, space: str, label: str, *, activate: bool | None = None, request_id: str = "") -> SpaceInfo:
        """Choose, of a space's several metrics, the one for a label that it was not trained on: a new generation of it.

        The items that have the label decide, without training; until then each is found under the metric of the class
        that it seems to be of.

        Raises InvalidInputError (a space of one metric, a label that it learned), NotFoundError, NotReadyError (no
        items), BusyError, StorageError.
        """
        from crossview.engine.training.extension import assign

        return self._add(space, activate, lambda tx: assign(tx, stored_space(tx, space), label), request_id)

    def activate(self, space: str, generation: int | None = None) -> SpaceInfo:
        """Let a space answer by default, by one of its generations (by default the one that answers for it now).

        Raises NotFoundError, BusyError, StorageError.
        """
        from crossview.engine.spaces.generations import activate_space

        with self._writable.write() as tx:
            return activate_space(tx, space, generation)

    def delete_space(self, space: str, generation: int | None = None) -> None:
        """Delete a trained space, or one of its generations that does not answer, and give its disk space back.

        Where it was the active one, ``raw`` is from then on.

        Raises InvalidInputError (``raw``), NotFoundError, NotReadyError (the generation that answers), BusyError,
        StorageError.
        """
        from crossview.engine.spaces.deletion import delete_space, free_disk_space

        self._check_open()
        with self._files.changing() as tx:
            delete_space(tx, space, generation)
        if generation is None:
            self._loaded.forget(space)
        free_disk_space(self._writable, self._files)

    def delete_view(self, view: str) -> None:
        """Delete a view with its rows and its fitted states, and give its disk space back; items stay.

        Raises InvalidInputError (the last view), NotFoundError, NotReadyError (spaces use it), BusyError, StorageError.
        """
        from crossview.engine.spaces.deletion import delete_view, free_disk_space

        self._check_open()
        with self._files.changing() as tx:
            delete_view(tx, view)
        self._loaded.forget(RAW)
        free_disk_space(self._writable, self._files)

    def compact(self) -> None:
        """Give the disk space of what was deleted or replaced back: in index snapshots, tombstones, and the catalog.

        Searches go on meanwhile; writers wait while the catalog is written anew. That needs free disk space for a copy,
        and as much again while the copy takes the catalog's place.

        Raises BusyError, StorageError (where it lacks that space, too), after which nothing is lost but the space.
        """
        from crossview.engine.catalog.copies import write_anew
        from crossview.engine.spaces.deletion import forget_old_snapshots, free_disk_space

        self._check_open()
        forget_old_snapshots(self._files)
        self._versions().compact()
        with self._writable.write() as tx:
            tx.purge()
        free_disk_space(self._catalog, self._files)
        with self._folder.writing():
            write_anew(self._folder.database)
        self._catalog.truncate_log()

    # -- searching

    def search(self, request: SearchRequest) -> list[HitList]:
        """Return the k nearest items of every query in every target, query by query, target by target.

        Raises InvalidInputError, NotFoundError, NotReadyError, ImageError, StorageError.
        """
        from crossview.engine.spaces.search import answer, check_request, searched_targets

        check_request(request)
        return self._versions().answered(
            request.space,
            searched_targets(request),
            lambda version, space: answer(version, space, self._loaded, request),
        )

    def load(self, space: str = "") -> None:
        """Bring a space, by default the active one, into memory with all its indexes: no search waits for them then.

        Raises NotFoundError, NotReadyError, StorageError.
        """
        self._versions().answered(space, lambda _, loaded: loaded.targets, lambda *_: None)

    def search_at_hand(self, request: SearchRequest, most_bytes: int, most_hits: int) -> list[HitList] | None:
        """Return what ``search`` does where all is in memory; else None, at once.

        None as well where more than ``most_bytes`` have to be scanned, or there may be more than ``most_hits``.
        """
        from crossview.engine.spaces.search import answer_at_hand

        self._check_open()
        if self._reader is None:
            return None
        return answer_at_hand(self._reader, self._loaded, request, most_bytes, most_hits)

    def least_bytes(self, space: str = "") -> int:
        """Return the bytes of a space's smallest index in memory, of any state, 0 where none is: the least to scan."""
        self._check_open()
        return 0 if self._reader is None else self._reader.least_bytes(space)

    def suggest(self, request: SuggestRequest) -> Suggestions:
        """Return labels for every query, by vote of the nearest labelled items; nothing is written.

        Raises InvalidInputError, NotFoundError, NotReadyError (no labels to vote with), ImageError, StorageError.
        """
        from crossview.engine.spaces.search import targets_of
        from crossview.engine.spaces.suggestion import check_request, suggest

        check_request(request)
        targets = targets_of(request.queries, request.targets)
        return self._versions().answered(
            request.space, targets, lambda version, space: suggest(version, space, self._loaded, request)
        )

    def embed(self, queries: Sequence[Query], *, targets: Sequence[str] = (), space: str = "") -> list[Embedding]:
        """Return the vector of every query for every target: floats, or packed codes with their bits.

        Arguments and errors are those of ``search``.
        """
        from crossview.engine.spaces.search import check_queries, embed, no_targets

        check_queries(queries)
        return self._versions().answered(
            space,
            no_targets(queries),
            lambda version, one: embed(version, one.space, self._loaded, queries, one_or_several(targets)),
        )

    def embed_items(
        self, view: str, *, space: str = "", target: str = "", after: str = "", limit: int = ITEMS_AT_ONCE
    ) -> ItemEmbeddings:
        """Return the vectors of the items that have a view, of those with keys above ``after``.

        At most ``limit`` items are looked at, fewer where vectors are wide. ``target`` is needed where the space has
        several metrics of the view. ``every_page`` of ``engine.spaces.item_embeddings`` goes through all items.

        Raises InvalidInputError, NotFoundError, NotReadyError (no item has the view), StorageError.
        """
        from crossview.engine.spaces.search import embed_items

        with self._read() as tx:
            return embed_items(tx, self._loaded.get(tx, space), view, target, after, limit)

    def evaluate(self, request: EvaluationRequest, *, progress: Progress | None = None) -> Evaluation:
        """Measure k-NN accuracy, precision@k and mAP of labelled items that the spaces were not trained on.

        The queries are the items that training held out, or with ``refit`` those of a new split. They search, as
        ``databases`` says, the items that it was trained on, each other, or both. Several spaces are measured by the
        same queries in the same databases, and differences to the first one are paired. Without labels it is measured,
        across views, how soon a query finds its own item; with ``constraints``, how well distances agree with these;
        with ``pairs``, how well they tell the same from different ones, of items that no space was trained on.

        Raises InvalidInputError, NotFoundError, NotReadyError (no labels, nothing held out), StorageError.
        """
        from crossview.engine.training.evaluator import evaluated

        with self._read() as tx:
            spaces = [self._loaded.get(tx, name) for name in request.spaces or ("",)]
            measure = evaluated(tx, spaces, request, progress)
        return measure()

    @property
    def questions(self) -> "Questions":
        """Questions to people about the items, and their answers."""
        from crossview.engine.questions.asking import Questions

        return Questions(self._writable, self._versions)

    def _versions(self) -> "Versions":
        self._check_open()
        self._folder.check_alive()
        with self._beginning:
            if self._reader is None:
                from crossview.engine.spaces.versions import Versions

                self._reader = Versions(self._catalog, self._files, self._loaded)
            return self._reader

    def _add(
        self,
        name: str,
        activate: bool | None,
        prepare: "Callable[[Transaction], Callable[[], Space]]",
        request_id: str,
    ) -> SpaceInfo:
        """Fit and store the next generation of a space."""
        from crossview.engine.spaces.generations import add_generation

        return add_generation(self._writable, self._versions(), name, prepare, activate, request_id)
