"""Agreement of the distances of spaces with comparisons by people, a measure that needs no labels."""

import time
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from crossview.engine.catalog.catalog import Transaction
from crossview.engine.catalog.joined import joined_view
from crossview.engine.learners.frame.comparisons import Comparisons
from crossview.engine.learners.frame.view_rows import cut
from crossview.engine.spaces.pipeline import class_of, codes_and_vectors, metrics_of_items, vectors
from crossview.engine.spaces.space import Space
from crossview.engine.training.estimate import Estimate, Figures, area_under_curve, differences, in_order, rows
from crossview.engine.training.examples import codebooks
from crossview.engine.values.comparisons import ItemComparisons
from crossview.engine.values.errors import InvalidInputError, NotReadyError
from crossview.engine.values.evaluation import Evaluation, Overlap

_VALUES_AT_ONCE = 1 << 22
"""Components of the vectors whose distances are computed at a time: 32 MiB as float64."""
_INDEPENDENT = "standard errors assume independent comparisons"


def agree(tx: Transaction, spaces: Sequence[Space], view: str, compared: ItemComparisons) -> Callable[[], Evaluation]:
    """Return a function that measures spaces by comparisons of items, from their rows of a view.

    See ``Collection.evaluate``. The function does not read the catalog, so no transaction stays open for it.
    """
    began = time.monotonic()
    by_key = tx.items.ids_of(compared.keys)
    compared.check()
    compared, unknown = compared.of_known(by_key)
    for space in spaces:
        space.targets_for(view)
        space.check_revisions(tx.views.all())
    stored = joined_view(tx, view).rows(tx, by_key.values())
    places = {item: place for place, item in enumerate(stored.ids.tolist())}
    keys = sorted(key for key, item in by_key.items() if item in places)
    ids = [by_key[key] for key in keys]
    sets = compared.of(keys).sets
    for part, stated in zip(sets, compared.sets, strict=True):
        _check(part, len(stated.comparisons), view)
    labels = tx.items.labels(ids)
    classes = [class_of(labels.get(item, ())) for item in ids]
    raw = stored.rows[[places[item] for item in ids]]
    codebook = codebooks(tx, {view}, set(keys), "compared items")

    def measure() -> Evaluation:
        by_metric = _by_metric(sets)
        measured: dict[str, Figures] = {
            space.name: {
                ("", view, metric, None): _agreement(space, view, raw, classes, part)
                for metric, part in by_metric.items()
            }
            for space in spaces
        }
        overlaps = tuple(overlap_of(space, sets, keys) for space in spaces)
        stated = [_protocol(part, len(all_.comparisons), view) for part, all_ in zip(sets, compared.sets, strict=True)]
        return Evaluation(
            rows=rows(view, measured),
            queries=0,
            protocol="; ".join(filter(None, [*stated, unknown, _INDEPENDENT, *map(overlap_sentence, overlaps)])),
            codebook=codebook,
            seconds=time.monotonic() - began,
            differences=differences(view, measured),
            overlaps=overlaps,
            comparisons=sum(map(len, sets)),
        )

    return measure


def _check(comparisons: Comparisons, count: int, view: str) -> None:
    """Raise NotReadyError if no comparison can be measured, InvalidInputError for pairs of only one kind."""
    if not len(comparisons):
        raise NotReadyError(f"each of the {count} {comparisons.kind} names an item without a row of view {view!r}")
    if comparisons.similar is None:
        return
    weights = np.ones(len(comparisons)) if comparisons.weights is None else comparisons.weights
    for mask, kind in ((comparisons.similar, "similar"), (~comparisons.similar, "dissimilar")):
        if not weights[mask].any():
            raise InvalidInputError(
                f"none of the {len(comparisons)} measurable pairs is {kind}: "
                "the area under the ROC curve needs pairs of both kinds"
            )


def _by_metric(sets: Sequence[Comparisons]) -> dict[str, Comparisons]:
    """Return the comparisons of each measure: triplets and quadruplets together for "order", pairs for "auc"."""
    ordered, paired = ([part for part in sets if (part.similar is None) == order] for order in (True, False))
    return {metric: _together(parts) for metric, parts in (("order", ordered), ("auc", paired)) if parts}


def _together(sets: Sequence[Comparisons]) -> Comparisons:
    """Return the comparisons of one measure as one set; several sets become quadruplets."""
    if len(sets) == 1:
        return sets[0]
    paired = sets[0].similar is not None
    items = [part.items if paired else np.hstack([part.near, part.far]) for part in sets]
    notions = [part.notions for part in sets if part.notions is not None]
    return Comparisons(
        np.concatenate(items),
        similar=np.concatenate([part.similar for part in sets if part.similar is not None]) if paired else None,
        weights=np.concatenate([np.ones(len(part)) if part.weights is None else part.weights for part in sets]),
        notions=np.concatenate(notions) if notions else None,
    )


