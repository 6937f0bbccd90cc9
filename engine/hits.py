"""Hits: the results of a search."""

import base64
import html
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from importlib import import_module
from typing import Any, ClassVar, Self

from crossview.engine.errors import CrossviewError, NotReadyError
from crossview.features.base import QueryWords

TEXT_SHOWN = 200
"""Maximum number of characters of an item's text in a hit."""
_DRAWN = 50
"""Maximum number of hits that a notebook shows; a longer table with thumbnails is slow to load."""
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
    words: QueryWords | None = None
    """The words of a query by text that the view knows, and the others; None for other queries, and for a view that
    does not compare words."""
    total: int | None = None
    """Number of hits of the whole list, of which these are a page; None if they are not."""

    def __len__(self) -> int:
        return len(self.hits)

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    def __getitem__(self, place: int) -> Hit:
        return self.hits[place]

    def __getstate__(
        self,
    ) -> dict[str, Any]:  # without the function of ``illustrated``, which refers to an open collection
        return {one.name: getattr(self, one.name) for one in fields(self)}

    def illustrated(self, thumbnail: Thumbnail) -> Self:
        """Return the same list with the function that reads thumbnails for notebooks."""
        made = replace(self)
        vars(made)["_thumbnail"] = thumbnail
        return made

    def to_pandas(self) -> Any:
        """Return a DataFrame with a row for each hit and a column for each attribute (``attributes.NAME``) and score.

        Raises NotReadyError if pandas is not installed.
        """
        try:
            pandas = import_module("pandas")
        except ImportError as error:
            raise NotReadyError("a table of hits needs pandas: install it with: pip install pandas") from error
        return pandas.DataFrame([_row(hit) for hit in self.hits])

    def _repr_html_(self) -> str:
        """Return the first hits as an HTML table for notebooks; content of users is escaped."""
        head = f"{len(self.hits)} hits for query {self.query}" + (f" in {self.target}" if self.target else "")
        rows = "".join(map(self._html_row, self.hits[:_DRAWN]))
        more = f"<p>and {len(self.hits) - _DRAWN} more</p>" if len(self.hits) > _DRAWN else ""
        columns = "".join(f"<th>{name}</th>" for name in ("", "match", "key", "distance", "labels", "text"))
        return f"<p>{html.escape(head)}</p><table><tr>{columns}</tr>{rows}</table>{more}"

    def _html_row(self, hit: Hit) -> str:
        match = "" if hit.match is None else f"{hit.match:.2f}"
        cells = match, hit.key, f"{hit.distance:.4g}", ", ".join(hit.labels), hit.text
        return f"<tr><td>{self._picture(hit.key)}</td>{''.join(f'<td>{html.escape(one)}</td>' for one in cells)}</tr>"

    def _picture(self, key: str) -> str:
        """Return the image element of an item; "" without a thumbnail, or if the collection is closed or deleted."""
        data, thumbnail = b"", vars(self).get("_thumbnail")
        if thumbnail is not None:
            with suppress(CrossviewError):
                data = thumbnail(key)
        return f'<img src="data:image/jpeg;base64,{base64.b64encode(data).decode()}" alt="">' if data else ""


def _row(hit: Hit) -> dict[str, Any]:
    """Return the cells of a hit by column name."""
    row = {one.name: getattr(hit, one.name) for one in fields(hit) if one.name not in ("attributes", "scores")}
    row |= {f"attributes.{name}": value for name, value in hit.attributes.items()}
    return row | {f"scores.{name}": value for name, value in hit.scores.items()}
