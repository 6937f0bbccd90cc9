"""Searches: queries, filters, the requests that hold them, and what is found: hits, suggested labels, embeddings."""

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Required, Unpack

import numpy as np
from numpy.typing import NDArray

from crossview.engine.condition import EVERY_ITEM, Filter
from crossview.engine.errors import InvalidInputError
from crossview.engine.hits import Hit as Hit
from crossview.engine.hits import HitList as HitList
from crossview.engine.item import Encoded, PictureForm, let_one_be_several
from crossview.engine.strategy import Nearest, Strategy, StrategyOptions, strategy_of

if TYPE_CHECKING:
    from crossview.engine.comparisons import ItemComparisons
    from crossview.engine.recipe import Grouping

INPUTS = ("image", "text", "vector", "key", "label")
"""The kinds of input that a query can have."""
AMOUNT = 2.0
"""Default distance, in standard deviations, by which a query moves: on photographs of eight scenes, the least of 1,
1.5, 2 and 3 for which the first 20 hits have more of each attribute for four queries of five."""


@dataclass(frozen=True)
class Query:
    """One query: exactly one of ``image``, ``text``, ``vector``, ``key`` and ``label``, described by ``view``.

    It has none of them in a request that sorts by a score, which then lists items.
    """

    view: str
    """The query view: how the input is described before it is projected."""
    _: KW_ONLY
    image: Encoded = Encoded()
    """A picture: the path or the bytes of its file (JPEG, PNG, WebP, TIFF, BMP, GIF), an image of Pillow, or an array,
    (height, width, 3) in red, green and blue or (height, width) in grey, of uint8. It is read at
    once; InvalidInputError if it cannot be read."""
    vector: NDArray[np.float32] | Sequence[float] | None = None
    """A raw feature row of the query view, shape (d,)."""
    key: str | None = None
    """An item of the collection; its stored row is the query, and it is left out of its own hits."""
    text: str | None = None
    """Words, for a view that is computed from texts."""
    label: str | None = None
    """A class, in a space of attributes. The query is the mean of its training items or, for a class without items, its
    place according to its orderings."""

    def inputs(self) -> tuple[str, ...]:
        """Return which kinds of input are given."""
        given = self.image, self.text, self.vector, self.key, self.label
        return tuple([name for name, value in zip(INPUTS, given, strict=True) if value is not None])


@dataclass(frozen=True, init=False)
class SearchRequest:
    """Queries, and where and how they are matched."""

    queries: Sequence[Query]
    strategy: Strategy
    """How items are found; its options may be given in its place, such as ``targets`` or ``more``."""
    k: int = 10
    """Hits in each list; fewer are found where there are no more."""
    space: str = ""
    """Empty: the active space. ``raw``, the views themselves, is in every collection."""
    filter: Filter = EVERY_ITEM
    """Conditions on hits; bounds of scores may be given beside it, as ``at_least`` and ``at_most``."""

    def __init__(
        self,
        queries: Sequence[Query],
        strategy: Strategy | None = None,
        *,
        k: int = 10,
        space: str = "",
        filter: Filter = EVERY_ITEM,
        at_least: Mapping[str, float] | None = None,
        at_most: Mapping[str, float] | None = None,
        **options: Unpack[StrategyOptions],
    ) -> None:
        """State a search, by a strategy or by options of one; options beside a strategy replace its own.

        Raises InvalidInputError for options of different strategies, such as ``weights`` and ``more``.
        """
        if strategy is None and not options:
            strategy = Nearest()
        elif strategy is None or options:
            given = {**({} if strategy is None else vars(strategy)), **options}
            has_input = not given.get("sort_by") or any(query.inputs() for query in queries)
            strategy = strategy_of(given, has_input)
        chosen = filter.within(at_least, at_most)
        vars(self).update(queries=queries, strategy=strategy, k=k, space=space, filter=chosen)

    @property
    def axes(self) -> tuple[str, ...]:
        """The axes that are named, each once."""
        return tuple(dict.fromkeys([*self.strategy.axes, *self.filter.axes]))


class OneQuery(StrategyOptions, total=False):
    """A search by one query, as ``search`` takes it without a request: the fields of both, by name."""

    view: Required[str]
    image: PictureForm
    text: str
    vector: NDArray[np.float32] | Sequence[float]
    key: str
    label: str
    k: int
    space: str
    filter: Filter
    at_least: Mapping[str, float]
    at_most: Mapping[str, float]


def request_of(request: SearchRequest | None, given: OneQuery | None) -> SearchRequest:
    """Return the search that is stated by a request, or by the arguments of one query.

    Raises InvalidInputError for both or none of them, an argument that a search does not have, and what SearchRequest
    refuses.
    """
    if given and request is not None:
        raise InvalidInputError(f"the request states the whole search: leave out {', '.join(given)}, or the request")
    if request is not None:
        return request
    known = {**OneQuery.__annotations__, **StrategyOptions.__annotations__}
    if unknown := [name for name in given or () if name not in known]:
        raise InvalidInputError(f"a search has no argument {unknown[0]!r}; there are: {', '.join(sorted(known))}")
    if given is None or "view" not in given:
        raise InvalidInputError("a search needs a SearchRequest, or a view and a query, such as view='color', key='a'")
    query = {name: value for name, value in given.items() if name in ("view", *INPUTS)}
    others = {name: value for name, value in given.items() if name not in query}
    return SearchRequest([Query(**query)], **others)  # type: ignore[arg-type]  # what mypy has checked in the caller


