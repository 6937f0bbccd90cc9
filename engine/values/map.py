"""Maps of spaces: requests for them, their descriptions and their points."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from crossview.engine.values.conditions.filter import EVERY_ITEM, Filter
from crossview.engine.values.errors import InvalidInputError, NotFoundError

METHODS = ("pca", "tsne")
POINTS_A_PAGE = 10_000
"""Maximum number of points of a page."""


@dataclass(frozen=True, kw_only=True)
class MapRequest:
    """The options of a map: the items to show, and how to place them in a plane."""

    space: str = ""
    """The space [default: "", the active space]."""
    view: str = ""
    """The view whose rows place the items [default: "", the view of the space that most items have]."""
    target: str = ""
    """The target in whose vectors the items are compared [default: "", the view itself]."""
    filter: Filter = EVERY_ITEM
    """The condition that the items fulfil."""
    method: str = ""
    """``pca``, the plane of the largest variance, or ``tsne``, which keeps neighbours together [default: "", ``tsne``
    if openTSNE is installed, otherwise ``pca``]."""
    seed: int = 0
    """Determines the map, for equal vectors and equal versions of the libraries."""
    renew: bool = False
    """Whether to compute the map again, although there is one."""

    def __post_init__(self) -> None:
        """Raise InvalidInputError for an unknown method or a negative seed."""
        if self.method not in ("", *METHODS):
            raise InvalidInputError(f"the method of a map is {' or '.join(METHODS)}, not {self.method!r}")
        if not 0 <= self.seed < 2**32:
            raise InvalidInputError(f"the seed of a map is a number from 0 to 4,294,967,295, not {self.seed}")


@dataclass(frozen=True, kw_only=True)
class MapInfo:
    """A map: the places of the items of one generation of a space, at the time of its computation."""

    id: int
    space: str
    generation: int
    """Generation of the space; for the raw space, the revision of the view."""
    view: str
    target: str
    method: str
    where: str
    """The condition that the items fulfilled; empty for all items."""
    created: str
    """Time of creation, ISO 8601 in UTC."""
    seed: int
    items: int
    """Number of items that were placed."""
    missing: int
    """Number of items that fulfil the condition and have the view today, but came after the map: they have no place."""
    left: float
    right: float
    bottom: float
    top: float
    """The bounds of the points."""
    recall: float | None
    """Share of the 10 nearest neighbours in the space that are among the 10 nearest in the plane, as mean over a sample
    of items; None for fewer than 4 items."""
    trustworthiness: float | None
    """1 if all nearest neighbours in the plane are nearest neighbours in the space, lower by the ranks of the others
    (Venna and Kaski, 2001), over the same sample."""
    neighbors: int
    """Number of neighbours that these figures compare: 10, fewer for fewer than 21 items."""
    measured: int
    """Number of items of the sample."""
    explained: float | None
    """With ``pca``: share of the variance that the plane explains."""
    seconds: float
    """Time of the computation."""


@dataclass(frozen=True, kw_only=True, eq=False)
class MapPoints:
    """A page of the points of a map, in the order in which the items were added."""

    keys: tuple[str, ...]
    points: NDArray[np.float32]
    """(n, 2): x to the right, y upwards."""
    values: tuple[Any, ...]
    """The value of the field of each item, the first of several; None without one."""
    after: int
    """For the next page; 0 on the last page."""


_Map = TypeVar("_Map")


def known_map(maps: Mapping[int, _Map], number: int) -> _Map:
    """Return the map with an id; NotFoundError, which lists the existing ones, for an unknown id."""
    if number not in maps:
        raise NotFoundError(f"there is no map {number}; there are: {', '.join(map(str, maps)) or 'none'}")
    return maps[number]
