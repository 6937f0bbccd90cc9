"""What the commands work on: a home on this machine, or a server. Both have the same methods."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from engine.evaluation import Evaluation, EvaluationRequest
from engine.info import CollectionInfo, SpaceInfo, ViewInfo
from engine.item import DeletedPicture, ImportReport, IndexOptions, Item, ItemUpdate, NewItem, Picture
from engine.progress import Progress
from engine.query import Embedding, Filter, HitList, Query, SearchRequest
from engine.recipe import Recipe
from engine.spaces.item_embeddings import ItemEmbeddings


class CollectionBackend(Protocol):
    """A collection, here or on a server."""

    @property
    def name(self) -> str:
        """Its short name."""

    def info(self) -> CollectionInfo:
        """Its description."""

    def findings(self) -> tuple[str, ...]:
        """What is inconsistent in it, a sentence each."""

    def deleted_pictures(self) -> list[DeletedPicture]:
        """The pictures whose items were deleted."""

    def views(self) -> tuple[ViewInfo, ...]:
        """Its views."""

    def spaces(self) -> tuple[SpaceInfo, ...]:
        """Its spaces."""

    def space(self, name: str) -> SpaceInfo:
        """One space."""

    def index(
        self, paths: Sequence[Path], options: IndexOptions = ..., *, progress: Progress | None = None
    ) -> ImportReport:
        """Indexes the pictures below paths of this machine."""

    def update_items(self, updates: Sequence[ItemUpdate], match_paths: bool = False) -> ImportReport:
        """Changes labels, attributes and texts of items."""

    def annotate(self, path: Path | str, cell: str = "label", replace_labels: bool = False) -> ImportReport:
        """Annotates items from a CSV file of this machine."""

    def index_vectors(
        self, view: str, path: Path, keys: Path | None = None, progress: Progress | None = None
    ) -> ImportReport:
        """Gives items the rows of a file of this machine as their rows of a view."""

    def put_vectors(self, view: str, keys: Sequence[str], rows: NDArray[np.float32]) -> ImportReport:
        """Gives items rows of a view."""

    def add_view(self, spec: str) -> ViewInfo:
        """Adds a view."""

    def fit_views(
        self,
        images: Iterable[bytes | Picture],
        views: Sequence[str] | None = None,
        seed: int = 0,
        workers: int | None = None,
        refit: bool = False,
    ) -> tuple[ViewInfo, ...]:
        """Fits views from a sample of pictures, or from the items' texts; all views."""

    def import_items(self, items: Sequence[NewItem], workers: int = 1) -> ImportReport:
        """Adds or updates items."""

    def items(self, filter: Filter = ..., after: str = "", limit: int = 100) -> list[Item]:
        """Items in the order of keys, those above ``after``."""

    def count(self, filter: Filter = ...) -> int:
        """How many items pass the filter."""

    def item(self, key: str) -> Item:
        """One item."""

    def delete_items(self, keys: Sequence[str]) -> int:
        """Deletes those that exist, and returns how many."""

    def thumbnail(self, key: str) -> bytes:
        """The small picture of an item, JPEG."""

    def train(
        self, recipe: Recipe, *, space: str | None = None, activate: bool = True, progress: Progress | None = None
    ) -> SpaceInfo:
        """Fits a learner and places every item."""

    def extend(
        self,
        space: str,
        views: Sequence[str],
        *,
        name: str | None = None,
        activate: bool = True,
        progress: Progress | None = None,
    ) -> SpaceInfo:
        """Adds views to a trained space, in which the others stay as they are."""

    def assign(self, space: str, label: str, *, activate: bool = True) -> SpaceInfo:
        """Chooses the metric for a label that a space was not trained on."""

    def activate(self, space: str, generation: int | None = None) -> SpaceInfo:
        """Switches to a space and generation."""

    def delete_space(self, space: str, generation: int | None = None) -> None:
        """Deletes a space, or one of its generations."""

    def delete_view(self, view: str) -> None:
        """Deletes a view with its rows."""

    def search(self, request: SearchRequest) -> list[HitList]:
        """Nearest items of every query in every target."""

    def embed(self, queries: Sequence[Query], *, targets: Sequence[str] = (), space: str = "") -> list[Embedding]:
        """The vector of every query for every target."""

    def embed_items(
        self, view: str, *, space: str = "", target: str = "", after: str = "", limit: int = ...
    ) -> ItemEmbeddings:
        """The vectors of items, of those with keys above ``after``."""

    def evaluate(self, request: EvaluationRequest) -> Evaluation:
        """Measures retrieval on items that the spaces were not trained on."""

    def close(self) -> None:
        """Closes it."""


class Backend(Protocol):
    """Collections by name."""

    def names(self) -> list[str]:
        """Names of the collections."""

    def create(self, name: str, views: Sequence[str] = ..., description: str = "") -> CollectionBackend:
        """A new, empty collection."""

    def open(self, name: str) -> CollectionBackend:
        """A collection that exists."""

    def delete(self, name: str) -> None:
        """Deletes a collection with all that is in it."""
