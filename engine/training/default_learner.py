"""The default learner of a recipe, chosen by the kind of supervision."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from crossview.engine.catalog.catalog import Transaction
from crossview.engine.catalog.extractors import item_inputs_of
from crossview.engine.catalog.joined import joined_view
from crossview.engine.catalog.views import ViewRecord
from crossview.engine.training.grids import LEARNER
from crossview.engine.values.labels import without_labels
from crossview.engine.values.recipe import DEFAULT, Recipe
from crossview.features.inputs import space_of

OF_LABELS = "class-instance,dot"
"""The learner for labels: it ranks by the probability of one class, which is best or equal on unseen databases of
photographs, texts and sounds, and within and beyond classes by the item itself."""
OF_PAIRS = "class-instance:co-em,dot"
"""The learner for pairs: it finds the classes behind the pairs, and the wrong pairs."""
OF_SOME_LABELS = "class-instance:co-em,dot"
"""The learner for labels of some items: it also learns from items without labels, and finds classes without a labelled
item."""
OF_NOTIONS = "joint"
OF_VIEWS = "class-instance:co-em,dot"
"""The learner without labels: the only supervision is which views belong to one item. It also finds classes, because an
item's classmates in one view are its classmates in the others."""
OF_ITEMS = "instances"
"""The learner for labels that are names of items, or one for all: its only supervision is which views belong to one
item."""
OF_ONE_VIEW = "pca"
_SHARING = "class-instance"
"""The learner that keeps what views share before."""
_UNLABELLED = 0.1
"""Minimum share of unlabelled items for a learner that learns from them."""
_ITEMS_OF_A_LABEL = 4
"""Minimum mean number of items for each label: with fewer, most labels are names, not classes."""
OTHERS_OF_LABELS = ("sqrt,kernel:rbf,semantic,dot", "sqrt,kernel:rbf,multi-npp,dot")
"""Further learners that tuning tries: each is second best on some data set."""


def with_learner(tx: Transaction, recipe: Recipe) -> Recipe:
    """Return the recipe with a learner: its own, or the default for its supervision.

    If a recipe asks for tuning but names neither a learner nor values, tuning also tries several learners.

    Raises NotFoundError for an unknown view.
    """
    if recipe.spec != DEFAULT:
        return recipe
    found = replace(recipe, spec=_chosen(tx, recipe))
    if _SHARING in found.spec and len(shared := shared_views(tx, recipe.views)) > 1:
        found = replace(found, settings={"shared": list(shared), **recipe.settings})
    if found.spec == OF_LABELS and len(recipe.views) > 1 and recipe.tune is not None and not recipe.tune.values:
        return replace(found, tune=replace(recipe.tune, values={LEARNER: (OF_LABELS, *OTHERS_OF_LABELS)}))
    return found


def shared_views(tx: Transaction, views: Sequence[str]) -> tuple[str, ...]:
    """Return the views that share a space before they are learned, those of texts first; the first such space counts.

    Raises NotFoundError for an unknown view.
    """
    known = [joined_view(tx, view).parts for view in views]
    by_space: dict[str, list[ViewRecord]] = {}
    for one in (parts[0] for parts in known if len(parts) == 1):
        by_space.setdefault(space_of(one.extractor, one.params) or one.name, []).append(one)
    sharing = next((found for found in by_space.values() if len(found) > 1), [])
    return tuple(one.name for one in sorted(sharing, key=lambda one: "image" in item_inputs_of(one)))


def _chosen(tx: Transaction, recipe: Recipe) -> str:
    if recipe.constraints is not None and recipe.constraints.notions:
        return OF_NOTIONS
    labels = without_labels(tx.items.labels(), recipe.ignore_labels)
    views = [joined_view(tx, view).ids(tx).tolist() for view in recipe.views]
    return spec_for(labels, views, bool(recipe.pairs) or recipe.constraints is not None)


def spec_for(labels: Mapping[int, Collection[str]], views: Sequence[Sequence[int]], paired: bool) -> str:
    """Return the default learner of items with these labels, by item.

    Args:
        labels: an item without labels may be absent.
        views: the items that have each view.
        paired: whether pairs or comparisons state which items are similar.
    """
    if paired:
        return OF_PAIRS
    if len(views) > 1 and _labelled_in_part(labels, views):
        return OF_SOME_LABELS
    if _has_classes(labels, views):
        return OF_LABELS
    if len(views) == 1:
        return OF_ONE_VIEW
    return OF_ITEMS if any(labels.values()) else OF_VIEWS


def _has_classes(labels: Mapping[int, Collection[str]], views: Sequence[Sequence[int]]) -> bool:
    """Return whether the items of every view have at least two classes with several items."""
    for items in views:
        counts = Counter(label for item in items for label in labels.get(item, ()))
        if sum(count > 1 for count in counts.values()) < 2:
            return False
    return True


def _labelled_in_part(labels: Mapping[int, Collection[str]], views: Sequence[Sequence[int]]) -> bool:
    """Return whether at least a tenth of the items have no label, and the others have at least two labels, but few."""
    items = {item for of_view in views for item in of_view}
    named = [set(labels[item]) for item in items if labels.get(item)]
    different = len(set().union(*named))
    return len(items) - len(named) >= _UNLABELLED * len(items) and 2 <= different <= len(items) / _ITEMS_OF_A_LABEL
