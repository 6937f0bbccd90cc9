"""Trees of classes in training and evaluation: checks of their labels, and the costs of wrong classes."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from crossview.engine.learners.frame.comparisons import Taxonomy
from crossview.engine.learners.registry import learners_of_taxonomies
from crossview.engine.spaces.space import Space
from crossview.engine.training.examples import Examples
from crossview.engine.values.errors import Argument, InvalidInputError
from crossview.engine.values.evaluation import EvaluationRequest
from crossview.engine.values.recipe import DEFAULT, Recipe

HIERARCHICAL_ACCURACY, LCA_LOSS = "hierarchical_accuracy", "lca_loss"
_SHOWN = 10
"""Number of leaves that a message names."""

Costs = NDArray[np.float64]


def check_taxonomy(recipe: Recipe) -> None:
    """Raise InvalidInputError for a recipe with a taxonomy and no learner, or with other supervision than labels."""
    if recipe.taxonomy is None:
        return
    if recipe.pairs or recipe.constraints is not None or recipe.answers:
        raise InvalidInputError(
            "a taxonomy needs labels, which pairs, constraints and answers replace: give a taxonomy or one of those"
        )
    if recipe.spec == DEFAULT:
        raise InvalidInputError(
            "name a learner that accepts a taxonomy as ", Argument("spec"), f": {learners_of_taxonomies()}"
        )


def check_leaves(taxonomy: Taxonomy, found: Examples) -> None:
    """Raise InvalidInputError for examples with a label that is not a leaf, or with several labels."""
    if (label := stranger(taxonomy, found.labels)) is not None:
        shown = ", ".join(taxonomy.leaves[:_SHOWN]) + (", ..." if len(taxonomy.leaves) > _SHOWN else "")
        raise InvalidInputError(
            f"label {label!r} is not a leaf of the taxonomy ({shown}): place it below a node, or label its items "
            "otherwise"
        )
    several = (key for key, labels in zip(found.keys, found.labels, strict=True) if len(labels) > 1)
    if (key := next(several, None)) is not None:
        raise InvalidInputError(
            f"item {key!r} has several labels, but a taxonomy allows one label, a leaf: remove the others"
        )


def stranger(taxonomy: Taxonomy, labels: Iterable[Sequence[str]]) -> str | None:
    """Return a label among the labels of items that is not a leaf; None if all are leaves."""
    unknown = {label for names in labels for label in names}.difference(taxonomy.leaves)
    return min(unknown, default=None)


def measured_by(request: EvaluationRequest, spaces: Sequence[Space], items: Examples) -> tuple[Taxonomy | None, str]:
    """Return the tree for the costs of votes, from the request or the first space that has one, or why there is none.

    Raises InvalidInputError for a requested tree if labels of the items are not its leaves.
    """
    if request.taxonomy is not None:
        check_leaves(request.taxonomy, items)
        return request.taxonomy, ""
    found = next((space for space in spaces if space.taxonomy is not None), None)
    if found is None or found.taxonomy is None:
        return None, ""
    if (label := stranger(found.taxonomy, items.labels)) is not None:
        return None, f"the taxonomy of {found.name} does not measure votes, because {label!r} is not one of its leaves"
    return found.taxonomy, ""


def costs(taxonomy: Taxonomy, classes: Sequence[str]) -> dict[str, Costs]:
    """Return the cost of confusing one class with another by each measure, (L, L); the classes are leaves.

    The complement of hierarchical accuracy: 1/2 for a sibling, 1 for any other. Law, Thome and Cord, "Learning a
    Distance Metric from Relative Comparisons between Quadruplets of Images" (IJCV 2017), equation (24). The loss of
    Verma et al., "Learning Hierarchical Similarity Metrics" (CVPR 2012): the height of the lowest common ancestor over
    that of the tree.
    """
    places = taxonomy.positions(classes)
    chosen = np.ix_(places, places)
    heights = taxonomy.heights
    wrong = 1.0 - np.eye(len(places)) - taxonomy.siblings[chosen] / 2
    return {HIERARCHICAL_ACCURACY: wrong, LCA_LOSS: heights[chosen] / heights.max()}
