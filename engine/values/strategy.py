"""Strategies: the closed set of ways to search. Each strategy holds and checks its own options."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, TypedDict

from crossview.engine.values.errors import Argument, InvalidInputError
from crossview.engine.values.item import let_one_be_several, one_or_several

EVERY_AXIS = "all"
"""The name that stands for all axes that do not move."""


def check_base_rate(rate: float) -> None:
    """Raise InvalidInputError unless a base rate is above 0 and below 1."""
    if not 0 < rate < 1:
        raise InvalidInputError(f"a base rate is a share of pairs, above 0 and below 1, not {rate:g}")


def check_distance(most: float | None) -> None:
    """Raise InvalidInputError for a maximum distance that is not a number from 0 up."""
    if most is not None and not (math.isfinite(most) and most >= 0):
        raise InvalidInputError(f"max_distance must be a number from 0 up, not {most:g}")


MATCH, DISTANCE, RANK, LEARN = "match", "distance", "rank", "learn"
FUSE = (MATCH, DISTANCE, RANK, LEARN)
"""The ways to fuse several targets into one list."""


def check_fuse(way: str) -> None:
    """Raise InvalidInputError for an unknown way to fuse."""
    if way and way not in FUSE:
        raise InvalidInputError(f"targets fuse by {', '.join(FUSE)}, not by {way!r}")


def way_of(target: str) -> str:
    """Return the way by which a list with this target is fused, as in ``match of color, sift``; "" if it is not."""
    way, of, _ = target.partition(" of ")
    return way if of and way in FUSE else ""


class StrategyOptions(TypedDict, total=False):
    """The options of all strategies, as arguments of a search request; each strategy explains its own."""

    targets: Sequence[str]
    merge: bool | None
    weights: Mapping[str, float]
    more: Mapping[str, float]
    less: Mapping[str, float]
    hold: Sequence[str]
    sort_by: str
    min_match: float
    max_distance: float | None
    probabilities: bool
    base_rate: float | None
    combine: str
    with_examples: bool
    fuse: str
    feedback: str


@dataclass(frozen=True, kw_only=True)
class Strategy:
    """One way to search. Its fields are its options; it refuses the other options of ``StrategyOptions``."""

    refused: ClassVar[Mapping[str, str]] = {}
    """The reason why the strategy refuses an option, by option."""
    lists_items: ClassVar[bool] = False
    """Whether the strategy lists items, so that its queries have no input."""

    def __post_init__(self) -> None:
        let_one_be_several(self, *({"targets", "hold"} & vars(self).keys()))

    @property
    def names(self) -> Sequence[str]:
        """The targets that the strategy names; empty for every target that the query's view can be matched against."""
        return tuple(vars(self).get("targets", ()))

    @property
    def axes(self) -> tuple[str, ...]:
        """The axes that the strategy names, possibly more than once."""
        sort_by = vars(self).get("sort_by", "")
        return (sort_by.removeprefix("-"),) if sort_by else ()

    def check(self) -> None:
        """Raise InvalidInputError for options that are invalid in every space."""


_IN_ONE_TARGET = (
    "the distance in one target determines the probability that two are the same: leave out weights, more and less, "
    "and give a query"
)


_NOT_FUSED = "the nearest items are fused, or those by examples: leave out fuse, or the other options"


@dataclass(frozen=True, kw_only=True)
class Nearest(Strategy):
    """The items nearest to each query."""

    targets: Sequence[str] = ()
    """The targets to search [default: (), every target that the query's view can be matched against]."""
    merge: bool | None = None
    """Whether each query gets one list over all targets. Lists of targets on a common scale merge by distance, other
    lists by ``fuse`` [default: None, merge only targets on a common scale]."""
    fuse: str = ""
    """How one list over several targets orders all items, by the mean over the targets that have an item: ``match``
    (logistic mean of the calibrated matches), ``distance`` (mean of the distances, relative to those that the item and
    the query usually have), ``rank`` (mean reciprocal rank) or ``learn`` (as ``distance``, with weights of the targets
    learned from labels or comparisons of items) [default: "", match where a target is calibrated, otherwise distance].
    Queries without a view are fused, and others if this or ``merge`` is given."""
    sort_by: str = ""
    """An axis whose scores order each list, or an attribute of the items, the greatest first; with a minus, as in
    ``-natural``, the least first [default: "", the order of distances]."""
    min_match: float = 0.0
    """Minimum match of the hits, 0 to 1; a list can then have fewer than k hits, or none."""
    max_distance: float | None = None
    """Maximum distance of the hits in each target, or in any of those that are fused [default: None, any]."""
    probabilities: bool = False
    """Whether hits have the probability that they are the same as the query."""
    base_rate: float | None = None
    """With ``probabilities``: the share of all pairs of a query and an item that are the same, above 0 and below 1
    [default: None, the base rate stored with the threshold, usually that of the labels]."""

    def check(self) -> None:
        """Raise InvalidInputError for an invalid minimum match or base rate, or a base rate without probabilities."""
        if not 0 <= self.min_match <= 1:
            raise InvalidInputError(f"min_match must be a probability between 0 and 1, not {self.min_match:g}")
        check_fuse(self.fuse)
        if self.fuse in (DISTANCE, RANK) and self.min_match:
            raise InvalidInputError(f"hits fused by {self.fuse} have no match: leave out min_match, or fuse by match")
        check_distance(self.max_distance)
        if self.fuse and self.merge is False:
            raise InvalidInputError(f"a fusion by {self.fuse} makes one list of all targets: leave out merge, or fuse")
        if self.base_rate is not None:
            check_base_rate(self.base_rate)
            if not self.probabilities:
                raise InvalidInputError("a base rate needs probabilities: also use ", Argument("probabilities", True))


