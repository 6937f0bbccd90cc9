"""Hits: the results of a search."""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Self

from crossview.engine.values.errors import NotReadyError
from crossview.engine.values.markup import Markup, element, markup
from crossview.engine.values.notebook import LISTS, SHOWN, Pictures, more_of, shown, tile

if TYPE_CHECKING:
    from crossview.features.base import QueryWords

UNLIKELY = 0.5
"""The match below which a hit is more likely irrelevant."""
TEXT_SHOWN = 200
"""Maximum number of characters of an item's text in a hit."""
Thumbnail = Callable[[str], bytes]
"""A function that returns the thumbnail (JPEG) of an item by its key."""


@dataclass(frozen=True, kw_only=True)
class Hit:
    """One item that a search found for a query; a smaller distance is better."""

    key: str
    distance: float
    """Distance in the target's space: Euclidean (not squared), or the number of differing bits; 0 without a query."""
    target: str
    labels: tuple[str, ...] = ()
    attributes: Mapping[str, Any] = field(default_factory=dict)
    text: str = ""
    """The beginning of the item's text, at most 200 characters."""
    source: str = ""
    """Absolute path of the item's file; "" if there is none."""
    missing: bool = False
    """Whether the file was missing at the last search of its folder; such items are hits only on request."""
    scores: Mapping[str, float] = field(default_factory=dict)
    """The item's score on each axis of the space, in standard deviations from the mean of the training items."""
    match: float | None = None
    """Calibrated probability that the item is relevant to the query: that they share a label or, in a space without
    labels, that the item is the query's own; None if the space has no calibration."""
    similarity: float | None = None
    """In a fused list without matches: the share of pairs of items drawn by chance that are less alike than the query
    and the item, 0 to 1; None in other lists, and in one that ranks make."""
    targets: tuple[str, ...] = ()
    """In a fused list: the targets that have the item among the nearest twentieth of the items that the search may
    find, and the target in which it is best; empty in other lists."""
    probability: float | None = None
    """Probability that the item is the same as the query, given the base rate; None if not requested."""
    base_rate: float | None = None
    """Base rate behind the probability: the share of all pairs that are the same; None without a probability."""
    stored: ClassVar[Hashable] = None
    """Not a field: a key that hits share if they differ only in distance and target, so that a server encodes their
    common content once; None if unknown."""


@dataclass(frozen=True)
class HitList:
    """The hits of one query in one target, nearest first: a sequence that a notebook shows with thumbnails."""

    query: int
    """Position of the query in the request."""
    target: str
    """Name of the target; the way and the targets of a fused list, as in ``match of color, sift``; "" for a list that
    is merged by distance."""
    hits: tuple[Hit, ...]
    words: "QueryWords | None" = None
    """The words of a query by text that the view knows, and the others; None for other queries, and for a view that
    does not compare words."""
    total: int | None = None
    """Number of hits of the whole list, of which these are a page; None if they are not."""
    is_doubtful: bool = False
    """Whether nothing may fit the query: no hit has a match of at least one half or, in a fused list without matches,
    the nearest items resemble it no more than chance would have it."""

    def __len__(self) -> int:
        return len(self.hits)

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    def __getitem__(self, place: int) -> Hit:
        return self.hits[place]

    def __getstate__(
        self,
    ) -> dict[str, Any]:  # without the function of ``illustrated``, which refers to an open collection
        return {attribute.name: getattr(self, attribute.name) for attribute in fields(self)}

    def illustrated(self, thumbnail: Thumbnail) -> Self:
        """Return the same list with the function that reads thumbnails for notebooks."""
        hit_list = replace(self)
        vars(hit_list)["_thumbnail"] = thumbnail
        return hit_list

    def to_pandas(self) -> Any:
        """Return a DataFrame with a row for each hit and a column for each attribute (``attributes.NAME``) and score.

        Raises NotReadyError if pandas is not installed.
        """
        try:
            pandas = import_module("pandas")
        except ImportError as error:
            raise NotReadyError("a table of hits needs pandas: install it with: pip install pandas") from error
        return pandas.DataFrame([_row(hit) for hit in self.hits])

    @shown
    def _repr_html_(self) -> Markup:
        """Return the first hits as pictures for notebooks; content of users is escaped."""
        return _html([self])


class HitLists(list[HitList]):
    """The lists of a search: a list that a notebook shows with thumbnails."""

    @shown
    def _repr_html_(self) -> Markup:
        return _html(self)


def _row(hit: Hit) -> dict[str, Any]:
    """Return the cells of a hit by column name."""
    row = {part.name: getattr(hit, part.name) for part in fields(hit) if part.name not in ("attributes", "scores")}
    row |= {f"attributes.{name}": value for name, value in hit.attributes.items()}
    return row | {f"scores.{name}": value for name, value in hit.scores.items()}


def _html(lists: Sequence[HitList]) -> Markup:
    """Return lists of hits as rows of pictures."""
    pictures = Pictures(vars(lists[0]).get("_thumbnail") if lists else None)
    return markup([_html_list(hit_list, pictures) for hit_list in lists[:LISTS]], more_of(len(lists) - LISTS, "lists"))


def _html_list(hit_list: HitList, pictures: Pictures) -> Markup:
    where = f" in {hit_list.target}" if hit_list.target else ""
    tiles = [_html_hit(hit, pictures) for hit in hit_list.hits[:SHOWN]]
    head = element("h4", f"{len(hit_list.hits):,} hits for query {hit_list.query}{where}")
    return markup(head, element("div", tiles, class_="tiles"), more_of(len(hit_list.hits) - SHOWN, "hits"))


def _html_hit(hit: Hit, pictures: Pictures) -> Markup:
    match, bar = "", None
    if hit.match is not None:
        match = f"match {hit.match:.2f}, "
        bar = element("span", element("i", style=f"width:{min(max(100 * hit.match, 0), 100):.0f}%"), class_="bar")
    number = f"{hit.distance:.4g}" if hit.similarity is None else f"similarity {hit.similarity:.4f}"
    figures = [bar, element("span", f"{match}{number}")]
    return tile(pictures.of(hit.key), hit.key, hit.labels, hit.text, figures)
