"""The view of edges keeps the contract of extractors."""

from crossview_edges import Edges

from crossview.extractors import check_extractor


def test_the_contract() -> None:
    """By default, and with other parameters."""
    check_extractor(Edges)
    check_extractor(Edges(grid=1, directions=3))
