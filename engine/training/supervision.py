"""Supervision: the similarity of items for a learner, by labels, pairs or comparisons."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from crossview.engine.catalog.catalog import Transaction
from crossview.engine.learners.frame.capabilities import main_position
from crossview.engine.learners.frame.chain import Chain
from crossview.engine.learners.frame.comparisons import Taxonomy
from crossview.engine.learners.frame.supervision import Supervision
from crossview.engine.learners.registry import learners_of_comparisons, learners_of_taxonomies
from crossview.engine.training.examples import Examples
from crossview.engine.training.taxonomy import check_leaves
from crossview.engine.values.comparisons import ItemComparisons, left_out
from crossview.engine.values.errors import Argument, InvalidInputError, NotFoundError, NotReadyError, call
from crossview.engine.values.info import ConstraintCounts
from crossview.engine.values.labels import LABELLING
from crossview.engine.values.recipe import Pair, Recipe


def of_items(tx: Transaction, recipe: Recipe) -> tuple[Recipe, tuple[str, ...]]:
    """Return a recipe with the pairs and constraints of existing items, and a sentence about the others.

    Raises NotFoundError if no pair or constraint is left, InvalidInputError for invalid ones.
    """
    keys = [key for pair in recipe.pairs for key in (pair.first, pair.second)]
    pairs, without = _known_pairs(recipe.pairs, tx.items.ids_of(keys))
    constraints, notes = recipe.constraints, [without]
    if constraints is not None:
        constraints.check()
        constraints, without = constraints.of_known(tx.items.ids_of(constraints.keys))
        notes.append(without)
    return replace(recipe, pairs=pairs, constraints=constraints), tuple(filter(None, notes))


def _known_pairs(pairs: Sequence[Pair], known: Collection[str]) -> tuple[tuple[Pair, ...], str]:
    """Return the pairs of known keys, and a sentence about the others."""
    for number, pair in enumerate(pairs, 1):
        if pair.first == pair.second:
            raise InvalidInputError(f"{_where(number, pair)}: {pair.first!r} forms a pair with itself: remove the pair")
    kept = tuple(pair for pair in pairs if pair.first in known and pair.second in known)
    unknown = list(dict.fromkeys(key for one in pairs for key in (one.first, one.second) if key not in known))
    if pairs and not kept:
        raise NotFoundError(f"{_where(1, pairs[0])}: there is no item {unknown[0]!r}")
    return kept, left_out("pairs", len(pairs) - len(kept), len(pairs), unknown)


def _where(number: int, pair: Pair) -> str:
    return f"pairs, line {pair.line}" if pair.line else f"pair {number}"


def check_notions(pipeline: Chain, given: ItemComparisons) -> None:
    """Raise InvalidInputError for comparisons in several notions if the learner has no notions."""
    if given.notions and pipeline.capabilities.takes_comparisons and not pipeline.capabilities.notions:
        learner = pipeline.steps[main_position([step.capabilities for step in pipeline.steps])].name
        raise InvalidInputError(
            f"{learner} learns one notion of similarity: use joint, or remove the column notion "
            f"({', '.join(given.notions)})"
        )


def with_answers(tx: Transaction, recipe: Recipe) -> Recipe:
    """Return the recipe with people's answers as its constraints, if it learns from answers.

    Answers about deleted items are left out. Raises InvalidInputError for a recipe that also has constraints,
    NotReadyError without an answer.
    """
    if not recipe.answers:
        return recipe
    if recipe.constraints is not None:
        raise InvalidInputError(
            "a recipe learns from constraints or from answers: export the answers, and join the files"
        )
    answers = tx.answers.page()
    known = tx.items.ids_of({key for one in answers for key in (one.anchor, *one.near, *one.far)})
    kept = [
        replace(one, near=tuple(filter(known.__contains__, one.near)), far=tuple(filter(known.__contains__, one.far)))
        for one in answers
        if one.anchor in known
    ]
    if not any(one.triplets for one in kept):
        raise NotReadyError(
            f"collection {tx.name()!r} has no answers about its items: ask for comparisons with: ",
            call("collection.questions.next", call("QuestionRequest", notion="NOTION")),
        )
    return replace(recipe, constraints=ItemComparisons.of_answers(kept))


def with_supervision(
    found: Examples,
    pairs: Iterable[tuple[str, str]],
    comparisons: ItemComparisons | None,
    taxonomy: Taxonomy | None = None,
) -> Examples:
    """Return the examples with their further supervision: similar pairs, comparisons, a tree of the labels.

    Pairs and comparisons of other items are left out. Raises InvalidInputError if no pair is left, or if a label is
    not a leaf of the tree.
    """
    if taxonomy is not None:
        check_leaves(taxonomy, found)
        found = replace(found, taxonomy=taxonomy)
    if pairs:
        found = replace(found, similar=_similar(found, pairs))
    return found if comparisons is None else replace(found, constraints=comparisons.of(found.keys))


def _similar(found: Examples, pairs: Iterable[tuple[str, str]]) -> Any:
    """Return which examples are similar by pairs of keys, a sparse (n, n) matrix; every item is similar to itself."""
    positions = {key: position for position, key in enumerate(found.keys)}
    joined = [(positions[one], positions[two]) for one, two in pairs if one in positions and two in positions]
    if not joined:
        raise InvalidInputError("no pair has two training items: the items lack the views, or are held out")
    first, second = np.array(joined).T
    itself = np.arange(len(found))
    rows, columns = np.concatenate([first, second, itself]), np.concatenate([second, first, itself])
    similar = csr_array((np.ones(len(rows), np.int8), (rows, columns)), shape=(len(found), len(found)))
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


def count_constraints(given: ItemComparisons | None, training: Examples, held_out: Examples) -> ConstraintCounts | None:
    """Return the number of comparisons in use for training, and the number that names a held-out item.

    Raises InvalidInputError for a view without a usable comparison.
    """
    if given is None or training.constraints is None:
        return None
    columns = zip(training.rows, training.mask.T, strict=True)
    used = {view: len(training.constraints.among(present, len(training))) for view, present in columns}
    counts = ConstraintCounts(given.kind, len(given), given.naming(set(held_out.keys)), used)
    if lacking := [view for view, count in used.items() if not count]:
        raise InvalidInputError(
            f"view {lacking[0]!r} has no usable comparison: each of the {counts.given} {counts.kind} names an item "
            f"that lacks the view or is held out ({counts.held_out})"
        )
    return counts
