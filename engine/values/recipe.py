"""Recipes: all options of a training, as one value."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from crossview.engine.learners.frame.stage import Stage, parse_stages
from crossview.engine.values.item import let_one_be_several

if TYPE_CHECKING:
    from crossview.engine.learners.frame.comparisons import Taxonomy
    from crossview.engine.values.comparisons import ItemComparisons
    from crossview.engine.values.conditions.filter import Filter

DEFAULT = "default"
"""Name of the learner that is chosen by the supervision, and of its space."""
OF_ORDERINGS, _ORDERINGS = "attributes", {"orderings", "names"}
"""The learner of orderings, and the settings that only this learner has."""
FOLDS = 3
KERNEL, NO_KERNEL, LEARNER = "kernel", "none", "learner"
"""Settings of tuning that no learner has: the kernel stage before the learner, or "none"; and the whole pipeline."""
ORDER, ITEMS = "order", "items"
MEASURES = ("map", "accuracy", ORDER, ITEMS)
"""The measures of tuning: mean average precision; accuracy of the nearest neighbours' vote; agreement of distances
with constraints, which is the share of triplets or quadruplets in order or the area under the ROC curve of pairs; or
the rank of an item's own other view, as 1 - (sqrt(rank) - 1) / (sqrt(n) - 1), which needs no labels."""


@dataclass(frozen=True)
class Pair:
    """Two items that are similar, by key."""

    first: str
    second: str
    line: int = 0
    """Line of the file that contains the pair, for messages; 0 if there is none."""


@dataclass(frozen=True)
class Grouping:
    """Groups of items that belong together, such as recordings of one speaker; splits and folds keep them together."""

    name: str
    """An attribute: items with equal values are a group. With ``groups``, the file that contained the groups."""
    groups: Mapping[str, str] = field(default_factory=dict)
    """Groups by the keys of items or the paths of their files, instead of an attribute."""


@dataclass(frozen=True)
class Tune:
    """Options of the choice of settings by cross-validation."""

    values: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    """Values to try, by setting, instead of the usual values. ``kernel`` (none, chi2, rbf, linear) is a setting too,
    and so is ``learner`` if the recipe names no learner."""
    measure: str = ""
    """One of ``MEASURES`` [default: "", map if labels or pairs state which items are similar, otherwise items]."""
    folds: int = FOLDS
    """Number of folds."""


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """The options of a training: what to learn, and from which items and supervision."""

    spec: str = DEFAULT
    """A learner or a pipeline of them, such as ``sqrt,cca``; or "default", which is "attributes" with orderings."""
    views: tuple[str, ...] = ()
    """The training uses the items that have at least one of these views [default: (), all views that items have]."""
    dim: int | None = None
    """Dimension of the embeddings [default: None, the learner chooses]."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Parameters of the last learner, by name; views are named."""
    holdout: float = 0.0
    """Share of the items to hold out for evaluation. It is 0 to below 1."""
    held_out: "Filter | None" = None
    """Holds out the items that pass this filter, instead of a share: a predefined split. Its keys can also be paths of
    the items' files, and their number has no limit."""
    where: "Filter | None" = None
    """Learns only from items that pass this filter; the others count as held out [default: None, all items]."""
    sample: int | None = None
    """Number of items to learn from, drawn at random by labels; the space places the others without learning from them
    [default: None, the bound of the learner: 10,000, or 100,000 if its cost hardly grows with the items, as that of
    cca]. It is at least 100. The sample is drawn from the items that are not held out, with the seed. It has every item
    that a pair or a comparison names, at least five items of each label and otherwise equal shares of them, and whole
    groups."""
    group_by: Grouping | None = None
    """Groups of items that stay on one side of the holdout, of the sample and of the folds of tuning; the holdout is
    then a share of the groups. An item without a group is a group of its own. Folds of comparisons are not grouped."""
    seed: int = 0
    """Seed of the holdout, the sample, the folds and the learner."""
    pairs: tuple[Pair, ...] = ()
    """Pairs of similar items [default: (), the learner draws pairs, usually by labels]."""
    tune: Tune | None = None
    """Options of the choice of missing settings [default: None, the learner's own defaults without tuning]."""
    constraints: "ItemComparisons | None" = None
    """Comparisons to learn a metric from, of one or several kinds [default: None, the learner draws comparisons,
    usually by labels]. For attributes: pairs of items in their order, each with the attribute as its notion
    (``Comparisons``)."""
    taxonomy: "Taxonomy | None" = None
    """A tree whose leaves are the labels, for a metric by which siblings are nearer than other classes."""
    ignore_labels: tuple[str, ...] = ()
    """Labels that the training, and evaluations and suggestions of the space, do not see; items keep them."""
    answers: bool = False
    """Whether to learn from the answers of people (``Collection.questions``) instead of ``constraints``."""
    rerank: int = 0
    """For codes: find R codes for each hit, and re-rank them by their float vectors [default: 0, no re-ranking]. Only a
    pipeline that ends in a hasher has codes, such as ``multi-npp,itq:32``; its spaces are searched by the number of
    differing bits."""

    def __post_init__(self) -> None:
        let_one_be_several(self, "views", "ignore_labels")
        if self.spec == DEFAULT and not _ORDERINGS.isdisjoint(self.settings):
            object.__setattr__(self, "spec", OF_ORDERINGS)

    @property
    def stages(self) -> tuple[Stage, ...]:
        """The stages of ``spec``, without a check of the learners' names."""
        return parse_stages(self.spec)

    def space_name(self) -> str:
        """Return the default name of the space: the name of the last learner."""
        return self.stages[-1].name

    def all_settings(self) -> dict[str, Any]:
        """Return the settings, with the bound of the sample and the dimensions."""
        sample = {} if self.sample is None else {"max_items": self.sample}
        return {**self.settings, **sample, **({} if self.dim is None else {"n_components": self.dim})}
