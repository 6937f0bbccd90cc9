"""Pages differ by the Jaccard distances of their links and images."""

from hypothesis import given
from hypothesis import strategies as st

from crossview.engine.findings.changes.decision import jaccard, source_distances
from crossview.features.page import Page

SETS = st.frozensets(st.sampled_from("abcdef"))


@given(SETS, SETS, SETS)
def test_jaccard_is_a_metric(one: frozenset[str], other: frozenset[str], third: frozenset[str]) -> None:
    assert (jaccard(one, other) == 0) == (one == other)
    assert jaccard(one, other) == jaccard(other, one)
    assert jaccard(one, other) <= jaccard(one, third) + jaccard(third, other) + 1e-12
    assert jaccard(one, other) <= 1


def test_distances_are_those_of_links_and_of_images() -> None:
    assert source_distances(Page((1, 2, 3), (9,)), Page((2, 3, 4), (9,))) == (0.5, 0.0)
