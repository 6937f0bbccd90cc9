"""Settling: from a recipe to what a training learns, in one value in which no choice is open but those of tuning."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

from crossview.engine.catalog.catalog import Transaction
from crossview.engine.catalog.extractors import item_inputs_of
from crossview.engine.catalog.joined import JoinedView, joined_view
from crossview.engine.catalog.views import ViewRecord
from crossview.engine.learners.frame.chain import FEWEST_SAMPLED, MOST_SAMPLED, Chain
from crossview.engine.learners.frame.comparisons import Taxonomy
from crossview.engine.learners.frame.kernels import KernelMap
from crossview.engine.learners.frame.settings import MOST_DIMENSIONS
from crossview.engine.learners.frame.stage import Stage, format_stages, parse_stages
from crossview.engine.learners.registry import MAX_ITEMS, learners_of_taxonomies, main_stage
from crossview.engine.spaces.pipeline import Part, build, parts_of
from crossview.engine.training.examples import views_with_items
from crossview.engine.values.comparisons import ItemComparisons, left_out
from crossview.engine.values.errors import Argument, InvalidInputError, NotFoundError, NotReadyError, call, few
from crossview.engine.values.labels import without_labels
from crossview.engine.values.recipe import DEFAULT, KERNEL, LEARNER, NO_KERNEL, Pair, Recipe, Tune
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
OTHERS_OF_LABELS = ("sqrt,kernel:rbf,semantic,dot", "sqrt,kernel:rbf,multi-npp,dot")
"""Further learners that tuning tries: each is second best on some data set."""
OF_KERNEL = f"{KernelMap.name}__"
"""Prefix of settings of the kernel stage, such as ``kernel__bandwidth``."""
_SHARING = "class-instance"
"""The learner that keeps what views share before."""
_UNLABELLED = 0.1
"""Minimum share of unlabelled items for a learner that learns from them."""
_ITEMS_OF_A_LABEL = 4
"""Minimum mean number of items for each label: with fewer, most labels are names, not classes."""


@dataclass(frozen=True, kw_only=True)
class Settled:
    """A training, settled: the pipeline, its views, their supervision, and the settings that tuning chooses."""

    stages: tuple[Stage, ...]
    views: tuple[str, ...]
    joined: Sequence[JoinedView] = ()
    """The views, each with the stored views that are its parts."""
    parts: Sequence[Sequence[Part]]
    """The parts of each view."""
    settings: Mapping[str, Any]
    """Parameters of the main learner by name, with its dimensions and the bound of the sample; views are named."""
    seed: int
    tune: Tune | None = None
    pairs: tuple[tuple[str, str], ...] = ()
    """Keys of similar items."""
    constraints: ItemComparisons | None = None
    taxonomy: Taxonomy | None = None
    notes: tuple[str, ...] = ()
    """Sentences about views, labels, pairs and comparisons that are left out."""

    @classmethod
    def without_catalog(cls, recipe: Recipe) -> Self:
        """Return a recipe that names its learner and its views, whose rows need no steps of their own, as settled."""
        return cls(
            stages=recipe.stages,
            views=recipe.views,
            parts=[()] * len(recipe.views),
            settings=recipe.all_settings(),
            seed=recipe.seed,
            tune=recipe.tune,
        )

    def pipeline(self) -> Chain:
        """Return the unfitted pipeline; InvalidInputError for unknown learners, settings or views."""
        return build(self.stages, self.views, self.parts, self.settings, self.seed)

    def trying(self, values: Mapping[str, Any]) -> "Settled":
        """Return the settled recipe with values of settings; ``kernel`` and ``learner`` change the stages."""
        if LEARNER in values:
            return replace(self, stages=parse_stages(values[LEARNER]))
        settings = {**self.settings, **{name: value for name, value in values.items() if name != KERNEL}}
        kernel = values.get(KERNEL)
        if kernel is None:
            return replace(self, settings=settings)
        if kernel == NO_KERNEL:  # a stage that is not there has no settings, which the registry would refuse
            settings = {name: value for name, value in settings.items() if not name.startswith(OF_KERNEL)}
            return replace(self, settings=settings)
        main = main_stage(self.stages)
        stages = (*self.stages[:main], Stage(KernelMap.name, kernel), *self.stages[main:])
        return replace(self, stages=stages, settings=settings)


def settle(tx: Transaction, recipe: Recipe) -> Settled:
    """Return what a recipe learns: its own choices and, for those that it leaves open, the usual ones for its items.

    The views are all that at least two items have. The learner is the default for the supervision; if the recipe asks
    for tuning but names neither a learner nor values, tuning also tries several learners. Pairs and comparisons of
    unknown items are left out, with a note.

    Raises InvalidInputError for values that no training accepts, NotFoundError for an unknown view and if no pair or
    comparison is left, NotReadyError without a view or an answer to learn from.
    """
    _check(recipe)
    views, notes = (recipe.views, ()) if recipe.views else views_with_items(tx)
    constraints = _of_answers(tx) if recipe.answers else recipe.constraints
    stages, settings, tune = recipe.stages, recipe.all_settings(), recipe.tune
    if recipe.spec == DEFAULT:
        spec = _default(tx, recipe, views, constraints)
        stages = parse_stages(spec)
        if stages[0].name == _SHARING and len(shared := shared_views(tx, views)) > 1:
            settings = {"shared": list(shared), **settings}
        if spec == OF_LABELS and len(views) > 1 and tune is not None and not tune.values:
            tune = replace(tune, values={LEARNER: (OF_LABELS, *OTHERS_OF_LABELS)})
    if recipe.ignore_labels:
        counts = tx.items.label_counts()  # an ignored label that no item has is perhaps misspelt
        if lacking := [label for label in recipe.ignore_labels if label not in counts]:
            notes += (f"no item has the ignored label {few(map(repr, lacking))}",)
    ids = tx.items.ids_of([key for pair in recipe.pairs for key in (pair.first, pair.second)])
    pairs, note = _pairs(recipe.pairs, ids)
    notes += (note,) if note else ()
    if constraints is not None:
        constraints.check()
        constraints, note = constraints.of_known(tx.items.ids_of(constraints.keys))
        notes += (note,) if note else ()
    joined = [joined_view(tx, view) for view in views]
    settled = Settled(
        stages=stages,
        views=views,
        joined=joined,
        parts=list(map(parts_of, joined)),
        settings=settings,
        seed=recipe.seed,
        tune=tune,
        pairs=pairs,
        constraints=constraints,
        taxonomy=recipe.taxonomy,
        notes=notes,
    )
    _check_pipeline(settled, recipe)
    return settled


def check_replaced(tx: Transaction, recipe: Recipe) -> None:
    """Raise InvalidInputError if the space with the default name of a recipe has another pipeline: learners or views.

    ``posteriors,dot`` and ``instances,dot`` have one default name. Settings make no other pipeline, whether a stage has
    them, as in ``itq:8`` and ``itq:16``, or not. A kernel that tuning tried does not count, and ``default`` is one
    pipeline for any supervision.
    """
    name = recipe.space_name()
    generations = tx.spaces.generations(name)
    if not generations or recipe.spec == DEFAULT:
        return
    stored = generations[-1].summary
    wanted, kinds = (
        [(stage.name, stage.views) for stage in stages] for stages in (recipe.stages, parse_stages(stored["spec"]))
    )
    tuned = any(KERNEL in trial["settings"] for trial in (stored.get("tuning") or {"tried": ()})["tried"])
    if wanted not in (kinds, [kind for kind in kinds if not tuned or kind[0] != KernelMap.name]):
        raise InvalidInputError(
            f"space {name!r} has the pipeline {stored['spec']}, which {format_stages(recipe.stages)} would replace: "
            "name another space, or the same one to replace it, as in ",
            Argument("space", name),
        )


def _check(recipe: Recipe) -> None:
    """Raise InvalidInputError for values that no training accepts, in any collection."""
    if recipe.taxonomy is not None:
        if recipe.pairs or recipe.constraints is not None or recipe.answers:
            raise InvalidInputError(
                "a taxonomy needs labels, which pairs, constraints and answers replace: give a taxonomy or one of those"
            )
        if recipe.spec == DEFAULT:
            raise InvalidInputError(
                "name a learner that accepts a taxonomy as ", Argument("spec"), f": {learners_of_taxonomies()}"
            )
    if recipe.sample is not None:
        if not FEWEST_SAMPLED <= recipe.sample <= MOST_SAMPLED:
            raise InvalidInputError(
                f"sample must be a whole number from {FEWEST_SAMPLED} to {MOST_SAMPLED:,}, not {recipe.sample}"
            )
        if MAX_ITEMS in recipe.settings:
            raise InvalidInputError(f"sample {recipe.sample} and the setting {MAX_ITEMS} are the same: leave out one")
    if recipe.answers and recipe.constraints is not None:
        raise InvalidInputError(
            "a recipe learns from constraints or from answers: export the answers, and join the files"
        )
    if recipe.dim is not None and not 1 <= recipe.dim <= MOST_DIMENSIONS:
        raise InvalidInputError(f"dim must be a whole number from 1 to {MOST_DIMENSIONS:,}, not {recipe.dim}")
    if not recipe.spec.strip():
        raise InvalidInputError("name a learner, such as hybrid, multi-npp, cca or pca")
    if recipe.rerank < 0:
        raise InvalidInputError(f"re-ranking needs at least one code for each wanted hit, not {recipe.rerank}")


def _check_pipeline(settled: Settled, recipe: Recipe) -> None:
    """Raise InvalidInputError if no pipeline can be made, with some value to try, or if it cannot learn the recipe."""
    pipeline = settled.pipeline()
    for setting, values in ({} if settled.tune is None else settled.tune.values).items():
        for value in values:
            kernel = {KERNEL: "rbf"} if setting.startswith(OF_KERNEL) else {}
            settled.trying({**kernel, setting: value}).pipeline()
    can = pipeline.capabilities
    if recipe.rerank and not can.codes_of_vectors:
        spec = format_stages(settled.stages)
        vectors = "codes with no float vectors behind them" if can.binary else "float vectors"
        raise InvalidInputError(
            f"there are no codes to re-rank: {spec} gives {vectors}; end it in a hasher, as in multi-npp,itq:32"
        )
    notions = () if settled.constraints is None else settled.constraints.notions
    if notions and can.takes_comparisons and not can.notions and pipeline.main_learner is not None:
        raise InvalidInputError(
            f"{pipeline.main_learner.name} learns one notion of similarity: use joint, or remove the column notion "
            f"({', '.join(notions)})"
        )


def _of_answers(tx: Transaction) -> ItemComparisons:
    """Return people's answers about items as comparisons; NotReadyError without an answer about existing items."""
    answers = tx.answers.page()
    ids = tx.items.ids_of({key for answer in answers for key in (answer.anchor, *answer.near, *answer.far)})
    usable = [
        replace(
            answer,
            near=tuple(key for key in answer.near if key in ids),
            far=tuple(key for key in answer.far if key in ids),
        )
        for answer in answers
        if answer.anchor in ids
    ]
    if not any(answer.triplets for answer in usable):
        raise NotReadyError(
            f"collection {tx.name()!r} has no answers about its items: ask for comparisons with: ",
            call("collection.questions.next", call("QuestionRequest", notion="NOTION")),
        )
    return ItemComparisons.of_answers(usable)


