"""Constraints on the scores of one attribute, from the order of the classes.

Law, Thome and Cord, "Learning a Distance Metric from Relative Comparisons between Quadruplets of Images" (IJCV 2017),
section 7.1. With (e) < (f) ~ (g) < (h), rows of f and g need not have the same score: they only need to differ less
than rows of e and h.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crossview.engine.learners.frame.settings import Count
from crossview.engine.learners.frame.view_rows import Rows
from crossview.engine.learners.papers.attributes.quadruplets import Crossing
from crossview.engine.learners.papers.losses.contrasts import SignedContrasts
from crossview.engine.learners.papers.solvers.newton import VectorProblem, minimize

Places = NDArray[np.int64]
ClassPair = tuple[int, int]
"""Two classes by their numbers, first the one with less of the attribute."""
Ordered = Literal["pairs", "quadruplets", "both"]
Equal = Literal["pairs", "quadruplets", "none"]


_NO_CONSTRAINT = "no two classes give a constraint: quadruplets need classes with less and with more beside them"


@dataclass(frozen=True)
class Relations:
    """The constraints on the scores of two classes.

    Attributes:
        ordered: constraints of two classes if one has less: "pairs", its rows' scores are lower by 1 (Parikh and
            Grauman); "quadruplets", the signed difference of the scores is by 1 less than that of the surrounding
            classes (equation 25); "both", quadruplets, and pairs for a first or last class, which no classes surround.
        equal: constraints of two classes with equal amounts: "pairs", their rows' scores are the same; "quadruplets",
            the scores differ by 1 less than those of the surrounding classes (equation 26); "none", no constraint.
        surrounding: number of levels below and above two classes at which the surrounding classes are, or the last
            level.
    """

    ordered: Ordered = "pairs"
    equal: Equal = "pairs"
    surrounding: Count = 1


class Constraints(NamedTuple):
    """n constraints s(k) - s(l) >= s(i) - s(j) + margin on scores."""

    near: Places
    """(n, 2) rows (i, j); the same row twice if the constraint only orders k and l."""
    far: Places
    """(n, 2) rows (k, l)."""
    margins: NDArray[np.float64]


def class_pairs(levels: NDArray[np.float64]) -> list[ClassPair]:
    """Return all pairs of classes, given the amounts of an attribute; classes with equal amounts in the order of
    numbers."""
    order = sorted(range(len(levels)), key=lambda code: (levels[code], code))
    return [(first, second) for place, first in enumerate(order) for second in order[place + 1 :]]


def usable(levels: NDArray[np.float64], pair: ClassPair, relations: Relations) -> bool:
    """Return whether a pair of classes gives constraints: quadruplets need classes below and above it."""
    equal = levels[pair[0]] == levels[pair[1]]
    kind = relations.equal if equal else relations.ordered
    return kind in ("pairs", "both") or (
        kind == "quadruplets" and _around(levels, pair, relations.surrounding) is not None
    )


def constraints(
    levels: NDArray[np.float64],
    codes: Places,
    pairs: Sequence[ClassPair],
    relations: Relations,
    most: int,
    generator: np.random.Generator,
) -> Constraints:
    """Return one constraint for each two rows of the classes of each pair; for equal classes two, one per sign.

    Args:
        levels: (K,) amounts of the attribute of each class; only the order matters.
        codes: (n,) class of each row.
        pairs: pairs of classes with rows; pairs that are not ``usable`` give no constraints.
        relations: the kinds of constraints.
        most: maximum number of pairs of rows of two classes, drawn at random.
        generator: generator of these draws, and for quadruplets of the rows of the surrounding classes.

    Raises:
        ValueError: if no pair gives a constraint.
    """
    sets = [part for pair in pairs for part in _of_pair(levels, codes, pair, relations, most, generator)]
    if not sets:
        raise ValueError(_NO_CONSTRAINT)
    return Constraints(*(np.concatenate(parts) for parts in zip(*sets, strict=True)))


def crossings(
    levels: NDArray[np.float64],
    codes: Places,
    pairs: Sequence[ClassPair],
    relations: Relations,
    most: int,
    generator: np.random.Generator,
) -> list[Crossing]:
    """Return the expectation of ``constraints`` over its draws: quadruplets with all rows of the surrounding classes.

    Args, raises: as for ``constraints``; if two classes have more pairs of rows than ``most``, it draws ``most`` of
    them.
    """
    sets = [part for pair in pairs for part in _crossings_of_pair(levels, codes, pair, relations, most, generator)]
    if not sets:
        raise ValueError(_NO_CONSTRAINT)
    return sets


def direction(rows: Rows, terms: Constraints, weight: float) -> NDArray[np.float64]:
    """Return the w, (d,), that minimises |w|^2 / 2 plus ``weight`` times the mean Huber loss of the constraints.

    Equation (14) without a threshold and with w of either sign, by Newton's method (appendix A).

    Args:
        rows: (n, d).
        terms: constraints on w x.
        weight: C; the paper's C_q is C divided by the number of constraints.
    """
    costs = np.full(len(terms.margins), weight / len(terms.margins))
    contrasts = SignedContrasts(rows, terms.near, terms.far)
    return minimize(VectorProblem(contrasts, terms.margins, costs, nonnegative=False)).w


def _of_pair(
    levels: NDArray[np.float64],
    codes: Places,
    pair: ClassPair,
    relations: Relations,
    most: int,
    generator: np.random.Generator,
) -> Iterator[Constraints]:
    equal = bool(levels[pair[0]] == levels[pair[1]])
    kind = relations.equal if equal else relations.ordered
    around = _around(levels, pair, relations.surrounding)
    if kind == "none" or (kind == "quadruplets" and around is None):
        return
    less, more = _rows_of(codes, pair, most, generator)
    same = np.column_stack([less, less])
    if kind == "pairs" or around is None:
        margins = np.full(len(less), 0.0 if equal else 1.0)
        yield Constraints(same, np.column_stack([more, less]), margins)
        if equal:
            yield Constraints(same, np.column_stack([less, more]), margins)
        return
    far = np.column_stack(
        [_drawn(codes, around[1], len(less), generator), _drawn(codes, around[0], len(less), generator)]
    )
    margins = np.ones(len(less))
    yield Constraints(np.column_stack([more, less]), far, margins)
    if equal:
        yield Constraints(np.column_stack([less, more]), far, margins)


def _crossings_of_pair(
    levels: NDArray[np.float64],
    codes: Places,
    pair: ClassPair,
    relations: Relations,
    most: int,
    generator: np.random.Generator,
) -> Iterator[Crossing]:
    equal = bool(levels[pair[0]] == levels[pair[1]])
    kind = relations.equal if equal else relations.ordered
    around = _around(levels, pair, relations.surrounding)
    if kind == "none" or (kind == "quadruplets" and around is None):
        return
    near = _pairs_of_rows(codes, pair, most, generator)
    signs = (near, near[:, ::-1]) if equal else (near,)
    if kind == "pairs" or around is None:
        for side in signs:
            yield Crossing(near=side[:1, [0, 0]], far=side, weights=np.ones(len(side)), margin=0.0 if equal else 1.0)
        return
    wider = [(below, above) for below in around[0] for above in around[1]]
    for far in (_pairs_of_rows(codes, classes, most, generator) for classes in wider):
        for side in signs:
            weights = np.full(len(far), 1 / (len(far) * len(wider)))
            yield Crossing(near=side, far=far, weights=weights, margin=1.0)


def _pairs_of_rows(codes: Places, pair: ClassPair, most: int, generator: np.random.Generator) -> Places:
    """Return rows of the class with more beside rows of the class with less, (n, 2)."""
    less, more = _rows_of(codes, pair, most, generator)
    return np.column_stack([more, less])


def _around(levels: NDArray[np.float64], pair: ClassPair, steps: int) -> tuple[Places, Places] | None:
    """Return the classes ``steps`` levels below and above two classes, or at the last level; None without any."""
    steps_of = np.unique(levels)
    low, high = np.searchsorted(steps_of, levels[list(pair)])
    if low == 0 or high == len(steps_of) - 1:
        return None
    below, above = steps_of[max(low - steps, 0)], steps_of[min(high + steps, len(steps_of) - 1)]
    return np.flatnonzero(levels == below), np.flatnonzero(levels == above)


def _rows_of(codes: Places, pair: ClassPair, most: int, generator: np.random.Generator) -> tuple[Places, Places]:
    """Return every row of the first class beside every row of the second, or ``most`` of these pairs, drawn at
    random."""
    first, second = (np.flatnonzero(codes == code) for code in pair)
    count = len(first) * len(second)
    places = np.arange(count) if count <= most else generator.choice(count, most, replace=False)
    return first[places // max(len(second), 1)], second[places % max(len(second), 1)]


def _drawn(codes: Places, classes: Places, count: int, generator: np.random.Generator) -> Places:
    """Return randomly drawn rows of some classes, with equal probability for each class."""
    members = [np.flatnonzero(codes == code) for code in generator.permutation(classes)]
    members = [rows for rows in members if len(rows)]
    which = generator.integers(len(members), size=count)
    drawn = np.empty(count, np.int64)
    for at, rows in enumerate(members):
        drawn[which == at] = generator.choice(rows, int((which == at).sum()))
    return drawn
