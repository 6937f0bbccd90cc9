"""Collections: the methods that fill, train and search one.

The methods import the code that decodes, learns or searches only when they need it, so that a description takes little
time.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar, Unpack, cast, overload

from crossview.engine.catalog.catalog import Transaction
from crossview.engine.catalog.description import RAW, check_space_name, collection_info
from crossview.engine.catalog.folder import CollectionFolder
from crossview.engine.collections.items import Items
from crossview.engine.collections.maps import Maps
from crossview.engine.collections.memory import Memory
from crossview.engine.collections.opened import Opened
from crossview.engine.collections.spaces import Spaces
from crossview.engine.collections.storage import Storage
from crossview.engine.collections.views import Views
from crossview.engine.runtime.progress import Progress
from crossview.engine.values.conditions.filter import EVERY_ITEM, FilterForm
from crossview.engine.values.duplicate import Duplicates, DuplicatesRequest
from crossview.engine.values.errors import CrossviewError, NotFoundError
from crossview.engine.values.evaluation import Evaluation, EvaluationRequest
from crossview.engine.values.explanation import ExplainRequest, Explanation
from crossview.engine.values.hits import HitLists
from crossview.engine.values.info import CollectionInfo, SpaceInfo, collection_html
from crossview.engine.values.item import DEFAULT_INDEXING, Failure, ImportReport, IndexOptions, one_or_several
from crossview.engine.values.markup import Markup
from crossview.engine.values.notebook import SAMPLE, shown
from crossview.engine.values.query import (
    HITS_A_PAGE,
    Embedding,
    HitList,
    OneQuery,
    Query,
    SameRequest,
    SearchRequest,
    Suggestions,
    SuggestRequest,
    Verdict,
    check_size,
    request_of,
)
from crossview.engine.values.recipe import Recipe
from crossview.features.pictures import IN_PROCESS, Pictures

if TYPE_CHECKING:
    from crossview.engine.findings.duplicates.judging import DuplicateJudgements
    from crossview.engine.findings.questions.asking import Questions
    from crossview.engine.findings.questions.feedback import Feedback
    from crossview.engine.spaces.search import Pages
    from crossview.engine.spaces.space import Space
    from crossview.engine.values.audit import Audit, AuditRequest
    from crossview.engine.values.changes import Changes, ChangesRequest

T = TypeVar("T")
R = TypeVar("R", SearchRequest, SuggestRequest)


class Collection:
    """An open collection. Several threads and processes can call its methods; they take turns to commit.

    All errors that a user can cause are ``CrossviewError``.

    >>> import crossview
    >>> with crossview.open("flowers") as flowers:  # doctest: +SKIP
    ...     (found,) = flowers.search(view="color", image="rose.jpg", targets="sift", k=5)
    ...     print([(hit.key, hit.distance) for hit in found])
    """

    def __init__(self, folder: CollectionFolder, pictures: Pictures = IN_PROCESS) -> None:
        self._opened = opened = Opened(folder, pictures)
        self.views: Views = Views(opened)
        """The views; a call lists them."""
        self.items: Items = Items(opened, self.views)
        """The items; a call lists them."""
        self.spaces: Spaces = Spaces(opened)
        """The spaces; a call lists them."""
        self.maps: Maps = Maps(opened)
        """The maps of spaces; a call lists them."""
        self.memory: Memory = Memory(opened)
        """The data in memory, from which a server answers without waiting."""
        self.storage: Storage = Storage(opened)
        """The state of the collection on disk."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        try:
            info = self.info()
        except CrossviewError:
            return f"<crossview collection {self.name!r}, closed or deleted>"
        views = ", ".join(view.name for view in info.views)
        return f"<crossview collection {self.name!r}: {info.items} items, views {views}, space {info.active_space}>"

    @shown
    def _repr_html_(self) -> Markup:
        return collection_html(self.info(), self.items(limit=SAMPLE, sample=SAMPLE), self.items.thumbnail)

    def close(self) -> None:
        """Save the indexes for the next opening and close the catalog.

        Every later call raises NotReadyError.
        """
        self._opened.close()

    @property
    def name(self) -> str:
        """The collection's name."""
        return self._opened.folder.name

    @property
    def opened(self) -> Opened:
        """The open catalog and the data in memory, for other rooms of the engine."""
        return self._opened

    def info(self) -> CollectionInfo:
        """Return the collection's description."""
        with self._opened.read() as tx:
            info = collection_info(tx, self._opened.folder.size())
        return replace(info, spaces=tuple(map(self._opened.described, info.spaces)))

    def count(self, filter: FilterForm = EVERY_ITEM) -> int:
        """Return how many items pass the filter."""
        return self.items.count(filter)

    def index(
        self, paths: Sequence[Path | str], options: IndexOptions = DEFAULT_INDEXING, *, progress: Progress | None = None
    ) -> ImportReport:
        """Index the pictures below folders, and single files.

        A key is the root's alias and the path below the root. A file is one item under its first key, even if several
        paths lead to it. The method skips files that are indexed and unchanged, so the same call finishes an
        interrupted run. A file that cannot be read, or a line of a CSV file that names no picture, is a failure of the
        report. Views without a fit are fitted first, on a sample.

        Processes read the pictures, with limits of time and memory for each; ``workers=1`` reads them in this process.

        Raises InvalidInputError, NotReadyError (views cannot be fitted), BusyError, StorageError.
        """
        from crossview.engine.catalog.ingest.annotations import Annotations
        from crossview.engine.catalog.ingest.indexing import index_files

        annotations = Annotations(options.labels, options.captions, options.replace_labels, options.label_notion)
        with self._opened.folder.working():
            return index_files(
                self._opened.writable, paths, annotations, options, progress, self._opened.pictures.max_pixels
            )

    def train(
        self,
        recipe: Recipe,
        *,
        space: str | None = None,
        activate: bool | None = None,
        progress: Progress | None = None,
        request_id: str = "",
    ) -> SpaceInfo:
        """Fit a learner and place every item: a new generation of ``space`` [default: named after the last learner].

        Only a ``space`` that the caller names can replace a generation of another pipeline.

        The generation in use answers until the new one replaces it in one step. The space becomes the active one if
        ``activate`` is True, or if it is None and no space was activated before; with False, the generation is
        only stored. A training that is stopped changes nothing. ``spaces.made_by`` finds the generation by
        ``request_id``.

        Raises InvalidInputError, NotFoundError, NotReadyError (no items, nothing to tune by), BusyError, StorageError.
        """
        from crossview.engine.training.settling import check_replaced
        from crossview.engine.training.trainer import training

        name = check_space_name(space or recipe.space_name())

        def fitting(tx: Transaction) -> "Callable[[], Space]":
            if not space:
                check_replaced(tx, recipe)
            return training(tx, name, recipe, progress)

        return self._opened.add_generation(name, activate, fitting, request_id, progress)

    @overload
    def search(self, request: SearchRequest) -> list[HitList]: ...

    @overload
    def search(self, **query: Unpack[OneQuery]) -> list[HitList]: ...

    def search(self, request: SearchRequest | None = None, **query: Any) -> list[HitList]:
        """Return the k nearest items of every query in every target, query by query, target by target.

        A search with one query also takes the arguments of ``Query`` and ``SearchRequest``, as in
        ``search(view="color", image="a.jpg", targets="sift", k=5)``, and returns one list for each target.

        Raises InvalidInputError, NotFoundError, NotReadyError, ImageError, StorageError.
        """
        return self._continued(request_of(request, cast(OneQuery, query)), self._searched)

    def _continued(self, request: SearchRequest, answer: Callable[[SearchRequest], T]) -> T:
        """Return the answer to a request, with the judgements of its feedback if it names one."""
        if not request.feedback:
            return _by_words(request, answer)
        try:
            return _by_words(self.feedback.continued(request), answer)
        except NotFoundError:  # another call may just have deleted a judged item
            return _by_words(self.feedback.continued(request), answer)

    def _searched(self, request: SearchRequest) -> list[HitList]:
        from crossview.engine.spaces.search import answer, check_search, searched_targets

        check_search(request)
        lists = self._opened.versions().answered(
            request.space, searched_targets(request), lambda state: answer(state, request)
        )
        self._opened.warn_of_unmet(request.named_fields, not any(hits.hits for hits in lists))
        return HitLists(hits.illustrated(self.items.thumbnail) for hits in lists)

    @overload
    def search_pages(self, request: SearchRequest, size: int = HITS_A_PAGE) -> Iterator[list[HitList]]: ...

    @overload
    def search_pages(self, *, size: int = HITS_A_PAGE, **query: Unpack[OneQuery]) -> Iterator[list[HitList]]: ...

    def search_pages(
        self, request: SearchRequest | None = None, size: int = HITS_A_PAGE, **query: Any
    ) -> Iterator[list[HitList]]:
        """Yield all hits of a search, ``size`` at a time, for any k of the request.

        All pages show the collection as it was at the first, whatever is written meanwhile; each list has the ``total``
        of its hits. End the iteration, or close the iterator, soon: the log of the catalog grows until then.

        Arguments and errors are those of ``search``; InvalidInputError also for more than two million hits.
        """
        check_size(size)
        pages = self.open_pages(request_of(request, cast(OneQuery, query)))
        try:
            for lists in pages.each(size):
                yield HitLists(hits.illustrated(self.items.thumbnail) for hits in lists)
        finally:
            pages.close()

    def open_pages(self, request: SearchRequest) -> "Pages":
        """Return the pages of ``search_pages`` for reading them in any order; close them after use."""
        from crossview.engine.spaces.search import Pages, check_pages, pages_of

        def opened(wanted: SearchRequest) -> Pages:
            check_pages(wanted)
            return pages_of(self._opened.versions(), wanted)

        pages = self._continued(request, opened)
        self._opened.pages.add(pages)
        self._opened.warn_of_unmet(request.named_fields, not len(pages))
        return pages

    def explain(self, request: ExplainRequest) -> list[Explanation]:
        """Return why items have their places in the lists of a search, list by list; nothing is written.

        The contributions of views and targets add up to the match, the squared distance, or the score that places an
        item. Key points are found in the query's picture and in the thumbnails of items.

        Raises the errors of ``search``, and InvalidInputError for an item that the search cannot find.
        """
        from crossview.engine.findings.explaining.explaining import check_explained, explain
        from crossview.engine.spaces.search import searched_targets

        check_explained(request)

        def explained(search: SearchRequest) -> list[Explanation]:
            return self._opened.versions().answered(
                search.space, searched_targets(search), lambda state: explain(state, replace(request, search=search))
            )

        return _by_words(request.search, explained)

    def suggest(self, request: SuggestRequest) -> Suggestions:
        """Return labels for every query, by vote of the nearest labelled items; nothing is written.

        Raises InvalidInputError, NotFoundError, NotReadyError (no labels to vote with), ImageError, StorageError.
        """
        from crossview.engine.spaces.search import searched_targets
        from crossview.engine.spaces.suggestion import check_request, suggest

        check_request(request)

        def suggested(asked: SuggestRequest) -> Suggestions:
            return self._opened.versions().answered(
                asked.space, searched_targets(asked.search), lambda state: suggest(state, asked)
            )

        return _by_words(request, suggested)

    def same(self, request: SameRequest) -> list[Verdict | Failure]:
        """Return whether the two queries of each pair are the same, by the threshold of the generation in use.

        A pair with the key of an unknown item, or of an item without the view, gets a Failure with key and reason.

        Raises InvalidInputError, NotFoundError, NotReadyError (not calibrated), ImageError, StorageError.
        """
        from crossview.engine.spaces.search import check_queries
        from crossview.engine.spaces.thresholds import checked_pairs, same

        check_queries(request.queries)
        return self._opened.versions().answered(
            request.space, checked_pairs(request), lambda state: same(state, request)
        )

    def embed(self, queries: Sequence[Query], *, targets: Sequence[str] = (), space: str = "") -> list[Embedding]:
        """Return the vector of every query for every target: floats, or packed codes with their bits.

        Arguments and errors are those of ``search``.
        """
        from crossview.engine.spaces.item_vectors import embed
        from crossview.engine.spaces.search import check_queries, no_targets

        check_queries(queries)
        return self._opened.versions().answered(
            space,
            no_targets(queries),
            lambda state: embed(state, queries, one_or_several(targets)),
        )

    def evaluate(self, request: EvaluationRequest, *, progress: Progress | None = None) -> Evaluation:
        """Measure k-NN accuracy, precision@k and mAP of labelled items that the spaces were not trained on.

        It also measures what labels do not show: coverage and hubness, and across views recall of the query's own item.

        The queries are the items that training held out, or with ``refit`` those of a new split. They search the
        trained items, each other, or both (``databases``). Several spaces are measured with the same queries in the
        same databases, and differences to the first space are paired. Without labels, an evaluation measures, across
        views, how soon a query finds its own item; with ``constraints``, how well distances agree with them; with
        ``pairs``, how well distances separate similar from dissimilar pairs of items that no space was trained on.

        ``learners`` are measured without a training: each is fitted on every split, and nothing is stored. Without a
        ``view``, the figures are those of every pair of views that all spaces have, and their mean.

        Raises InvalidInputError, NotFoundError, NotReadyError (no labels, nothing held out), StorageError.
        """
        from crossview.engine.training.evaluator import evaluated
        from crossview.engine.training.trainer import candidate

        with self._opened.read() as tx:
            names = request.spaces or (() if request.learners else ("",))
            spaces = [self._opened.loaded.get(tx, name) for name in names]
            spaces += [candidate(tx, spec, request) for spec in request.learners]
            measure = evaluated(tx, self._opened.versions(), spaces, request, progress)
        return measure()

    def changes(self, request: "ChangesRequest") -> "Changes":
        """Return the changes between successive pictures, and which are important, learned from time alone.

        Raises InvalidInputError, NotFoundError (view), NotReadyError (too few versions, or equal versions).
        """
        from crossview.engine.findings.changes.important_changes import find_changes

        with self._opened.read() as tx:
            find = find_changes(tx, request)
        return find()

    def audit(self, request: "AuditRequest | None" = None, *, progress: Progress | None = None) -> "Audit":
        """Return what makes searches worse or figures of evaluations too good, with the items concerned.

        These are held-out near copies of training items, doubtful labels, outliers, labels that no view tells, missing
        and unreadable files, rows and spaces out of date, and newer items and their drift. Nothing is written. Labels
        and distances of at most 5,000 items, drawn at random, are examined in each view.

        Raises InvalidInputError, NotFoundError (space), StorageError.
        """
        from crossview.engine.findings.audit.auditing import audit
        from crossview.engine.values.audit import AuditRequest

        request = request or AuditRequest()
        request.check()
        with self._opened.read() as tx:
            return audit(self._opened.versions(), tx, self._opened.loaded.get(tx, request.space), request, progress)

    def duplicates(self, request: DuplicatesRequest) -> Duplicates:
        """Return the groups of pictures that show the same photograph, each with a keeper, and the bursts.

        A rule decides by what aligned thumbnails have in common; it is fitted in each call on altered copies of the
        collection's own pictures. Judgements of people come first. Nothing is deleted or moved.

        Raises InvalidInputError, NotFoundError (the other collection), StorageError.
        """
        from crossview.engine.collections.duplicates import duplicates_of

        return duplicates_of(self._opened, request)

    @property
    def duplicate_judgements(self) -> "DuplicateJudgements":
        """Judgements of people on pairs of pictures: the same photograph, or not."""
        from crossview.engine.findings.duplicates.judging import DuplicateJudgements

        return DuplicateJudgements(self._opened.writable)

    @property
    def questions(self) -> "Questions":
        """Questions to people about the items, and their answers."""
        from crossview.engine.findings.questions.asking import Questions

        return Questions(self._opened.writable, self._opened.versions)

    @property
    def feedback(self) -> "Feedback":
        """Judgements of items in searches, by which later searches go on."""
        from crossview.engine.findings.questions.feedback import Feedback

        return Feedback(self._opened.writable)


def _by_words(request: R, answer: Callable[[R], T]) -> T:
    """Return the answer to a request, or that of ``raw`` if no view of the active space takes its words."""
    from crossview.engine.spaces.queries import NoViewError

    try:
        return answer(request)
    except NoViewError:
        if not request.space and any(query.text is not None for query in request.queries):
            with suppress(NoViewError):
                return answer(replace(request, space=RAW))
        raise
