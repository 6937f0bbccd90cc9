"""Recipes: what is asked of a training."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from engine.learners.stage import parse_stages

if TYPE_CHECKING:
    from engine.comparisons import ItemComparisons

LEARNER = "sqrt,kernel:rbf,multi-npp"
"""What learns where none is named. The chi-squared kernel is a point more accurate on photographs' histograms (5-NN,
across views, development splits), but this one takes rows of any sign."""
FOLDS = 3
ORDER = "order"
MEASURES = ("map", "accuracy", ORDER)
"""What tuning may go by: mean average precision, accuracy of the nearest neighbours' vote, or how well distances agree
with constraints: the share of triplets or quadruplets in order, the area under the ROC curve of pairs."""


@dataclass(frozen=True)
class Pair:
    """Two items that are similar, by key."""

    first: str
    second: str
    line: int = 0
    """The line of the file that it was read from, for messages; 0 where there is none."""


@dataclass(frozen=True)
class Tune:
    """How the settings that a recipe leaves open are chosen by cross-validation."""

    values: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    """Values to try by setting, in place of the usual ones; ``kernel`` (none, chi2, rbf, linear) is a setting too."""
    measure: str = MEASURES[0]
    folds: int = FOLDS


@dataclass(frozen=True)
class Recipe:
    """What is asked of a training."""

    spec: str
    views: tuple[str, ...]
    dim: int | None = None
    settings: Mapping[str, Any] | None = None
    holdout: float = 0.0
    seed: int = 0
    pairs: tuple[Pair, ...] = ()
    """The similar items; none: those that the learner finds, by labels as a rule."""
    tune: Tune | None = None
    constraints: "ItemComparisons | None" = None
    """What a metric is learned from; None: what the learner draws, from labels as a rule."""
    rerank: int = 0
    """Codes to find for each hit wanted, and to put in the order of their float vectors; 0: none."""

    def space_name(self) -> str:
        """Return the name of a space that is given none: its last learner's."""
        return parse_stages(self.spec)[-1].name

    def all_settings(self) -> dict[str, Any]:
        """Return the settings with the dimension among them."""
        return dict(self.settings or {}) | ({} if self.dim is None else {"n_components": self.dim})
