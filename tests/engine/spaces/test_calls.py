"""A search makes few Python calls, which cost more than FAISS does. Calls are stable where times are not."""

import math
import sys
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from crossview.engine.collections.collection import Collection
from crossview.engine.collections.home import Home
from crossview.engine.spaces import versions
from crossview.engine.values.query import Query, SearchRequest
from crossview.index.faiss_base import ApproximateSearcher

COUNT, DIM = 400, 20
VECTOR_CALLS = {"flat": 330, "ivf": 340}
KEY_CALLS = 15
"""Calls of a query by key beyond those of a query by vector."""


@pytest.fixture
def many(home: Home, monkeypatch: pytest.MonkeyPatch) -> Iterator[Collection]:
    monkeypatch.setattr(ApproximateSearcher, "least_rows", 40)
    monkeypatch.setattr(versions, "AFTER_SECONDS", math.inf)  # nothing is read ahead
    with home.create("many", [f"v=vectors:dim={DIM}"]) as collection:
        rows = np.random.default_rng(0).normal(size=(COUNT, DIM)).astype(np.float32)
        collection.items.put_vectors("v", [f"{number:04}" for number in range(COUNT)], rows)
        yield collection


def calls(search: Callable[[], object]) -> int:
    """Return the number of calls of Python functions of a search that was answered before."""
    search()
    search()
    events, before = [], sys.getprofile()
    sys.setprofile(lambda _frame, event, _argument: events.append(event) if event == "call" else None)
    search()
    sys.setprofile(before)
    return len(events)


@pytest.mark.parametrize("kind", ["flat", "ivf"])
def test_a_search_for_ten_items_makes_few_calls(many, kind):
    many.spaces.reindex("raw", index=kind)
    vector = np.zeros(DIM, np.float32)
    by_vector = calls(lambda: many.search(SearchRequest([Query("v", vector=vector)])))
    by_key = calls(lambda: many.search(SearchRequest([Query("v", key="0007")])))
    assert by_vector <= VECTOR_CALLS[kind]
    assert by_key <= by_vector + KEY_CALLS


def test_a_key_in_another_unicode_form_finds_the_same(many):
    composed, apart = "n\u00e9", "ne\u0301"
    many.items.put_vectors("v", [apart], np.ones((1, DIM), np.float32))
    first, second = (many.search(SearchRequest([Query("v", key=key)])) for key in (apart, composed))
    assert first == second
    assert apart not in [hit.key for hit in first[0].hits]
