"""Descriptions of collections, views and spaces: plain values for whoever shows or sends them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class ViewInfo:
    """One view of a collection."""

    name: str
    extractor: str
    params: Mapping[str, Any]
    dim: int
    """Length of its rows."""
    revision: int
    """Counts the fits; 0 where none was made."""
    fitted: bool
    """Whether rows can be computed."""


@dataclass(frozen=True)
class Trial:
    """Settings that tuning tried."""

    settings: Mapping[str, Any]
    score: float | None
    """The mean measure over folds and crossings; None where the settings cannot be used."""
    error: str = ""
    """Why they cannot be used."""

    def sentence(self, measure: str) -> str:
        """Return the settings and their score by a measure, or why they have none."""
        settings = ", ".join(f"{name}={value}" for name, value in sorted(self.settings.items()))
        outcome = f"cannot be used: {self.error}" if self.score is None else f"{measure} {self.score:.3f}"
        return f"{settings}: {outcome}"


@dataclass(frozen=True, kw_only=True)
class Tuning:
    """How settings were chosen by cross-validation among the training items."""

    measure: str
    """"map", "accuracy" or "order"; larger is better."""
    folds: int
    items: int
    """Training items that took part."""
    score: float
    """That of the chosen settings."""
    chosen: Mapping[str, Any]
    """The settings that were open; ``kernel`` is a stage of the pipeline."""
    tried: tuple[Trial, ...]
    """Everything that was tried, in order."""

    @classmethod
    def from_json(cls, tree: Mapping[str, Any]) -> "Tuning":
        """Return what ``dataclasses.asdict`` described."""
        fields = dict(tree)
        return cls(tried=tuple(Trial(**one) for one in fields.pop("tried")), **fields)


@dataclass(frozen=True)
class ConstraintCounts:
    """How many comparisons a space was given and learned from; those of items without a view are left out of it."""

    kind: str
    """"pairs", "triplets" or "quadruplets"."""
    given: int
    held_out: int
    """Comparisons that name an item held out of training."""
    used: Mapping[str, int]
    """Those that each view's metric learned from."""

    def sentence(self) -> str:
        """Return the counts as a sentence."""
        used = ", ".join(f"{count} for {view}" for view, count in self.used.items())
        held_out = f"; {self.held_out} name held-out items" if self.held_out else ""
        return f"learned from {used} of {self.given} {self.kind}{held_out}"


@dataclass(frozen=True)
class SpaceInfo:
    """One space of a collection, by the generation that answers."""

    name: str
    generation: int
    active: bool
    """Whether a search that names no space is answered by this one."""
    spec: str
    """The learners, such as ``sqrt,cca``."""
    views: tuple[str, ...]
    targets: tuple[str, ...]
    cross_view: bool
    dim: Mapping[str, int]
    """Dimension of each target's vectors; where ``binary``, bits of its codes."""
    settings: Mapping[str, Any]
    seed: int
    trained_items: int
    held_out: int
    created: str
    """ISO 8601, UTC."""
    generations: tuple[int, ...]
    """Those that can be activated."""
    added: tuple[str, ...] = ()
    """Of the views, those that were added later, while the others stayed as they were."""
    pairs: int = 0
    """Pairs of similar items that it learned from; 0 where it went by labels or neighbours."""
    tuning: Tuning | None = None
    """How its settings were chosen; None where they were given."""
    constraints: ConstraintCounts | None = None
    """The comparisons that its metrics were learned from; None where none were given."""
    binary: bool = False
    """Whether its vectors are codes, and distances the numbers of bits that differ."""
    rerank: int = 0
    """Codes found for each hit wanted, whose float vectors then give order and (Euclidean) distance; 0: none are."""
    notes: tuple[str, ...] = ()
    """Sentences on what is worth knowing of its training."""

    def size(self, target: str) -> str:
        """Return how long a target's vectors are, in words."""
        return f"{self.dim.get(target, '?')} bits" if self.binary else str(self.dim.get(target, "?"))


@dataclass(frozen=True, kw_only=True)
class CollectionInfo:
    """One collection."""

    name: str
    items: int
    views: tuple[ViewInfo, ...]
    spaces: tuple[SpaceInfo, ...]
    active_space: str
    """The space that answers where none is named; "raw" before the first training."""
    labels: Mapping[str, int]
    """Items of each label."""
    sequence: int
    """The number of the last change."""
    bytes_on_disk: int
    created: str
    """ISO 8601, UTC."""
    description: str = ""
