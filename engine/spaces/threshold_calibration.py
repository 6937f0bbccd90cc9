"""Calibration of a space's distances: pairs of similar and dissimilar items set the threshold of a target."""

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from crossview.engine.catalog.catalog import Transaction, now
from crossview.engine.errors import NotReadyError
from crossview.engine.info import Threshold
from crossview.engine.query import CalibrationRequest
from crossview.engine.spaces.item_pairs import ItemPairs, PairRows, base_rate, labelled_pairs, stated_pairs
from crossview.engine.spaces.search import target_of
from crossview.engine.spaces.space import Space
from crossview.engine.spaces.target import Target
from crossview.engine.spaces.thresholds import error_rate, fitted, wrong_by_others

HALVES = (
    "both kinds have the same weight, and the error rate is measured on pairs whose items did not set their threshold"
)


Calibrate = Callable[[], tuple[Threshold, bytes]]
"""A function that returns the threshold and the fingerprints of its pairs, without reading the catalog."""


def calibrated(tx: Transaction, space: Space, request: CalibrationRequest) -> Calibrate:
    """Read the calibration pairs, and return the function that computes the threshold; see ``Collection.calibrate``.

    Two steps, because the computation is long and must not keep a transaction open.
    """
    view, target = request.view, calibrated_target(tx, space, request)
    if request.pairs is None:
        pairs = labelled_pairs(tx, space, view, target)
    else:
        pairs = stated_pairs(tx, view, target, request.pairs)
    compared, keys = PairRows.of(tx, view, target.view, pairs), tx.items.keys()
    protocol, rate = _protocol(space, pairs, keys), base_rate(tx, view, target)
    return lambda: threshold_of((view, target), pairs, compared.distances(space, target), protocol, keys, rate)


def calibrated_target(tx: Transaction, space: Space, request: CalibrationRequest) -> Target:
    """Return the target to calibrate; raises the errors of ``Space.targets_for``."""
    space.check_revisions(tx.views.all())
    return chosen_target(space, request)


def chosen_target(space: Space, request: CalibrationRequest) -> Target:
    """Return the target that a request chooses in a space, which may be a refit of the original."""
    if request.target:
        return space.targets_for(request.view, [request.target])[0]
    return target_of(space, request.view, "")


def threshold_of(
    place: tuple[str, Target],
    pairs: ItemPairs,
    found: NDArray[np.float64],
    protocol: str,
    keys: Mapping[int, str],
    labelled_rate: float,
) -> tuple[Threshold, bytes]:
    """Return the threshold of a view and target from the distances, (n,), of pairs, and the pairs' fingerprints.

    ``labelled_rate`` is the share of similar pairs among all pairs of labelled items; 0 without labels.
    """
    cut = fitted(found, pairs.similar)
    rate, standard_error = error_rate(wrong_by_others(found, pairs.similar, pairs.items), pairs.similar)
    similar = int(pairs.similar.sum())
    threshold = Threshold(
        view=place[0],
        target=str(place[1]),
        distance=cut.distance,
        distances=tuple(cut.distances.tolist()),
        probabilities=tuple(cut.probabilities.tolist()),
        error_rate=rate,
        standard_error=standard_error,
        similar=similar,
        dissimilar=len(pairs) - similar,
        protocol=protocol,
        created=now(),
        base_rate=labelled_rate or similar / len(pairs),
    )
    return threshold, b"".join(pairs.fingerprints(keys))


def training_of(tx: Transaction, space: Space) -> tuple[str, int | None]:
    """Return the identity of a generation's training: a later generation can have the same name and number."""
    made = {one.generation: one.sequence for one in tx.spaces.generations(space.name)}
    return tx.head().history, made.get(space.generation)


def put_threshold(
    tx: Transaction, space: Space, threshold: Threshold, pairs: bytes, training: tuple[str, int | None]
) -> None:
    """Store a threshold with a space; ``training_of`` was read together with the calibration pairs.

    Raises NotReadyError if the space has been deleted, trained on other rows, or restored since.
    """
    space.check_revisions(tx.views.all())
    if training_of(tx, space) != training:
        raise NotReadyError(
            f"generation {space.generation} of space {space.name!r} was just deleted or restored: calibrate again"
        )
    tx.spaces.put_threshold(space.name, space.own_generation(threshold.view), threshold, pairs)
    tx.next_sequence()


def _protocol(space: Space, pairs: ItemPairs, keys: Mapping[int, str]) -> str:
    """Return a sentence about the pairs of a calibration."""
    similar = int(pairs.similar.sum())
    trained = np.array([keys[item] in space.training_keys for item in np.unique(pairs.items).tolist()], bool)
    named = np.isin(pairs.items, np.unique(pairs.items)[trained]).any(axis=1)
    share = f", {int(named.sum())} of them from items that the space was trained on" if named.any() else ""
    return f"calibrated on {similar} similar and {len(pairs) - similar} dissimilar {pairs.what}{share}; {HALVES}"