def _pairs(pairs: Sequence[Pair], ids: Collection[str]) -> tuple[tuple[tuple[str, str], ...], str]:
    """Return the pairs whose keys are among ``ids``, and a sentence about the others."""
    for number, pair in enumerate(pairs, 1):
        if pair.first == pair.second:
            raise InvalidInputError(f"{_where(number, pair)}: {pair.first!r} forms a pair with itself: remove the pair")
    usable = tuple((pair.first, pair.second) for pair in pairs if pair.first in ids and pair.second in ids)
    unknown = list(dict.fromkeys(key for pair in pairs for key in (pair.first, pair.second) if key not in ids))
    if pairs and not usable:
        raise NotFoundError(f"{_where(1, pairs[0])}: there is no item {unknown[0]!r}")
    return usable, left_out("pairs", len(pairs) - len(usable), len(pairs), unknown)


def _where(number: int, pair: Pair) -> str:
    return f"pairs, line {pair.line}" if pair.line else f"pair {number}"


def shared_views(tx: Transaction, views: Sequence[str]) -> tuple[str, ...]:
    """Return the views that share a space before they are learned, those of texts first; the first such space counts.

    Raises NotFoundError for an unknown view.
    """
    stored = [joined_view(tx, view).parts for view in views]
    by_space: dict[str, list[ViewRecord]] = {}
    for view in (parts[0] for parts in stored if len(parts) == 1):
        by_space.setdefault(space_of(view.extractor, view.params) or view.name, []).append(view)
    sharing = next((views for views in by_space.values() if len(views) > 1), [])
    return tuple(view.name for view in sorted(sharing, key=lambda view: "image" in item_inputs_of(view)))


def _default(tx: Transaction, recipe: Recipe, views: Sequence[str], constraints: ItemComparisons | None) -> str:
    """Return the default learner for the supervision of a recipe."""
    if constraints is not None and constraints.notions:
        return OF_NOTIONS
    labels = without_labels(tx.items.labels(), recipe.ignore_labels)
    ids = [joined_view(tx, view).ids(tx).tolist() for view in views]
    return spec_for(labels, ids, bool(recipe.pairs) or constraints is not None)


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
    label_sets = [set(labels[item]) for item in items if labels.get(item)]
    different = len(set().union(*label_sets))
    return len(items) - len(label_sets) >= _UNLABELLED * len(items) and 2 <= different <= len(items) / _ITEMS_OF_A_LABEL
