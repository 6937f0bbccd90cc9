"""Quadruplets from time: the sets A and B of equations (18) and (19), gaps, and omitted pairs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crossview.engine.findings.changes.monotony import Monotony, monotony

Quadruplet = tuple[int, int, int, int]


def told(known: Monotony) -> dict[Quadruplet, float]:
    """Return the quadruplets and their margins."""
    near, far = known.pairs[known.near], known.pairs[known.far]
    items = np.hstack([near, far]).tolist()
    return {(a, b, c, d): margin for (a, b, c, d), margin in zip(items, known.margins.tolist(), strict=True)}


def by_definition(count: int, period: int = 4) -> dict[Quadruplet, float]:
    """Return the quadruplets with r >= t - 6, s <= t + 7, r <= t < s; the margin is 1 if s >= r + gamma."""
    return {
        (t, t + 1, r, s): float(s - r >= period)
        for t in range(count - 1)
        for r in range(max(t - 6, 0), t + 1)
        for s in range(t + 1, min(t + 7, count - 1) + 1)
        if (r, s) != (t, t + 1)
    }


@pytest.mark.parametrize("count", [1, 2, 3, 9, 20])
def test_of_hourly_versions_they_are_those_of_the_paper(count: int) -> None:
    assert told(monotony(np.arange(float(count)))) == by_definition(count)


@given(st.floats(1e-3, 1e4), st.integers(2, 15))
def test_the_unit_of_time_does_not_matter(unit: float, count: int) -> None:
    assert told(monotony(unit * np.arange(float(count)), unit * 4)) == by_definition(count)


def test_nothing_is_assumed_of_versions_a_period_apart() -> None:
    """A night without visits: its two versions are not successive, and pairs across it are still far."""
    known = monotony(np.array([0.0, 1, 2, 12, 13, 14]))
    assert known.gaps == 1
    assert not any(near == (2, 3) for *near_, _, _ in told(known) for near in [tuple(near_)])


def test_a_visit_that_is_late_by_minutes_counts_as_in_time() -> None:
    late = np.arange(12.0) + np.where(np.arange(12) % 2, 0.01, 0)
    assert told(monotony(late)) == by_definition(12)


def test_triplets_are_the_quadruplets_of_a_with_a_version_in_common() -> None:
    found = told(monotony(np.arange(12.0)).triplets())
    everything = told(monotony(np.arange(12.0)))
    assert found == {
        (a, b, c, d): margin for (a, b, c, d), margin in everything.items() if margin and (a == c or b == d)
    }


@pytest.mark.parametrize("times", [[0.0, 0.0], [1.0, 0.0]])
def test_times_must_ascend(times: list[float]) -> None:
    with pytest.raises(ValueError, match="must ascend"):
        monotony(np.array(times))


def test_a_period_must_be_positive() -> None:
    with pytest.raises(ValueError, match="positive"):
        monotony(np.arange(3.0), 0.0)
