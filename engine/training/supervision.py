"""Supervision: the similarity of items for a learner, by labels, pairs or comparisons."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from crossview.engine.learners.frame.chain import Chain
from crossview.engine.learners.frame.comparisons import Taxonomy
from crossview.engine.learners.frame.supervision import Supervision
from crossview.engine.learners.registry import learners_of_comparisons, learners_of_taxonomies
from crossview.engine.training.examples import Examples
from crossview.engine.values.comparisons import ItemComparisons
from crossview.engine.values.errors import Argument, InvalidInputError, NotReadyError
from crossview.engine.values.info import ConstraintCounts
from crossview.engine.values.labels import LABELLING

_SHOWN = 10
"""Number of leaves that a message names."""


def with_supervision(
    items: Examples,
    pairs: Iterable[tuple[str, str]],
    comparisons: ItemComparisons | None,
    taxonomy: Taxonomy | None = None,
) -> Examples:
    """Return the examples with their further supervision: similar pairs, comparisons, a tree of the labels.

    Pairs and comparisons of other items are left out. Raises InvalidInputError if no pair is left, or if a label is
    not a leaf of the tree.
    """
    if taxonomy is not None:
        check_leaves(taxonomy, items)
        items = replace(items, taxonomy=taxonomy)
    if pairs:
        items = replace(items, similar=_similar(items, pairs))
    return items if comparisons is None else replace(items, constraints=comparisons.of(items.keys))


def _similar(items: Examples, pairs: Iterable[tuple[str, str]]) -> Any:
    """Return which examples are similar by pairs of keys, a sparse (n, n) matrix; every item is similar to itself."""
    positions = {key: position for position, key in enumerate(items.keys)}
    joined = [(positions[a], positions[b]) for a, b in pairs if a in positions and b in positions]
    if not joined:
        raise InvalidInputError("no pair has two training items: the items lack the views, or are held out")
    first, second = np.array(joined).T
    itself = np.arange(len(items))
    rows, columns = np.concatenate([first, second, itself]), np.concatenate([second, first, itself])
    similar = csr_array((np.ones(len(rows), np.int8), (rows, columns)), shape=(len(items), len(items)))
    similar.data[:] = 1  # a repeated pair was added up
    return similar


def supervision_of(pipeline: Chain, training: Examples) -> Supervision:
    """Return the supervision of a pipeline: a mask, classes, and neighbours or comparisons if the recipe has them.

    Items are similar if they share a label or, for learners without label sets, if their sets of labels are equal.

    Raises InvalidInputError for pairs, comparisons or a taxonomy that no learner accepts, NotReadyError without any
    supervision.
    """
    can, learner = pipeline.capabilities, pipeline.steps[-1].name
    if training.constraints is not None and not (can.takes_comparisons or can.orders_items):
        raise InvalidInputError(
            f"{learner} does not learn from constraints: use a learner that does, one of {learners_of_comparisons()}"
        )
    if training.similar is not None and not can.takes_neighbors:
        raise InvalidInputError(f"{learner} does not learn from pairs of items: use a learner such as multi-npp")
    if training.taxonomy is not None and not can.takes_taxonomy:
        raise InvalidInputError(
            f"{learner} does not learn from a taxonomy: use a learner that does, one of {learners_of_taxonomies()}"
        )
    classes = training.classes()
    unsaid = training.similar is None and training.constraints is None and not (can.notions and training.notion_classes)
    by_labels = unsaid and can.takes_comparisons and can.needs_labels
    if by_labels and np.unique(classes).size == len(classes):
        raise NotReadyError(
            "no two training items have the same labels: compare items by ", Argument("constraints"), ", or ", LABELLING
        )
    in_notions = can.notions and bool(training.notion_classes)
    shared = training.similar is None and can.multilabel and training.several_labels()
    return Supervision(
        classes=training.indicators() if shared else classes,
        neighbors=training.similar,
        comparisons=None if training.similar is not None else training.constraints,
        taxonomy=training.taxonomy,
        notion_classes=training.notion_classes if in_notions and training.constraints is None else None,
        groups=training.groups,
        mask=training.mask,
        labelled=np.array([bool(labels) for labels in training.labels]),
    )


def check_leaves(taxonomy: Taxonomy, items: Examples) -> None:
    """Raise InvalidInputError for examples with a label that is not a leaf, or with several labels."""
    if (label := stranger(taxonomy, items.labels)) is not None:
        leaves = ", ".join(taxonomy.leaves[:_SHOWN]) + (", ..." if len(taxonomy.leaves) > _SHOWN else "")
        raise InvalidInputError(
            f"label {label!r} is not a leaf of the taxonomy ({leaves}): place it below a node, or label its items "
            "otherwise"
        )
    keys = (key for key, labels in zip(items.keys, items.labels, strict=True) if len(labels) > 1)
    if (key := next(keys, None)) is not None:
        raise InvalidInputError(
            f"item {key!r} has several labels, but a taxonomy allows one label, a leaf: remove the others"
        )


def stranger(taxonomy: Taxonomy, labels: Iterable[Sequence[str]]) -> str | None:
    """Return a label among the labels of items that is not a leaf; None if all are leaves."""
    return min({label for names in labels for label in names}.difference(taxonomy.leaves), default=None)


def count_constraints(
    comparisons: ItemComparisons | None, training: Examples, held_out: Examples
) -> ConstraintCounts | None:
    """Return the number of comparisons in use for training, and the number that names a held-out item.

    Raises InvalidInputError for a view without a usable comparison.
    """
    if comparisons is None or training.constraints is None:
        return None
    columns = zip(training.rows, training.mask.T, strict=True)
    used = {view: len(training.constraints.among(present, len(training))) for view, present in columns}
    counts = ConstraintCounts(comparisons.kind, len(comparisons), comparisons.naming(set(held_out.keys)), used)
    if lacking := [view for view, count in used.items() if not count]:
        raise InvalidInputError(
            f"view {lacking[0]!r} has no usable comparison: each of the {counts.given} {counts.kind} names an item "
            f"that lacks the view or is held out ({counts.held_out})"
        )
    return counts
