"""Values that distances in float32 cannot hold are refused on entry; all others are found."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from once import Once

from crossview.engine.catalog.values import to_rows
from crossview.engine.collections.collection import Collection
from crossview.engine.collections.home import Home
from crossview.engine.values.errors import InvalidInputError
from crossview.engine.values.item import NewItem
from crossview.engine.values.query import Query, SearchRequest
from crossview.engine.values.recipe import Recipe
from crossview.features.vectors import MAX_DIM, MAX_VALUE, MIN_VALUE
from crossview.index.flat import FlatIndex

LARGEST = float(np.nextafter(np.float32(MAX_VALUE), np.float32(0)))
BAD = {"large": 1e25, "largest": 1e38, "bound": MAX_VALUE, "negative": -1e25, "double": 1e300, "NaN": np.nan}


def two_rows(home: Home) -> Collection:
    collection = home.create("made", ["v=vectors:dim=3"])
    collection.items.put([NewItem("small", rows={"v": [0, 0, 1]}), NewItem("tiny", rows={"v": [0, 1e-17, 0]})])
    return collection


@pytest.fixture
def made(home: Home, once: Once):
    with once.copy(home, two_rows) as collection:
        yield collection


def imported(made: Collection, row: Any, _: Path) -> None:
    (failure,) = made.items.put([NewItem("bad", rows={"v": row})]).failures
    raise InvalidInputError(f"{failure.key}: {failure.reason}")


def put(made: Collection, row: Any, _: Path) -> None:
    made.items.put_vectors("v", ["good", "bad"], np.array([np.zeros(3), row]))


def filed(made: Collection, row: Any, folder: Path) -> None:
    np.savez(folder / "rows.npz", keys=["good", "bad"], vectors=np.array([np.zeros(3), row]))
    (failure,) = made.items.index_vectors("v", folder / "rows.npz").failures  # the other row is used
    made.items.delete(["good"])
    raise InvalidInputError(f"{failure.key}: {failure.reason}")


def searched(made: Collection, row: Any, _: Path) -> None:
    made.search(SearchRequest([Query("v", vector=[0, 0, 0]), Query("v", vector=row)]))


def embedded(made: Collection, row: Any, _: Path) -> None:
    made.embed([Query("v", vector=[0, 0, 0]), Query("v", vector=row)])


@pytest.mark.parametrize("value", BAD.values(), ids=BAD)
@pytest.mark.parametrize(
    ("bring", "name"),
    [
        (imported, "bad"),
        (put, "row 2, of key 'bad'"),
        (filed, "bad"),
        (searched, "query 1"),
        (embedded, ""),
    ],
)
def test_a_value_too_large_is_refused_wherever_rows_come_in(
    made: Collection, tmp_path: Path, bring: Callable[..., None], name: str, value: float
) -> None:
    """The message names the row, the column and the value, and nothing is written."""
    shown = "NaN" if np.isnan(value) else f"{value:g}".replace("+", r"\+")
    with pytest.raises(InvalidInputError, match=f"{name}.* has {shown} in column 2"):
        bring(made, [0.0, value, 0.0], tmp_path)
    assert [item.key for item in made.items()] == ["small", "tiny"]


def test_the_largest_and_the_smallest_values_are_found(made: Collection) -> None:
    """Every accepted row is found, at finite distances, also by a query that is as far away as possible."""
    made.items.put([NewItem("far", rows={"v": [LARGEST] * 3}), NewItem("opposite", rows={"v": [-LARGEST] * 3})])
    for row in ([LARGEST] * 3, [-LARGEST] * 3, [0, 0, 0], [0, 1e-17, 0]):
        (found,) = made.search(SearchRequest([Query("v", vector=row)], k=4))
        assert {hit.key for hit in found.hits} == {"small", "tiny", "far", "opposite"}
        assert np.isfinite([hit.distance for hit in found.hits]).all()
    (found,) = made.search(SearchRequest([Query("v", vector=[LARGEST] * 3)], k=4))
    assert (found.hits[0].key, found.hits[3].key) == ("far", "opposite")


@pytest.mark.parametrize("dim", [1, 64, MAX_DIM])
def test_the_bound_holds_in_every_dimension(dim: int) -> None:
    """The index finds opposite corners of all accepted values, alone and in a batch."""
    corners = np.full((2, dim), LARGEST, np.float32) * np.array([[1], [-1]], np.float32)
    index = FlatIndex(dim).changed([], [1, 2], corners)
    for asked in (corners[:1], np.repeat(corners[:1], 30, axis=0)):
        found = index.search(asked, 2)
        assert (found.ids == [1, 2]).all()
        assert np.isfinite(found.distances).all()


@given(st.lists(st.floats(width=32), min_size=3, max_size=3))
@example([0.0, 0.0, 1.401298464324817e-45])
def test_a_row_is_refused_or_can_be_measured(row: list[float]) -> None:
    """A value beyond the bound is named, and so is a row whose squares are 0; all other rows are kept."""
    wrong = [column for column, value in enumerate(row, 1) if not abs(value) < MAX_VALUE]
    if wrong:
        with pytest.raises(InvalidInputError, match=f"in column {wrong[0]};"):
            to_rows(np.array([row]), str)
    elif any(row) and max(map(abs, row)) < MIN_VALUE:
        with pytest.raises(InvalidInputError, match="only values below"):
            to_rows(np.array([row]), str)
    else:
        assert to_rows(np.array([row]), str).tolist() == [[float(np.float32(value)) for value in row]]


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i1", "u1", "i8", "u8"])
def test_numbers_of_every_type_are_rows(dtype: str) -> None:
    """Integers keep their values, and infinity is refused in half precision, too."""
    assert to_rows(np.array([[1, 2]], dtype), str).dtype == np.float32
    large = {"f2": np.inf, "i8": -(2**63), "u8": 2**64 - 1}.get(dtype)
    if large is not None:
        with pytest.raises(InvalidInputError, match="in column 2"):
            to_rows(np.array([[1, large]], dtype), str)


def test_what_a_learner_stretches_is_still_found_last(home: Home) -> None:
    """A space trained on tiny rows turns a large one into numbers beyond float32: the item is the last of all hits, and
    its own query is refused rather than answered at random."""
    rng = np.random.default_rng(0)
    with home.create("stretched", ["a=vectors:dim=3", "b=vectors:dim=3"]) as made:
        tiny = rng.normal(size=(40, 2, 3)) * 1e-17
        made.items.put([NewItem(f"{i}", rows={"a": one[0], "b": one[1]}) for i, one in enumerate(tiny)])
        made.train(Recipe(spec="cca", views=("a", "b"), dim=2))
        made.items.put([NewItem("far", rows={"a": [1e15, -1e15, 1e15]})])
        (found,) = made.search(SearchRequest([Query("a", key="0")], targets=["a"], k=40))
        assert found.hits[-1].key == "far"
        assert np.isfinite(found.hits[-1].distance)
        with pytest.raises(InvalidInputError, match="far outside the training rows"):
            made.search(SearchRequest([Query("a", vector=[1e15, -1e15, 1e15])], targets=["a"]))
