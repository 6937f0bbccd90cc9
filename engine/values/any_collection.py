"""The interface that a collection on this machine and a collection on a server share, for programs that use either."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, Unpack, overload

import numpy as np
from numpy.typing import NDArray

from crossview.engine.runtime.progress import Progress
from crossview.engine.values.comparisons import Answer, Question, QuestionRequest
from crossview.engine.values.conditions.filter import EVERY_ITEM, FilterForm
from crossview.engine.values.duplicate import Duplicates, DuplicatesRequest, PairJudgement
from crossview.engine.values.evaluation import Evaluation, EvaluationRequest
from crossview.engine.values.explanation import ExplainRequest, Explanation
from crossview.engine.values.facet import FACET_VALUES, Facet
from crossview.engine.values.feedback import FeedbackInfo, Judged, Judgement
from crossview.engine.values.index_choice import AUTO, RECALL, VECTORS
from crossview.engine.values.info import CollectionInfo, SpaceInfo, Threshold, ViewInfo
from crossview.engine.values.item import (
    DEFAULT_INDEXING,
    DeletedPicture,
    Failure,
    FileChanges,
    ImportReport,
    IndexOptions,
    Item,
    ItemUpdate,
    NewItem,
    Picture,
    PictureForm,
    ValueCount,
)
from crossview.engine.values.map import POINTS_A_PAGE, MapInfo, MapPoints, MapRequest
from crossview.engine.values.query import (
    ITEMS_AT_ONCE,
    CalibrationRequest,
    Embedding,
    HitList,
    ItemEmbeddings,
    ItemNeighbors,
    OneQuery,
    Query,
    SameRequest,
    SearchRequest,
    Suggestions,
    SuggestRequest,
    Verdict,
)
from crossview.engine.values.recipe import Recipe

if TYPE_CHECKING:
    from crossview.engine.values.audit import Audit, AuditRequest
    from crossview.engine.values.changes import Changes, ChangesRequest


class AnyItems(Protocol):
    """The items of a collection, here or on a server; see ``engine.collections.items.Items``."""

    def __call__(
        self,
        filter: FilterForm = EVERY_ITEM,
        after: str = "",
        limit: int = 100,
        *,
        sort_by: str = "",
        sample: int = 0,
        seed: int = 0,
    ) -> list[Item]:
        """Return up to ``limit`` items with keys above ``after`` that pass the filter, in the order of keys."""
        ...

    def get(self, key: str) -> Item:
        """Return one item; NotFoundError if the key does not exist."""
        ...

    def count(self, filter: FilterForm = EVERY_ITEM) -> int:
        """Return how many items pass the filter."""
        ...

    def counts(self, field: str, filter: FilterForm = EVERY_ITEM, limit: int = 100) -> list[ValueCount]:
        """Return the values of a field with how many items have each, the most frequent first."""
        ...

    def facets(
        self, fields: Sequence[str], filter: FilterForm = EVERY_ITEM, limit: int = FACET_VALUES, below: str = ""
    ) -> list[Facet]:
        """Return how the items that pass the filter are distributed over the values of each field."""
        ...

    def keys(self) -> tuple[str, ...]:
        """Return the keys of all items, in their order."""
        ...

    def attribute_names(self) -> tuple[str, ...]:
        """Return the names of the attributes that any item has, sorted."""
        ...

    def deleted(self) -> list[DeletedPicture]:
        """Return the pictures of deleted items, in the order of keys."""
        ...

    def thumbnail(self, key: str, size: str = "small") -> bytes:
        """Return an item's small or large picture (JPEG); NotFoundError if the item has none."""
        ...

    def thumbnails(self, keys: Sequence[str], size: str = "small") -> list[bytes]:
        """Return the small or large pictures (JPEG) of many items; b"" for an item without one."""
        ...

    def put(self, items: Sequence[NewItem], workers: int = 1) -> ImportReport:
        """Add or update items by key, in one change; a bad item is a failure of the report."""
        ...

    def update(
        self, updates: Collection[ItemUpdate], match_paths: bool = False, progress: Progress | None = None
    ) -> ImportReport:
        """Change labels, attributes and texts of existing items; other fields keep their values."""
        ...

    def annotate(
        self,
        path: str | PathLike[str],
        cell: str = "label",
        replace_labels: bool = False,
        notion: str = "",
        new_attributes: bool = False,
        progress: Progress | None = None,
    ) -> ImportReport:
        """Annotate items with the labels, captions and attributes of a CSV file, or of an ``AnnotationFile``."""
        ...

    def put_vectors(self, view: str, keys: Sequence[str], rows: NDArray[np.float32]) -> ImportReport:
        """Store (n, d) rows as rows of a view of the items with these keys; missing items are created."""
        ...

    def index_vectors(
        self, view: str, path: Path, keys: Path | None = None, progress: Progress | None = None
    ) -> ImportReport:
        """Store the rows of a file as items' rows of a view, which is added if the collection lacks it."""
        ...

    def delete(self, keys: Sequence[str]) -> int:
        """Delete items by key; return the number of deleted items."""
        ...

    def follow_files(self, changes: FileChanges) -> None:
        """Move items along with their files, mark those whose files are missing, and unmark others, as one change."""
        ...

    def embed(
        self,
        view: str,
        *,
        space: str = "",
        target: str = "",
        filter: FilterForm = EVERY_ITEM,
        after: str = "",
        limit: int = ITEMS_AT_ONCE,
    ) -> ItemEmbeddings:
        """Return the vectors of the items that have a view and pass the filter, for keys above ``after``."""
        ...

    def neighbors(
        self,
        view: str,
        *,
        target: str = "",
        space: str = "",
        k: int = 15,
        filter: FilterForm = EVERY_ITEM,
        after: str = "",
        limit: int = ITEMS_AT_ONCE,
    ) -> ItemNeighbors:
        """Return the nearest other items of the items that have a view, for keys above ``after``."""
        ...