@dataclass(frozen=True, kw_only=True)
class Moved(Strategy):
    """The items nearest to each query after a move along axes, by distance in scores; exact.

    Amounts are in standard deviations of the scores of the training items. Other attributes change along with
    them, as they do in these items.
    """

    refused: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("min_match", "probabilities", "base_rate"), _IN_ONE_TARGET),
        "fuse": _NOT_FUSED,
    }

    targets: Sequence[str] = ()
    """See ``Nearest``."""
    merge: bool | None = None
    """Whether each query gets one list over all targets: by distance on a common scale, and otherwise by reciprocal
    rank [default: None, merge only targets on a common scale]."""
    sort_by: str = ""
    """See ``Nearest``."""
    more: Mapping[str, float] = field(default_factory=dict)
    """Amount by which each attribute increases, by axis of the space."""
    less: Mapping[str, float] = field(default_factory=dict)
    """Amount by which each attribute decreases, by axis of the space."""
    hold: Sequence[str] = ()
    """Attributes that do not move along with others; ``("all",)`` for all attributes."""
    max_distance: float | None = None
    """See ``Nearest``; in scores."""

    @property
    def amounts(self) -> dict[str, float]:
        """The signed distance that a query moves, by axis."""
        return {**self.more, **{name: -amount for name, amount in self.less.items()}}

    @property
    def axes(self) -> tuple[str, ...]:
        """The axes that move, the held axes, and the axis of ``sort_by``."""
        return *self.amounts, *(name for name in self.hold if name != EVERY_AXIS), *super().axes

    def check(self) -> None:
        """Raise InvalidInputError for an invalid amount, an axis that is named twice, or ``hold`` without a move."""
        check_distance(self.max_distance)
        for flag, values in (("more", self.more), ("less", self.less)):
            for name, amount in values.items():
                if not (math.isfinite(amount) and amount > 0):
                    raise InvalidInputError(
                        f"{flag} {name}={amount:g}: give standard deviations above 0, such as {name}=2"
                    )
        if twice := sorted((self.more.keys() & self.less.keys()) | (set(self.hold) & self.amounts.keys())):
            raise InvalidInputError(f"{twice[0]!r} cannot move both ways, or move and be held: name it once")
        if self.hold and not self.amounts:
            raise InvalidInputError(
                "hold fixes attributes while others move: name an attribute that moves by more or less"
            )


_NOTIONS_OR_ATTRIBUTES = "weights apply to notions, more and less to attributes: give one of the two"


@dataclass(frozen=True, kw_only=True)
class Weighted(Strategy):
    """The nearest items by the distance sqrt(sum of w_t d_t^2) over notions, in one list; exact over all items."""

    refused: ClassVar[Mapping[str, str]] = {
        "targets": "weights name the notions to search by: leave the targets out",
        **dict.fromkeys(("more", "less", "hold"), _NOTIONS_OR_ATTRIBUTES),
        "sort_by": "weights apply to notions, and scores to attributes: sort by a score, or give weights",
        **dict.fromkeys(("min_match", "probabilities", "base_rate"), _IN_ONE_TARGET),
        "fuse": _NOT_FUSED,
    }

    weights: Mapping[str, float]
    """Weights of notions, not negative."""
    merge: bool | None = None
    """See ``Nearest``; False is invalid, because there is one list."""
    max_distance: float | None = None
    """See ``Nearest``; of the weighted distance."""

    @property
    def names(self) -> Sequence[str]:
        """The notions that have a weight."""
        return tuple(self.weights)

    def check(self) -> None:
        """Raise InvalidInputError for a negative or infinite weight, weights that are all 0, or ``merge=False``."""
        for name, weight in self.weights.items():
            if not (math.isfinite(weight) and weight >= 0):
                raise InvalidInputError(f"the weight of {name!r} must be a number from 0 up, not {weight:g}")
        if not any(self.weights.values()):
            raise InvalidInputError("every weight is 0: give at least one notion a positive one")
        check_distance(self.max_distance)
        if self.merge is False:
            raise InvalidInputError("weights make one list of all notions, which cannot be grouped by target")


