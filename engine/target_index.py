"""Descriptions of the indexes of targets: their kinds, and the recall of their searches."""

from dataclasses import dataclass


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
        found = f"queries of {self.view} find {self.recall:.3f} of the nearest items with effort {self.effort}"
        if self.live is None:
            return found
        return f"{found}, and in use {self.live.recall:.3f} \u00b1 {self.live.error:.3f} by {self.live.queries} queries"


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
        return "; ".join([*facts, *(one.sentence() for one in self.searches)])
