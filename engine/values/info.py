"""Descriptions of collections, views and spaces, as plain values to show or to send."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any, Self

from crossview.engine.values.index_choice import TargetIndex
from crossview.engine.values.labels import LabelReport
from crossview.engine.values.markup import Markup, element, markup, name
from crossview.engine.values.notebook import LABELS, SAMPLE, Pictures, Thumbnail, shown, table, tile

if TYPE_CHECKING:
    from crossview.engine.values.item import Item


@dataclass(frozen=True, kw_only=True)
class ViewInfo:
    """One view of a collection."""

    name: str
    extractor: str
    params: Mapping[str, Any]
    dim: int
    """Length of its rows."""
    revision: int
    """Number of fits; 0 before the first."""
    fitted: bool
    """Whether rows can be computed."""
    inputs: tuple[str, ...] = ()
    """Kinds of input for the rows: "image", "text"; empty if another program computes the rows."""


@dataclass(frozen=True)
class Trial:
    """One combination of settings that tuning tried."""

    settings: Mapping[str, Any]
    score: float | None
    """The mean measure over folds and pairs of views; None if the settings cannot be used."""
    error: str = ""
    """The reason why the settings cannot be used; "" if they can."""

    def sentence(self, measure: str) -> str:
        """Return the settings with their score by a measure, or with the reason why they have no score."""
        settings = ", ".join(f"{name}={value}" for name, value in sorted(self.settings.items()))
        outcome = f"cannot be used: {self.error}" if self.score is None else f"{measure} {self.score:.3f}"
        return f"{settings}: {outcome}"


@dataclass(frozen=True, kw_only=True)
class Tuning:
    """The choice of settings by cross-validation on the training items."""

    measure: str
    """One of "map", "accuracy", "order" and "items"; larger is better."""
    folds: int
    items: int
    """Number of training items in the cross-validation."""
    score: float
    """Score of the chosen settings."""
    chosen: Mapping[str, Any]
    """Values of the tuned settings; ``kernel`` is a stage of the pipeline."""
    tried: tuple[Trial, ...]
    """All trials, in order."""
    database: str = ""
    """The items that the queries of a fold search: "unseen", the other items of the fold, or "trained", the training
    items, if too few items of a fold are similar. "" if the measure was on comparisons, or in an earlier version."""

    @classmethod
    def from_json(cls, tree: Mapping[str, Any]) -> "Tuning":
        """Return the value from the result of ``dataclasses.asdict``."""
        fields = dict(tree)
        return cls(tried=tuple(Trial(**trial) for trial in fields.pop("tried")), **fields)


@dataclass(frozen=True)
class ConstraintCounts:
    """Numbers of comparisons that a space was given and learned from; a metric needs items with its view."""

    kind: str
    """"pairs", "triplets" or "quadruplets"."""
    given: int
    held_out: int
    """Comparisons that name an item held out of training."""
    used: Mapping[str, int]
    """Comparisons that the metric of each view learned from."""

    def sentence(self) -> str:
        """Return the counts as a sentence."""
        used = ", ".join(f"{count} for {view}" for view, count in self.used.items())
        held_out = f"; {self.held_out} name held-out items" if self.held_out else ""
        return f"learned from {used} of {self.given} {self.kind}{held_out}"


def memory_size(count: int) -> str:
    """Return a number of bytes in GiB, or in MiB if it is below one GiB."""
    return f"{count / (1 << 30):.1f} GiB" if count >= 1 << 30 else f"{count / (1 << 20):.0f} MiB"


@dataclass(frozen=True, kw_only=True)
class TrainingCost:
    """The estimated cost of a training, before it reads any row."""

    items: int
    """Number of items that the learner could learn from."""
    sample: int
    """Number of items that it learns from; the space places the others without learning from them."""
    memory: int
    """Peak memory in bytes, besides that of the process before the training."""
    seconds: float
    """Time on idle processors, without tuning."""

    def sentence(self) -> str:
        """Return the estimate as a sentence."""
        part = f"{self.sample:,} of {self.items:,}" if self.sample < self.items else f"{self.items:,}"
        minutes = self.seconds / 60
        time = "less than a minute" if minutes < 1 else f"about {minutes:.0f} min"
        return f"learns from {part} items, in {time}, with about {memory_size(self.memory)} of memory"


@dataclass(frozen=True, kw_only=True)
class Threshold:
    """The distance up to which two items count as the same, for queries of a view in a target of one generation."""

    view: str
    """The view of the first item of a pair, the query."""
    target: str
    """The target of the second item of a pair."""
    distance: float
    """The threshold: the largest distance at which two items are the same."""
    distances: tuple[float, ...]
    """Distances with a known probability, ascending."""
    probabilities: tuple[float, ...]
    """Probabilities of being the same at a base rate of 1/2, by distance; never increasing."""
    error_rate: float | None
    """Mean error rate of similar and dissimilar pairs, by thresholds fitted to other pairs; None for too few pairs."""
    standard_error: float | None
    """Standard error of the error rate, if all pairs were independent; None for too few pairs."""
    similar: int
    """Number of similar calibration pairs."""
    dissimilar: int
    """Number of dissimilar calibration pairs."""
    protocol: str
    """A sentence about the calibration pairs."""
    created: str
    """Time of creation, ISO 8601 in UTC."""
    base_rate: float = 0.5
    """Base rate: the share of similar pairs among all pairs of labelled items, or without labels among the calibration
    pairs."""

    def probability(self, distance: float, base_rate: float = 0.5) -> float:
        """Return the probability that two items at a distance are the same, given the base rate.

        At the base rate 1/2, the probability is at least 1/2 up to the threshold.
        """
        same, different = self._balanced(distance) * base_rate, (1 - self._balanced(distance)) * (1 - base_rate)
        return same / (same + different)

    def _balanced(self, distance: float) -> float:
        """Return the probability at the base rate 1/2, linear between known distances."""
        if distance <= self.distances[0]:
            return self.probabilities[0]
        place = bisect_right(self.distances, distance)
        if place == len(self.distances):
            return self.probabilities[-1]
        (left, right), (high, low) = (values[place - 1 : place + 1] for values in (self.distances, self.probabilities))
        return high + (low - high) * (distance - left) / (right - left)

    def sentence(self) -> str:
        """Return a sentence with the threshold, its error rate and its calibration pairs."""
        error = "an unknown error rate"
        if self.error_rate is not None:
            error = f"an error rate of {self.error_rate:.3f}"
            error += "" if self.standard_error is None else f" \u00b1 {self.standard_error:.3f}"
        place = self.target if self.view == self.target else f"{self.view} -> {self.target}"
        return f"{place}: the same up to a distance of {self.distance:.5g}, with {error}; {self.protocol}"


@dataclass(frozen=True, kw_only=True)
class SpaceDescription:
    """A description of one generation of a space: its learners, views and training."""

    name: str
    generation: int
    spec: str
    """The learners, such as ``sqrt,cca``; "" for the raw views."""
    views: tuple[str, ...]
    settings: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    held_out: int = 0
    """Number of items held out of training for evaluation."""
    added: tuple[str, ...] = ()
    """The views added after the first training, which left the other views unchanged."""
    tuning: Tuning | None = None
    """The choice of the settings by tuning; None if the recipe gave the settings."""
    rerank: int = 0
    """Number of codes to find for each hit and to re-rank by the Euclidean distances of their float vectors; 0: no
    re-ranking."""
    notes: tuple[str, ...] = ()
    """Sentences about the training that a user should know."""
    request_id: str = ""
    """Id of the request that trained the generation, if the caller gave one: a caller can find out by the id whether
    the request was carried out."""
    ignored_labels: tuple[str, ...] = ()
    """Labels that the training did not see, as if the items had none of them; evaluations and suggestions of the space
    do not see them either."""
    labels: tuple[LabelReport, ...] = ()
    """How well the space recognises the labels that it was trained on, the worst recognised first; at most 1,000."""
    label_test: str = ""
    """How the labels were tested; "" if they were not."""
    cost: TrainingCost | None = None
    """The estimated cost of its training; None for the raw views, and for a training of an earlier version."""

    def to_json(self) -> dict[str, Any]:
        """Return JSON values for ``from_json``, without name and generation, which the catalog stores itself."""
        names = [entry.name for entry in fields(SpaceDescription) if entry.name not in ("name", "generation")]
        values = {name: getattr(self, name) for name in names}
        trees = {"tuning": self.tuning and asdict(self.tuning), "cost": self.cost and asdict(self.cost)}
        return values | trees | {"labels": [asdict(report) for report in self.labels]}

    @classmethod
    def from_json(cls, tree: Mapping[str, Any], **others: Any) -> Self:
        """Return a description, or an instance of a subclass, from JSON values; ``others`` are the remaining fields.

        Fields that are missing in JSON of an earlier version get their defaults.
        """
        names = {entry.name for entry in fields(cls)} & tree.keys() - others.keys()
        values: dict[str, Any] = {name: tree[name] for name in names}
        values |= {name: tuple(value) for name, value in values.items() if isinstance(value, list)}
        if values.get("tuning"):
            values["tuning"] = Tuning.from_json(values["tuning"])
        if values.get("labels"):
            values["labels"] = tuple(LabelReport(**{**row, "faults": tuple(row["faults"])}) for row in values["labels"])
        if values.get("cost"):
            values["cost"] = TrainingCost(**values["cost"])
        return cls(**values, **others)


@dataclass(frozen=True, kw_only=True)
class SpaceInfo(SpaceDescription):
    """One space of a collection, with its generation in use."""

    active: bool
    """Whether the space answers searches that name no space."""
    targets: tuple[str, ...]
    cross_view: bool
    dim: Mapping[str, int]
    """Dimension of the vectors of each target; bits of the codes if ``binary``."""
    trained_items: int
    created: str
    """Time of creation, ISO 8601 in UTC."""
    generations: tuple[int, ...]
    """The stored generations, which can be activated."""
    pairs: int = 0
    """Number of pairs of similar items that the space learned from; 0 for other supervision."""
    constraints: ConstraintCounts | None = None
    """The numbers of comparisons that its metrics learned from; None without comparisons."""
    binary: bool = False
    """Whether its vectors are codes, and its distances numbers of differing bits."""
    axes: tuple[str, ...] = ()
    """The names of the attributes whose scores are its vectors; empty for other vectors, and for attributes without
    names."""
    described: tuple[str, ...] = ()
    """The classes that only orderings describe; they can be searched for, although no training item has their label."""
    taxonomy: Mapping[str, str] = field(default_factory=dict)
    """The parent of each node of the taxonomy that the space learned from, "" for nodes of the first level; empty
    without a taxonomy."""
    thresholds: tuple[Threshold, ...] = ()
    """The thresholds of this generation."""
    active_space: str = ""
    """The space that answers searches that name no space; this one if it is active."""
    indexes: tuple[TargetIndex, ...] = ()
    """The indexes whose kind was chosen by ``reindex``, or by a training of many items; others are exact."""

    def size(self, target: str) -> str:
        """Return the dimension of a target's vectors, in words."""
        return f"{self.dim.get(target, '?')} bits" if self.binary else str(self.dim.get(target, "?"))

    @shown
    def _repr_html_(self) -> Markup:
        return _space_html(self)


