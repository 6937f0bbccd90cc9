"""Strips: a query and its hits, or a picture and those beside it, which sheets and pages show."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass


@dataclass(frozen=True)
class Tile:
    """A picture of a sheet with its caption."""

    picture: bytes | None
    """Encoded picture; None for an empty tile."""
    label: str = ""
    """Class label."""
    _: KW_ONLY
    name: str = ""
    """Name of the file."""
    key: str = ""
    """Key of the item, which a page shows on hovering."""
    match: float | None = None
    distance: float | None = None
    correct: bool | None = None
    """Whether a hit is relevant to the query: True marks it green with a tick, False red with a cross, None not."""
    text: str = ""
    """Text to show if the tile has no picture."""
    note: str = ""
    """Further words, instead of match and distance."""

    @property
    def figures(self) -> str:
        """The note, or the match and the distance of a hit; a tile without a match shows the distance alone."""
        distance = _number(self.distance)
        return self.note or (distance if self.match is None else f"match {self.match:.2f}, {distance}")


@dataclass(frozen=True)
class Strip:
    """A row of a sheet: a query and its hits, the nearest first."""

    title: str
    """Title with the query and the target, such as "color query -> sift database"."""
    query: Tile
    hits: Sequence[Tile]
    badge: str = "query"
    """The word in the picture on the left."""

    @property
    def tally(self) -> str:
        """The number of marked hits that are right, in words; "" if no hit is marked."""
        known = [hit.correct for hit in self.hits if hit.correct is not None]
        return f"{sum(known)} of {len(known)} right" if known else ""


def _number(distance: float | None) -> str:
    if distance is None:
        return ""
    return f"{distance:,.0f}" if distance >= 1000 else f"{distance:.4g}"
