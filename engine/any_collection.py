"""What a collection of this machine and a collection on a server share: write a program against it, and use either."""
# ruff: noqa: D102 - the methods are documented where they are written

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, Unpack, overload

import numpy as np
from numpy.typing import NDArray

from crossview.engine.comparisons import Answer, Question, QuestionRequest
from crossview.engine.condition import EVERY_ITEM, Filter
from crossview.engine.evaluation import Evaluation, EvaluationRequest
from crossview.engine.info import CollectionInfo, SpaceInfo, Threshold, ViewInfo
from crossview.engine.item import (
    DEFAULT_INDEXING,
    DeletedPicture,
    Failure,
    ImportReport,
    IndexOptions,
    Item,
    ItemUpdate,
    NewItem,
    Picture,
)
from crossview.engine.query import (
    CalibrationRequest,
    Embedding,
    HitList,
    ItemEmbeddings,
    OneQuery,
    Query,
    SameRequest,
    SearchRequest,
    Suggestions,
    SuggestRequest,
    Verdict,
)
from crossview.engine.recipe import Recipe
from crossview.engine.runtime.progress import Progress
from crossview.engine.spaces.item_embeddings import ITEMS_AT_ONCE

if TYPE_CHECKING:
    from crossview.engine.changes.request import Changes, ChangesRequest


class AnyQuestions(Protocol):
    """Questions to people, and their answers; see ``engine.questions.asking.Questions``."""

    def next(self, request: QuestionRequest) -> Question: ...
    def answer(self, answer: Answer) -> Answer: ...
    def undo(self, notion: str, person: str) -> Answer: ...
    def answers(self, notion: str = ..., person: str = ..., after: int = ..., limit: int = ...) -> list[Answer]: ...


class AnyItems(Protocol):
    """The items of a collection, here or on a server; see ``engine.services.items.Items``."""

    def __call__(self, filter: Filter = EVERY_ITEM, after: str = "", limit: int = 100) -> list[Item]: ...
    def get(self, key: str) -> Item: ...
    def count(self, filter: Filter = EVERY_ITEM) -> int: ...
    def attribute_names(self) -> tuple[str, ...]: ...
    def deleted(self) -> list[DeletedPicture]: ...
    def thumbnail(self, key: str) -> bytes: ...
    def put(self, items: Sequence[NewItem], workers: int = 1) -> ImportReport: ...
    def update(
        self, updates: Sequence[ItemUpdate], match_paths: bool = False, progress: Progress | None = None
    ) -> ImportReport: ...
    def annotate(
        self,
        path: Path | str,
        cell: str = "label",
        replace_labels: bool = False,
        notion: str = "",
        new_attributes: bool = False,
        progress: Progress | None = None,
    ) -> ImportReport: ...
    def put_vectors(self, view: str, keys: Sequence[str], rows: NDArray[np.float32]) -> ImportReport: ...
    def index_vectors(
        self, view: str, path: Path, keys: Path | None = None, progress: Progress | None = None
    ) -> ImportReport: ...
    def delete(self, keys: Sequence[str]) -> int: ...
    def embed(
        self, view: str, *, space: str = "", target: str = "", after: str = "", limit: int = ITEMS_AT_ONCE
    ) -> ItemEmbeddings: ...


class AnyViews(Protocol):
    """The views of a collection, here or on a server; see ``engine.services.views.Views``."""

    def __call__(self) -> tuple[ViewInfo, ...]: ...
    def add(self, spec: str) -> ViewInfo: ...
    def fit(
        self,
        images: Iterable[bytes | Picture],
        views: Sequence[str] | None = None,
        seed: int = 0,
        workers: int | None = None,
        refit: bool = False,
    ) -> tuple[ViewInfo, ...]: ...
    def delete(self, view: str) -> None: ...


class AnySpaces(Protocol):
    """The spaces of a collection, here or on a server; see ``engine.services.spaces.Spaces``."""

    def __call__(self) -> tuple[SpaceInfo, ...]: ...
    def get(self, name: str) -> SpaceInfo: ...
    def extend(
        self,
        space: str,
        views: Sequence[str],
        *,
        name: str | None = None,
        activate: bool | None = None,
        progress: Progress | None = None,
        request_id: str = "",
    ) -> SpaceInfo: ...
    def assign(self, space: str, label: str, *, activate: bool | None = None, request_id: str = "") -> SpaceInfo: ...
    def activate(self, space: str, generation: int | None = None) -> SpaceInfo: ...
    def calibrate(self, request: CalibrationRequest, *, progress: Progress | None = None) -> Threshold: ...
    def delete(self, space: str, generation: int | None = None) -> None: ...


class AnyStorage(Protocol):
    """What a collection has on disk, here or on a server; see ``engine.services.storage.Storage``."""

    def findings(self) -> tuple[str, ...]: ...


class AnyCollection(Protocol):
    """A collection, here or on a server; see ``engine.collection.Collection`` for what the methods do."""

    @property
    def name(self) -> str: ...
    @property
    def items(self) -> AnyItems: ...
    @property
    def views(self) -> AnyViews: ...
    @property
    def spaces(self) -> AnySpaces: ...
    @property
    def storage(self) -> AnyStorage: ...
    @property
    def questions(self) -> AnyQuestions: ...

    def info(self) -> CollectionInfo: ...
    def count(self, filter: Filter = EVERY_ITEM) -> int: ...
    def close(self) -> None: ...
    def index(
        self, paths: Sequence[Path | str], options: IndexOptions = DEFAULT_INDEXING, *, progress: Progress | None = None
    ) -> ImportReport: ...
    def train(
        self,
        recipe: Recipe,
        *,
        space: str | None = None,
        activate: bool | None = None,
        progress: Progress | None = None,
        request_id: str = "",
    ) -> SpaceInfo: ...
    def evaluate(self, request: EvaluationRequest, *, progress: Progress | None = None) -> Evaluation: ...

    @overload
    def search(self, request: SearchRequest) -> list[HitList]: ...
    @overload
    def search(self, **query: Unpack[OneQuery]) -> list[HitList]: ...
    def suggest(self, request: SuggestRequest) -> Suggestions: ...
    def same(self, request: SameRequest) -> list[Verdict | Failure]: ...
    def changes(self, request: "ChangesRequest") -> "Changes": ...
    def embed(self, queries: Sequence[Query], *, targets: Sequence[str] = (), space: str = "") -> list[Embedding]: ...
