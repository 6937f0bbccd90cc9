import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crossview.engine.values.errors import InvalidInputError
from crossview.server.wire.structs import EXACT, from_struct, to_struct

SCALARS = st.none() | st.booleans() | st.integers(-EXACT, EXACT) | st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    SCALARS | st.text(), lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3)
)


@given(st.dictionaries(st.text(), JSON, max_size=4))
def test_json_survives(values: dict[str, Any]) -> None:
    """Values go over the wire and come back equal."""
    assert from_struct(to_struct(values)) == values


def test_whole_numbers_stay_whole() -> None:
    """2 does not become 2.0, which JSON and settings distinguish."""
    assert json.dumps(from_struct(to_struct({"a": 2, "b": [True, 0.5]}))) == '{"a": 2, "b": [true, 0.5]}'


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 2**53 + 1, object(), {1, 2}, b"bytes"])
def test_what_json_cannot_hold_is_refused(value: object) -> None:
    """No value changes silently on the way."""
    with pytest.raises(InvalidInputError, match=r"^a: "):
        to_struct({"a": value})
