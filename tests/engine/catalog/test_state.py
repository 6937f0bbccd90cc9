"""Fitted state survives storage, and only safe values are stored."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from crossview.engine.catalog.state import pack, unpack

_scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
)
_arrays = hnp.arrays(
    st.sampled_from([np.float32, np.float64, np.int64, np.uint8, np.bool_, np.dtype("U5")]),
    hnp.array_shapes(min_dims=0, min_side=0, max_side=4),
)
_trees = st.recursive(
    _scalars | _arrays,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


def same(one, other):
    if isinstance(one, np.ndarray):
        return (
            one.dtype == other.dtype
            and one.shape == other.shape
            and np.array_equal(one, other, equal_nan=one.dtype.kind == "f")
        )
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    return one == other


@given(_trees)
def test_every_tree_of_values_and_arrays_comes_back(tree):
    assert same(tree, unpack(pack(tree)))


@pytest.mark.parametrize(
    "value", [object(), {1: 2}, {"a": {1, 2}}, np.array([object()]), {"__array__": 1}, {"@arrays": {}}, float("nan")]
)
def test_what_cannot_be_stored_safely_is_refused(value):
    with pytest.raises((TypeError, ValueError)):
        pack(value)


def test_tuples_come_back_as_lists_and_strings_with_a_fixed_width():
    """Learners keep plain values beside arrays; a random generator is refused, by name."""
    again = unpack(
        pack({"a": [1, (2.5, None)], "b": [np.arange(3), {"c": np.float32(1.5)}], "d": np.array(["x", "yy"], object)})
    )
    assert again["a"] == [1, [2.5, None]]
    np.testing.assert_array_equal(again["b"][0], np.arange(3))
    assert again["b"][1] == {"c": 1.5}
    assert again["d"].dtype.kind == "U"
    with pytest.raises(TypeError, match="cannot store a RandomState"):
        pack(np.random.RandomState(0))


@given(st.binary(max_size=200), st.integers(0, 10_000))
def test_damaged_bytes_are_a_value_error(noise, position):
    good = bytearray(pack({"a": np.arange(5), "b": [1, "x"]}))
    good[position % len(good)] ^= 0xFF
    for data in (noise, bytes(good[: position % len(good)])):
        with pytest.raises(ValueError, match="damaged state"):
            unpack(data)