class AnyViews(Protocol):
    """The views of a collection, here or on a server; see ``engine.collections.views.Views``."""

    def __call__(self) -> tuple[ViewInfo, ...]:
        """Return the views."""
        ...

    def add(self, spec: str) -> ViewInfo:
        """Add a view, such as ``text`` or ``clip=vectors:dim=512``; the next ``index`` computes its rows."""
        ...

    def fit(
        self,
        images: Iterable[PictureForm | Picture],
        views: Sequence[str] | None = None,
        seed: int = 0,
        workers: int | None = None,
        refit: bool = False,
    ) -> tuple[ViewInfo, ...]:
        """Fit views [default: those that need a fit and have none] and return all views."""
        ...

    def delete(self, view: str) -> None:
        """Delete a view with its rows and its fitted states; items stay."""
        ...


class AnySpaces(Protocol):
    """The spaces of a collection, here or on a server; see ``engine.collections.spaces.Spaces``."""

    def __call__(self) -> tuple[SpaceInfo, ...]:
        """Return the trained spaces, then ``raw``, the views themselves."""
        ...

    def get(self, name: str) -> SpaceInfo:
        """Return one space; NotFoundError lists the existing spaces."""
        ...

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
        """Add views to a trained space: a new generation, or the first of a space ``name``."""
        ...

    def assign(self, space: str, label: str, *, activate: bool | None = None, request_id: str = "") -> SpaceInfo:
        """Choose the metric for a label that the space was not trained on: a new generation of the space."""
        ...

    def activate(self, space: str, generation: int | None = None) -> SpaceInfo:
        """Make a space the active one, with one of its generations [default: the generation in use]."""
        ...

    def reindex(
        self,
        space: str = "",
        *,
        index: str = AUTO,
        recall: float = RECALL,
        vectors: str = VECTORS[0],
        targets: Sequence[str] = (),
        progress: Progress | None = None,
    ) -> SpaceInfo:
        """Build the indexes of a space [default: the active one] in a kind, without another training."""
        ...

    def calibrate(self, request: CalibrationRequest, *, progress: Progress | None = None) -> Threshold:
        """Learn the distance up to which two items are the same, and store it with the generation in use."""
        ...

    def delete(self, space: str, generation: int | None = None) -> None:
        """Delete a trained space, or one of its generations that does not answer."""
        ...


