"""Strategies: the closed set of ways to search. Each holds its own options and checks them."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, TypedDict

from crossview.engine.errors import InvalidInputError
from crossview.engine.item import let_one_be_several, one_or_several

EVERY_AXIS = "all"
"""In place of names of axes: all that do not move."""


def check_base_rate(rate: float) -> None:
    """Raise InvalidInputError unless a rate is a share of pairs of which some are the same and some are not."""
    if not 0 < rate < 1:
        raise InvalidInputError(f"a base rate is a share of pairs, above 0 and below 1, not {rate:g}")


class StrategyOptions(TypedDict, total=False):
    """The options of all strategies, as a search request takes them; the strategies explain them."""

    targets: Sequence[str]
    merge: bool | None
    weights: Mapping[str, float]
    more: Mapping[str, float]
    less: Mapping[str, float]
    hold: Sequence[str]
    sort_by: str
    probabilities: bool
    base_rate: float | None


@dataclass(frozen=True, kw_only=True)
class Strategy:
    """One way to search. Its fields are its options; other options of ``StrategyOptions`` do not go with it."""

    refused: ClassVar[Mapping[str, str]] = {}
    """Why an option does not go with the strategy, by its name."""
    lists_items: ClassVar[bool] = False
    """Whether its queries have no input, because it lists items."""

    def __post_init__(self) -> None:
        let_one_be_several(self, *({"targets", "hold"} & vars(self).keys()))

    @property
    def names(self) -> Sequence[str]:
        """The targets that the strategy names; empty: every target that a query's view can be matched against."""
        return tuple(vars(self).get("targets", ()))

    @property
    def axes(self) -> tuple[str, ...]:
        """The axes that the strategy names; a name may come twice."""
        sort_by = vars(self).get("sort_by", "")
        return (sort_by.removeprefix("-"),) if sort_by else ()

    def check(self) -> None:
        """Raise InvalidInputError for options that no space can search by."""


_IN_ONE_TARGET = (
    "how probable it is that two are the same is told by their distance in one target: leave out weights, more and "
    "less, and give a query"
)


@dataclass(frozen=True, kw_only=True)
class Nearest(Strategy):
    """The items nearest to each query."""

    targets: Sequence[str] = ()
    """What the queries are matched against; none: everything that a query's view can be matched against."""
    merge: bool | None = None
    """Whether each query gets one list, by distance where the targets are metrics of one view, else as
    ``engine.spaces.fusion.fuse`` merges. None: only the former are merged."""
    sort_by: str = ""
    """An axis: each list is in the order of these scores, the greatest first; of ``-natural`` the least. Empty: lists
    are in the order of distances."""
    probabilities: bool = False
    """Whether hits carry how probable it is that they and the query are the same."""
    base_rate: float | None = None
    """With ``probabilities``: the share of all pairs of a query and an item that are the same, above 0 and below 1.
    None: that of the threshold, which is the labels' as a rule."""

    def check(self) -> None:
        """Raise InvalidInputError for a base rate that is none, or without probabilities."""
        if self.base_rate is not None:
            check_base_rate(self.base_rate)
            if not self.probabilities:
                raise InvalidInputError("a base rate is what probabilities go by: ask for `probabilities=True` as well")


@dataclass(frozen=True, kw_only=True)
class Moved(Strategy):
    """The items nearest to where each query comes when it is moved along axes, by distance in scores; exact.

    Amounts are in standard deviations of the scores of the training items. Other attributes go along as they do in
    these items.
    """

    refused: ClassVar[Mapping[str, str]] = {"probabilities": _IN_ONE_TARGET, "base_rate": _IN_ONE_TARGET}

    targets: Sequence[str] = ()
    """As of ``Nearest``."""
    merge: bool | None = None
    """As of ``Nearest``."""
    sort_by: str = ""
    """As of ``Nearest``."""
    more: Mapping[str, float] = field(default_factory=dict)
    """How much more of attributes the hits shall have than the query, by the axes of the space."""
    less: Mapping[str, float] = field(default_factory=dict)
    """How much less."""
    hold: Sequence[str] = ()
    """Attributes that do not go along; ``("all",)``: none goes."""

    @property
    def amounts(self) -> dict[str, float]:
        """How far a query is moved, by axis."""
        return {**self.more, **{name: -amount for name, amount in self.less.items()}}

    @property
    def axes(self) -> tuple[str, ...]:
        """The axes that move, those that are held, and the one that lists are sorted by."""
        return *self.amounts, *(name for name in self.hold if name != EVERY_AXIS), *super().axes

    def check(self) -> None:
        """Raise InvalidInputError for amounts that move nothing, or for an axis that is named twice."""
        for flag, values in (("more", self.more), ("less", self.less)):
            for name, amount in values.items():
                if not (math.isfinite(amount) and amount > 0):
                    raise InvalidInputError(
                        f"{flag} {name}={amount:g}: give standard deviations above 0, such as {name}=2"
                    )
        if twice := sorted((self.more.keys() & self.less.keys()) | (set(self.hold) & self.amounts.keys())):
            raise InvalidInputError(f"{twice[0]!r} cannot move both ways, or move and be held: name it once")
        if self.hold and not self.amounts:
            raise InvalidInputError("hold says what stays while something moves: name that by more or less")