@dataclass(frozen=True, kw_only=True)
class CalibrationRequest:
    """The pairs from which to learn the distance up to which two items are the same."""

    view: str
    """The view that the first item of a pair is described by."""
    target: str = ""
    """The target of the second item; "": the view itself."""
    space: str = ""
    """Empty: the active space."""
    pairs: "ItemComparisons | None" = None
    """Which items are the same, and which are not; None: those that share a label are."""
    refit: bool = False
    """Whether to fit the learner again without each fold of the items, so that the pairs of a fold measure distances of
    unseen items; otherwise the distances are those of the space as it is."""
    group_by: "Grouping | None" = None
    """With ``refit``: groups of items that stay in one fold; None: the groups of the space's training."""

    def __post_init__(self) -> None:
        if self.group_by is not None and not self.refit:
            raise InvalidInputError("groups of items are those of a refit: ask for `refit=True` as well")


def calibration_step(space: str, view: str, target: str) -> str:
    """Return the call that calibrates a place in a space, for messages."""
    named = {"space": space, "view": view} | ({} if target == view else {"target": target})
    arguments = ", ".join(f"{name}={one!r}" for name, one in named.items())
    return f"`collection.spaces.calibrate(CalibrationRequest({arguments}))`"


@dataclass(frozen=True)
class SameRequest:
    """Pairs of queries that are the same, or different."""

    pairs: Sequence[tuple[Query, Query]]
    """The first of a pair is matched against the second, as against an item that a search finds."""
    _: KW_ONLY
    target: str = ""
    """The metric of the second one's view; "": the only one that there is."""
    space: str = ""
    """Empty: the active space."""
    base_rate: float = 0.5
    """The share of such pairs that are the same, above 0 and below 1: by default as many as not."""


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """Whether two queries are the same."""

    same: bool
    """Whether their distance is at most the threshold."""
    distance: float
    threshold: float
    probability: float
    """Probability that both are the same, by the base rate of the request."""


@dataclass(frozen=True)
class SuggestRequest:
    """Queries that labels are suggested for, and which items vote on them."""

    queries: Sequence[Query]
    _: KW_ONLY
    targets: Sequence[str] = ()
    """The targets to match the queries against, as in a search."""
    k: int = 10
    """Labelled items that vote in each target."""
    space: str = ""
    """Empty: the active space."""
    min_share: float = 0.5
    """A label is suggested if its share is at least this: by default, if it is at least as probably right as wrong."""

    def __post_init__(self) -> None:
        let_one_be_several(self, "targets")


@dataclass(frozen=True)
class LabelShare:
    """A label that some of the voters have."""

    label: str
    share: float
    """The probability that it is right, calibrated on items that the space was not trained on."""
    votes: float
    """The share of the voters that have it."""


@dataclass(frozen=True)
class LikeliestClass:
    """The class that a query is likeliest of, by its scores of attributes."""

    label: str
    share: float
    """Its share of the densities of all classes where the scores lie; not calibrated."""
    described: bool
    """Whether orderings alone describe it: no item that the space learned from is of it."""


@dataclass(frozen=True)
class SuggestedLabels:
    """The labels of one query, the most probable first."""

    query: int
    """Position of the query in the request."""
    labels: tuple[LabelShare, ...]
    """The suggested labels; empty if none is probable enough."""
    others: tuple[LabelShare, ...] = ()
    """Labels with too few votes."""
    known: tuple[str, ...] = ()
    """The item's own labels, for a query by key; the item does not vote on itself."""
    likeliest: LikeliestClass | None = None
    """The likeliest of all classes, in a space of attributes with classes that only orderings describe, for which no
    item can vote. None in other spaces."""


@dataclass(frozen=True)
class Suggestions:
    """The labels of every query."""

    results: tuple[SuggestedLabels, ...]
    """Query by query."""
    calibration: str
    """The items that the shares were calibrated on, in a sentence for each view."""


@dataclass(frozen=True)
class Embedding:
    """The vector or code of one query in a space, to be matched against one target."""

    query: int
    """Position of the query in the request."""
    target: str
    vector: NDArray[np.float32] | NDArray[np.uint8]
    """Shape (D,); a code's bits packed as by ``np.packbits``, shape (ceil(bits / 8),)."""
    bits: int = 0
    """Number of bits of a code; 0 for a float vector."""


@dataclass(frozen=True, eq=False, kw_only=True)
class ItemEmbeddings:
    """A page of items that have a view, and what a space makes of their rows."""

    space: str
    generation: int
    keys: tuple[str, ...]
    """In ascending order."""
    vectors: NDArray[np.float32] | NDArray[np.uint8]
    """Shape (n, D), n may be 0; codes packed as by ``np.packbits``, shape (n, ceil(bits / 8))."""
    bits: int = 0
    """Number of bits of a code; 0 for float vectors."""
    after: str = ""
    """The next page has the items after this key; "" on the last page."""
