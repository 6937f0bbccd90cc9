"""Training: from items and a recipe to a fitted space, without the held-out items."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from crossview.engine.catalog.catalog import Transaction
from crossview.engine.catalog.joined import joined_view
from crossview.engine.learners.frame.chain import Chain
from crossview.engine.learners.frame.settings import MOST_DIMENSIONS
from crossview.engine.runtime.progress import Progress
from crossview.engine.spaces.parts import Part, parts_of
from crossview.engine.spaces.pipeline import labels_of
from crossview.engine.spaces.space import Space
from crossview.engine.spaces.training_keys import packed_keys
from crossview.engine.training.cost import check_memory, estimated
from crossview.engine.training.default_learner import with_learner
from crossview.engine.training.examples import Examples, check_rows, listed, views_with_items, with_rows
from crossview.engine.training.grids import check_dimensions
from crossview.engine.training.groups import groups_of
from crossview.engine.training.holdout import Holdout, held_out
from crossview.engine.training.learning import SomeRows, learn, score_scales, sketches_of, some_rows
from crossview.engine.training.match_calibration import calibrated
from crossview.engine.training.sampling import sampled, with_sample
from crossview.engine.training.supervision import (
    check_notions,
    count_constraints,
    of_items,
    with_answers,
    with_supervision,
)
from crossview.engine.training.taxonomy import check_taxonomy
from crossview.engine.training.tuning import assemble, check_tried, tune
from crossview.engine.values.errors import InvalidInputError, NotReadyError, few
from crossview.engine.values.numbers import check_seed
from crossview.engine.values.recipe import Recipe
from crossview.features.stages import stage


def training(tx: Transaction, name: str, recipe: Recipe, progress: Progress | None = None) -> Callable[[], Space]:
    """Read the training data of a recipe, and return the function that fits the space; errors name missing data.

    The fit does not read the catalog, so no transaction stays open for it. Its generation has no number yet.
    """
    check_seed(recipe.seed)
    check_taxonomy(recipe)
    recipe, without = _with_views(tx, with_sample(recipe))
    recipe, left_out = of_items(tx, with_learner(tx, with_answers(tx, recipe)))
    views = [joined_view(tx, view) for view in recipe.views]
    parts = list(map(parts_of, views))
    holdout = Holdout.of(tx, recipe)
    pipeline = _checked_pipeline(tx, recipe, parts)  # report mistakes before reading rows, which takes long
    cost = estimated(tx, recipe, pipeline, holdout)
    if progress is not None:
        progress("training", 0, 0, cost.sentence())
    check_memory(tx, recipe, pipeline, cost, holdout)
    found = _usable(pipeline, listed(tx, recipe.views, recipe.ignore_labels))
    found = replace(found, groups=groups_of(tx, found.ids, recipe.group_by))
    out = held_out(found, recipe, holdout)
    pairs = tuple((pair.first, pair.second) for pair in recipe.pairs)
    every = with_supervision(found.take(~out), pairs, recipe.constraints, recipe.taxonomy)
    given = with_rows(tx, sampled(pipeline, every, recipe.seed))
    rounded = check_rows(given)
    space = Space(
        name=name,
        generation=0,
        spec=recipe.spec,
        views=recipe.views,
        revisions={name: revision for view in views for name, revision in view.revisions.items()},
        pipeline=pipeline,
        seed=recipe.seed,
        trained=packed_keys(given.keys),
        held_out=int(out.sum()),
        group_by=recipe.group_by,
        pairs=pairs,
        constraints=recipe.constraints,
        taxonomy=recipe.taxonomy,
        constraint_counts=count_constraints(recipe.constraints, given, found.take(out)),
        rerank=recipe.rerank,
        cost=cost,
        ignored_labels=recipe.ignore_labels,
        notes=(*without, *_unknown(tx, recipe), *left_out, *rounded, *_unlearned(pipeline, given)),
    )
    check_dimensions(recipe, pipeline, given)
    return partial(_fit, space, recipe, parts, given, some_rows(tx, found, recipe.seed), progress)


def _fit(
    space: Space,
    recipe: Recipe,
    parts: Sequence[Sequence[Part]],
    given: Examples,
    every: Mapping[str, SomeRows],
    progress: Progress | None,
) -> Space:
    """Return a space fitted on the examples ``given``, with the chosen settings; ``every`` has rows of all items."""
    tuning = None
    if recipe.tune is not None:
        with stage("tune"):
            recipe, tuning = tune(recipe, parts, given, progress)
    with stage("fit", items=len(given)):
        fitted = learn(assemble(recipe, parts), given, progress)
    settings, scales = recipe.all_settings(), score_scales(fitted, given)
    sketches = sketches_of(every, parts, recipe.seed)
    made = replace(
        space,
        spec=recipe.spec,
        pipeline=fitted,
        settings=settings,
        tuning=tuning,
        scales=scales,
        sketches=sketches,
    )
    with stage("calibrate"):
        return calibrated(made, lambda some: learn(fitted.again(), some), given)


def _with_views(tx: Transaction, recipe: Recipe) -> tuple[Recipe, tuple[str, ...]]:
    """Return a recipe with views, by default all that items have, and a sentence about each other view."""
    if recipe.views:
        return recipe, ()
    views, left_out = views_with_items(tx)
    return replace(recipe, views=views), left_out


def _unknown(tx: Transaction, recipe: Recipe) -> tuple[str, ...]:
    """Return a sentence about ignored labels that no item has, which are perhaps misspelt."""
    counts = tx.items.label_counts() if recipe.ignore_labels else {}
    lacking = [label for label in recipe.ignore_labels if label not in counts]
    return (f"no item has the ignored label {few(map(repr, lacking))}",) if lacking else ()


def _checked_pipeline(tx: Transaction, recipe: Recipe, parts: Sequence[Sequence[Part]]) -> Chain:
    """Return the recipe's unfitted pipeline; InvalidInputError or NotFoundError for an invalid recipe."""
    if recipe.dim is not None and not 1 <= recipe.dim <= MOST_DIMENSIONS:
        raise InvalidInputError(f"dim must be a whole number from 1 to {MOST_DIMENSIONS:,}, not {recipe.dim}")
    if not recipe.spec.strip():
        raise InvalidInputError("name a learner, such as hybrid, multi-npp, cca or pca")
    pipeline = assemble(recipe, parts)
    check_tried(recipe, parts)
    _check_rerank(recipe, pipeline)
    if recipe.constraints is not None:
        check_notions(pipeline, recipe.constraints)
    return pipeline


