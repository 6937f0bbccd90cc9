"""The index of a target: its kind, and the recall of its approximate searches, as measured for queries of each view."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, NamedTuple, Self

from crossview.engine.values.errors import InvalidInputError

AUTO, FLAT = "auto", "flat"
KINDS = (AUTO, FLAT, "scan", "ivf", "hnsw")
"""The kinds that people choose from: ``flat`` is exact, ``auto`` decides by the size."""
SKETCHES = "binary-lists"
"""The kind of the hidden indexes of sketches, beside approximate indexes."""
VECTORS = ("float32", "float16")
"""The types in which an index stores the components of its vectors."""
RECALL = 0.99
"""Default share of the nearest items that an approximate search must find."""
EXACT = 1.0
"""The recall of a search that misses nothing."""
_SHOWN_K = 10
"""Number of items of the searches that a description states."""


def check_recall(recall: float) -> None:
    """Raise InvalidInputError unless a recall is above 0 and at most 1."""
    if not 0 < recall <= 1:
        raise InvalidInputError(f"recall is a share of the nearest items, above 0 and at most 1, not {recall:g}")


def checked_choice(index: str, recall: float, vectors: str) -> "IndexChoice":
    """Return the choice that a caller asks for; InvalidInputError for an unknown kind or type, or a wrong recall."""
    if index not in KINDS:
        raise InvalidInputError(f"an index is {', '.join(KINDS[:-1])} or {KINDS[-1]}, not {index!r}")
    if vectors not in VECTORS:
        raise InvalidInputError(f"vectors are stored as {' or '.join(VECTORS)}, not as {vectors!r}")
    check_recall(recall)
    return IndexChoice(asked=index, recall=recall, vectors=vectors)


@dataclass(frozen=True)
class LiveFigure:
    """The recall of approximate searches while a collection is in use."""

    queries: int
    """Number of queries that were asked again exactly, at most the last 500."""
    recall: float
    """Mean share of the nearest items that they found."""
    error: float
    """Its standard error."""


@dataclass(frozen=True, kw_only=True)
class SearchRecall:
    """The recall of searches in a target by queries of one view."""

    view: str
    effort: int
    """Effort of a search for 10 items: lists to probe, candidates to compare; 0: such searches are exact."""
    recall: float
    """Share of the 10 nearest items that other queries found with this effort."""
    queries: int
    """Number of queries by which the effort was chosen."""
    live: LiveFigure | None = None
    """The recall while the collection was in use in this process; None before the first checked query."""

    def sentence(self) -> str:
        """Return the recall as a sentence."""
        if not self.effort:
            return f"queries of {self.view} are exact"
        text = f"queries of {self.view} find {self.recall:.3f} of the nearest items with effort {self.effort}"
        if self.live is None:
            return text
        return f"{text}, and in use {self.live.recall:.3f} \u00b1 {self.live.error:.3f} by {self.live.queries} queries"


@dataclass(frozen=True, kw_only=True)
class TargetIndex:
    """The index of a target."""

    target: str
    kind: str
    """``flat``, ``scan``, ``ivf`` or ``hnsw``."""
    asked: str
    """The kind that was asked for, such as ``auto``."""
    vectors: str
    """The type of stored components: ``float32`` or ``float16``."""
    recall: float
    """The recall that searches promise."""
    searches: tuple[SearchRecall, ...] = ()
    """By query view; empty if all searches are exact."""

    def sentence(self) -> str:
        """Return the kind of index, its promise and its measured recall as a sentence."""
        kind = self.kind if self.asked == self.kind else f"{self.kind} (chosen by {self.asked})"
        promise = f"promised recall {self.recall:g}" if self.searches else "exact"
        facts = [f"{self.target}: index {kind} of {self.vectors} vectors, {promise}"]
        return "; ".join([*facts, *(search.sentence() for search in self.searches)])


class Point(NamedTuple):
    """The recall of searches with one effort."""

    effort: int
    recall: float
    """Mean share of the nearest items that the searches found."""
    error: float
    """Standard error of the mean over the queries."""


@dataclass(frozen=True, kw_only=True)
class Curve:
    """The recall of searches for k items, with rising effort."""

    k: int
    share: float = 1.0
    """The share of the items that a filter selects; 1 without a filter."""
    correlated: bool = False
    """Whether the filter selects items that lie in one direction, instead of items drawn by chance."""
    points: tuple[Point, ...]

    def effort(self, recall: float) -> int:
        """Return the least effort from which on recall reaches a wanted one by two standard errors; 0, an exact search,
        if none does."""
        reached = [point.recall - 2 * point.error >= recall for point in self.points]
        first = len(reached) - reached[::-1].index(False) if False in reached else 0
        return self.points[first].effort if first < len(reached) else 0


@dataclass(frozen=True, kw_only=True)
class MeasuredRecall:
    """The recall of searches in one target by queries of one view."""

    view: str
    """The query view."""
    queries: int
    """Number of queries, which are stored items whose own place does not count."""
    curves: tuple[Curve, ...]
    confirmed: float = 0.0
    """The recall of other queries with the effort that the promise takes."""

    @cached_property
    def _plain(self) -> list[Curve]:
        return sorted([curve for curve in self.curves if curve.share == 1], key=lambda curve: curve.k)

    @cached_property
    def _filtered(self) -> dict[bool, list[Curve]]:
        """The curves under filters that are correlated with the vectors, and under others, by falling share."""
        filtered = sorted([curve for curve in self.curves if curve.share < 1], key=lambda curve: -curve.share)
        return {kind: [curve for curve in filtered if curve.correlated is kind] for kind in (False, True)}

    @classmethod
    def from_json(cls, tree: Mapping[str, Any]) -> Self:
        """Return the recall of JSON values; the errors of ``IndexChoice.from_json``."""
        curves = [{**curve, "points": tuple(Point(*point) for point in curve["points"])} for curve in tree["curves"]]
        return cls(**{**tree, "curves": tuple(Curve(**curve) for curve in curves)})

    def effort(self, k: int, share: float, recall: float, correlated: bool = False) -> int:
        """Return the effort of a search for k items among a share of all items; 0 for an exact search.

        ``correlated`` states whether the filter depends on the vectors.

        Between measured shares it is that of the next smaller share. Beyond the measured k and shares, it grows
        with k and with the inverse of the share.
        """
        if recall >= EXACT or not self._plain:
            return 0
        curve = next((curve for curve in self._plain if curve.k >= k), self._plain[-1])
        effort = math.ceil(curve.effort(recall) * max(1, k / curve.k))
        filtered_curves = self._filtered[correlated]
        if share >= 1 or not effort or not filtered_curves:
            return effort
        narrow = next((curve for curve in filtered_curves if curve.share <= share), filtered_curves[-1])
        base, filtered = self._plain[0].effort(recall), narrow.effort(recall) * max(1, narrow.share / share)
        return max(effort, math.ceil(effort * filtered / base)) if base and filtered else 0


@dataclass(frozen=True, kw_only=True)
class IndexChoice:
    """The kind of index of a target, with the recall that its searches promise."""

    asked: str = AUTO
    """The kind that was asked for, such as ``auto``."""
    kind: str = FLAT
    vectors: str = VECTORS[0]
    recall: float = RECALL
    measured: tuple[MeasuredRecall, ...] = ()
    """By query view; empty for an exact kind, and for hidden targets, of which near copies are found."""
    items: int = 0
    """Number of items of the index when its recall was measured; 0 if unknown."""

    @cached_property
    def _of_view(self) -> dict[str, MeasuredRecall]:
        return {recall.view: recall for recall in self.measured}

    def effort(
        self, view: str, k: int, share: float, recall: float = 0.0, correlated: bool = False, items: int = 0
    ) -> int:
        """Return the effort of a search by a query of a view, for k of a share of all items, with a recall [default:
        the promised one]; 0 for an exact search.

        ``items`` is the present number of items. After deletions, the k nearest of the rest are as far from the query
        as more than k were when recall was measured, so a search for that many determines the effort.
        """
        measured = self._of_view.get(view)
        if measured is None:
            return 0
        if 0 < items < self.items:
            k = round(k * self.items / items)
        return measured.effort(k, share, recall or self.recall, correlated)

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters of the index."""
        return {"vectors": self.vectors} if self.kind in KINDS else {}

    def info(self, target: str) -> TargetIndex:
        """Return the description of the index of a target."""
        return TargetIndex(
            target=target,
            kind=self.kind,
            asked=self.asked,
            vectors=self.vectors,
            recall=self.recall,
            searches=tuple(
                SearchRecall(
                    view=measured.view,
                    effort=measured.effort(_SHOWN_K, 1.0, self.recall),
                    recall=measured.confirmed,
                    queries=measured.queries,
                )
                for measured in self.measured
            ),
        )

    def to_json(self) -> dict[str, Any]:
        """Return JSON values for ``from_json``."""
        return asdict(self)

    @classmethod
    def from_json(cls, tree: Mapping[str, Any]) -> Self:
        """Return the choice of JSON values; ValueError, TypeError or KeyError if no choice has these values."""
        measured = tuple(MeasuredRecall.from_json(entry) for entry in tree["measured"])
        return cls(**{**tree, "measured": measured})
