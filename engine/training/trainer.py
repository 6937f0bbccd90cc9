"""Training: from items and a recipe to a fitted space, some items kept aside; and a view that is added later."""

import copy
import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from engine.catalog.catalog import Transaction
from engine.catalog.extractors import find_view
from engine.catalog.space_info import RAW
from engine.catalog.views import ViewRecord
from engine.errors import InvalidInputError, NotReadyError
from engine.learners.chain import Chain
from engine.learners.hashing.hasher import Hasher
from engine.learners.settings import MOST_DIMENSIONS
from engine.progress import Progress
from engine.query import Filter
from engine.recipe import Recipe
from engine.spaces.pipeline import build
from engine.spaces.space import Space
from engine.training.dimensions import check_dimensions
from engine.training.examples import Examples, examples, split
from engine.training.learning import learn, learn_later
from engine.training.neighborhoods import check_pairs, count_constraints, told
from engine.training.tuning import check_tried, tune
from features import EXTRACTORS

_NAME = re.compile(r"[a-z0-9][a-z0-9_.-]{0,62}")


def check_space_name(name: str) -> str:
    """Return the name of a space; InvalidInputError if it cannot be one."""
    if name == RAW or not _NAME.fullmatch(name):
        raise InvalidInputError(
            f"{name!r} cannot name a space: use 1 to 63 of a-z, 0-9, '.', '-' and '_', and not {RAW!r}"
        )
    return name


def train(tx: Transaction, name: str, generation: int, recipe: Recipe, progress: Progress | None = None) -> Space:
    """Return a space fitted by the recipe on what the catalog holds; the raised errors tell what is missing."""
    if recipe.dim is not None and not 1 <= recipe.dim <= MOST_DIMENSIONS:
        raise InvalidInputError(f"dim must be a whole number from 1 to {MOST_DIMENSIONS:,}, not {recipe.dim}")
    if not recipe.spec.strip():
        raise InvalidInputError("name a learner, such as hybrid, multi-npp, cca or pca")
    steps = own_steps([find_view(tx, view) for view in recipe.views])
    pipeline = assemble(recipe, steps)  # mistakes are told before anything is read
    check_tried(recipe, steps)
    _check_rerank(recipe, pipeline)
    check_pairs(recipe.pairs, tx.items.ids_of([key for pair in recipe.pairs for key in (pair.first, pair.second)]))
    if recipe.constraints is not None:
        recipe.constraints.check(tx.items.ids_of(recipe.constraints.keys))
    pairs = tuple((pair.first, pair.second) for pair in recipe.pairs)
    found = _usable(pipeline, examples(tx, recipe.views))
    aside = split(len(found), recipe.holdout, recipe.seed)
    training = told(found.take(~aside), pairs, recipe.constraints)
    counts = count_constraints(recipe.constraints, training, found.take(aside))
    check_dimensions(recipe, pipeline, training)
    tuning = None
    if recipe.tune is not None:
        recipe, tuning = tune(recipe, steps, training, progress)
    return Space(
        name=name,
        generation=generation,
        spec=recipe.spec,
        views=recipe.views,
        revisions={view: find_view(tx, view).revision for view in recipe.views},
        pipeline=learn(assemble(recipe, steps), training, progress),
        settings=recipe.all_settings(),
        seed=recipe.seed,
        training_keys=frozenset(training.keys),
        held_out=int(aside.sum()),
        pairs=pairs,
        tuning=tuning,
        constraints=recipe.constraints,
        constraint_counts=counts,
        rerank=recipe.rerank,
        notes=_notes(pipeline, training),
    )


def _notes(pipeline: Chain, training: Examples) -> tuple[str, ...]:
    """Return a sentence where a learner of similar items has none: no pairs, no constraints, no label on two items."""
    given = training.similar is not None or training.constraints is not None
    if given or not pipeline.needs_labels or np.unique(training.classes()).size < len(training):
        return ()
    note = (
        "no two training items have the same labels, so each is similar to nothing but itself: label them "
        "(index --labels, or label --from), or say which are similar by --pairs"
    )
    return (note,)


def _check_rerank(recipe: Recipe, pipeline: Chain) -> None:
    if recipe.rerank < 0:
        raise InvalidInputError(f"re-ranking finds at least one code for each hit wanted, not {recipe.rerank}")
    if recipe.rerank and not isinstance(pipeline.steps[-1], Hasher):
        what = "codes with no float vectors behind them" if pipeline.binary else "float vectors"
        raise InvalidInputError(
            f"there are no codes to re-rank: {recipe.spec} gives {what}; end it in a hasher, as in multi-npp,itq:32"
        )


