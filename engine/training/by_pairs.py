"""Verification: how well the distances of spaces separate pairs of the same from pairs of different items."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crossview.engine.catalog.catalog import Transaction
from crossview.engine.learners.frame.comparisons import Comparisons
from crossview.engine.spaces.item_vectors import target_of
from crossview.engine.spaces.known_pairs import FINGERPRINT, ItemPairs, PairRows, check_kinds, stated_pairs
from crossview.engine.spaces.space import Space
from crossview.engine.spaces.target import Target
from crossview.engine.training.by_comparisons import overlap_of, overlap_sentence
from crossview.engine.training.estimate import Estimate, Figures, OfPairs, Sample, area_under_curve, differences, rows
from crossview.engine.training.examples import codebooks
from crossview.engine.values.comparisons import ItemComparisons
from crossview.engine.values.errors import Call, InvalidInputError, Text
from crossview.engine.values.evaluation import Evaluation, EvaluationRequest
from crossview.engine.values.info import Threshold
from crossview.engine.values.query import calibration_step

FALSE_ACCEPT_RATES = (0.1, 0.01)
"""False accept rates at which the true accept rate is measured."""
Values = NDArray[np.float64]


def verify(
    tx: Transaction, spaces: Sequence[Space], request: EvaluationRequest, stated: ItemComparisons
) -> Callable[[], Evaluation]:
    """Return a function that measures spaces by pairs of items outside the training of all spaces.

    If those pairs are of only one kind, it uses all pairs, and the protocol states this. See ``Collection.evaluate``.
    The function does not read the catalog.
    """
    began, view, keys = time.monotonic(), request.view, tx.items.keys()
    for space in spaces:
        space.check_revisions(tx.views.all())
    targets = [_target(space, request) for space in spaces]
    if len({target.view for target in targets}) > 1:
        raise InvalidInputError("the spaces have targets of that name in several views: use the full name of one")
    pairs, note = _unseen(stated_pairs(tx, view, targets[0], stated), spaces, keys)
    compared = PairRows.of(tx, view, targets[0].view, pairs)
    item_keys = sorted(keys[item] for item in np.unique(pairs.items).tolist())
    judges = [
        (space, target, _Calibrated.of(tx, space, (view, str(target)), pairs, keys))
        for space, target in zip(spaces, targets, strict=True)
    ]
    codebook = codebooks(tx, {view, targets[0].view}, set(item_keys), "compared items")

    def measure() -> Evaluation:
        measured: dict[str, Figures] = {}
        notes = list[str]()
        for space, target, calibrated in judges:
            distances = compared.distances(space, target)
            figures = _figures(distances, pairs.similar)
            correct, sentence = calibrated.correct(distances)
            if correct is not None:
                figures = {"accuracy": correct, **figures}
            notes += [f"; {space.name}: ", sentence]
            name = request.targets[0] if request.targets else target.view
            measured[space.name] = {("", name, metric, None): figure for metric, figure in figures.items()}
        comparisons = _comparisons(pairs, keys, item_keys)
        overlaps = tuple(overlap_of(space, [comparisons], item_keys) for space in spaces)
        return Evaluation(
            rows=rows(view, measured),
            queries=0,
            protocol=Text(_protocol(pairs, note), *notes, *(f"; {overlap_sentence(overlap)}" for overlap in overlaps)),
            codebook=codebook,
            seconds=time.monotonic() - began,
            differences=differences(view, measured),
            overlaps=overlaps,
            comparisons=len(pairs),
        )

    return measure


def equal_error_rate(similar: Values, dissimilar: Values) -> float:
    """Return the share of wrong pairs, (n,) and (m,) distances, at the threshold where both kinds' shares agree.

    The share is linear between the thresholds at which it changes.
    """
    steps = np.unique(np.concatenate([similar, dissimilar]))
    rejected = 1 - np.concatenate([[0.0], np.searchsorted(np.sort(similar), steps, "right") / len(similar)])
    accepted = np.concatenate([[0.0], np.searchsorted(np.sort(dissimilar), steps, "right") / len(dissimilar)])
    place = int(np.argmax(accepted >= rejected))  # the last step accepts everything
    before, after = rejected[place - 1] - accepted[place - 1], accepted[place] - rejected[place]
    return float(accepted[place - 1] + (accepted[place] - accepted[place - 1]) * before / (before + after))


def true_accept_rate(similar: Values, dissimilar: Values, false_accept_rate: float) -> float:
    """Return the largest share of (n,) similar pairs below a distance that accepts at most a share of (m,) others."""
    ascending = np.sort(dissimilar)
    # The product of a rate and a count can round to just below a whole number.
    allowed = int(np.floor(false_accept_rate * len(dissimilar) + 1e-9))
    if allowed >= len(ascending):
        return 1.0
    return float(np.mean(similar < ascending[allowed]))


def _target(space: Space, request: EvaluationRequest) -> Target:
    if request.targets:
        return space.targets_for(request.view, request.targets)[0]
    return target_of(space, request.view, "")


def _unseen(pairs: ItemPairs, spaces: Sequence[Space], keys: Mapping[int, str]) -> tuple[ItemPairs, str]:
    """Return the pairs of items outside all trainings, and a note; all pairs if those are of only one kind."""
    trained = frozenset[str]().union(*(space.training_keys for space in spaces))
    mask = np.array([keys[item] in trained for item in np.unique(pairs.items).tolist()], bool)
    free = np.asarray(np.isin(pairs.items, np.unique(pairs.items)[~mask]).all(axis=1))
    if free.all():
        return pairs, ""
    unseen = pairs.take(free)
    if not unseen.both_kinds():
        return check_kinds(pairs), "the other pairs are of one kind, so pairs with trained items are included"
    return unseen, f"{len(pairs) - len(unseen)} pairs with trained items are left out"


def _figures(distances: Values, similar: NDArray[np.bool_]) -> dict[str, Estimate | OfPairs]:
    kinds = distances[similar][:, None], distances[~similar][:, None]
    figures: dict[str, Estimate | OfPairs] = {
        "auc": area_under_curve(distances, similar),
        "equal_error_rate": OfPairs(equal_error_rate, *kinds),
    }
    for rate in FALSE_ACCEPT_RATES:
        figures[f"true_accept_rate_{rate:g}"] = OfPairs(_TrueAcceptRate(rate), *kinds)
    return figures


class _TrueAcceptRate:
    """The true accept rate at a false accept rate."""

    def __init__(self, rate: float) -> None:
        self._rate = rate

    def __call__(self, similar: Values, dissimilar: Values) -> float:
        return true_accept_rate(similar, dissimilar, self._rate)


class _Calibrated(NamedTuple):
    """The threshold of a view and target of a space, if it has one, and the pairs that set it."""

    pairs: ItemPairs
    threshold: Threshold | None
    set_it: NDArray[np.bool_]
    """(n,)"""
    step: Call
    """The call that calibrates it."""

    @classmethod
    def of(
        cls, tx: Transaction, space: Space, place: tuple[str, str], pairs: ItemPairs, keys: Mapping[int, str]
    ) -> "_Calibrated":
        generation = space.own_generation(place[0])
        thresholds = [cut for cut in tx.spaces.thresholds(space.name, generation) if (cut.view, cut.target) == place]
        prints = tx.spaces.calibrating_pairs(space.name, generation, *place)
        used = {prints[start : start + FINGERPRINT] for start in range(0, len(prints), FINGERPRINT)}
        set_it = np.array([pair in used for pair in pairs.fingerprints(keys)], bool)
        view, target = place
        return cls(pairs, thresholds[0] if thresholds else None, set_it, calibration_step(space.name, view, target))

    def correct(self, distances: Values) -> tuple[Estimate | None, str]:
        """Return the accuracy of the threshold on pairs at these distances, (n,), and a sentence about it.

        Pairs that set the threshold do not count.
        """
        if self.threshold is None:
            return None, Text("it has no threshold: calibrate it with: ", self.step)
        distance, count = self.threshold.distance, int(self.set_it.sum())
        if self.set_it.all():
            return None, f"every pair helped to set its threshold, {distance:.5g}, so its accuracy is unknown"
        right = ((distances <= distance) == self.pairs.similar).astype(np.float64)
        sentence = f"accuracy is that at its threshold, {distance:.5g}"
        if count:
            sentence += f", without the {count} pairs that set it"
        return Estimate([Sample(np.where(self.set_it, np.nan, right))]), sentence


def _comparisons(pairs: ItemPairs, keys: Mapping[int, str], item_keys: Sequence[str]) -> Comparisons:
    """Return pairs as positions of their keys in a list."""
    places = {key: place for place, key in enumerate(item_keys)}
    positions = np.array([[places[keys[item]] for item in pair] for pair in pairs.items.tolist()], np.int64)
    return Comparisons(positions, pairs.similar)


def _protocol(pairs: ItemPairs, note: str) -> str:
    similar = int(pairs.similar.sum())
    what = f"{similar} similar and {len(pairs) - similar} dissimilar {pairs.what}"
    return "; ".join(part for part in (what, note, "standard errors assume independent pairs") if part)
