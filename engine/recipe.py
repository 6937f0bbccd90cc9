"""Recipes: everything that a training is to do, as one value."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from crossview.engine.item import let_one_be_several
from crossview.engine.learners.stage import parse_stages

if TYPE_CHECKING:
    from crossview.engine.comparisons import ItemComparisons
    from crossview.engine.learners.comparisons import Taxonomy

DEFAULT = "default"
"""In place of a learner: the one that suits what is known of the items, and the name of its space."""
OF_ORDERINGS, _ORDERINGS = "attributes", {"orderings", "names"}
"""The learner of orderings, and the settings that it alone takes."""
FOLDS = 3
ORDER, ITEMS = "order", "items"
MEASURES = ("map", "accuracy", ORDER, ITEMS)
"""What tuning may measure: mean average precision, accuracy of the nearest neighbours' vote; how well distances agree
with constraints: the share of triplets or quadruplets in order, the area under the ROC curve of pairs; or how soon
an item's own other view is found, 1 - (sqrt(rank) - 1) / (sqrt(n) - 1), which needs no labels."""


@dataclass(frozen=True)
class Pair:
    """Two items that are similar, by key."""

    first: str
    second: str
    line: int = 0
    """The line of the file that it was read from, for messages; 0 where there is none."""


@dataclass(frozen=True)
class Grouping:
    """Which items belong together, such as recordings of one speaker: splits and folds do not part them."""

    name: str
    """An attribute, whose equal values are a group; with ``groups``, the file that these were read from."""
    groups: Mapping[str, str] = field(default_factory=dict)
    """Groups by the items' keys or by the paths of their files, in place of an attribute."""


@dataclass(frozen=True)
class Tune:
    """How the settings that a recipe leaves open are chosen by cross-validation."""

    values: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    """Values to try by setting, in place of the usual ones; ``kernel`` (none, chi2, rbf, linear) is a setting too, and
    so is ``learner`` where the recipe names none."""
    measure: str = ""
    """One of ``MEASURES``; "": map where labels or pairs tell what is similar, else items."""
    folds: int = FOLDS


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """What a training is to learn, and from what."""

    spec: str = DEFAULT
    """A learner or a pipeline of them, such as ``sqrt,cca``; or "default", which is "attributes" with orderings."""
    views: tuple[str, ...]
    """Learned from are the items that have at least one of these."""
    dim: int | None = None
    """Dimension of the embeddings; None: the learner's own choice."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Parameters of the last learner; views go by name."""
    holdout: float = 0.0
    """The share of the items that is held out of training, for an evaluation: 0 to below 1."""
    group_by: Grouping | None = None
    """Items that stay together on one side, of what is held out and of the folds of tuning; the holdout is then a share
    of the groups. Items that have no value of it are groups of their own. Folds of comparisons are not grouped."""
    seed: int = 0
    pairs: tuple[Pair, ...] = ()
    """The similar items; none: those that the learner finds, by labels as a rule."""
    tune: Tune | None = None
    """How the settings that are not given are chosen; None: they are the learner's defaults."""
    constraints: "ItemComparisons | None" = None
    """What a metric is learned from, of one kind or several; None: what the learner draws, from labels as a rule. For
    attributes pairs of items in their order, each in the notion of one (``Comparisons``)."""
    taxonomy: "Taxonomy | None" = None
    """A tree whose leaves are the labels, for a metric by which siblings are nearer than other classes."""
    answers: bool = False
    """Whether what people answered (``Collection.questions``) takes the place of ``constraints``."""
    rerank: int = 0
    """Codes to find for each hit wanted, and to put in the order of their float vectors; 0: none. Only of a pipeline
    that ends in a hasher, such as ``multi-npp,itq:32``, whose spaces are searched by the number of differing bits."""

    def __post_init__(self) -> None:
        let_one_be_several(self, "views")
        if self.spec == DEFAULT and not _ORDERINGS.isdisjoint(self.settings):
            object.__setattr__(self, "spec", OF_ORDERINGS)

    def space_name(self) -> str:
        """Return the name of a space that is given none: its last learner's."""
        return parse_stages(self.spec)[-1].name

    def all_settings(self) -> dict[str, Any]:
        """Return the settings with the dimension among them."""
        return dict(self.settings) | ({} if self.dim is None else {"n_components": self.dim})