def _usable(pipeline: Chain, found: Examples) -> Examples:
    """Return the examples that a pipeline learns from: one that fits its views together needs items that have all."""
    if pipeline.adds_views:
        return found
    whole = found.take(np.flatnonzero(found.mask.all(axis=1)))
    if not len(whole):
        raise NotReadyError(f"no item has all of {', '.join(found.rows)}, as {pipeline.steps[-1].name} needs")
    return whole


def add_views(
    tx: Transaction, space: Space, name: str, generation: int, views: Sequence[str], progress: Progress | None = None
) -> Space:
    """Return a fitted space with further views, learned one after another while the others stay as they are.

    It learns from the items that the space was trained on and, unless some were held out then, from all others.

    Raises InvalidInputError for views that it has or a learner that cannot, NotFoundError, NotReadyError.
    """
    if not views or len(set(views)) < len(views):
        raise InvalidInputError("name the views to add, each once, such as --views text")
    if there := [view for view in views if view in space.views]:
        raise InvalidInputError(f"space {space.name!r} has view {there[0]!r} already")
    space.check_revisions(tx.views.all())
    names = (*space.views, *views)
    found = examples(tx, names)
    aside = np.array([space.held_out > 0 and key not in space.training_keys for key in found.keys])
    training = found.take(~aside)
    for column in range(len(space.views), len(names)):
        if not training.mask[:, column].any():
            raise NotReadyError(f"no item that space {space.name!r} was trained on has view {names[column]!r}")
    training = told(training, space.pairs, space.constraints)
    counts = count_constraints(space.constraints, training, found.take(aside))
    if counts is not None and space.constraint_counts is not None:
        counts = replace(counts, used={**counts.used, **space.constraint_counts.used})  # the other views have learned
    return replace(
        space,
        name=name,
        generation=generation,
        views=names,
        revisions={view: find_view(tx, view).revision for view in names},
        pipeline=learn_later(space.pipeline, training, own_steps([find_view(tx, view) for view in views]), progress),
        training_keys=space.training_keys | frozenset(training.keys),
        held_out=int(aside.sum()),
        added=(*space.added, *views),
        constraint_counts=counts,
    )


def assign(tx: Transaction, space: Space, generation: int, label: str) -> Space:
    """Return a space of several metrics with one for the items of a label that it was not trained on.

    Which metric it is, those items say; nothing is learned anew, and they count as trained on.

    Raises InvalidInputError for a space of one metric or a label that it learned, NotReadyError for too few items.
    """
    space.check_revisions(tx.views.all())
    if space.pipeline.parts == 1:
        raise InvalidInputError(
            f"space {space.name!r} has one metric for all labels: items of a new one are found as they are; "
            "several has musl"
        )
    labels = tx.items.labels(tx.items.matching(Filter(labels=(label,))).tolist())
    ids = [item for item, mine in labels.items() if mine == (label,)]
    found = {view: tx.rows.get(find_view(tx, view), ids) for view in space.views}
    if not any(len(rows.ids) for rows in found.values()):
        raise NotReadyError(f"no item with view {' or '.join(space.views)} has the label {label!r} and no other")
    pipeline, seen = copy.deepcopy(space.pipeline), set[int]()
    for view, rows in enumerate(found.values()):
        if not len(rows.ids):
            continue
        try:
            pipeline.assign(rows.rows, label, view)
        except ValueError as error:
            raise InvalidInputError(f"label {label!r} cannot be assigned a metric: {error}") from error
        seen.update(rows.ids.tolist())
    keys = (item.key for item in tx.items.by_id(sorted(seen)).values())
    return replace(space, generation=generation, pipeline=pipeline, training_keys=space.training_keys | frozenset(keys))


def assemble(recipe: Recipe, steps: Sequence[Sequence[str]]) -> Chain:
    """Return the recipe's unfitted pipeline; ``steps`` are the views' own."""
    return build(recipe.spec, recipe.views, steps, recipe.settings, recipe.dim, recipe.seed)


def own_steps(views: Sequence[ViewRecord]) -> list[tuple[str, ...]]:
    """Return the normalisation steps that each view's rows need first."""
    return [EXTRACTORS[view.extractor].steps for view in views]
