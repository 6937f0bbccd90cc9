"""Training: from items and a recipe to a fitted space, without the held-out items."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property, partial, reduce

import numpy as np

from crossview.engine.catalog.catalog import Transaction
from crossview.engine.learners.frame.chain import Chain
from crossview.engine.learners.frame.cost import FitSize
from crossview.engine.learners.frame.stage import format_stages
from crossview.engine.runtime.memory import available_memory
from crossview.engine.runtime.progress import Progress
from crossview.engine.spaces.pipeline import ITEMS_AT_ONCE, labels_of
from crossview.engine.spaces.space import Space
from crossview.engine.spaces.target import Target
from crossview.engine.spaces.training_keys import packed_keys
from crossview.engine.training.calibration import with_matches
from crossview.engine.training.examples import Examples, check_rows, listed, with_rows
from crossview.engine.training.learning import SomeRows, learn, score_scales, sketches_of, some_rows
from crossview.engine.training.settling import Settled, settle
from crossview.engine.training.splits import Holdout, groups_of
from crossview.engine.training.supervision import count_constraints, with_supervision
from crossview.engine.training.training_sample import sampled
from crossview.engine.training.tuning import check_dimensions, tuned
from crossview.engine.values.errors import Argument, NotEnoughMemoryError, NotReadyError, few
from crossview.engine.values.evaluation import EvaluationRequest
from crossview.engine.values.info import TrainingCost, memory_size
from crossview.engine.values.numbers import check_seed
from crossview.engine.values.recipe import Recipe
from crossview.features.stages import stage

_ITEM = 1_000
"""Bytes of an item besides its rows: its key, its labels, and its id in indexes."""
_ROW_SECONDS = 5e-5
"""Time to read a row, to place it and to index it, on two processors."""
_RATE = 2.5e10
"""Floating-point operations per second of one processor, with its share of other work."""
_LEAST_ITEMS = 100


def training(tx: Transaction, name: str, recipe: Recipe, progress: Progress | None = None) -> Callable[[], Space]:
    """Read the training data of a recipe, and return the function that fits the space; errors name missing data.

    The fit does not read the catalog, so no transaction stays open for it. Its generation has no number yet.
    """
    check_seed(recipe.seed)
    settled = settle(tx, recipe)  # mistakes are reported before rows are read, which takes long
    holdout = Holdout.of(tx, recipe)
    pipeline = settled.pipeline()
    cost = _estimated(tx, settled, pipeline, holdout)
    if progress is not None:
        progress("training", 0, 0, cost.sentence())
    _check_memory(cost, lambda most: _estimated(tx, settled, pipeline.set_params(max_items=most), holdout))
    items = listed(tx, settled.views, recipe.ignore_labels)
    if not pipeline.capabilities.adds_views:  # such a pipeline fits its views together
        items = items.having_all(*settled.views)
        if not len(items):
            raise NotReadyError(
                f"no item has all of the views {', '.join(settled.views)}, which {pipeline.steps[-1].name} needs"
            )
    items = replace(items, groups=groups_of(tx, items.ids, recipe.group_by))
    held_out = holdout.among(items)
    learned = with_supervision(items.take(~held_out), settled.pairs, settled.constraints, settled.taxonomy)
    examples = with_rows(tx, sampled(pipeline, learned, settled.seed))
    rounded = check_rows(examples)
    space = Space(
        name=name,
        generation=0,
        spec=format_stages(settled.stages),
        views=settled.views,
        revisions={name: revision for view in settled.joined for name, revision in view.revisions.items()},
        pipeline=pipeline,
        seed=settled.seed,
        trained=packed_keys(examples.keys),
        held_out=int(held_out.sum()),
        group_by=recipe.group_by,
        pairs=settled.pairs,
        constraints=settled.constraints,
        taxonomy=settled.taxonomy,
        constraint_counts=count_constraints(settled.constraints, examples, items.take(held_out)),
        rerank=recipe.rerank,
        cost=cost,
        ignored_labels=recipe.ignore_labels,
        notes=(*settled.notes, *rounded, *_unordered(pipeline, examples), *_unlike(pipeline, examples)),
    )
    check_dimensions(settled, pipeline, examples, "n_components" if recipe.dim is None else "dim")
    return partial(_fit, space, settled, examples, some_rows(tx, items, settled.seed), progress)


class Candidate(Space):
    """A learner to fit on every split of an evaluation; unfitted, it has a target for each view and each notion."""

    @cached_property
    def targets(self) -> tuple[Target, ...]:
        """The targets of all views, whose dimensions only a fit shows."""
        names = self.pipeline.metric_names_ or ("",)
        return tuple(Target(view=view, name=name, dim=0) for view in self.views for name in names)


def candidate(tx: Transaction, spec: str, request: EvaluationRequest) -> Candidate:
    """Return a learner, settled as for a training; errors name missing data, and memory that no split can have."""
    recipe = Recipe(spec=spec, views=request.views, holdout=request.test_size, seed=request.seed)
    settled = settle(tx, recipe)
    pipeline = settled.pipeline()
    _check_memory(_estimated(tx, settled, pipeline, Holdout.of(tx, recipe)))
    if pipeline.capabilities.notions:  # it learns those of the items' labels
        pipeline.steps[-1].metric_names_ = sorted(tx.items.notion_label_counts())
    return Candidate(
        name=spec,
        generation=0,
        spec=format_stages(settled.stages),
        views=settled.views,
        revisions={},
        pipeline=pipeline,
        seed=settled.seed,
        settings=settled.settings,
    )


def _fit(
    space: Space, settled: Settled, examples: Examples, every: Mapping[str, SomeRows], progress: Progress | None
) -> Space:
    """Return a space fitted on the examples, with the chosen settings; ``every`` has rows of all items."""
    tuning = None
    if settled.tune is not None:
        with stage("tune"):
            settled, tuning = tuned(settled, settled.tune, examples, progress)
    with stage("fit", items=len(examples)):
        pipeline = learn(settled.pipeline(), examples, progress)
    fitted = replace(
        space,
        spec=format_stages(settled.stages),
        pipeline=pipeline,
        settings=settled.settings,
        tuning=tuning,
        scales=score_scales(pipeline, examples),
        sketches=sketches_of(every, settled.parts, settled.seed),
    )
    with stage("calibrate"):
        return with_matches(fitted, lambda some: learn(pipeline.again(), some), examples)


def _estimated(tx: Transaction, settled: Settled, pipeline: Chain, holdout: Holdout) -> TrainingCost:
    """Return the cost of a training, estimated from counts of the catalog."""
    views = settled.joined
    ids = [view.ids(tx) for view in views]
    items = holdout.count_left(reduce(np.union1d if pipeline.capabilities.adds_views else np.intersect1d, ids))
    sample = min(items, pipeline.most_items or items)
    classes = sum(count > 1 for count in tx.items.label_counts().values())
    size = FitSize(sample, tuple(view.dim for view in views), classes)
    rows = [4 * len(of_view) * view.dim for of_view, view in zip(ids, views, strict=True)]
    columns = [width / 32 if pipeline.capabilities.binary else width for width in pipeline.embedded_widths(size)]
    vectors = sum(4 * len(of_view) * width for of_view, width in zip(ids, columns, strict=True))
    fit = pipeline.fit_cost(size)
    learning = sum(rows) * sample / max(items, 1) + fit.bytes
    placing = 2 * vectors + pipeline.fit_cost(replace(size, items=min(sample, ITEMS_AT_ONCE))).bytes
    return TrainingCost(
        items=items,
        sample=sample,
        memory=round(max(learning, placing) + _ITEM * items),
        seconds=fit.operations / _RATE + _ROW_SECONDS * sum(map(len, ids)),
    )


def _check_memory(cost: TrainingCost, of_sample: Callable[[int], TrainingCost] | None = None) -> None:
    """Raise NotEnoughMemoryError if the memory that this process can still take is less than the cost.

    ``of_sample`` returns the cost of learning from a number of items; None if the caller cannot choose the number.
    """
    available = available_memory()
    if available is None or cost.memory <= available:
        return
    message = (
        f"this training needs about {memory_size(cost.memory)} of memory, to learn from {cost.sample:,} items, and "
        f"{memory_size(max(available, 0))} are available: "
    )
    fewer = cost.sample
    while of_sample is not None and fewer > _LEAST_ITEMS:
        fewer = max(_LEAST_ITEMS, fewer * 3 // 4 // 100 * 100)
        if of_sample(fewer).memory <= available:
            raise NotEnoughMemoryError(f"{message}learn from fewer, with ", Argument("sample", fewer))
    raise NotEnoughMemoryError(f"{message}name fewer views, choose another learner, or free memory")


def _unlike(pipeline: Chain, training: Examples) -> tuple[str, ...]:
    """Return a warning if a learner of similar items gets none: no pairs, no constraints, no label on two items."""
    stated = training.similar is not None or training.constraints is not None
    stated = stated or (pipeline.capabilities.notions and bool(training.notion_classes))
    if stated or not pipeline.needs_labels or np.unique(training.classes()).size < len(training):
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
