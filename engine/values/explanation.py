"""Explanations: why a search finds an item, as requests and as results."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass

from crossview.engine.values.errors import InvalidInputError
from crossview.engine.values.item import let_one_be_several
from crossview.engine.values.query import SearchRequest

MOST = 100
"""Maximum number of items, and of parts, of one explanation."""


@dataclass(frozen=True)
class ExplainRequest:
    """A search by one query, and the items whose place in its lists is explained."""

    search: SearchRequest
    """A search for the nearest items, or by weighted notions, with one query."""
    _: KW_ONLY
    keys: Sequence[str] = ()
    """Keys of items, at most 100, found or not [default: the first ``hits`` of each list]."""
    hits: int = 3
    """Number of hits of each list to explain, 1 to 100, if there are no ``keys``."""
    parts: int = 10
    """Maximum number of agreeing parts of each view, 0 to 100."""

    def __post_init__(self) -> None:
        let_one_be_several(self, "keys")
        if len(self.keys) > MOST:
            raise InvalidInputError(f"one request explains at most {MOST} items, not {len(self.keys):,}: send fewer")
        for name, least, number in (("hits", 1, self.hits), ("parts", 0, self.parts)):
            if not least <= number <= MOST:
                raise InvalidInputError(f"{name} of an explanation must be from {least} to {MOST}, not {number:,}")


@dataclass(frozen=True, kw_only=True)
class Contribution:
    """The contribution of one query view and one target to the place of an item."""

    view: str
    """The query view."""
    target: str
    distance: float | None = None
    """As in hits; that of a near copy is below the distances of all other items. None if the target lacks the item."""
    rank: int | None = None
    """1 + the number of items of the target that the search may find and that are nearer."""
    items: int
    """Number of items of the target that the search may find."""
    match: float | None = None
    """Calibrated match in this target alone; None without a calibration."""
    copy: bool = False
    """Whether the item is a near copy of the query, which has match 1 and the first ranks."""
    contribution: float = 0.0
    """In the unit of ``Explanation.measure``; 0 for a target that does not count in the list."""
    differing_bits: tuple[int, ...] | None = None
    """Positions of the bits in which the codes of query and item differ, from 0; None for float vectors."""
    bits: int = 0
    """Number of bits of a code; 0 for float vectors."""


@dataclass(frozen=True, kw_only=True)
class Place:
    """A key point in a picture, in shares of the picture, so that it fits pictures of any size."""

    x: float
    y: float
    size: float
    """Diameter, as a share of the longest side."""


@dataclass(frozen=True, kw_only=True)
class AgreeingPart:
    """A part of two rows, such as a colour, a visual word, a place of the picture, or a word of two texts."""

    name: str
    query: float
    """Share of the query's row that the part has."""
    item: float
    """Share of the item's row that the part has."""
    agreement: float
    """Sum of the smaller of both shares over the columns of the part."""
    squared_distance: float | None = None
    """The contribution of the part to the squared distance in the space ``raw``; None in other spaces."""
    color: str = ""
    """The colour that the part stands for, as in #a0b0c0; "" for no colour."""
    box: tuple[float, ...] = ()
    """The place that the part stands for: left, top, right, bottom, as shares of the picture; () for no place."""
    query_places: tuple[Place, ...] = ()
    """Key points of the part in the picture of the query, the largest first, at most 20."""
    item_places: tuple[Place, ...] = ()
    """Key points of the part in the thumbnail of the item, at most 20."""


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """The parts that agree most in the rows of one view, before a space projects them."""

    view: str
    """A view, or a part of a joined view."""
    agreement: float
    """Sum over all parts: from 0, nothing in common, to 1, equal shares (histogram intersection)."""
    parts: tuple[AgreeingPart, ...]
    """The parts that agree most, first."""
    other_squared_distance: float | None = None
    """The sum of the omitted parts in the squared distance in the space ``raw``; None in other spaces."""


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """Why an item has its place in one list of a search; the contributions add up to ``total``.

    A list of a target that lacks the item has no explanation.
    """

    key: str
    target: str
    """The target of the list; "" for a merged list, and the weights of notions for theirs."""
    rank: int | None
    """Rank among the hits of the list, from 1; None if the item is not among them."""
    measure: str
    """The meaning of ``total``: ``match``, the logit of the hit's match; ``distance``, its squared distance; or
    ``score``, the weighted mean of its scores in several targets, which orders their list."""
    total: float
    """The match is 1 / (1 + exp(-total)). Matches 0 and 1 have the logits -800 and 800."""
    contributions: tuple[Contribution, ...]
    """One for each query view and each target that the search compares it with."""
    agreements: tuple[Agreement, ...] = ()
    """One for each view that describes the query and the item, and that the search compares with itself."""

    def shares(self) -> tuple[float, ...]:
        """Return the share of each contribution, (n,), with its sign; the shares without signs sum to 1."""
        whole = sum(abs(part.contribution) for part in self.contributions) or 1.0
        return tuple(part.contribution / whole for part in self.contributions)
