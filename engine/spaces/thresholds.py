"""Thresholds up to which two queries are the same: their calibration for a generation, and verdicts by them."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from sklearn.isotonic import IsotonicRegression

from crossview.engine.catalog.catalog import Transaction, now
from crossview.engine.learners.papers.solvers.threshold import calibrate
from crossview.engine.spaces.item_vectors import target_of
from crossview.engine.spaces.known_pairs import (
    ItemPairs,
    PairRows,
    base_rate,
    labelled_pairs,
    pair_distances,
    stated_pairs,
)
from crossview.engine.spaces.queries import query_rows, without_row
from crossview.engine.spaces.search import no_targets
from crossview.engine.spaces.space import Space
from crossview.engine.spaces.target import Target
from crossview.engine.spaces.version import SearchState, Version
from crossview.engine.spaces.versions import TargetsOf
from crossview.engine.values.errors import InvalidInputError, NotReadyError
from crossview.engine.values.info import Threshold
from crossview.engine.values.item import Failure
from crossview.engine.values.query import CalibrationRequest, Query, SameRequest, Verdict
from crossview.engine.values.strategy import check_base_rate

Values = NDArray[np.float64]
Kinds = NDArray[np.bool_]

_FOLDS = 5
HALVES = (
    "both kinds have the same weight, and the error rate is measured on pairs whose items did not set their threshold"
)


Calibrate = Callable[[], tuple[Threshold, bytes]]
"""A function that returns the threshold and the fingerprints of its pairs, without reading the catalog."""


@dataclass(frozen=True, eq=False)
class Cut:
    """A threshold and probabilities around it; both kinds of pairs have the same total weight."""

    distance: float
    distances: Values
    """(m,) distances, ascending."""
    probabilities: Values
    """(m,) probabilities of being the same, never increasing; at least .5 up to the threshold, at most .5 beyond."""


def fitted_cut(distances: Values, similar: Kinds) -> Cut:
    """Return the threshold with the least mean error of both kinds, and the best fitting probabilities.

    The probabilities are the isotonic regression of the kinds on distances (Zadrozny and Elkan, KDD 2002), linear
    between its steps and never certain, by the rule of succession. They are at least 1/2 exactly up to a threshold of
    the least error. On two sets of photographs their log loss is .47 to .61, also from only 40 pairs; a logistic curve
    over distances has .62 to .66.

    Raises ValueError for distances, (n,), that are not finite, or pairs of only one kind.
    """
    cut = calibrate(distances, similar, "balanced_accuracy")
    weights, least = np.where(similar, 0.5 / similar.mean(), 0.5 / (~similar).mean()), 1 / (len(similar) + 2)
    regression = IsotonicRegression(y_min=least, y_max=1 - least, increasing=False)
    regression.fit(distances, similar.astype(np.float64), sample_weight=weights)
    steps, probabilities = regression.X_thresholds_, regression.y_thresholds_
    below, above = steps < cut, steps > cut
    return Cut(
        cut,
        np.concatenate([steps[below], [cut], steps[above]]),
        np.concatenate([np.maximum(probabilities[below], 0.5), [0.5], np.minimum(probabilities[above], 0.5)]),
    )


def wrong_by_others(distances: Values, similar: Kinds, items: NDArray[np.int64]) -> Values:
    """Return whether the threshold of pairs that share no item with a pair gives the pair the wrong kind, (n,).

    ``items``, (n, 2), are the items of the pairs. NaN if those other pairs are all of one kind.
    """
    folds = _folds(items)
    wrong = np.full(len(distances), np.nan)
    for parts in combinations_with_replacement(range(_FOLDS), 2):
        tested = (np.sort(folds, axis=1) == parts).all(axis=1)
        mask = ~np.isin(folds, parts).any(axis=1)
        if tested.any() and similar[mask].any() and not similar[mask].all():
            cut = calibrate(distances[mask], similar[mask], "balanced_accuracy")
            wrong[tested] = (distances[tested] <= cut) != similar[tested]
    return wrong


def error_rate(wrong: Values, similar: Kinds) -> tuple[float | None, float | None]:
    """Return the mean of both kinds' shares of wrong pairs, (n,), without NaN, and its standard error.

    The standard error assumes independent pairs. Either is None if too few pairs are known.
    """
    shares = [wrong[(similar == kind) & ~np.isnan(wrong)] for kind in (True, False)]
    if not all(len(share) for share in shares):
        return None, None
    rate = float(np.mean([share.mean() for share in shares]))
    if min(map(len, shares)) < 2:
        return rate, None
    return rate, float(np.sqrt(sum(share.var(ddof=1) / len(share) for share in shares)) / 2)


def _folds(items: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the folds of the items of pairs, (n, 2): a pair has one fold if connected groups of pairs are small."""
    names, places = np.unique(items, return_inverse=True)
    places, count = places.reshape(items.shape), len(names)
    graph = coo_array((np.ones(len(places), bool), (places[:, 0], places[:, 1])), shape=(count, count))
    parts, part_of = connected_components(graph, directed=False)
    sizes = np.bincount(part_of[places[:, 0]], minlength=parts)
    generator = np.random.default_rng(0)
    if sizes.max() * _FOLDS > len(items):
        return (generator.permutation(count) % _FOLDS)[places]
    fold_of, loads = np.empty(parts, np.int64), np.zeros(_FOLDS)
    shuffled = generator.permutation(parts)
    for part in shuffled[np.argsort(-sizes[shuffled], kind="stable")]:
        fold_of[part] = loads.argmin()
        loads[fold_of[part]] += sizes[part]
    return fold_of[part_of[places]]


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
    protocol, rate = _protocol(space, pairs, keys), base_rate(tx, view, target, space.ignored_labels)
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
    distances: NDArray[np.float64],
    protocol: str,
    keys: Mapping[int, str],
    labelled_rate: float,
) -> tuple[Threshold, bytes]:
    """Return the threshold of a view and target from the distances, (n,), of pairs, and the pairs' fingerprints.

    ``labelled_rate`` is the share of similar pairs among all pairs of labelled items; 0 without labels.
    """
    cut = fitted_cut(distances, pairs.similar)
    rate, standard_error = error_rate(wrong_by_others(distances, pairs.similar, pairs.items), pairs.similar)
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
    sequences = {record.generation: record.sequence for record in tx.spaces.generations(space.name)}
    return tx.head().history, sequences.get(space.generation)


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
    similar = int(pairs.similar.sum())
    trained = np.array([keys[item] in space.training_keys for item in np.unique(pairs.items).tolist()], bool)
    mask = np.isin(pairs.items, np.unique(pairs.items)[trained]).any(axis=1)
    share = f", {int(mask.sum())} of them from items that the space was trained on" if mask.any() else ""
    return f"calibrated on {similar} similar and {len(pairs) - similar} dissimilar {pairs.what}{share}; {HALVES}"


