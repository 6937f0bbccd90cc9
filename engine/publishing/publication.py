"""A publication: the request, and the outcome."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from crossview.engine.values.item import Failure

if TYPE_CHECKING:
    from crossview.engine.publishing.milvus import Milvus


@dataclass(frozen=True, kw_only=True)
class PublishRequest:
    """Which space to publish, and where."""

    to: str
    """The address of all bundles: a folder, ``s3://...`` or ``gs://...``."""
    engine: "Milvus | None" = None
    """The engine to fill [default: None, only the bundle is written]."""
    space: str = ""
    """[default: "", the active space]"""
    name: str = ""
    """The name under which it is published [default: "", that of the collection]."""
    index: str = "auto"
    """The kind of index of targets in the engine, see ``engine_index``."""
    dry_run: bool = False
    """Whether to change nothing, and only to return what would be published."""


@dataclass(frozen=True, kw_only=True)
class PublishedTarget:
    """A target in the engine."""

    target: str
    index: str
    items: int
    effort: int = 0
    """Effort of searches, as the engine names it; 0 if every search is exact."""
    recall: float | None = None
    """Share of the nearest items of the embedded index that the engine finds for the same queries."""


@dataclass(frozen=True, kw_only=True)
class Publication:
    """The outcome of a publication."""

    name: str
    space: str
    generation: int
    bundle: str
    """The address of the bundle."""
    items: int
    targets: tuple[PublishedTarget, ...] = ()
    failures: tuple[Failure, ...] = ()
    """Items that the engine cannot store, with the reason."""
    kept: int = 0
    """Items of servers, which the catalog does not have, taken over from the generation before."""
    switched: bool = False
    """Whether the alias changed: False if it stood for this generation before."""
    seconds: float = 0.0
    sequence: int = 0
    """The last change of the catalog that is published."""