class AnyMaps(Protocol):
    """The maps of a collection, here or on a server; see ``engine.collections.maps.Maps``."""

    def __call__(self) -> tuple[MapInfo, ...]:
        """Return the maps, the newest first."""
        ...

    def make(self, request: MapRequest, *, progress: Progress | None = None) -> MapInfo:
        """Place the items of a space in a plane, store the map with the collection, and return its description."""
        ...

    def get(self, number: int) -> MapInfo:
        """Return a map by its id; NotFoundError for an unknown one."""
        ...

    def points(
        self,
        number: int,
        *,
        field: str = "",
        filter: FilterForm = EVERY_ITEM,
        after: int = 0,
        limit: int = POINTS_A_PAGE,
    ) -> MapPoints:
        """Return a page of the points of the items on a map that still exist and pass the filter."""
        ...

    def delete(self, number: int) -> None:
        """Delete a map by its id."""
        ...


class AnyStorage(Protocol):
    """The state of a collection on disk, here or on a server; see ``engine.collections.storage.Storage``."""

    def findings(self) -> tuple[str, ...]:
        """Return the inconsistencies, one sentence each, such as one file that is two items."""
        ...


class AnyQuestions(Protocol):
    """Questions to people, and their answers; see ``engine.findings.questions.asking.Questions``."""

    def next(self, request: QuestionRequest) -> Question:
        """Return the next question for a person."""
        ...

    def answer(self, answer: Answer) -> Answer:
        """Store an answer, and return it with its id and time."""
        ...

    def undo(self, notion: str, person: str) -> Answer:
        """Delete and return the last answer of a person in a notion."""
        ...

    def answers(self, notion: str = ..., person: str = ..., after: int = ..., limit: int = ...) -> list[Answer]:
        """Return up to ``limit`` answers with ids above ``after``, in the order in which people gave them."""
        ...


class AnyDuplicateJudgements(Protocol):
    """Judgements on pairs of pictures; see ``engine.findings.duplicates.judging.DuplicateJudgements``."""

    def judge(self, first: str, second: str, same: bool, *, person: str) -> PairJudgement:
        """Store whether two items are the same photograph, and return the judgement."""
        ...

    def undo(self, person: str) -> PairJudgement:
        """Delete and return the last judgement of a person."""
        ...

    def list(self) -> list[PairJudgement]:
        """Return the judgements that count, the last one of each pair."""
        ...


class AnyFeedback(Protocol):
    """Judgements of items in searches; see ``engine.findings.questions.feedback.Feedback``."""

    def judge(self, name: str, likes: Judged = ..., unlikes: Judged = ..., *, person: str) -> list[Judgement]:
        """Store a person's judgements under a name, and return all judgements of that name that count."""
        ...

    def get(self, name: str) -> list[Judgement]:
        """Return the judgements of a name that count: the last one of each key."""
        ...

    def undo(self, name: str, person: str) -> Judgement:
        """Delete and return the last judgement of a person; what it replaced counts again."""
        ...

    def delete(self, name: str, keys: Sequence[str] = ...) -> int:
        """Delete the judgements of a name, or only those of some keys; return how many counted."""
        ...

    def remember(self, name: str, notion: str, person: str = ...) -> list[Answer]:
        """Store the judgements of a name as answers of their persons in a notion, and return these answers."""
        ...

    def forget(self, name: str, notion: str = ..., person: str = ...) -> int:
        """Delete the answers that ``remember`` stored for a name; return how many."""
        ...

    def list(self) -> list[FeedbackInfo]:
        """Return the names, each with the number of its judgements that count."""
        ...


