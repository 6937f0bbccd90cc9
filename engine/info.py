"""Descriptions of collections, views and spaces: plain values for whoever shows or sends them."""

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Self


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
    inputs: tuple[str, ...] = ()
    """What rows are computed from: "image", "text"; none if another program makes the rows."""


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
    """One of "map", "accuracy", "order" and "items"; larger is better."""
    folds: int
    items: int
    """Training items that took part."""
    score: float
    """That of the chosen settings."""
    chosen: Mapping[str, Any]
    """The settings that were open; ``kernel`` is a stage of the pipeline."""
    tried: tuple[Trial, ...]
    """Everything that was tried, in order."""
    database: str = ""
    """What the items of a fold were to find: "unseen", the others of the fold, or, where too few of these are similar,
    "trained", the items that were learned from; "" where comparisons were judged, or an earlier version tuned."""

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


@dataclass(frozen=True, kw_only=True)
class Threshold:
    """The distance up to which two items count as the same, for queries of a view in a target of one generation."""

    view: str
    """The view that the first item of a pair is described by."""
    target: str
    """Where the second one is."""
    distance: float
    """The largest at which two items are the same."""
    distances: tuple[float, ...]
    """Ascending, at which ``probabilities`` are known."""
    probabilities: tuple[float, ...]
    """Of being the same, never growing with the distance, if as many pairs are the same as not."""
    error_rate: float | None
    """The mean of the shares of similar and of dissimilar pairs that are taken for the other, by thresholds that other
    pairs set; None where the pairs are too few."""
    standard_error: float | None
    """Of the error rate, as if all pairs were independent; None where the pairs are too few."""
    similar: int
    """Pairs of the same that it was calibrated on."""
    dissimilar: int
    """Other pairs that it was calibrated on."""
    protocol: str
    """What these pairs are, in a sentence."""
    created: str
    """ISO 8601, UTC."""
    base_rate: float = 0.5
    """The share of all pairs of labelled items that are the same; without labels, of the given pairs."""

    def probability(self, distance: float, base_rate: float = 0.5) -> float:
        """Return how probable it is that two items at a distance are the same, if this share of all pairs are.

        With the base rate 1/2 it is at least 1/2 up to the threshold.
        """
        same, different = self._balanced(distance) * base_rate, (1 - self._balanced(distance)) * (1 - base_rate)
        return same / (same + different)

    def _balanced(self, distance: float) -> float:
        """Return the probability if as many pairs are the same as not."""
        if distance <= self.distances[0]:
            return self.probabilities[0]
        place = bisect_right(self.distances, distance)
        if place == len(self.distances):
            return self.probabilities[-1]
        (left, right), (high, low) = (values[place - 1 : place + 1] for values in (self.distances, self.probabilities))
        return high + (low - high) * (distance - left) / (right - left)

    def sentence(self) -> str:
        """Return the threshold, how often it errs and what it rests on."""
        error = "an unknown error rate"
        if self.error_rate is not None:
            error = f"an error rate of {self.error_rate:.3f}"
            error += "" if self.standard_error is None else f" \u00b1 {self.standard_error:.3f}"
        place = self.target if self.view == self.target else f"{self.view} -> {self.target}"
        return f"{place}: the same up to a distance of {self.distance:.5g}, with {error}; {self.protocol}"


@dataclass(frozen=True, kw_only=True)
class SpaceDescription:
    """How one generation of a space was made."""

    name: str
    generation: int
    spec: str
    """The learners, such as ``sqrt,cca``; "" for the raw views."""
    views: tuple[str, ...]
    settings: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    held_out: int = 0
    """Items held out of training for evaluation."""
    added: tuple[str, ...] = ()
    """Of the views, those that were added later, while the others stayed as they were."""
    tuning: Tuning | None = None
    """How its settings were chosen; None where they were given."""
    rerank: int = 0
    """Codes found for each hit wanted, whose float vectors then give order and (Euclidean) distance; 0: none are."""
    notes: tuple[str, ...] = ()
    """Sentences on what is worth knowing of its training."""
    request_id: str = ""
    """The id of the request that made it, where the caller gave one: by it is known whether that was carried out."""

    def to_json(self) -> dict[str, Any]:
        """Return the JSON values that ``from_json`` reads: all but name and generation, which the catalog knows."""
        names = [one.name for one in fields(SpaceDescription) if one.name not in ("name", "generation")]
        return {name: getattr(self, name) for name in names} | {"tuning": self.tuning and asdict(self.tuning)}

    @classmethod
    def from_json(cls, tree: Mapping[str, Any], **others: Any) -> Self:
        """Return a description, or what extends one, from JSON values; ``others`` are the fields that are not in them.

        Fields that an earlier version did not know have their defaults.
        """
        known = {one.name for one in fields(cls)} & tree.keys() - others.keys()
        found: dict[str, Any] = {name: tree[name] for name in known}
        found |= {name: tuple(value) for name, value in found.items() if isinstance(value, list)}
        if found.get("tuning"):
            found["tuning"] = Tuning.from_json(found["tuning"])
        return cls(**found, **others)


@dataclass(frozen=True, kw_only=True)
class SpaceInfo(SpaceDescription):
    """One space of a collection, by the generation in use."""

    active: bool
    """Whether it answers searches that name no space."""
    targets: tuple[str, ...]
    cross_view: bool
    dim: Mapping[str, int]
    """Dimension of each target's vectors; where ``binary``, bits of its codes."""
    trained_items: int
    created: str
    """ISO 8601, UTC."""
    generations: tuple[int, ...]
    """Those that can be activated."""
    pairs: int = 0
    """Pairs of similar items that it learned from; 0 where it went by labels or neighbours."""
    constraints: ConstraintCounts | None = None
    """The comparisons that its metrics were learned from; None where none were given."""
    binary: bool = False
    """Whether its vectors are codes, and distances the numbers of bits that differ."""
    axes: tuple[str, ...] = ()
    """The attributes that its vectors are scores of, by name; none where they are no scores, or of attributes without
    names."""
    described: tuple[str, ...] = ()
    """The classes that orderings alone describe: they can be searched, though no training item is of them."""
    taxonomy: Mapping[str, str] = field(default_factory=dict)
    """The parent of each node of the tree of classes that it learned from, "" of those on the first level; empty where
    none was given."""
    thresholds: tuple[Threshold, ...] = ()
    """Those of this generation."""

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
    notion_labels: Mapping[str, int] = field(default_factory=dict)
    """Items that have a label in each notion of similarity."""
