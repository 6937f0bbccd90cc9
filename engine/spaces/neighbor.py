"""Neighbours of queries: hits before their content is read."""

from typing import NamedTuple


class Neighbor(NamedTuple):
    """An item near a query, by its id."""

    item: int
    distance: float