@dataclass(frozen=True, kw_only=True)
class CollectionInfo:
    """One collection."""

    name: str
    items: int
    views: tuple[ViewInfo, ...]
    spaces: tuple[SpaceInfo, ...]
    active_space: str
    """The space that answers requests that name no space; "raw" before the first training."""
    labels: Mapping[str, int]
    """Number of items with each label."""
    sequence: int
    """The number of the last change."""
    bytes_on_disk: int
    created: str
    """Time of creation, ISO 8601 in UTC."""
    description: str = ""
    notion_labels: Mapping[str, int] = field(default_factory=dict)
    """Number of items with a label in each notion of similarity."""

    @shown
    def _repr_html_(self) -> Markup:
        return collection_html(self)


def collection_html(info: CollectionInfo, items: "Sequence[Item]" = (), thumbnail: Thumbnail | None = None) -> Markup:
    """Return a collection: its size, views, spaces and labels, and some of its items."""
    pictures = Pictures(thumbnail)
    labels = [f"{label} ({count:,})" for label, count in sorted(info.labels.items(), key=lambda pair: -pair[1])]
    tiles = [tile(pictures.of(item.key), item.key, item.labels, item.text) for item in items[:SAMPLE]]
    views = [[view.name, view.extractor, f"{view.dim:,}"] for view in info.views]
    return markup(
        element("h4", name(info.name), f": {info.items:,} items"),
        element("div", tiles, class_="tiles") if tiles else "",
        element("p", "Labels: ", name(", ".join(labels[:LABELS]), 1000)) if labels else "",
        table(["view", "extractor", ">dim"], views),
        table(_SPACE_HEADS, [_space_line(space, space.name == info.active_space) for space in info.spaces]),
    )


def _space_html(info: SpaceInfo) -> Markup:
    """Return a space: its learner and targets, and how well it recognises labels."""
    labels = [
        [name(line.label), f"{line.items:,}", f"{line.tested:,}", "" if line.recall is None else f"{line.recall:.2f}"]
        for line in info.labels[:LABELS]
    ]
    return markup(
        element("h4", "Space ", name(info.name)),
        table(_SPACE_HEADS, [_space_line(info, info.active)]),
        table(["label", ">items", ">tested", ">recall"], labels) if labels else "",
        *(element("p", note) for note in info.notes),
    )


_SPACE_HEADS = ["space", "learner", "targets", ">trained items", ">held out", ">generation"]


def _space_line(info: SpaceInfo, active: bool) -> list[Any]:
    targets = ", ".join(f"{target} ({info.size(target)})" for target in info.targets)
    learner = info.spec or "the views"
    counts = [f"{info.trained_items:,}", f"{info.held_out:,}", str(info.generation)]
    return [name(info.name + (" (active)" if active else "")), learner, targets, *counts]
