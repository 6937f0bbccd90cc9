"""More keys than SQLite takes as parameters of one statement: 32,766, unless a system compiles it with more."""

import sqlite3

import numpy as np
import pytest
import sqlalchemy as sa
from line import numbered, row

from crossview.engine.catalog.bulk import MOST_PARAMETERS
from crossview.engine.collections.collection import Collection
from crossview.engine.collections.home import Home
from crossview.engine.values.conditions.filter import Filter
from crossview.engine.values.item import ItemUpdate
from crossview.engine.values.query import Query, SearchRequest
from crossview.engine.values.recipe import Recipe

LIMIT = MOST_PARAMETERS + 100
"""The parameters of a batch, and the other values of its statement."""
COUNT = LIMIT + 50


@pytest.fixture
def many(home: Home):
    """A collection on a SQLite that takes no more parameters than the catalog allows itself."""
    with home.create("many", ["v=vectors:dim=4"]) as made:
        engine = made._opened.catalog._database._engine

        def limit(connection: sqlite3.Connection, _: object) -> None:
            connection.setlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER, LIMIT)

        sa.event.listen(engine, "connect", limit)
        engine.dispose()
        yield made


@pytest.mark.long
def test_every_call_takes_more_keys_than_one_statement(many: Collection) -> None:
    """These are imports, updates, filters, lists, queries, training and deletion."""
    assert LIMIT < 32_766
    assert many.items.put(numbered(*range(COUNT), labels=("a",))).added == COUNT
    keys = [item.key for item in many.items(limit=COUNT)]
    many.items.update([ItemUpdate(key, labels=("b",), attributes={"n": 1}, text="t") for key in keys])
    many.items.put_vectors("v", keys, np.stack([row(number + 1) for number in range(COUNT)]))
    chosen = Filter(labels="b")
    assert many.items.count(chosen) == COUNT
    assert len(many.items(chosen, limit=COUNT)) == COUNT
    found = many.search(SearchRequest([Query("v", key=key) for key in keys], k=1, filter=chosen))
    assert [abs(keys.index(one.hits[0].key) - one.query) for one in found[2:20]] == [1] * 18
    assert len(found) == COUNT
    many.train(Recipe(spec="standardize", views=("v",)))
    assert many.search(SearchRequest([Query("v", key=keys[0])], k=3, filter=chosen))[0].hits
    assert many.items.delete(keys) == COUNT
    many.storage.compact()
