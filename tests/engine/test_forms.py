"""Forms in which programs give numbers, counts, names and items: sensible ones are taken, others refused by name."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

import numpy as np
import pytest

from crossview.engine.collections.collection import Collection
from crossview.engine.collections.home import Home
from crossview.engine.values.audit import AuditRequest
from crossview.engine.values.duplicate import DuplicatesRequest
from crossview.engine.values.errors import InvalidInputError
from crossview.engine.values.evaluation import EvaluationRequest
from crossview.engine.values.item import NewItem
from crossview.engine.values.numbers import real_numbers
from crossview.engine.values.query import Query, SearchRequest

pandas = pytest.importorskip("pandas", reason="pandas is not installed")
sparse = pytest.importorskip("scipy.sparse")
ROW = [1.0, 0.0, 2.0]


@pytest.fixture
def made(home: Home) -> Any:
    with home.create("made", ["v=vectors:dim=3"]) as collection:
        collection.items.put([NewItem(key, rows={"v": [place, 0, 2]}) for place, key in enumerate("abc")])
        yield collection


GIVEN: dict[str, Any] = {
    "list": ROW,
    "tuple": tuple(ROW),
    "array": np.array(ROW),
    "whole numbers": np.array([1, 0, 2], np.int8),
    "objects": np.array(ROW, object),
    "series": pandas.Series(ROW),
    "frame": pandas.DataFrame([ROW]),
    "sparse": sparse.csr_array(np.array([ROW])),
    "unmasked": np.ma.masked_array(ROW, mask=[False] * 3),
}
REFUSED: dict[str, Any] = {
    "complex": np.array([1j, 0, 2]),
    "dates": np.array(["2024-05-01"] * 3, "datetime64[D]"),
    "date": [datetime(2024, 5, 1)] * 3,
    "masked": np.ma.masked_array(ROW, mask=[True, False, False]),
    "texts": ["1", "0", "2"],
    "none": [None, 0, 2],
    "nothing": object(),
    "ragged": [[1], [2, 3]],
}


@pytest.mark.parametrize("form", GIVEN)
def test_a_vector_is_taken_in_every_form_of_numbers(made: Collection, form: str) -> None:
    np.testing.assert_array_equal(real_numbers(GIVEN[form], "a row"), ROW)
    assert made.items.put([NewItem("d", rows={"v": GIVEN[form]})]).failures == ()
    (found,) = made.search(SearchRequest([Query("v", vector=GIVEN[form])], k=1, space="raw"))
    assert found.hits[0].distance == 0


@pytest.mark.parametrize("form", REFUSED)
def test_other_values_are_refused_by_name(made: Collection, form: str) -> None:
    (failure,) = made.items.put([NewItem("d", rows={"v": REFUSED[form]})]).failures
    assert "a row of view 'v'" in failure.reason
    with pytest.raises(InvalidInputError, match="a row of view 'v'"):
        made.search(SearchRequest([Query("v", vector=REFUSED[form])], space="raw"))


COUNTS: dict[str, Callable[[Collection, Any], object]] = {
    "k": lambda made, value: made.search(SearchRequest([Query("v", key="a")], k=value)),
    "hits_per": lambda made, value: made.search(SearchRequest([Query("v", key="a")], per="label", hits_per=value)),
    "limit": lambda made, value: made.items(limit=value),
    "sample": lambda made, value: made.items(sample=value),
    "neighbors k": lambda made, value: made.items.neighbors("v", k=value),
    "facets limit": lambda made, value: made.items.facets(["label"], limit=value),
    "duplicates limit": lambda made, value: made.duplicates(DuplicatesRequest(limit=value)),
    "audit limit": lambda made, value: made.audit(AuditRequest(limit=value)),
    "evaluation k": lambda made, value: made.evaluate(EvaluationRequest(view="v", k=(value,))),
    "splits": lambda made, value: made.evaluate(EvaluationRequest(view="v", splits=value)),
    "seed": lambda made, value: made.evaluate(EvaluationRequest(view="v", seed=value)),
}


@pytest.mark.parametrize("value", [2.0, "3", None, True, [1], -1])
@pytest.mark.parametrize("count", COUNTS)
def test_counts_are_whole_numbers(made: Collection, count: str, value: Any) -> None:
    with pytest.raises(InvalidInputError, match=r"must be (a whole number|at least|between)"):
        COUNTS[count](made, value)


@pytest.mark.parametrize("count", ["k", "limit", "sample", "neighbors k", "facets limit", "duplicates limit"])
def test_counts_of_numpy_are_taken(made: Collection, count: str) -> None:
    COUNTS[count](made, np.int64(2))


@pytest.mark.parametrize("size", [1e-19, 1e-26, 1e-44])
def test_rows_whose_squares_vanish_are_refused(made: Collection, size: float) -> None:
    """A row of zeros, and small values beside larger ones, are taken."""
    rows = np.array([[0, 0, 0], [1, size, 0], [size, 0, 0]])
    report = made.items.put([NewItem(key, rows={"v": row}) for key, row in zip("def", rows, strict=True)])
    assert [failure.key for failure in report.failures] == ["f"]
    assert "whose squares are 0" in report.failures[0].reason
    with pytest.raises(InvalidInputError, match="of key 'f' has only values below 1e-18"):
        made.items.put_vectors("v", ["d", "e", "f"], rows)


def test_names_are_taken_in_every_form_of_several() -> None:
    for labels in ("red", ["red"], ("red",), np.array(["red"]), pandas.Series(["red"]), {"red"}):
        assert NewItem("a", labels=labels).labels == ("red",)
    for labels in (3, b"red", {"red": 1}):
        with pytest.raises(InvalidInputError, match="give a name, or a list of names"):
            NewItem("a", labels=labels)


def test_items_are_new_items(made: Collection) -> None:
    assert NewItem("a", rows=None).rows == {}  # type: ignore[arg-type]
    for items in ([{"key": "a"}], ["a"], NewItem("a"), {"a": 1}, "a", None):
        with pytest.raises(InvalidInputError, match="new item"):
            made.items.put(items)  # type: ignore[arg-type]


@pytest.mark.parametrize("images", [None, b"\xff\xd8", "color", {"a": b"x"}, [1], ["no such file"]])
def test_views_are_fitted_on_pictures(home: Home, images: Any) -> None:
    """A name of a view instead of a picture once fitted other views, or was a TypeError."""
    with home.create("words", ["sift", "text:dim=2"]) as made, pytest.raises(InvalidInputError, match="picture"):
        made.views.fit(images, views=["sift"])


def test_texts_without_a_fitted_view_are_noted(home: Home) -> None:
    """The remedy of the note gives them rows."""
    with home.create("words", ["text:dim=2"]) as made:
        (note,) = made.items.put([NewItem(f"{number}", text=f"red word {number % 3}") for number in range(6)]).notes
        assert note == (
            "view 'text' is not fitted, so these texts have no rows of this view: fit it with: "
            "`collection.views.fit([], views=['text'])`"
        )
        made.views.fit([], views=["text"])
        assert made.items.put([NewItem("new", text="red")]).notes == ()
        assert made.items.get("0").views == ("text",)
