"""Evaluation: how well spaces retrieve relevant items for queries that they were not trained on."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crossview.engine.catalog.catalog import Transaction
from crossview.engine.catalog.condition_checks import check_filter
from crossview.engine.catalog.item_columns import ItemColumns
from crossview.engine.learners.frame.chain import Chain
from crossview.engine.learners.frame.comparisons import Taxonomy
from crossview.engine.runtime.progress import Progress
from crossview.engine.spaces.space import Space
from crossview.engine.spaces.versions import Versions
from crossview.engine.training.by_comparisons import agree
from crossview.engine.training.by_pairs import verify
from crossview.engine.training.collected import joined_confusions, joined_curves
from crossview.engine.training.divisions import (
    NO_LABEL,
    Division,
    Divisions,
    check_database,
    check_trained,
    chosen_databases,
    contents,
    databases_sentence,
    divide,
    draw_queries,
    grouping_of,
    notion_of,
    target_views,
)
from crossview.engine.training.estimate import (
    Figures,
    Key,
    Statistic,
    differences,
    mean_over_views,
    over_splits,
    rows,
)
from crossview.engine.training.examples import Examples, codebooks, listed
from crossview.engine.training.learning import Refit, refitting
from crossview.engine.training.retrieval import Measurement, MeasurePlan, Trial, figures
from crossview.engine.training.splits import groups_of
from crossview.engine.training.stored_vectors import StoredVectors, near_repeats, repeats_sentence
from crossview.engine.training.supervision import check_leaves, count_constraints, stranger, with_supervision
from crossview.engine.values.errors import InvalidInputError, NotFoundError, NotReadyError, few
from crossview.engine.values.evaluation import (
    FIRST,
    ITEMS,
    LABELS,
    LENGTHS,
    RECALLS,
    SECONDS,
    UNSEEN,
    Evaluation,
    EvaluationRequest,
)
from crossview.engine.values.recipe import DEFAULT, Grouping


@dataclass(frozen=True, kw_only=True)
class _Plan:
    """The spaces, items and views of an evaluation."""

    view: str
    spaces: Sequence[Space]
    targets: Mapping[str, tuple[str, ...]]
    """The views of the items to find, by space."""
    views: Mapping[str, Sequence[str]]
    """The views in use, by space."""
    items: Examples
    """The items with any of these views, without their rows."""
    stored: StoredVectors
    divisions: Divisions
    measures: MeasurePlan
    refits: Mapping[str, Refit]
    """The refit of each space that learns again for every division."""
    note: str
    """Why held-out items are not a database, why no taxonomy measures votes, and which labels do not count."""

    @property
    def target_views(self) -> list[str]:
        """The views to find items in, of all spaces."""
        return list(dict.fromkeys(chain.from_iterable(self.targets.values())))

    @property
    def query_ids(self) -> list[NDArray[np.int64]]:
        """The ids of the queries of each division that have the query view."""
        able = self.items.ids_in(self.view)
        return [np.intersect1d(division.queries, able, assume_unique=True) for division in self.divisions.parts]


def evaluated(
    tx: Transaction,
    versions: Versions,
    spaces: Sequence[Space],
    request: EvaluationRequest,
    progress: Progress | None = None,
) -> Callable[[], Evaluation]:
    """Read the data of an evaluation, and return the function that measures the spaces; see ``Collection.evaluate``.

    ``versions`` have the indexes of the spaces. The function does not read the catalog, so no transaction stays open
    for it.
    """
    if request.pairs is not None:
        return verify(tx, spaces, request, request.pairs)
    if request.constraints is not None:
        return agree(tx, spaces, request.view, request.constraints)
    return evaluate(tx, versions, spaces, request, progress)


def evaluate(
    tx: Transaction,
    versions: Versions,
    spaces: Sequence[Space],
    request: EvaluationRequest,
    progress: Progress | None = None,
) -> Callable[[], Evaluation]:
    """Return a function that measures retrieval by spaces on the same queries and databases."""
    began = time.monotonic()
    plans, left_out = _plans(tx, versions, spaces, request)
    keys = {key for plan in plans for key in plan.items.of_ids(np.concatenate(plan.query_ids)).keys}
    codebook = codebooks(tx, {view for plan in plans for view in (plan.view, *plan.target_views)}, keys)
    compared = [space for plan in plans for space in plan.spaces]
    notes = [*left_out, *(f"{space.name} answers within a view only" for space in spaces if space not in compared)]
    notes += [f"{space.name} is {space.spec}" for space in spaces if space.name == DEFAULT and request.learners]

    def measure() -> Evaluation:
        return replace(_evaluated(plans, notes, codebook, len(spaces) > 1, progress), seconds=time.monotonic() - began)

    return measure


def _evaluated(
    plans: Sequence[_Plan], earlier_notes: Sequence[str], codebook: str, prefixed: bool, progress: Progress | None
) -> Evaluation:
    measured: dict[str, dict[str, Figures]] = {view: {} for view in (*(plan.view for plan in plans), "")}
    wholes: list[Measurement] = []
    notes, plan = list(earlier_notes), plans[0]
    spaces = list({space.name: space for plan in plans for space in plan.spaces}.values())
    for space in spaces:
        by_view, learned_from = _measured(space, [plan for plan in plans if space in plan.spaces], progress)
        for view, measurement in by_view.items():
            measured[view][space.name] = measurement.figures
            wholes.append(measurement)
        prefix = f"{space.name}: " if prefixed else ""
        notes += [prefix + note for note in (_ranking_note(space, plan.measures), learned_from) if note]
    names = [space.name for space in spaces]
    of_views = [(view, by_space) for view, by_space in measured.items() if by_space]
    return Evaluation(
        rows=tuple(sorted(chain(*(rows(*of_view) for of_view in of_views)), key=lambda row: names.index(row.space))),
        queries=round(float(np.mean([len(ids) for plan in plans for ids in plan.query_ids]))),
        databases={
            name: max(_count(plan, name, plan.target_views) for plan in plans) for name in plan.measures.databases
        },
        protocol="; ".join(dict.fromkeys(part for part in (*_sentences(plans), *notes) if part)),
        codebook=codebook,
        seconds=0.0,
        differences=tuple(chain(*(differences(*of_view) for of_view in of_views))),
        per_query=tuple(chain(*(whole.per_query for whole in wholes))),
        curves=tuple(chain(*(whole.curves for whole in wholes))),
        confusions=tuple(chain(*(whole.confusions for whole in wholes))),
        examples=tuple(chain(*(whole.examples for whole in wholes))),
    )


def _sentences(plans: Sequence[_Plan]) -> Iterator[str]:
    """Yield sentences about the queries, the databases and the labels."""
    plan = plans[0]
    yield plan.divisions.protocol
    for of_view in plans:
        if of_view.divisions.drawn:
            yield f"of {of_view.view}, {of_view.divisions.drawn}" if len(plans) > 1 else of_view.divisions.drawn
    yield databases_sentence(plan.measures.databases, plan.measures.by)
    for of_view in plans:
        yield from _by_view(of_view)
    if plan.measures.notion:
        yield _notion_note(plan)
    if plan.items.groups is not None and plan.measures.by == LABELS:
        yield "no query finds an item of its own group"
    yield plan.note
    repeats = [near_repeats(plan.stored.rows, division) for division in plan.divisions.parts]
    yield repeats_sentence(np.concatenate(repeats))


def _plans(
    tx: Transaction, versions: Versions, spaces: Sequence[Space], request: EvaluationRequest
) -> tuple[list[_Plan], list[str]]:
    """Return a plan for each query view, and a note on views that are left out, if any.

    The plans differ in their targets and queries alone, so that one fit for each division serves all of them.
    """
    every = not request.view
    notion = notion_of(spaces, request)
    labelled = notion in tx.items.notion_label_counts() or tx.items.label_counts()
    by = request.by or (LABELS if labelled else ITEMS)
    targets, left_out = _targets(spaces, request, by, notion)
    searched = {view: list(dict.fromkeys(chain(*by_space.values()))) for view, by_space in targets.items()}
    compared = [space for space in spaces if any(by_space[space.name] for by_space in targets.values())]
    to_find = {
        space.name: tuple(dict.fromkeys(chain(*(by_space[space.name] for by_space in targets.values()))))
        for space in compared
    }
    used = {}
    for space in compared:  # a refit needs all views of the space
        taking_part = (*targets, *to_find[space.name])
        used[space.name] = [name for name in space.views if name in taking_part or (space.spec and request.fits)]
    ignored = tuple(dict.fromkeys(chain.from_iterable(space.ignored_labels for space in compared)))
    everything = listed(tx, list(dict.fromkeys(chain.from_iterable(used.values()))), ignored)
    everything = _grouped(tx, everything, grouping_of(compared, request), request)
    items, kind = (_labelled(everything, notion), "labelled items") if by == LABELS else (everything, "items")
    drawn, databases, note = _divided(tx, compared, items, kind, searched, request, by)
    taxonomy, no_taxonomy = _taxonomy_of(request, compared, items) if by == LABELS else (None, "")
    ks = request.k or (RECALLS if by == ITEMS else (FIRST,) if every else LENGTHS)
    measures = MeasurePlan(databases, by, ks, notion, taxonomy, request.per_query, request.hits, request.details, every)
    ignoring = f"labels do not count that training ignored: {few(ignored)}" if ignored and by == LABELS else ""
    refits = {space.name: refitting(tx, space) for space in compared if request.fits and space.spec}
    for space in compared:
        if space.name not in refits:
            space.check_revisions(tx.views.all())
    measured = [(space, () if space.name in refits else to_find[space.name]) for space in compared]
    parts = [division for divisions in drawn.values() for division in divisions.parts]
    stored = StoredVectors.of(tx, versions, measured, everything, parts)
    plans = [
        _Plan(
            view=view,
            spaces=[space for space in compared if targets[view][space.name]],
            targets=targets[view],
            views=used,
            items=everything,
            stored=stored,
            divisions=divisions,
            measures=measures,
            refits=refits,
            note="; ".join(filter(None, (note, no_taxonomy, ignoring))),
        )
        for view, divisions in drawn.items()
    ]
    return plans, left_out


def _targets(
    spaces: Sequence[Space], request: EvaluationRequest, by: str, notion: str
) -> tuple[dict[str, dict[str, tuple[str, ...]]], list[str]]:
    """Return the views of the items to find by query view and space, and a note on views that are left out, if any.

    Without a query view of the request, each view that all spaces have is one, and finds items across these views if
    any space can. Raises the errors of ``target_views``, and InvalidInputError if nothing is left to find.
    """
    if request.view:
        return {request.view: target_views(spaces, request, by, notion)}, []
    views = list(dict.fromkeys(chain.from_iterable(space.views for space in spaces)))
    common = [view for view in views if all(view in space.views for space in spaces)]
    across = len(common) > 1 and any(space.cross_view for space in spaces)
    targets = {}
    for view in common:
        offered = [target for target in common if target != view or not across]
        by_space = target_views(spaces, replace(request, view=view), by, notion)
        targets[view] = {name: tuple(filter(offered.__contains__, able)) for name, able in by_space.items()}
    targets = {view: by_space for view, by_space in targets.items() if any(by_space.values())}
    if not targets:
        names = ", ".join(space.name for space in spaces)
        raise InvalidInputError(
            f"no view that all of {names} have can be searched: measure them apart, or choose a query view"
        )
    others = [view for view in views if view not in common]
    return targets, [f"views that some spaces lack are left out: {few(others)}"] if others else []


def _divided(
    tx: Transaction,
    spaces: Sequence[Space],
    items: Examples,
    kind: str,
    searched: Mapping[str, Sequence[str]],
    request: EvaluationRequest,
    by: str,
) -> tuple[dict[str, Divisions], tuple[str, ...], str]:
    """Return one division of the items, with queries of each view, the databases, and a note if unseen is none.

    ``searched`` are the views of the items to find by query view, and ``kind`` is what the items are called.
    """
    divided = divide(spaces, items, kind, request, grouping_of(spaces, request))
    where = check_filter(request.where)
    among = None if where.is_empty else ItemColumns().matching(tx, where.condition)
    drawn = {
        view: draw_queries(divided, items, targets, replace(request, view=view), by, among)
        for view, targets in searched.items()
    }
    databases, note = chosen_databases(items, divided, set(chain(*searched.values())), by, request)
    if set(databases) - {UNSEEN}:
        check_trained(spaces, divided, kind)
    for database, (view, divisions) in product(databases, drawn.items()):
        for target, division in product(searched[view], divisions.parts):
            check_database(database, items, division, (view, target), by)
    return drawn, databases, note


def _grouped(tx: Transaction, items: Examples, grouping: Grouping | None, request: EvaluationRequest) -> Examples:
    try:
        return replace(items, groups=groups_of(tx, items.ids, grouping))
    except NotFoundError:
        if request.fits:
            raise
        # The attribute has been removed since the training, but the space still knows its held-out items.
        return items


def _labelled(items: Examples, notion: str) -> Examples:
    """Return the items with labels in a notion; NotReadyError if there are none."""
    items = replace(items, labels=items.labels_in(notion))
    items = items.take(np.array([bool(labels) for labels in items.labels], bool))
    if not len(items):
        raise NotReadyError(NO_LABEL)
    return items


def _taxonomy_of(request: EvaluationRequest, spaces: Sequence[Space], items: Examples) -> tuple[Taxonomy | None, str]:
    """Return the tree for the costs of votes, from the request or the first space that has one, or why there is none.

    Raises InvalidInputError for a requested tree if labels of the items are not its leaves.
    """
    if request.taxonomy is not None:
        check_leaves(request.taxonomy, items)
        return request.taxonomy, ""
    for space in spaces:
        if space.taxonomy is not None:
            if (label := stranger(space.taxonomy, items.labels)) is None:
                return space.taxonomy, ""
            note = f"the taxonomy of {space.name} does not measure votes, because {label!r} is not one of its leaves"
            return None, note
    return None, ""


def _measured(space: Space, plans: Sequence[_Plan], progress: Progress | None) -> tuple[dict[str, Measurement], str]:
    """Return the figures of a space over all splits by query view, with "" for their means, and a note on comparisons
    that it learned from, if any."""
    splits: dict[str, list[Figures]] = {view: [] for view in (*(plan.view for plan in plans), "")}
    measured: dict[str, list[Measurement]] = {plan.view: [] for plan in plans}
    note = ""
    for number, division in enumerate(plans[0].divisions.parts, 1):
        began = time.perf_counter()
        pipeline, note = _fitted(space, plans[0], division)
        seconds: Figures = {("", "", SECONDS, None): Statistic(time.perf_counter() - began)}
        for plan in plans:
            trial = _trial(space, pipeline, plan, plan.divisions.parts[number - 1])
            split: dict[Key, Any] = {}
            for target in plan.targets[space.name]:
                measurement = figures(trial, plan.view, target, plan.measures, progress)
                queries = [replace(query, split=number) for query in measurement.per_query]
                examples = measurement.examples if number == 1 else ()
                measured[plan.view].append(measurement._replace(per_query=queries, examples=examples))
                split |= measurement.figures
            splits[plan.view].append(split)
        if plans[0].measures.every:
            timed = seconds if space.name in plans[0].refits else {}
            splits[""].append({**mean_over_views([of_view[-1] for view, of_view in splits.items() if view]), **timed})
    overlap = plans[0].divisions.overlap()
    wholes = {
        view: Measurement(
            over_splits(splits[view], overlap),
            list(chain(*(split.per_query for split in of_view))),
            joined_curves([split.curves for split in of_view]),
            joined_confusions([split.confusions for split in of_view]),
            list(chain(*(split.examples for split in of_view))),
        )
        for view, of_view in measured.items()
    }
    if splits[""]:
        wholes[""] = Measurement(over_splits(splits[""], overlap))
    return wholes, note if len(plans[0].divisions.parts) == 1 else ""


def _fitted(space: Space, plan: _Plan, division: Division) -> tuple[Chain, str]:
    """Return the pipeline of a space for a division, and a note on comparisons that it learned from, if any."""
    pipeline, counts = space.pipeline, space.constraint_counts
    if space.name in plan.refits:
        rows = plan.stored.rows.seen_in(*plan.views[space.name])
        held_out = rows.of_ids(division.held_out)
        # The held-out items are labelled ones; items without labels are learned from, unless they are of their groups.
        learned = rows.take(~np.isin(rows.apart, plan.items.of_ids(division.held_out).apart))
        training = with_supervision(learned, space.pairs, space.constraints, space.taxonomy)
        counts = count_constraints(space.constraints, training, held_out)
        pipeline = plan.refits[space.name](training)
    return pipeline, "" if counts is None else counts.sentence()


def _trial(space: Space, pipeline: Chain, plan: _Plan, division: Division) -> Trial:
    everything, rows = (some.seen_in(*plan.views[space.name]) for some in (plan.items, plan.stored.rows))
    indexes = {view: index for (name, view), index in plan.stored.indexes.items() if name == space.name}
    return Trial(space, pipeline, everything, rows, indexes, division)


def _count(plan: _Plan, database: str, views: Sequence[str]) -> int:
    """Return how many items of a database have one of the views, the mean over the divisions."""
    able = plan.items.ids_in(*views)
    return round(
        float(np.mean([np.isin(contents(database, division), able).sum() for division in plan.divisions.parts]))
    )


def _by_view(plan: _Plan) -> Iterator[str]:
    """Yield the number of items to find in each view, if the numbers differ."""
    for database in plan.measures.databases:
        counts = {view: _count(plan, database, [view]) for view in plan.target_views}
        if len(set(counts.values())) > 1:
            listed = ", ".join(f"{count} {view}" for view, count in counts.items())
            yield f"{database} items to find by view: {listed}"


def _notion_note(plan: _Plan) -> str:
    notion = plan.measures.notion
    distances = f"distances are those in the notion {notion!r}"
    if without := [space.name for space in plan.spaces if notion not in space.pipeline.metric_names_]:
        distances += f", and the only ones of {', '.join(without)}"
    if plan.measures.by == ITEMS:
        return distances
    labels = "those in it, too" if notion in plan.items.notion_classes else "the items' own"
    return f"{distances}; labels are {labels}"


def _ranking_note(space: Space, plan: MeasurePlan) -> str:
    """Return how codes are ranked; "" for vectors."""
    if not space.binary:
        return ""
    note = "codes at equal distances rank at random"
    whole = "median_rank" if plan.by == ITEMS else "map and median_rank"
    order = f"the {space.rerank} x k nearest are ordered by their float vectors, for {whole} k = {max(plan.ks)}"
    return f"{note}; {order}" if space.rerank else note