_NO_QUERY = "a list of items by score has no query to move, to weigh, to merge or to be near: give one"


@dataclass(frozen=True, kw_only=True)
class Listed(Strategy):
    """The first items of each target in the order of a score; queries have no input."""

    refused: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("weights", "more", "less", "hold", "max_distance"), _NO_QUERY),
        **dict.fromkeys(("min_match", "probabilities", "base_rate"), _IN_ONE_TARGET),
        "fuse": _NOT_FUSED,
    }
    lists_items: ClassVar[bool] = True

    sort_by: str
    """An axis whose greatest scores come first; with a minus, as in ``-natural``, the least."""
    targets: Sequence[str] = ()
    """See ``Nearest``."""
    merge: bool | None = None
    """See ``Nearest``; True is invalid, because there are no distances to merge by."""

    def check(self) -> None:
        """Raise InvalidInputError for ``merge=True``."""
        if self.merge:
            raise InvalidInputError(_NO_QUERY)


COMBINE = ("learn", "mean", "best", "context")
"""The ways to score items by several examples."""
_ONE_QUESTION = "several examples make one list by a score, without distances: leave out {}, or the way to combine"


@dataclass(frozen=True, kw_only=True)
class Combined(Strategy):
    """The items that are most like all examples of a request, and least like its counter-examples; one list.

    The queries of the request are the examples of one question. ``Query.weight`` weighs them; below 0, a query is a
    counter-example. All items of every target get a score, and an item has the mean of its scores.
    """

    refused: ClassVar[Mapping[str, str]] = {
        name: _ONE_QUESTION.format(name)
        for name in ("weights", "more", "less", "hold", "sort_by", "min_match", "max_distance", "probabilities")
    } | {"base_rate": _ONE_QUESTION.format("base_rate"), "merge": _ONE_QUESTION.format("merge")}

    combine: str
    """The score: ``learn`` (a classifier of the examples against the counter-examples and a sample of all items, beside
    the distance to their moved mean), ``mean`` (that distance alone), ``best`` (the nearest example) or ``context`` (in
    how many pairs the example is nearer than the counter-example)."""
    targets: Sequence[str] = ()
    """See ``Nearest``."""
    with_examples: bool = False
    """Whether the items of the examples can be hits."""
    fuse: str = ""
    """How the scores in several targets make one: see ``Nearest``; scores count as distances, and have no match
    [default: "", distance]."""
    feedback: str = ""
    """The name of feedback whose judgements are examples, too; queries may then lack an input, or be absent. See
    ``engine.findings.questions.feedback``."""

    def check(self) -> None:
        """Raise InvalidInputError for an unknown way to combine or to fuse."""
        check_fuse(self.fuse)
        if self.fuse == MATCH:
            raise InvalidInputError("scores by examples have no match: fuse by distance, rank or learn")
        if self.combine not in COMBINE:
            raise InvalidInputError(f"examples combine by {', '.join(COMBINE)}, not by {self.combine!r}")


DEFAULTS: Mapping[str, Any] = {
    "targets": (),
    "merge": None,
    "weights": {},
    "more": {},
    "less": {},
    "hold": (),
    "sort_by": "",
    "min_match": 0.0,
    "max_distance": None,
    "probabilities": False,
    "base_rate": None,
    "combine": "",
    "with_examples": False,
    "fuse": "",
    "feedback": "",
}
"""Default value of each option."""


def strategy_of(options: Mapping[str, Any], has_input: bool) -> Strategy:
    """Return the strategy that the given ``StrategyOptions`` determine; ``has_input``: whether a query has an input.

    Raises InvalidInputError for options of different strategies, and TypeError for an unknown option.
    """
    given = {}
    for name, value in options.items():
        if name not in DEFAULTS:
            raise TypeError(f"a search has no option {name!r}; there are: {', '.join(DEFAULTS)}")
        if name in ("targets", "hold"):
            value = one_or_several(value)
        if value != DEFAULTS[name]:
            given[name] = value
    if given.keys() & {"combine", "with_examples", "feedback"}:
        kind: type[Strategy] = Combined
        given.setdefault("combine", COMBINE[0])
    elif "sort_by" in given and not has_input:
        kind = Listed
    elif "weights" in given:
        kind = Weighted
    else:
        kind = Moved if given.keys() & {"more", "less", "hold"} else Nearest
    known = {one.name for one in fields(kind)}
    for name in given:
        if name not in known:
            raise InvalidInputError(kind.refused[name])
    return kind(**given)
