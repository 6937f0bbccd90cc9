"""Groups of bounded diameter: copies around a keeper, each of them confirmed against it."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from crossview.engine.catalog.bulk import batches

Pair = tuple[int, int]
_AT_ONCE = 500
"""Number of possible keepers whose first pairs are compared ahead, on all processors."""


class Verdict(Protocol):
    """The result of a comparison of a picture with a keeper."""

    @property
    def same(self) -> bool:
        """Whether they are the same photograph."""

    @property
    def near(self) -> bool:
        """Whether they are different photographs of one moment."""


class Group(NamedTuple):
    """A keeper and its members, by place."""

    keeper: int
    members: list[int]


@dataclass
class Classes:
    """Pictures that count as one without a comparison: equal files, and pairs that people judged the same."""

    of: list[int]
    """The class of each place: the least place in it."""
    members: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    """The places of each class, ascending."""


def classes(count: int, equal: Iterable[Sequence[int]], same: Iterable[Pair], apart: set[Pair]) -> Classes:
    """Return the classes of ``count`` places.

    ``equal`` are sets of places with equal files, and ``same`` pairs that people judged the same. Pairs ``apart``, the
    lesser place first, are never in one class; judgements come first.
    """
    of = list(range(count))
    inside: dict[int, list[int]] = {}

    def join(first: int, second: int) -> None:
        a, b = sorted((of[first], of[second]))
        left, right = inside.get(a, [a]), inside.get(b, [b])
        if a == b or (apart and any((min(pair), max(pair)) in apart for pair in ((x, y) for x in left for y in right))):
            return
        inside[a] = sorted(left + right)
        inside.pop(b, None)
        for place in right:
            of[place] = a

    for first, second in same:
        join(first, second)
    for places in equal:
        for place in places[1:]:
            join(places[0], place)
    joined = Classes(of)
    for place, name in enumerate(of):
        joined.members[name].append(place)
    return joined


class Grouper:
    """Groups places around keepers, the best-ranked first.

    Args:
        neighbors: for each place, the places that may be its copies.
        keeps: whether a place may be a keeper, and whether it may be a member of a group.
        apart: pairs, the lesser place first, that are in no group together.
        compare: compares keepers with places; asked again for a pair, it knows the answer.
    """

    def __init__(
        self,
        neighbors: Sequence[Iterable[int]],
        keeps: Callable[[int], bool],
        joins: Callable[[int], bool],
        apart: set[Pair],
        compare: Callable[[Sequence[Pair]], Sequence[Verdict]],
    ) -> None:
        self._neighbors, self._keeps, self._joins, self._apart = neighbors, keeps, joins, apart
        self._compare = compare
        self.keeper_of: dict[int, int] = {}
        """The keeper of each member."""
        self.near: list[Pair] = []
        """Pairs of a keeper with a picture of the same moment."""

    def groups(self, order: Sequence[int]) -> list[Group]:
        """Return the groups with members, in an order of the places, the best keeper first."""
        groups = []
        for some in batches(order, _AT_ONCE):
            self._compare(list(self._coming(some)))
            for keeper in some:
                if keeper not in self.keeper_of and self._keeps(keeper):
                    members = self._members(keeper)
                    if members:
                        self.keeper_of[keeper] = keeper
                        groups.append(Group(keeper, members))
        return groups

    def _coming(self, keepers: Sequence[int]) -> Iterator[Pair]:
        """Yield the pairs that the groups of some keepers need first, so that threads can share them."""
        before = set[int]()
        for keeper in keepers:
            if keeper not in self.keeper_of and self._keeps(keeper):
                before.add(keeper)
                for other in dict.fromkeys(self._neighbors[keeper]):
                    if other not in before and self._is_free(other):
                        yield keeper, other

    def _members(self, keeper: int) -> list[int]:
        members, tried, waiting = list[int](), {keeper}, list(self._neighbors[keeper])
        while waiting:
            fresh = [place for place in dict.fromkeys(waiting) if place not in tried and self._is_free(place)]
            tried.update(fresh)
            waiting = []
            for place, verdict in zip(fresh, self._compare([(keeper, place) for place in fresh]), strict=True):
                if verdict.same and not any(self._are_apart(place, member) for member in (keeper, *members)):
                    members.append(place)
                    self.keeper_of[place] = keeper
                    waiting += self._neighbors[place]  # copies of a copy, each compared with the keeper
                elif verdict.near:
                    self.near.append((keeper, place))
        return members

    def _is_free(self, place: int) -> bool:
        return place not in self.keeper_of and self._joins(place)

    def _are_apart(self, first: int, second: int) -> bool:
        return bool(self._apart) and (min(first, second), max(first, second)) in self._apart

    def bursts(self, rank: Callable[[int], object]) -> list[Group]:
        """Return the pictures of one moment, around the best-ranked of them; copies are present by their keepers."""
        beside: dict[int, list[int]] = defaultdict(list)
        for pair in self.near:
            first, second = (self.keeper_of.get(place, place) for place in pair)
            if first != second and not self._are_apart(first, second):
                beside[first].append(second)
                beside[second].append(first)
        bursts, grouped = [], set[int]()
        for keeper in sorted(beside, key=rank):  # type: ignore[arg-type]  # ranks of one kind
            members = [place for place in dict.fromkeys(beside[keeper]) if place not in grouped]
            if keeper not in grouped and members:
                grouped.update((keeper, *members))
                bursts.append(Group(keeper, members))
        return bursts
