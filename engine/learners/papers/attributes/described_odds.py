"""Odds of classes that only orderings describe, chosen by holding out the other classes in turn."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

from crossview.engine.runtime.cancellation import checkpoint

ODDS = (0.0, 2.0, 4.0, 6.0, 8.0, 10.0, 12.0, 15.0, 20.0, 30.0, 100.0, 300.0, 1000.0)
"""Natural logarithms of the odds of described classes to try."""
_FEWEST = 3  # minimum number of classes: one is held out, and the others are ordered
_FOLDS = 3
_MOST_HELD_OUT = 30  # maximum number of classes, or pairs of classes, to hold out, drawn at random
_MOST_ROWS = 100  # maximum number of rows of a class, drawn at random

Values = NDArray[np.float64]
Codes = NDArray[np.intp] | NDArray[np.int64]


class Shares(NamedTuple):
    """Mean over classes of the share of their rows that are assigned their class, among all classes."""

    held_out: float
    seen: float

    @property
    def harmonic(self) -> float:
        """The harmonic mean of both shares, by which settings are chosen."""
        return 2 * self.held_out * self.seen / max(self.held_out + self.seen, 1e-12)

    @classmethod
    def of(cls, predicted: Codes, codes: Codes, described: Sequence[int], seen: Sequence[int]) -> "Shares":
        """Return the shares for (n,) predicted classes, over the classes that have rows."""

        def mean(classes: Sequence[int]) -> float:
            return float(np.mean([np.mean(predicted[codes == code] == code) for code in classes if code in codes]))

        return cls(mean(described), mean(seen))

    @classmethod
    def mean(cls, shares: Sequence["Shares"]) -> "Shares":
        """Return the means of several pairs of shares."""
        return cls(*np.mean(shares, axis=0).tolist())


class HeldOut(NamedTuple):
    """Classes held out of the training, and test rows of all classes."""

    own: NDArray[np.intp]
    """Training rows, of the other classes."""
    others: NDArray[np.intp]
    """Test rows, of all classes."""
    described: tuple[int, ...]


class ClassDensities(Protocol):
    """The protocol of fitted models that return the densities of classes."""

    def class_densities(self, rows: Values) -> Mapping[str, Values]:
        """Return the logarithms of the densities, (n,) by class."""


def held_out_in_turn(codes: Codes, levels: Values, seed: int, groups: Any = None, size: int = 1) -> Iterator[HeldOut]:
    """Yield held-out sets of ``size`` classes, drawn at random if there are many, that leave classes which an attribute
    orders.

    Args:
        codes: (n,) classes of rows, as numbers.
        levels: (K, m) amounts of each attribute of the classes.
        seed: seed of the folds, and of the drawn classes.
        groups: (n,) groups of rows, which stay in one fold; None: each row is its own group.
        size: number of classes to hold out together.
    """
    present, counts = np.unique(codes, return_counts=True)
    held_out = list(combinations(present.tolist(), size))
    if len(held_out) > _MOST_HELD_OUT:
        numbers = np.random.default_rng(seed).choice(len(held_out), _MOST_HELD_OUT, replace=False)
        held_out = [held_out[number] for number in sorted(numbers)]
    count = min(_FOLDS, int(counts.min()), len(codes) if groups is None else len(np.unique(groups)))
    if count < 2:
        return
    kind = StratifiedKFold if groups is None else StratifiedGroupKFold
    folds = list(kind(count, shuffle=True, random_state=seed).split(codes, codes, groups))
    for number, described in enumerate(held_out):
        own, rest = folds[number % count]
        own = own[~np.isin(codes[own], described)]
        judged = np.isin([*described, *np.unique(codes[own])], codes[rest]).all()
        if judged and len(own) and np.any(np.ptp(levels[np.unique(codes[own])], axis=0)):
            yield HeldOut(own, rest, described)


def shares_at_odds(densities: Mapping[str, Values], codes: Codes, described: Sequence[int]) -> list[Shares]:
    """Return the shares at all ``ODDS``, from densities of classes whose names are numbers."""
    names = np.array(list(densities), dtype=np.int64)
    is_described, values = np.isin(names, described)[:, None], np.array(list(densities.values()))
    seen = [code for code in names.tolist() if code not in described]
    return [Shares.of(names[np.argmax(values + odds * is_described, axis=0)], codes, described, seen) for odds in ODDS]


def chosen_log_odds(
    learned: Callable[[Mapping[str, Values], Values, Codes], ClassDensities],
    rows: Values,
    codes: Codes,
    levels: Values,
    seed: int,
    groups: Any = None,
) -> float:
    """Return the odds with the best harmonic mean of shares, averaged over classes that are held out in turn.

    Args:
        learned: function that returns a model learned from orderings, rows and their classes; some classes have no
            rows.
        rows: (n, d).
        codes, levels, seed, groups: as in ``held_out_in_turn``.

    Returns:
        The log odds; 0 if there are too few classes to hold out one.
    """
    if len(np.unique(codes)) < _FEWEST:
        return 0.0
    generator = np.random.default_rng(seed)
    places = np.sort(
        np.concatenate([generator.permutation(np.flatnonzero(codes == code))[:_MOST_ROWS] for code in np.unique(codes)])
    )
    rows, codes, groups = rows[places], codes[places], None if groups is None else groups[places]
    shares = []
    for own, rest, described in held_out_in_turn(codes, levels, seed, groups):
        checkpoint()
        seen = np.unique(codes[own])
        differing = levels[:, np.ptp(levels[seen], axis=0) > 0]
        orderings = {str(code): differing[code] for code in (*seen.tolist(), *described)}
        try:
            densities = learned(orderings, rows[own], codes[own]).class_densities(rows[rest])
        except ValueError:  # few classes may not allow the relations of all classes, such as quadruplets
            continue
        shares.append(shares_at_odds(densities, codes[rest], described))
    if not shares:
        return 0.0
    means = [Shares.mean(at_odds).harmonic for at_odds in zip(*shares, strict=True)]
    return ODDS[int(np.argmax(means))]