def _agreement(
    space: Space, view: str, raw: NDArray[np.float32], classes: Sequence[str], comparisons: Comparisons
) -> Estimate:
    position = space.views.index(view)
    if space.rerank:
        _, placed = codes_and_vectors(space.pipeline, raw, position)
    else:
        placed = vectors(space.pipeline, raw, position)
    embeddings = cut(placed, space.pipeline.widths_of_metrics(position, placed.shape[1]))
    indexed = metrics_of_items(space.pipeline, classes, position, placed)
    of_notions = _metrics_of_notions(space, comparisons)
    near = _distances(embeddings, indexed, of_notions, comparisons.near)
    if comparisons.similar is not None:
        return area_under_curve(near, comparisons.similar, comparisons.weights)
    return in_order(near, _distances(embeddings, indexed, of_notions, comparisons.far), comparisons.weights)


def _metrics_of_notions(space: Space, comparisons: Comparisons) -> NDArray[np.bool_]:
    """Return the metrics of a space that measure each comparison, (n, metrics): the metric of its notion, or all.

    Raises InvalidInputError for a notion that the space has not learned, and for comparisons without notions in a
    space with notions.
    """
    names, count = list(space.pipeline.metric_names_), space.pipeline.n_metrics_
    if not names:
        return np.ones((len(comparisons), count), bool)
    message = f"space {space.name!r} has the notions {', '.join(names)}"
    if comparisons.notions is None:
        raise InvalidInputError(f"{message}: give each comparison one of these notions")
    notions = comparisons.notions.astype(str)
    if unknown := set(notions.tolist()) - set(names):
        raise InvalidInputError(f"{message}, but not {min(unknown)!r}")
    return np.asarray(notions[:, None] == np.array(names))


def _distances(
    embeddings: Sequence[NDArray[np.float32]],
    indexed: NDArray[np.bool_],
    of_notions: NDArray[np.bool_],
    pairs: NDArray[np.int64],
) -> NDArray[np.float64]:
    """Return the distances of pairs of rows, (n,): the least over the chosen metrics of the second row."""
    width = max(embedded.shape[1] for embedded in embeddings)
    least, at_once = np.full(len(pairs), np.inf), max(1, _VALUES_AT_ONCE // max(1, width))
    for embedded, has_metric, of_metric in zip(embeddings, indexed.T, of_notions.T, strict=True):
        places = np.flatnonzero(of_metric)
        for start in range(0, len(places), at_once):
            chunk = places[start : start + at_once]
            first, second = pairs[chunk].T
            gaps = np.linalg.norm(embedded[first].astype(np.float64) - embedded[second], axis=1)
            least[chunk] = np.minimum(least[chunk], np.where(has_metric[second], gaps, np.inf))
    return least


def overlap_of(space: Space, sets: Sequence[Comparisons], keys: Sequence[str]) -> Overlap:
    """Return the number of comparisons of sorted keys that a space has seen in training."""
    trained = np.array([key in space.training_keys for key in keys], bool)
    learned: dict[str, set[tuple[str, ...]]] = {comparisons.kind: set() for comparisons in sets}
    if space.constraints is not None:
        names = sorted(space.training_keys)
        for comparisons in space.constraints.of(names).sets:
            if comparisons.kind in learned:
                learned[comparisons.kind].update(_named(comparisons, names))
    return Overlap(
        space.name,
        sum(int(trained[comparisons.items].any(axis=1).sum()) for comparisons in sets),
        sum(item_keys in learned[comparisons.kind] for comparisons in sets for item_keys in _named(comparisons, keys)),
    )


def _named(comparisons: Comparisons, keys: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the keys of each comparison, in the same order for both orders of the items of a pair."""
    sides = np.hstack([np.sort(comparisons.near, axis=1), np.sort(comparisons.far, axis=1)])
    return [tuple(keys[place] for place in row) for row in sides.tolist()]


def _protocol(comparisons: Comparisons, stated: int, view: str) -> str:
    what = f"the share of {len(comparisons)} {comparisons.kind} that distances put in order"
    if comparisons.similar is not None:
        similar = int(comparisons.similar.sum())
        what = f"the area under the ROC curve of {similar} similar and {len(comparisons) - similar} dissimilar pairs"
    lacking = stated - len(comparisons)
    left_out = f"; {lacking} of {stated} name items without view {view!r}" if lacking else ""
    return f"{what}, equal distances counting half{left_out}"


def overlap_sentence(overlap: Overlap) -> str:
    """Return an overlap in words."""
    return (
        f"{overlap.space}: {overlap.trained_items} name items that it was trained on, "
        f"and {overlap.learned_from} were learned from"
    )
