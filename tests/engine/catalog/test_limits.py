"""A stock SQLite takes 32,766 parameters in a statement, and conditions 1,000 deep; neither limit stops a request."""

import sqlite3
from collections.abc import Iterator

import numpy as np
import pytest
import sqlalchemy as sa

from crossview.engine.catalog import database
from crossview.engine.catalog.condition_checks import MAX_VALUES
from crossview.engine.collections.collection import Collection
from crossview.engine.collections.home import Home
from crossview.engine.values.conditions.filter import Filter
from crossview.engine.values.errors import InvalidInputError
from crossview.engine.values.item import NewItem
from crossview.engine.values.query import Query, SearchRequest

STOCK = 32_766
COUNT = 4 * STOCK // 3


@pytest.fixture
def stock(home: Home, monkeypatch) -> Iterator[Collection]:
    """More items on a line than a statement takes parameters, on a SQLite as its authors deliver it."""
    configure = database._configure

    def limited(connection: sqlite3.Connection, record: object) -> None:
        configure(connection, record)
        connection.setlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER, STOCK)

    monkeypatch.setattr(database, "_configure", limited)
    with home.create("line", ["v=vectors:dim=1"]) as made:
        made.items.put_vectors("v", names(COUNT), np.arange(COUNT, dtype=np.float32)[:, None])
        yield made


def names(count: int, prefix: str = "item") -> list[str]:
    return [f"{prefix}/{number:06}" for number in range(count)]


def search(collection: Collection, chosen: Filter) -> list[str]:
    (found,) = collection.search(SearchRequest([Query("v", vector=np.zeros(1))], k=3, filter=chosen))
    return [hit.key for hit in found.hits]


def test_the_limit_of_these_tests_is_that_of_sqlite(stock: Collection):
    with stock._opened.catalog.read() as tx, pytest.raises(sa.exc.OperationalError, match="too many SQL variables"):
        tx._connection.execute(sa.select(sa.literal_column("1").in_(range(STOCK + 1))))


@pytest.mark.filterwarnings("ignore::crossview.engine.values.errors.InputWarning")
def test_a_filter_takes_as_many_names_as_it_may(stock: Collection):
    """Names are keys in two Unicode forms, labels, and labels that items shall not have; also after a change."""
    stock.items.put([NewItem(f"schön/{number:03}", rows={"v": [-number]}, labels=("a",)) for number in range(3)])
    keys = tuple(f"schön/{number:03}" for number in range(MAX_VALUES))
    labels = ("a", *names(MAX_VALUES - 1, "label"))
    chosen = Filter(keys=keys, labels=labels, without_labels=tuple(names(MAX_VALUES, "other")))
    assert search(stock, chosen) == ["schön/000", "schön/001", "schön/002"]
    assert stock.count(chosen) == len(stock.items(chosen)) == 3
    stock.items.delete(["schön/001"])
    assert search(stock, chosen) == ["schön/000", "schön/002"]


@pytest.mark.filterwarnings("ignore::crossview.engine.values.errors.InputWarning")
def test_a_filter_takes_many_attributes_and_says_how_many(stock: Collection):
    attributes = {f"attribute {number}": number for number in range(500)}
    stock.items.put([NewItem("rich", rows={"v": [1]}, attributes=attributes)])
    assert search(stock, Filter(attributes=attributes)) == ["rich"]
    assert search(stock, Filter(attributes={**attributes, "attribute 7": 8})) == []
    with pytest.raises(InvalidInputError, match="at most 1,000 tests; this one has 1,001"):
        search(stock, Filter(attributes={str(number): 1 for number in range(1_001)}))


def test_any_number_of_keys_is_looked_up_and_deleted(stock: Collection):
    """Queries by key read the items, their rows, and the fields that hits show."""
    with stock._opened.catalog.read() as tx:
        ids = list(tx.items.ids_of(names(COUNT)).values())
        (view,) = tx.views.all()
        assert len(ids) == len(tx.rows.get(view, ids).ids) == len(tx.items.shown(ids)) == COUNT
    assert stock.items.delete(names(STOCK + 5)) == STOCK + 5
    assert stock.count() == COUNT - STOCK - 5


def test_findings_name_any_number_of_keys(stock: Collection):
    """They include keys in other Unicode forms than the normal one."""
    decomposed = [f"o\u0308/{number:06}" for number in range(STOCK + 5)]
    stock.items.put_vectors("v", decomposed, np.zeros((len(decomposed), 1), np.float32))
    assert any(f"{len(decomposed)} keys are not in Unicode normal form" in found for found in stock.storage.findings())
