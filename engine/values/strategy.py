"""Strategies: the closed set of ways to search, and their options. Each strategy checks the options that it takes."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from typing import Any, ClassVar

from crossview.engine.values.errors import Argument, InvalidInputError
from crossview.engine.values.item import let_one_be_several

EVERY_AXIS = "all"
"""The name that stands for all axes that do not move."""


def check_base_rate(rate: float) -> None:
    """Raise InvalidInputError unless a base rate is above 0 and below 1."""
    if not 0 < rate < 1:
        raise InvalidInputError(f"a base rate is a share of pairs, above 0 and below 1, not {rate:g}")


MATCH, DISTANCE, RANK, LEARN = "match", "distance", "rank", "learn"
FUSE = (MATCH, DISTANCE, RANK, LEARN)
"""The ways to fuse several targets into one list."""


_SEEN: Mapping[str, str] = {"color": "colours", "sift": "textures", "gist": "layout", "text": "words"}
"""Views in words for people; other views have their names."""


def fused_targets(target: str) -> list[str]:
    """Return the targets of a list with this target, such as ``match of color, sift``; none if it is not fused."""
    way, of, targets = target.partition(" of ")
    return targets.split(", ") if of and way in FUSE else []


def list_name(target: str) -> str:
    """Return the name of a list for people, without the way of its fusion."""
    return ", ".join(fused_targets(target)) or target or "all targets, merged"


def comparison(target: str, asked: bool) -> str:
    """Return the sentence about the comparison behind a fused list with this target; "" for another list."""
    seen = [_SEEN.get(name, name) for name in fused_targets(target)]
    if not seen:
        return ""
    parts = ", ".join(seen[:-1]) + " and " * (len(seen) > 1) + seen[-1] + " together" * (len(seen) > 1)
    untrained = not asked and target.startswith(DISTANCE)  # the way without ``fuse`` where nothing is calibrated
    return f"Compared by {parts}." + " Probabilities come after a training with labels." * untrained


def _of(strategies: str, default: Any = MISSING, **more: Any) -> Any:
    """Return the field of an option: the names of the strategies that take it, and its default."""
    return field(default=default, metadata={"of": strategies.split()}, **more)


@dataclass(frozen=True, kw_only=True)
class StrategyOptions:
    """The options of all strategies. A search request takes them as its own, and they determine its strategy."""

    targets: Sequence[str] = _of("Nearest Moved Listed Combined", ())
    """The targets to search [default: (), every target that the query's view can be matched against]."""
    merge: bool | None = _of("Nearest Moved Weighted Listed", None)
    """Merge the lists of all targets [default: None, only of targets on a common scale]. Lists of targets on a common
    scale merge by distance, other lists by ``fuse`` or, after a move, by reciprocal rank."""
    weights: Mapping[str, float] = _of("Weighted", default_factory=dict)
    """Weights of notions, not negative, to search by the distance sqrt(sum of w_t d_t^2) over them."""
    more: Mapping[str, float] = _of("Moved", default_factory=dict)
    """Amount by which each attribute increases, by axis of the space."""
    less: Mapping[str, float] = _of("Moved", default_factory=dict)
    """Amount by which each attribute decreases, by axis of the space."""
    hold: Sequence[str] = _of("Moved", ())
    """Attributes that do not move along with others; ``("all",)`` for all attributes."""
    sort_by: str = _of("Nearest Moved Listed", "")
    """An axis whose scores order each list, or an attribute of the items, the greatest first; with a minus, as in
    ``-natural``, the least first [default: "", the order of distances]. Queries without an input need an axis."""
    min_match: float = _of("Nearest", 0.0)
    """Leave out hits of a smaller match. It is a probability, 0 to 1; lists can have fewer than k hits, or none."""
    max_distance: float | None = _of("Nearest Moved Weighted", None)
    """Leave out hits at a larger distance, in each target [default: None, none]. A hit of fused targets needs it in one
    of them; after a move, it is a distance in scores, and with weights the weighted distance."""
    probabilities: bool = _of("Nearest", False)
    """Show the probability that hit and query are the same."""
    base_rate: float | None = _of("Nearest", None)
    """Share of pairs that are the same [default: None, the base rate stored with the threshold, usually that of the
    labels]. It is above 0 and below 1, of all pairs of a query and an item, and needs ``probabilities``."""
    combine: str = _of("Combined", "")
    """How the queries are examples of one question, and score the items: ``learn`` (a classifier of the examples
    against the counter-examples and a sample of all items, beside the distance to their moved mean), ``mean`` (that
    distance alone), ``best`` (the nearest example) or ``context`` (in how many pairs the example is nearer than the
    counter-example) [default: "", each query has its own lists; with ``with_examples`` or ``feedback``, learn]."""
    with_examples: bool = _of("Combined", False)
    """Whether the items of the examples can be hits."""
    fuse: str = _of("Nearest Combined", "")
    """Make one list by match, distance, rank or learn [default: "", match where a target is calibrated, otherwise
    distance]. All items of several targets are in the order of a mean over the targets that have the item: ``match``
    is the logistic mean of the calibrated matches, ``distance`` the mean of the distances, relative to those that the
    item and the query usually have, ``rank`` the mean reciprocal rank, and ``learn`` as ``distance``, with weights of
    the targets learned from labels or comparisons of items. Queries without a view are fused, and others if this or
    ``merge`` is given. Scores by examples count as distances, and have no match."""
    feedback: str = _of("Combined", "")
    """The name of feedback whose judgements are examples, too; queries may then lack an input, or be absent. See
    ``engine.findings.questions.feedback``."""


OPTIONS: Mapping[str, tuple[Any, Sequence[str]]] = {
    option.name: (
        option.default if option.default_factory is MISSING else option.default_factory(),
        option.metadata["of"],
    )
    for option in fields(StrategyOptions)
}
"""The default of each option, and the names of the strategies that take it."""


@dataclass(frozen=True, kw_only=True)
class Strategy(StrategyOptions):
    """One way to search. It takes the options that name it, and refuses all others that differ from their defaults."""

    refused: ClassVar[Mapping[str, str]] = {}
    """The reason why the strategy refuses an option, by option."""
    lists_items: ClassVar[bool] = False
    """Whether the strategy lists items, so that its queries have no input."""

    def __post_init__(self) -> None:
        let_one_be_several(self, "targets", "hold")
        kind, values = type(self).__name__, vars(self)
        for name, (default, of) in OPTIONS.items():
            if kind not in of and values[name] != default:
                other = f"{name} is an option of {' and '.join(of)}, not of {kind}: leave it out"
                raise InvalidInputError(self.refused.get(name, other))

    @property
    def names(self) -> Sequence[str]:
        """The targets that the strategy names; empty for every target that the query's view can be matched against."""
        return self.targets

    @property
    def axes(self) -> tuple[str, ...]:
        """The axes that the strategy names, possibly more than once."""
        return (self.sort_by.removeprefix("-"),) if self.sort_by else ()

    def check(self) -> None:
        """Raise InvalidInputError for options that are invalid in every space."""
        if (most := self.max_distance) is not None and not (math.isfinite(most) and most >= 0):
            raise InvalidInputError(f"max_distance must be a number from 0 up, not {most:g}")
        if self.fuse and self.fuse not in FUSE:
            raise InvalidInputError(f"targets fuse by {', '.join(FUSE)}, not by {self.fuse!r}")


_IN_ONE_TARGET = (
    "the distance in one target determines the probability that two are the same: leave out weights, more and less, "
    "and give a query"
)
_NOT_FUSED = "the nearest items are fused, or those by examples: leave out fuse, or the other options"


@dataclass(frozen=True, kw_only=True)
class Nearest(Strategy):
    """The items nearest to each query."""

    def check(self) -> None:
        """Raise InvalidInputError for an invalid minimum match or base rate, or a base rate without probabilities."""
        super().check()
        if not 0 <= self.min_match <= 1:
            raise InvalidInputError(f"min_match must be a probability between 0 and 1, not {self.min_match:g}")
        if self.fuse in (DISTANCE, RANK) and self.min_match:
            raise InvalidInputError(f"hits fused by {self.fuse} have no match: leave out min_match, or fuse by match")
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
        super().check()
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

    @property
    def names(self) -> Sequence[str]:
        """The notions that have a weight."""
        return tuple(self.weights)

    def check(self) -> None:
        """Raise InvalidInputError for a negative or infinite weight, weights that are all 0, or ``merge=False``."""
        super().check()
        for name, weight in self.weights.items():
            if not (math.isfinite(weight) and weight >= 0):
                raise InvalidInputError(f"the weight of {name!r} must be a number from 0 up, not {weight:g}")
        if not any(self.weights.values()):
            raise InvalidInputError("every weight is 0: give at least one notion a positive one")
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

    def check(self) -> None:
        """Raise InvalidInputError for an unknown way to combine or to fuse."""
        super().check()
        if self.fuse == MATCH:
            raise InvalidInputError("scores by examples have no match: fuse by distance, rank or learn")
        if self.combine not in COMBINE:
            raise InvalidInputError(f"examples combine by {', '.join(COMBINE)}, not by {self.combine!r}")


def strategy_of(options: StrategyOptions, has_input: bool) -> Strategy:
    """Return the strategy that options determine; ``has_input``: whether a query has an input.

    Raises InvalidInputError for options of different strategies.
    """
    stated = {name: value for name, value in vars(options).items() if name in OPTIONS}
    if options.combine or options.with_examples or options.feedback:
        return Combined(**stated | {"combine": options.combine or COMBINE[0]})
    if options.sort_by and not has_input:
        return Listed(**stated)
    if options.weights:
        return Weighted(**stated)
    return Moved(**stated) if options.more or options.less or options.hold else Nearest(**stated)