_OF_NOTIONS = "weights are of notions, more and less of attributes: give one of the two"


@dataclass(frozen=True, kw_only=True)
class Weighted(Strategy):
    """The nearest items by the distance sqrt(sum of w_t d_t^2) over notions, in one list; exact over all items."""

    refused: ClassVar[Mapping[str, str]] = {
        "targets": "weights name the notions to search by: leave the targets out",
        **dict.fromkeys(("more", "less", "hold"), _OF_NOTIONS),
        "sort_by": "weights are of notions, and scores of attributes: sort by a score, or give weights",
        **dict.fromkeys(("probabilities", "base_rate"), _IN_ONE_TARGET),
    }

    weights: Mapping[str, float]
    """Weights of notions, from 0 up."""
    merge: bool | None = None
    """As of ``Nearest``; there is one list, so False is refused."""

    @property
    def names(self) -> Sequence[str]:
        """The notions that have a weight."""
        return tuple(self.weights)

    def check(self) -> None:
        """Raise InvalidInputError for weights that weigh nothing, or for a list by target."""
        for name, weight in self.weights.items():
            if not (math.isfinite(weight) and weight >= 0):
                raise InvalidInputError(f"the weight of {name!r} must be a number from 0 up, not {weight:g}")
        if not any(self.weights.values()):
            raise InvalidInputError("every weight is 0: give at least one notion a positive one")
        if self.merge is False:
            raise InvalidInputError("weights make one list of all notions, which cannot be grouped by target")


_NO_QUERY = "a list of items by score has no query to move, to weigh or to merge: give one"


@dataclass(frozen=True, kw_only=True)
class Listed(Strategy):
    """The first items of each target in the order of a score; queries have no input."""

    refused: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("weights", "more", "less", "hold"), _NO_QUERY),
        **dict.fromkeys(("probabilities", "base_rate"), _IN_ONE_TARGET),
    }
    lists_items: ClassVar[bool] = True

    sort_by: str
    """An axis: the greatest scores come first; of ``-natural`` the least."""
    targets: Sequence[str] = ()
    """As of ``Nearest``."""
    merge: bool | None = None
    """As of ``Nearest``; there are no distances to merge by, so True is refused."""

    def check(self) -> None:
        """Raise InvalidInputError for lists to merge."""
        if self.merge:
            raise InvalidInputError(_NO_QUERY)


DEFAULTS: Mapping[str, Any] = {
    "targets": (),
    "merge": None,
    "weights": {},
    "more": {},
    "less": {},
    "hold": (),
    "sort_by": "",
    "probabilities": False,
    "base_rate": None,
}
"""What an option is that is not given."""


def strategy_of(options: Mapping[str, Any], has_input: bool) -> Strategy:
    """Return the strategy that some of ``StrategyOptions`` ask for; ``has_input``: whether any query has one.

    Raises InvalidInputError for options of different strategies, and TypeError for those of none.
    """
    given = {}
    for name, value in options.items():
        if name not in DEFAULTS:
            raise TypeError(f"a search has no option {name!r}; there are: {', '.join(DEFAULTS)}")
        if name in ("targets", "hold"):
            value = one_or_several(value)
        if value != DEFAULTS[name]:
            given[name] = value
    if "sort_by" in given and not has_input:
        kind: type[Strategy] = Listed
    elif "weights" in given:
        kind = Weighted
    else:
        kind = Moved if given.keys() & {"more", "less", "hold"} else Nearest
    known = {one.name for one in fields(kind)}
    for name in given:
        if name not in known:
            raise InvalidInputError(kind.refused[name])
    return kind(**given)
