"""Groups, diversity and the order of hits and items equal those of plain Python."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crossview.engine.collections.collection import Collection
from crossview.engine.collections.home import Home
from crossview.engine.values.errors import InvalidInputError, NotFoundError
from crossview.engine.values.item import Item, NewItem
from crossview.engine.values.query import Hit, Query, SearchRequest

N = 60
ORIGIN = Query("v", vector=[0.0, 0.0, 0.0])


def attributes(number: int) -> dict[str, Any]:
    """Return albums of unequal size, some items in two or in none; mixed types; a number for one item in three."""
    album = None if number % 7 == 0 else [f"a{number % 5}", f"b{number % 3}"] if number % 4 == 0 else f"a{number % 5}"
    mixed: list[Any] = [None, number % 9, f"w{number % 4}", number % 2 == 0, [number % 6, 3], {"deep": 1}]
    some = {"year": 2000 + number // 3} if number % 3 == 0 else {}
    return ({} if album is None else {"album": album}) | {"mixed": mixed[number % len(mixed)]} | some


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collection]:
    generator = np.random.default_rng(5)
    with Home(tmp_path_factory.mktemp("home")).create("c", ["v=vectors:dim=3", "w=vectors:dim=2"]) as made:
        made.items.put(
            [
                NewItem(
                    f"k{number:02}",
                    rows={"v": generator.normal(size=3)} | ({"w": generator.normal(size=2)} if number % 2 else {}),
                    labels=("x", "y")[: number % 3],
                    attributes=attributes(number),
                )
                for number in range(N)
            ]
        )
        yield made


def values(hit: Hit | Item, name: str) -> list[Any]:
    if name == "label":
        return list(hit.labels)
    found = hit.attributes.get(name)
    several = found if isinstance(found, list) else [found]
    return [one for one in several if isinstance(one, str | int | float)]


def first_of_groups(hits: Sequence[Hit], name: str, most: int) -> list[Hit]:
    counts, kept = Counter[Any](), list[Hit]()
    for hit in hits:
        own = {(isinstance(one, bool), one) for one in values(hit, name)}
        if all(counts[one] < most for one in own):
            counts.update(own)
            kept.append(hit)
    return kept


def ordered(items: Sequence[Any], sort_by: str) -> list[Any]:
    """Sort numbers before texts before the rest; of several values the first in this order; equal ones stay."""
    name, down = sort_by.removeprefix("-"), not sort_by.startswith("-")

    def best(item: Any) -> Any:
        found = values(item, name)
        numbers, texts = [v for v in found if not isinstance(v, str)], [v for v in found if isinstance(v, str)]
        choose = max if down else min
        return choose(numbers) if numbers else choose(texts) if texts else None

    numbers = [item for item in items if isinstance(best(item), int | float)]
    texts = [item for item in items if isinstance(best(item), str)]
    rest = [item for item in items if best(item) is None]
    return [*sorted(numbers, key=best, reverse=down), *sorted(texts, key=best, reverse=down), *rest]


@settings(max_examples=60, deadline=None)
@given(
    name=st.sampled_from(["album", "label", "mixed", "year"]),
    most=st.integers(1, 4),
    k=st.integers(1, N + 5),
    target=st.sampled_from(["v", "w"]),
    sort_by=st.sampled_from(["", "year", "-year", "mixed", "-label"]),
)
def test_groups_have_their_first_hits(
    collection: Collection, name: str, most: int, k: int, target: str, sort_by: str
) -> None:
    """k hits come if enough exist, however many items share the value of the first."""
    query = Query(target, vector=[0.0] * (3 if target == "v" else 2))
    (every,) = collection.search(SearchRequest([query], k=N, targets=target))
    expected = first_of_groups(every.hits, name, most)[:k]
    (found,) = collection.search(SearchRequest([query], k=k, targets=target, per=name, hits_per=most, sort_by=sort_by))
    assert list(found.hits) == (ordered(expected, sort_by) if sort_by else expected)
    (pages,) = collection.search_pages(SearchRequest([query], targets=target, per=name, hits_per=most), N)
    assert list(pages[0].hits) == first_of_groups(every.hits, name, most)


@pytest.mark.parametrize("share", [0.2, 0.5, 1.0])
def test_diversity_is_maximal_marginal_relevance(collection: Collection, share: float) -> None:
    """Each hit has the greatest sum of relevance and distance to its predecessors, among the first 5 k."""
    k, pool = 6, 30
    (every,) = collection.search(SearchRequest([ORIGIN], k=pool))
    page = collection.items.embed("v", space="raw", limit=N)
    rows = dict(zip(page.keys, page.vectors, strict=True))
    distances = np.array([hit.distance for hit in every.hits])
    relevance = (distances[-1] - distances) / (distances[-1] - distances[0])
    points = np.stack([rows[hit.key] for hit in every.hits]).astype(float)
    apart = np.linalg.norm(points[:, None] - points, axis=2)
    apart /= apart.max()
    chosen = [0]
    while len(chosen) < k:
        gain = [
            -math.inf if at in chosen else (1 - share) * relevance[at] + share * apart[at, chosen].min()
            for at in range(pool)
        ]
        chosen.append(int(np.argmax(gain)))
    (found,) = collection.search(SearchRequest([ORIGIN], k=k, diversity=share))
    assert [hit.key for hit in found.hits] == [every.hits[at].key for at in chosen]


def test_arrangements_go_with_every_way_to_search(collection: Collection) -> None:
    """A search by every view, by examples, and by a code; diversity 0 changes nothing."""
    for options in (
        {"queries": [Query(key="k01")]},
        {"queries": [Query("v", key="k01"), Query("v", key="k03", weight=-1)], "combine": "learn"},
        {"queries": [Query("v", key="k01")], "merge": True},
    ):
        plain = collection.search(SearchRequest(**options, k=N))  # type: ignore[arg-type]
        assert collection.search(SearchRequest(**options, k=N, diversity=0.0)) == plain  # type: ignore[arg-type]
        (found,) = collection.search(SearchRequest(**options, k=4, per="album", diversity=0.5))  # type: ignore[arg-type]
        assert len(found.hits) == 4
        assert max(Counter(one for hit in found.hits for one in values(hit, "album")).values()) == 1
        assert {hit.key for hit in found.hits} <= {hit.key for one in plain for hit in one.hits}


@pytest.mark.parametrize("sort_by", ["year", "-year", "mixed", "-mixed", "label", "-label"])
def test_items_are_listed_by_a_field(collection: Collection, sort_by: str) -> None:
    """They come page by page, and with a filter; items without a value come last."""
    expected = ordered(collection.items(limit=N), sort_by)
    assert collection.items(limit=N, sort_by=sort_by) == expected
    pages, after = list[Item](), ""
    while page := collection.items(sort_by=sort_by, after=after, limit=7):
        pages, after = [*pages, *page], page[-1].key
    assert pages == expected
    chosen = collection.items("label = x", sort_by=sort_by, limit=N)
    assert chosen == [item for item in expected if "x" in item.labels]


def test_a_sample_is_drawn_by_its_seed(collection: Collection) -> None:
    """A seed gives the same items, another seed others, each item equally often; a change elsewhere changes nothing."""
    drawn = collection.items(sample=5, seed=1)
    assert drawn == collection.items(sample=5, seed=1)
    assert [item.key for item in drawn] == sorted(item.key for item in drawn)
    assert collection.items(sample=5, seed=2) != drawn
    assert len(collection.items(sample=N + 1, limit=N)) == N
    assert {item.key for item in collection.items("label = x", sample=4)} <= {
        item.key for item in collection.items("label = x", limit=N)
    }
    counts = Counter(item.key for seed in range(600) for item in collection.items(sample=6, seed=seed))
    assert len(counts) == N
    assert 30 < min(counts.values()) <= max(counts.values()) < 95  # 60 each, give or take four deviations
    assert [item.key for item in collection.items(sample=20, seed=3, sort_by="year", limit=3)] == [
        item.key for item in ordered(collection.items(sample=20, seed=3), "year")[:3]
    ]


def test_mistakes_are_named(collection: Collection) -> None:
    query = [ORIGIN]
    for request, words in (
        (SearchRequest(query, per="view"), "by label, duplicate or an attribute, not by view"),
        (SearchRequest(query, at_most={"": 0.0}), "no named attributes, so it cannot use ''"),
        (SearchRequest(query, per="album", hits_per=0), "at least 1, not 0"),
        (SearchRequest(query, k=1_001, diversity=0.5), "at most 1,000 hits, not 1,001: lower k"),
        (SearchRequest(query, k=10_001, per="duplicate"), "at most 10,000 hits, not 10,001: lower k"),
        (SearchRequest(query, hits_per=2), "also give `per`"),
        (SearchRequest(query, diversity=1.5), "between 0 and 1, not 1.5"),
        (SearchRequest([Query("v")], sort_by="year", diversity=0.5), "give a query"),
        (SearchRequest([Query("v")], sort_by="year"), r"`collection.items\(sort_by='year'\)`"),
    ):
        with pytest.raises(InvalidInputError, match=words):
            collection.search(request)
    with pytest.raises(NotFoundError, match="cannot be sorted by 'jear': no item has this attribute"):
        collection.search(SearchRequest(query, sort_by="jear"))
    with pytest.raises(InvalidInputError, match="sample must be at least 0"):
        collection.items(sample=-1)
    with pytest.raises(InvalidInputError, match="by label or by an attribute, not by view"):
        collection.items(sort_by="-view")
    with pytest.raises(NotFoundError, match="'gone', after which the list should go on, is not in it"):
        collection.items(sort_by="year", after="gone")
