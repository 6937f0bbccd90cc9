"""Merged lists keep the promises of fusion, for any lists."""

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crossview.engine.collections.home import Home
from crossview.engine.spaces.rankings import fused_places
from crossview.engine.spaces.target import Near
from crossview.engine.values.item import NewItem
from crossview.engine.values.query import Hit, HitList, Query, SearchRequest
from crossview.engine.values.recipe import Recipe

KEYS = [f"item {letter}" for letter in "abcdefgh"]
DISTANCES = st.sampled_from([0.0, 0.1, 0.25, 0.5, 2.0])


@st.composite
def hit_lists(draw: st.DrawFn) -> list[HitList]:
    """Return up to four lists, in which distances often tie."""
    lists = []
    for number in range(draw(st.integers(1, 4))):
        distances = draw(st.dictionaries(st.sampled_from(KEYS), DISTANCES))
        target = f"t{number}"
        hits = [
            Hit(key=key, distance=distance, target=target)
            for key, distance in sorted(distances.items(), key=lambda one: one[1])
        ]
        lists.append(HitList(0, target, tuple(hits)))
    return lists


def fuse(lists: list[HitList], k: int) -> tuple[Hit, ...]:
    """The first k hits of merged lists."""
    near = [
        Near(np.array([KEYS.index(hit.key) for hit in one], np.int64), np.array([hit.distance for hit in one]))
        for one in lists
    ]
    return tuple(lists[number].hits[place] for number, place in fused_places(near, k, KEYS.__getitem__))


def ranks(lists: list[HitList], key: str) -> list[int | None]:
    """Return a key's rank in each list: one more than the number of nearer hits; None for a list without the key."""
    found: list[int | None] = []
    for one in lists:
        mine = [hit.distance for hit in one.hits if hit.key == key]
        found.append(1 + sum(hit.distance < mine[0] for hit in one.hits) if mine else None)
    return found


def pairs(lists: list[HitList]) -> Iterator[tuple[str, str]]:
    """Return each two keys of a merged list, in its order."""
    merged = [hit.key for hit in fuse(lists, len(KEYS))]
    for place, key in enumerate(merged):
        for other in merged[place + 1 :]:
            yield key, other


@given(hit_lists())
def test_each_key_comes_once_with_a_distance_that_it_has(lists: list[HitList]) -> None:
    """No hit is lost, and k cuts the same order."""
    merged = fuse(lists, len(KEYS))
    assert {hit.key for hit in merged} == {hit.key for one in lists for hit in one.hits}
    assert len({hit.key for hit in merged}) == len(merged)
    for hit in merged:
        mine = ranks(lists, hit.key)
        best = min(rank for rank in mine if rank is not None)
        assert hit.distance == min(
            other.distance
            for one, rank in zip(lists, mine, strict=True)
            for other in one.hits
            if other.key == hit.key and rank == best
        )
    assert fuse(lists, 2) == merged[:2]


@given(hit_lists())
def test_what_is_nearest_wherever_it_is_comes_first(lists: list[HitList]) -> None:
    """No hit with another place in some list is before a hit that is first in all of its lists."""
    for first, second in pairs(lists):
        if {rank for rank in ranks(lists, second) if rank is not None} == {1}:
            assert {rank for rank in ranks(lists, first) if rank is not None} == {1}


@given(hit_lists())
def test_a_hit_is_never_behind_one_that_is_nowhere_nearer(lists: list[HitList]) -> None:
    """A hit that is at least as near in every list, and nearer in one, comes first. A list without the hit counts as
    one that has it last; equal distances are equal, in any order of the hits."""
    last = [max((ranks([one], hit.key)[0] or 0 for hit in one.hits), default=0) for one in lists]

    def counted(key: str) -> list[int]:
        return [end if rank is None else rank for rank, end in zip(ranks(lists, key), last, strict=True)]

    for first, second in pairs(lists):
        better = all(mine <= its for mine, its in zip(counted(second), counted(first), strict=True))
        excused = {rank for rank in ranks(lists, first) if rank is not None} == {1}
        if better and counted(first) != counted(second):
            assert excused


@given(hit_lists(), st.randoms(use_true_random=False))
def test_the_order_of_equal_distances_does_not_matter(lists: list[HitList], random: "np.random.Generator") -> None:
    """Two indexes that break ties differently give the same merged keys."""
    shuffled = []
    for one in lists:
        hits = list(one.hits)
        random.shuffle(hits)
        shuffled.append(HitList(0, one.target, tuple(sorted(hits, key=lambda hit: hit.distance))))
    assert [hit.key for hit in fuse(lists, 8)] == [hit.key for hit in fuse(shuffled, 8)]


@given(hit_lists(), st.sampled_from(KEYS), st.data())
def test_lacking_a_view_is_no_worse_than_being_last_in_it(lists: list[HitList], key: str, data: st.DataObject) -> None:
    """Taking a hit out of a list in which it ranks last does not move it back in the merged list."""
    number = data.draw(st.integers(0, len(lists) - 1))
    one = lists[number]
    if not any(hit.key == key for other in lists if other is not one for hit in other.hits):
        return
    far = 1 + max((hit.distance for hit in one.hits), default=0)
    rest = tuple(hit for hit in one.hits if hit.key != key)
    if not rest:
        return
    tied = HitList(0, one.target, (*rest, Hit(key=key, distance=rest[-1].distance, target=one.target)))
    behind = HitList(0, one.target, (*rest, Hit(key=key, distance=far, target=one.target)))
    without = [*lists[:number], HitList(0, one.target, rest), *lists[number + 1 :]]
    for last in (tied, behind):
        there = [*lists[:number], last, *lists[number + 1 :]]
        place, before = ([hit.key for hit in fuse(some, 8)].index(key) for some in (without, there))
        assert place <= before


@pytest.mark.parametrize("lacking", [True, False], ids=["lacks the view", "has it"])
def test_exact_copies_come_first_in_a_merged_search(home: Home, lacking: bool) -> None:
    """Copies of the query at distance 0 lead, with or without the other view, in which they are the nearest."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(30, 4)).astype(np.float32)
    with home.create("copies", ["a=vectors:dim=4", "b=vectors:dim=4"]) as made:
        made.items.put([NewItem(f"item {i}", rows={"a": row, "b": row}) for i, row in enumerate(rows)])
        made.train(Recipe(spec="cca", views=("a", "b"), dim=2))
        query = rng.normal(size=4).astype(np.float32)
        copy = {"a": query} if lacking else {"a": query, "b": query}
        made.items.put([NewItem(f"z copy {i}", rows=copy) for i in range(2)])
        (merged,) = made.search(SearchRequest([Query("a", vector=query)], k=5, merge=True))
    assert [hit.key for hit in merged.hits[:2]] == ["z copy 0", "z copy 1"]
    assert merged.hits[0].distance == merged.hits[1].distance < 1e-3