def _unlearned(pipeline: Chain, training: Examples) -> tuple[str, ...]:
    """Return sentences about what the learner learns nothing from."""
    return (*_unordered(pipeline, training), *_unlike(pipeline, training))


def _unlike(pipeline: Chain, training: Examples) -> tuple[str, ...]:
    """Return a warning if a learner of similar items gets none: no pairs, no constraints, no label on two items."""
    given = training.similar is not None or training.constraints is not None
    given = given or (pipeline.capabilities.notions and bool(training.notion_classes))
    if given or not pipeline.needs_labels or np.unique(training.classes()).size < len(training):
        return ()
    note = (
        "no two training items have the same labels, so each is similar to nothing but itself: label them, or name "
        "similar items by pairs"
    )
    return (note,)


def _unordered(pipeline: Chain, training: Examples) -> tuple[str, ...]:
    """Return a sentence about classes of training items that the orderings leave out."""
    ordered = {name for step in pipeline.steps for name in step.ordered_classes}
    names, counts = np.unique(training.classes(), return_counts=True)
    classes = names[counts > 1].tolist()
    lacking = [" and ".join(labels_of(name)) for name in classes if name not in ordered]
    if not ordered or not lacking:
        return ()
    return (f"{len(lacking)} of {len(classes)} classes have no order, so nothing is learned from them: {few(lacking)}",)


def _check_rerank(recipe: Recipe, pipeline: Chain) -> None:
    if recipe.rerank < 0:
        raise InvalidInputError(f"re-ranking needs at least one code for each wanted hit, not {recipe.rerank}")
    if recipe.rerank and not pipeline.capabilities.codes_of_vectors:
        what = "codes with no float vectors behind them" if pipeline.capabilities.binary else "float vectors"
        raise InvalidInputError(
            f"there are no codes to re-rank: {recipe.spec} gives {what}; end it in a hasher, as in multi-npp,itq:32"
        )


def _usable(pipeline: Chain, found: Examples) -> Examples:
    """Return the examples for a pipeline; a pipeline that fits its views together needs items with all views."""
    if pipeline.capabilities.adds_views:
        return found
    complete = found.take(np.flatnonzero(found.mask.all(axis=1)))
    if not len(complete):
        raise NotReadyError(
            f"no item has all of the views {', '.join(found.rows)}, which {pipeline.steps[-1].name} needs"
        )
    return complete
