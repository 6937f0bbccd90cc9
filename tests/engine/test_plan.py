"""Plans grow with their data, choose what auto chooses, and refuse impossible requests."""

import pytest

from crossview.engine.values.errors import InvalidInputError
from crossview.engine.values.plan import MANY, planned, suitable_kind


@pytest.mark.parametrize(
    ("count", "available", "kind"),
    [(MANY - 1, 0, "flat"), (MANY, None, "ivf"), (10**6, 2 * 4 * 64 * 10**6 + 2, "ivf"), (10**6, 10**6, "scan")],
)
def test_the_size_and_the_memory_decide(count, available, kind):
    assert suitable_kind(count, 64, available) == kind
    (chosen,) = [one for one in planned(count, {"a": 64}, available).indexes if one.suits]
    assert (chosen.kind, chosen.vectors) == (kind, "float32")


def test_more_items_take_more_of_everything():
    small, large = (planned(count, {"a": 64, "b": 32}, None) for count in (10**6, 10**7))
    assert large.catalog > small.catalog
    assert large.load_seconds > small.load_seconds
    for one, other in zip(small.indexes, large.indexes, strict=True):
        assert (one.view, one.kind, one.vectors) == (other.view, other.kind, other.vectors)
        assert other.memory > one.memory
        assert other.disk > one.disk
        assert other.build_seconds > one.build_seconds
        assert other.search_ms >= one.search_ms


def test_half_floats_take_about_half_of_the_memory_and_codes_a_sixteenth():
    found = {(one.kind, one.vectors): one.memory for one in planned(10**7, {"a": 64}, None).indexes}
    assert 0.5 < found["ivf", "float16"] / found["ivf", "float32"] < 0.55
    assert found["scan", "float32"] / (10**7 * 64 * 4) == 1 / 16


def test_a_note_says_what_does_not_fit():
    assert not planned(10**6, {"a": 64}, 10**9).notes
    assert "more memory than the 1,000,000 bytes" in planned(10**6, {"a": 64}, 10**6).notes[0]


@pytest.mark.parametrize(("items", "widths"), [(0, {"a": 1}), (1, {}), (1, {"a": 0})])
def test_nothing_is_not_planned(items, widths):
    with pytest.raises(InvalidInputError, match="a plan needs items and views"):
        planned(items, widths, None)
