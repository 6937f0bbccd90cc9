"""Evaluations: what is to be measured, and what was found."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.errors import InvalidInputError

if TYPE_CHECKING:
    from engine.comparisons import ItemComparisons

LENGTHS = (5, 10, 30, 50, 70, 100)
"""Lengths of the hit lists that are measured where none are named."""


@dataclass(frozen=True, kw_only=True)
class EvaluationRequest:
    """What is to be measured, of which spaces.

    Raises InvalidInputError for a space that is named twice, and for comparisons with targets or a refit.
    """

    view: str
    """The query view."""
    spaces: tuple[str, ...] = ()
    """All are measured by the same queries and database; none: the active space."""
    targets: tuple[str, ...] = ()
    """None: everything that the view can be matched against."""
    k: tuple[int, ...] = LENGTHS
    """Lengths of the hit lists."""
    refit: bool = False
    """Whether the items are split anew and the learners fitted on a part, in place of what training held out."""
    test_size: float = 0.2
    """With ``refit``: the share of the queries."""
    seed: int = 0
    """With ``refit``: draws the split."""
    constraints: "ItemComparisons | None" = None
    """Measure how well distances within the view agree with these, in place of retrieval by labels."""

    def __post_init__(self) -> None:
        if len(set(self.spaces)) < len(self.spaces):
            raise InvalidInputError(f"name each space once, not {', '.join(self.spaces)}")
        if self.constraints is not None and (self.targets or self.refit):
            raise InvalidInputError(
                "comparisons are measured within the view, by what the space has learned: leave out targets and refit"
            )


@dataclass(frozen=True, kw_only=True)
class EvaluationRow:
    """One figure of one space."""

    query_view: str
    database_view: str
    metric: str
    """``accuracy``, ``precision`` or ``map``; by comparisons ``order``, the share of triplets or quadruplets in order,
    or ``auc``, the area under the ROC curve of pairs."""
    k: int | None
    """Length of the hit list; None for metrics of whole rankings and of comparisons."""
    value: float
    """0 to 1."""
    space: str = ""
    standard_error: float | None = None
    """Of the value, over queries or comparisons; None where they are too few."""


@dataclass(frozen=True, kw_only=True)
class EvaluationDifference:
    """A space's figure less that of the first space that was measured, over the same queries or comparisons."""

    space: str
    baseline: str
    """The first space."""
    query_view: str
    database_view: str
    metric: str
    k: int | None
    value: float
    """-1 to 1; above 0 where the space is better than the first."""
    standard_error: float | None = None
    """Of the mean of the paired differences; None where they are too few."""


@dataclass(frozen=True)
class Overlap:
    """How many of the comparisons that a space is measured by it has seen in training."""

    space: str
    trained_items: int
    """Comparisons that name an item that the space was trained on."""
    learned_from: int
    """Comparisons that the space learned from."""


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """How accurate spaces are, by the same queries or comparisons."""

    rows: tuple[EvaluationRow, ...]
    """Space by space."""
    queries: int
    database: int
    protocol: str
    """How it was measured, in a sentence."""
    codebook: str
    """What the visual words were fitted on, in a sentence."""
    seconds: float
    differences: tuple[EvaluationDifference, ...] = ()
    """Of every space but the first, where both have a figure."""
    overlaps: tuple[Overlap, ...] = ()
    """One for each space, where comparisons were measured."""
    comparisons: int = 0
    """How many were measured; then there are no queries."""