class AnyCollection(Protocol):
    """A collection, here or on a server; see ``engine.collections.collection.Collection`` for its methods."""

    @property
    def name(self) -> str:
        """The collection's name."""
        ...

    @property
    def items(self) -> AnyItems:
        """The items; a call lists them."""
        ...

    @property
    def views(self) -> AnyViews:
        """The views; a call lists them."""
        ...

    @property
    def spaces(self) -> AnySpaces:
        """The spaces; a call lists them."""
        ...

    @property
    def maps(self) -> AnyMaps:
        """The maps of spaces; a call lists them."""
        ...

    @property
    def storage(self) -> AnyStorage:
        """The state of the collection on disk."""
        ...

    @property
    def questions(self) -> AnyQuestions:
        """Questions to people about the items, and their answers."""
        ...

    @property
    def duplicate_judgements(self) -> AnyDuplicateJudgements:
        """Judgements of people on pairs of pictures: the same photograph, or not."""
        ...

    @property
    def feedback(self) -> AnyFeedback:
        """Judgements of items in searches, by which later searches go on."""
        ...

    def info(self) -> CollectionInfo:
        """Return the collection's description."""
        ...

    def count(self, filter: FilterForm = EVERY_ITEM) -> int:
        """Return how many items pass the filter."""
        ...

    def close(self) -> None:
        """Close the collection; later calls raise errors."""
        ...

    def index(
        self, paths: Sequence[Path | str], options: IndexOptions = DEFAULT_INDEXING, *, progress: Progress | None = None
    ) -> ImportReport:
        """Index the pictures below folders, and single files."""
        ...

    def train(
        self,
        recipe: Recipe,
        *,
        space: str | None = None,
        activate: bool | None = None,
        progress: Progress | None = None,
        request_id: str = "",
    ) -> SpaceInfo:
        """Fit a learner and place every item: a new generation of ``space`` [default: named after the learner]."""
        ...

    def evaluate(self, request: EvaluationRequest, *, progress: Progress | None = None) -> Evaluation:
        """Measure how well searches find labelled items that the spaces were not trained on."""
        ...

    @overload
    def search(self, request: SearchRequest) -> list[HitList]: ...
    @overload
    def search(self, **query: Unpack[OneQuery]) -> list[HitList]: ...

    @overload
    def search_pages(self, request: SearchRequest, size: int = ...) -> Iterator[list[HitList]]: ...
    @overload
    def search_pages(self, *, size: int = ..., **query: Unpack[OneQuery]) -> Iterator[list[HitList]]: ...

    def explain(self, request: ExplainRequest) -> list[Explanation]:
        """Return why items have their places in the lists of a search, list by list; nothing is written."""
        ...

    def suggest(self, request: SuggestRequest) -> Suggestions:
        """Return labels for every query, by vote of the nearest labelled items; nothing is written."""
        ...

    def same(self, request: SameRequest) -> list[Verdict | Failure]:
        """Return whether the two queries of each pair are the same, by the threshold of the generation in use."""
        ...

    def audit(self, request: "AuditRequest | None" = None, *, progress: Progress | None = None) -> "Audit":
        """Return what makes searches worse or figures of evaluations too good, with the items concerned."""
        ...

    def changes(self, request: "ChangesRequest") -> "Changes":
        """Return the changes between successive pictures, and which of them are important."""
        ...

    def duplicates(self, request: DuplicatesRequest) -> Duplicates:
        """Return the groups of pictures that show the same photograph, each with a keeper, and the bursts."""
        ...

    def embed(self, queries: Sequence[Query], *, targets: Sequence[str] = (), space: str = "") -> list[Embedding]:
        """Return the vector of every query for every target: floats, or packed codes with their bits."""
        ...
