"""What a collection of this machine and a collection on a server share: write a program against it, and use either."""
# ruff: noqa: D102 - the methods are documented where they are written

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

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
    Query,
    SameRequest,
    SearchRequest,
    Suggestions,
    SuggestRequest,
    Verdict,
)
from crossview.engine.recipe import Recipe
from crossview.engine.runtime.progress import Progress
from crossview.engine.spaces.item_embeddings import ITEMS_AT_ONCE, ItemEmbeddings

if TYPE_CHECKING:
    from crossview.engine.changes.request import Changes, ChangesRequest


class AnyQuestions(Protocol):
    """Questions to people, and their answers; see ``engine.questions.asking.Questions``."""

    def next(self, request: QuestionRequest) -> Question: ...
    def answer(self, answer: Answer) -> Answer: ...
    def undo(self, notion: str, person: str) -> Answer: ...
    def answers(self, notion: str = ..., person: str = ..., after: int = ..., limit: int = ...) -> list[Answer]: ...


class AnyCollection(Protocol):
    """A collection, here or on a server; see ``engine.collection.Collection`` for what the methods do."""

    @property
    def name(self) -> str: ...
    @property
    def questions(self) -> AnyQuestions: ...

    def info(self) -> CollectionInfo: ...
    def findings(self) -> tuple[str, ...]: ...
    def views(self) -> tuple[ViewInfo, ...]: ...
    def spaces(self) -> tuple[SpaceInfo, ...]: ...
    def space(self, name: str) -> SpaceInfo: ...
    def close(self) -> None: ...

    def index(
        self, paths: Sequence[Path | str], options: IndexOptions = DEFAULT_INDEXING, *, progress: Progress | None = None
    ) -> ImportReport: ...
    def index_vectors(
        self, view: str, path: Path, keys: Path | None = None, progress: Progress | None = None
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
    def import_items(self, items: Sequence[NewItem], workers: int = 1) -> ImportReport: ...
    def update_items(
        self, updates: Sequence[ItemUpdate], match_paths: bool = False, progress: Progress | None = None
    ) -> ImportReport: ...
    def put_vectors(self, view: str, keys: Sequence[str], rows: NDArray[np.float32]) -> ImportReport: ...
    def delete_items(self, keys: Sequence[str]) -> int: ...

    def items(self, filter: Filter = EVERY_ITEM, after: str = "", limit: int = 100) -> list[Item]: ...
    def item(self, key: str) -> Item: ...
    def count(self, filter: Filter = EVERY_ITEM) -> int: ...
    def attribute_names(self) -> tuple[str, ...]: ...
    def deleted_pictures(self) -> list[DeletedPicture]: ...
    def thumbnail(self, key: str) -> bytes: ...

    def add_view(self, spec: str) -> ViewInfo: ...
    def fit_views(
        self,
        images: Iterable[bytes | Picture],
        views: Sequence[str] | None = None,
        seed: int = 0,
        workers: int | None = None,
        refit: bool = False,
    ) -> tuple[ViewInfo, ...]: ...
    def delete_view(self, view: str) -> None: ...

    def train(
        self,
        recipe: Recipe,
        *,
        space: str | None = None,
        activate: bool | None = None,
        progress: Progress | None = None,
        request_id: str = "",
    ) -> SpaceInfo: ...
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
    def delete_space(self, space: str, generation: int | None = None) -> None: ...
    def evaluate(self, request: EvaluationRequest, *, progress: Progress | None = None) -> Evaluation: ...

    def search(self, request: SearchRequest) -> list[HitList]: ...
    def suggest(self, request: SuggestRequest) -> Suggestions: ...
    def same(self, request: SameRequest) -> list[Verdict | Failure]: ...
    def changes(self, request: "ChangesRequest") -> "Changes": ...
    def embed(self, queries: Sequence[Query], *, targets: Sequence[str] = (), space: str = "") -> list[Embedding]: ...
    def embed_items(
        self, view: str, *, space: str = "", target: str = "", after: str = "", limit: int = ITEMS_AT_ONCE
    ) -> ItemEmbeddings: ...
