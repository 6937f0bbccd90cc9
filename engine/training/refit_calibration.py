"""Calibration by refits: the space learns again without each fold of the items, whose pairs then set the threshold."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from crossview.engine.catalog.catalog import Transaction
from crossview.engine.runtime.progress import Progress
from crossview.engine.spaces import thresholds
from crossview.engine.spaces.known_pairs import (
    ItemPairs,
    PairRows,
    base_rate,
    check_kinds,
    drawn_pairs,
    having_both,
    labels_for,
    stated_pairs,
)
from crossview.engine.spaces.space import Space
from crossview.engine.spaces.target import Target
from crossview.engine.training.examples import Examples, examples
from crossview.engine.training.groups import fold_groups, groups_of
from crossview.engine.training.learning import refitting
from crossview.engine.training.supervision import with_supervision
from crossview.engine.values.errors import InvalidInputError, NotReadyError
from crossview.engine.values.info import Threshold
from crossview.engine.values.query import CalibrationRequest
from crossview.engine.values.recipe import FOLDS


def calibrated(
    tx: Transaction, space: Space, request: CalibrationRequest, progress: Progress | None = None
) -> thresholds.Calibrate:
    """Read the calibration pairs, and return the function that computes the threshold; see ``Collection.calibrate``.

    The function does not read the catalog, so no transaction stays open for it.
    """
    if not request.refit:
        return thresholds.calibrated(tx, space, request)
    if not space.spec:
        raise InvalidInputError(f"space {space.name!r} learns nothing that could be fitted again: leave the refit out")
    target = thresholds.calibrated_target(tx, space, request)
    items, fold_of = _divided(tx, space, request)
    pairs = [
        _pairs(tx, request, target, items.ids[fold_of == fold], fold, space.ignored_labels) for fold in range(FOLDS)
    ]
    if not any(map(len, pairs)):
        raise NotReadyError(f"none of the pairs has both items in one of {FOLDS} folds: leave the refit out")
    compared = [PairRows.of(tx, request.view, target.view, of_fold) for of_fold in pairs]
    joined = ItemPairs(
        np.concatenate([one.items for one in pairs]), np.concatenate([one.similar for one in pairs]), pairs[0].what
    )
    protocol = _protocol(check_kinds(joined), request)
    refit, keys = refitting(tx, space), tx.items.keys()
    rate = base_rate(tx, request.view, target, space.ignored_labels)

    def calibrate() -> tuple[Threshold, bytes]:
        found = []
        for fold, of_fold in enumerate(compared):
            if progress is not None:
                progress("refitting", fold, FOLDS)
            if not len(of_fold.pairs):
                continue
            without = items.take(fold_of != fold)
            trained = without.take(np.array([key in space.training_keys for key in without.keys], bool))
            again = replace(space, pipeline=refit(with_supervision(trained, space.pairs, space.constraints)))
            # A refit can give the target another width.
            found.append(of_fold.distances(again, thresholds.chosen_target(again, request)))
        distances = np.concatenate(found)
        return thresholds.threshold_of((request.view, target), joined, distances, protocol, keys, rate)

    return calibrate


def _divided(tx: Transaction, space: Space, request: CalibrationRequest) -> tuple[Examples, NDArray[np.intp]]:
    """Return the items of a space's views, and the fold of each, (n,); a group has one fold."""
    items = examples(tx, space.views, space.ignored_labels)
    groups = groups_of(tx, items.ids, request.group_by or space.group_by)
    if groups is None:
        return items, np.random.default_rng(0).permutation(len(items)) % FOLDS
    return items, fold_groups(groups, np.unique(items.classes(), return_inverse=True)[1], FOLDS, 0)


def _pairs(
    tx: Transaction,
    request: CalibrationRequest,
    target: Target,
    ids: NDArray[np.int64],
    seed: int,
    ignored: Sequence[str],
) -> ItemPairs:
    """Return the pairs of items of a fold: stated pairs, or pairs by labels that are not ignored."""
    if request.pairs is not None:
        pairs = stated_pairs(tx, request.view, target, request.pairs)
        return pairs.take(np.asarray(np.isin(pairs.items, ids).all(axis=1)))
    labels = labels_for(tx, target, ignored)
    able = having_both(tx, request.view, target)
    chosen = [item for item in np.intersect1d(ids, able).tolist() if item in labels]
    return replace(drawn_pairs(chosen, labels, np.random.default_rng(seed)), what="pairs of labelled items")


def _protocol(pairs: ItemPairs, request: CalibrationRequest) -> str:
    """Return a sentence about the pairs of a calibration."""
    similar = int(pairs.similar.sum())
    groups = "" if request.group_by is None else f", which do not part items by {request.group_by.name}"
    return (
        f"calibrated on {similar} similar and {len(pairs) - similar} dissimilar {pairs.what} within {FOLDS} folds"
        f"{groups}, at distances that the learner gives without the fold; {thresholds.HALVES}"
    )
