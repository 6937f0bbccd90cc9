"""The learner of a recipe that names none: chosen by what is known of the items."""

from collections import Counter
from dataclasses import replace

from crossview.engine.catalog.catalog import Transaction
from crossview.engine.catalog.joined import joined_view
from crossview.engine.recipe import DEFAULT, Recipe
from crossview.engine.training.grids import LEARNER

OF_LABELS = "posteriors,dot"
"""Best or equal on unseen databases of photographs, texts and sounds, whichever kernel suits a view."""
OF_PAIRS = "co-em,dot"
"""It finds the classes that pairs stand for, and which pairs are wrong."""
OF_SOME_LABELS = "co-em,dot"
"""Items without labels are learned from, too, and classes found that no item is labelled with."""
OF_NOTIONS = "joint"
OF_ITEMS = "sqrt,kernel:rbf,cca"
"""Without labels, an item's views are all that is known to belong together."""
OF_ONE_VIEW = "pca"
_UNLABELLED = 0.1
"""Share of the items from which on those without labels are learned from."""
_ITEMS_OF_A_LABEL = 4
"""Items for each label, on average: of more labels most are no classes, but names."""
OTHERS_OF_LABELS = ("sqrt,kernel:rbf,semantic,dot", "sqrt,kernel:rbf,multi-npp,dot")
"""What tuning tries beside ``OF_LABELS``: either is the next best on some set."""


def with_learner(tx: Transaction, recipe: Recipe) -> Recipe:
    """Return the recipe with a learner: the one it names, or else the one for what is given.

    A recipe that is to be tuned and says neither learner nor what to try tries several learners, too.

    Raises NotFoundError for an unknown view.
    """
    if recipe.spec != DEFAULT:
        return recipe
    found = replace(recipe, spec=_chosen(tx, recipe))
    if found.spec == OF_LABELS and len(recipe.views) > 1 and recipe.tune is not None and not recipe.tune.values:
        return replace(found, tune=replace(recipe.tune, values={LEARNER: (OF_LABELS, *OTHERS_OF_LABELS)}))
    return found


def _chosen(tx: Transaction, recipe: Recipe) -> str:
    if recipe.constraints is not None and recipe.constraints.notions:
        return OF_NOTIONS
    if recipe.pairs or recipe.constraints is not None:
        return OF_PAIRS
    if len(recipe.views) > 1 and _labelled_in_part(tx, recipe):
        return OF_SOME_LABELS
    if _has_classes(tx, recipe):
        return OF_LABELS
    return OF_ITEMS if len(recipe.views) > 1 else OF_ONE_VIEW


def _has_classes(tx: Transaction, recipe: Recipe) -> bool:
    """Return whether the items of every view are of two classes, at least, that are shared."""
    labels = tx.items.labels()
    for view in recipe.views:
        counts = Counter(label for item in joined_view(tx, view).ids(tx).tolist() for label in labels.get(item, ()))
        if sum(count > 1 for count in counts.values()) < 2:
            return False
    return True


def _labelled_in_part(tx: Transaction, recipe: Recipe) -> bool:
    """Return whether a tenth of the items, or more, have no label, and the others two labels or more, but few."""
    labels = tx.items.labels()
    items = {item for view in recipe.views for item in joined_view(tx, view).ids(tx).tolist()}
    named = [set(labels[item]) for item in items if labels.get(item)]
    different = len(set().union(*named))
    return len(items) - len(named) >= _UNLABELLED * len(items) and 2 <= different <= len(items) / _ITEMS_OF_A_LABEL
