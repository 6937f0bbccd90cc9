"""A neighbour of a query, before it is a hit."""

from typing import NamedTuple


class Neighbor(NamedTuple):
    """An item near a query."""

    item: int
    distance: float