def same(state: SearchState, request: SameRequest) -> list[Verdict | Failure]:
    """Return for each pair whether its two queries are the same, or the failure of a key without a row of the view.

    Raises the errors of ``search.answer``.
    """
    check_base_rate(request.base_rate)
    version, space = state.version, state.space
    space.check_revisions(version.views)
    request = _in_views(version, space, request)
    queries = request.queries
    verdicts: dict[int, Verdict | Failure] = _left_out(version, request.pairs)
    for (first, second), numbers in _by_views(request.pairs).items():
        target = target_of(space, second, request.target)
        if target.view != second:
            raise InvalidInputError(
                f"target {str(target)!r} belongs to view {target.view!r}: choose a target of view {second!r}"
            )
        space.targets_for(first, [str(target)])  # raises for two views in a space that cannot compare them
        threshold = version.threshold(space, first, str(target))
        numbers = [number for number in numbers if number not in verdicts]
        if not numbers:
            continue
        asking = query_rows(version, first, queries, [2 * number for number in numbers]).rows
        answering = query_rows(version, second, queries, [2 * number + 1 for number in numbers]).rows
        places = np.repeat(np.arange(len(numbers))[:, None], 2, axis=1)
        for number, distance in zip(
            numbers, pair_distances(space, target, (first, asking), answering, places).tolist(), strict=True
        ):
            verdicts[number] = Verdict(
                same=distance <= threshold.distance,
                distance=distance,
                threshold=threshold.distance,
                probability=threshold.probability(distance, request.base_rate),
            )
    return [verdicts[number] for number in range(len(request.pairs))]


def checked_pairs(request: SameRequest) -> TargetsOf:
    """Return a function that checks the queries of pairs against a space, and returns no targets."""
    return lambda version, space: no_targets(_in_views(version, space, request).queries)(version, space)


def _in_views(version: Version, space: Space, request: SameRequest) -> SameRequest:
    """Return a request whose pairs have views: by default those of the threshold that makes the fewest errors.

    Raises InvalidInputError if only some queries have a view, NotReadyError if no view has a threshold.
    """
    if all(query.view for query in request.queries):
        return request
    if any(query.view for query in request.queries):
        raise InvalidInputError("give every query of the pairs a view, or none of them")
    known = [
        threshold
        for view in space.views
        for threshold in version.thresholds(space, view).values()
        if request.target in ("", threshold.target)
    ]
    if not known:
        version.threshold(space, space.views[0], request.target or str(target_of(space, space.views[0], "")))
    best = min(known, key=errors_of)
    second = space.target(best.view, best.target).view
    pairs = [(replace(first, view=best.view), replace(last, view=second)) for first, last in request.pairs]
    return replace(request, pairs=pairs, target=request.target or best.target)


def errors_of(threshold: Threshold) -> float:
    """Return the error rate of a threshold, and that of chance if it is unknown."""
    return 0.5 if threshold.error_rate is None else threshold.error_rate


def _left_out(version: Version, pairs: Sequence[tuple[Query, Query]]) -> dict[int, Verdict | Failure]:
    """Return the failure of each pair, by its position, with a key of an unknown item or of one without the view."""
    numbers: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for number, pair in enumerate(pairs):
        for query in pair:
            if query.key is not None:
                numbers[query.view][query.key].append(number)
    return {
        number: Failure(key, str(error))
        for view, of_keys in numbers.items()
        for key, error in without_row(version, view, of_keys).items()
        for number in of_keys[key]
    }


def _by_views(pairs: Sequence[tuple[Query, Query]]) -> dict[tuple[str, str], list[int]]:
    """Return the positions of pairs by their two views."""
    groups: dict[tuple[str, str], list[int]] = defaultdict(list)
    for number, (first, second) in enumerate(pairs):
        groups[first.view, second.view].append(number)
    return groups
