"""Groups are stars: each member was confirmed against its keeper, and pairs kept apart by people stay apart."""

from collections.abc import Sequence
from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from crossview.engine.findings.duplicates.grouping import Grouper, classes

COUNT = 9
pairs = st.sets(
    st.tuples(st.integers(0, COUNT - 1), st.integers(0, COUNT - 1)).filter(lambda pair: pair[0] < pair[1]), max_size=25
)


@dataclass(frozen=True)
class Verdict:
    same: bool
    near: bool


def grouper(same: set[tuple[int, int]], near: set[tuple[int, int]], apart: set[tuple[int, int]]) -> Grouper:
    def compare(pairs: Sequence[tuple[int, int]]) -> list[Verdict]:
        found = [(min(pair), max(pair)) for pair in pairs]
        return [Verdict(pair in same, pair in near - same) for pair in found]

    beside = [
        [other for pair in same | near if place in pair for other in pair if other != place] for place in range(COUNT)
    ]
    return Grouper(beside, lambda _: True, lambda _: True, apart, compare)


@given(pairs, pairs, pairs)
def test_groups_are_disjoint_stars(
    same: set[tuple[int, int]], near: set[tuple[int, int]], apart: set[tuple[int, int]]
) -> None:
    made = grouper(same, near, apart)
    groups = made.groups(range(COUNT))
    placed = [place for group in groups for place in (group.keeper, *group.members)]
    assert len(placed) == len(set(placed))
    for keeper, members in groups:
        assert all((min(keeper, one), max(keeper, one)) in same for one in members)
        together = sorted((keeper, *members))
        assert not any((a, b) in apart for a in together for b in together if a < b)
    bursts = made.bursts(lambda place: place)
    shown = [place for group in bursts for place in (group.keeper, *group.members)]
    assert len(shown) == len(set(shown))


@given(pairs)
def test_all_copies_of_the_first_are_with_it(same: set[tuple[int, int]]) -> None:
    """No copy of the best picture is left out, or has another keeper."""
    groups = grouper(same, set(), set()).groups(range(COUNT))
    expected = {second for first, second in same if first == 0}
    assert expected == set(next((group.members for group in groups if group.keeper == 0), []))


@given(pairs, st.lists(st.lists(st.integers(0, COUNT - 1), min_size=2, max_size=4, unique=True), max_size=3), pairs)
def test_classes_join_what_is_equal_and_keep_apart_what_is_judged(
    same: set[tuple[int, int]], equal: list[list[int]], apart: set[tuple[int, int]]
) -> None:
    made = classes(COUNT, equal, sorted(same - apart), apart)
    assert sorted(place for members in made.members.values() for place in members) == list(range(COUNT))
    for members in made.members.values():
        assert not any((a, b) in apart for a in members for b in members if a < b)
    if not apart:
        assert all(made.of[a] == made.of[b] for a, b in same)
        assert all(len({made.of[place] for place in places}) == 1 for places in equal)
