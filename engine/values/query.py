"""Searches: queries, filters and requests; and their results: hits, suggested labels, verdicts, embeddings."""

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, InitVar, dataclass, field
from typing import TYPE_CHECKING, TypedDict

from crossview.engine.values.conditions.filter import AnyFilter, FilterForm, field_of
from crossview.engine.values.conditions.tree import Condition, FieldTest, all_of
from crossview.engine.values.errors import Argument, Call, InvalidInputError, call
from crossview.engine.values.hits import Hit as Hit
from crossview.engine.values.hits import HitList as HitList
from crossview.engine.values.index_choice import EXACT
from crossview.engine.values.item import Encoded, PictureForm, let_one_be_several
from crossview.engine.values.strategy import OPTIONS, Strategy, StrategyOptions, strategy_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from crossview.engine.values.comparisons import ItemComparisons
    from crossview.engine.values.recipe import Grouping

INPUTS = ("image", "text", "vector", "key", "label")
"""The kinds of input that a query can have."""
HITS_A_PAGE = 1_000
"""Default number of hits of a page of a search."""
AMOUNT = 2.0
"""Default distance, in standard deviations, by which a query moves. On photographs of eight scenes, it is the smallest
of 1, 1.5, 2 and 3 for which the first 20 hits have more of the attribute for four of five queries."""


@dataclass(frozen=True)
class Query:
    """One query: exactly one of ``image``, ``text``, ``vector``, ``key`` and ``label``, described by ``view``.

    A query without any of these is valid only in a request that sorts by a score, which then lists items, and in one
    that goes on from ``feedback``, whose judgements then count in its view.
    """

    view: str = ""
    """The query view, which describes the input before the space projects it [default: "", every view of the space that
    the picture, text or item has; the mean of their matches orders one list]."""
    _: KW_ONLY
    image: Encoded = Encoded()
    """A picture: the path or the bytes of its file (JPEG, PNG, WebP, TIFF, BMP, GIF), an image of Pillow, or an array,
    (height, width, 3) in red, green and blue or (height, width) in grey, of uint8. The constructor reads it,
    and raises InvalidInputError if this fails."""
    vector: "NDArray[np.float32] | Sequence[float] | None" = None
    """A raw feature row of the query view, shape (d,)."""
    key: str | None = None
    """Key of an item of the collection. The stored row of the item is the query, and hits do not contain the item."""
    text: str | None = None
    """A text, for a view that is computed from texts."""
    weight: float = 1.0
    """In a search by examples (``combine``): how much the query counts; below 0, it is a counter-example."""
    label: str | None = None
    """A class, in a space of attributes. The query is the mean of its training items or, for a class without items, the
    position that its orderings give."""

    def inputs(self) -> tuple[str, ...]:
        """Return the kinds of input that the query has."""
        values = self.image, self.text, self.vector, self.key, self.label
        return tuple([name for name, value in zip(INPUTS, values, strict=True) if value is not None])


PER_DUPLICATE = "duplicate"
"""The value of ``per`` that groups copies of a picture."""


@dataclass(frozen=True)
class SearchRequest(StrategyOptions):
    """A search: its queries, the options that determine its strategy, its space and its filter."""

    queries: Sequence[Query]
    by: InitVar[Strategy | None] = None
    """A strategy, instead of its options, such as ``targets`` or ``more``."""
    _: KW_ONLY
    k: int = 10
    """Number of hits in each list. It has fewer if fewer items fulfil the filter and the limits."""
    space: str = ""
    """The space to search [default: "", the active space, or ``raw`` for words that no view of the active one takes].
    Every collection has ``raw``, the views themselves."""
    filter: AnyFilter = AnyFilter()
    """The condition that hits fulfil; a caller can also give it as text. Bounds of scores can stand in it, or beside it
    as ``at_least`` and ``at_most``, and the minimum match as ``match >= .6`` or as ``min_match``."""
    at_least: InitVar[Mapping[str, float] | None] = None
    """Lower bounds of the scores of hits, by axis; they become part of the filter."""
    at_most: InitVar[Mapping[str, float] | None] = None
    """Upper bounds of the scores of hits, as ``at_least``."""
    per: str = ""
    """``label``, ``duplicate`` or an attribute, such as ``album`` or ``camera.model``: of items with a common value,
    each list has only the first ``hits_per`` [default: "", no groups]. Items without a value are in no group. The
    value of ``duplicate`` is common to copies of a picture: equal files, nearly equal fingerprints, and pairs judged
    the same."""
    hits_per: int = 1
    """Maximum number of hits with a common value of ``per``."""
    diversity: float = 0.0
    """How much hits differ from those before, 0 to 1. It is the weight of their distance, beside relevance to the query
    (maximal marginal relevance). The hits are chosen among the first 5 k."""
    include_missing: bool = False
    """Also find items whose files are missing."""
    exact: InitVar[bool] = False
    """Miss no item, as with a recall of 1."""
    recall: float = 0.0
    """The share of the nearest items that a search in an approximate index finds, above 0; 1 is exact [default: 0, the
    recall that the index promises]."""
    strategy: Strategy = field(init=False, repr=False, compare=False)
    """The way to find items, which the options determine."""

    def __post_init__(
        self,
        by: Strategy | None,
        at_least: Mapping[str, float] | None,
        at_most: Mapping[str, float] | None,
        exact: bool,
    ) -> None:
        """Determine the strategy; InvalidInputError for options that contradict, such as ``weights`` and ``more``."""
        plain_filter, match = self.filter.without_match()
        if match and self.min_match:
            raise InvalidInputError("the filter has a minimum match: leave out ", Argument("min_match"))
        if exact and self.recall not in (0.0, EXACT):
            raise InvalidInputError(
                f"an exact search has recall 1, not {self.recall:g}: leave out ",
                Argument("recall"),
                " or ",
                Argument("exact"),
            )
        settled = {"filter": plain_filter.within(at_least, at_most), "recall": EXACT if exact else self.recall}
        vars(self).update(settled, min_match=match or self.min_match)
        strategy = by or strategy_of(self, not self.sort_by or any(query.inputs() for query in self.queries))
        if by and (stated := [name for name, (default, _) in OPTIONS.items() if getattr(self, name) != default]):
            raise InvalidInputError(f"the strategy states its options: leave out {', '.join(stated)}, or the strategy")
        vars(self).update(vars(strategy), strategy=strategy)

    @property
    def named_fields(self) -> Condition:
        """A condition on the stored fields that the filter and the groups name."""
        if not self.per or self.per == PER_DUPLICATE:
            return self.filter.stored
        return all_of([self.filter.stored, FieldTest(field_of(self.per), "exists")])

    @property
    def axes(self) -> tuple[str, ...]:
        """The axes that the strategy and the filter name, each once."""
        return tuple(dict.fromkeys([*self.strategy.axes, *self.filter.axes]))


class RequestOptions(TypedDict, total=False):
    """The options of a search request besides its queries, for type checkers: the fields of ``SearchRequest``."""

    targets: Sequence[str]
    merge: bool | None
    weights: Mapping[str, float]
    more: Mapping[str, float]
    less: Mapping[str, float]
    hold: Sequence[str]
    sort_by: str
    min_match: float
    max_distance: float | None
    probabilities: bool
    base_rate: float | None
    combine: str
    with_examples: bool
    fuse: str
    feedback: str
    k: int
    space: str
    filter: FilterForm
    at_least: Mapping[str, float] | None
    at_most: Mapping[str, float] | None
    per: str
    hits_per: int
    diversity: float
    include_missing: bool
    exact: bool
    recall: float


class OneQuery(RequestOptions, total=False):
    """The arguments of ``search`` for a search by one query: fields of ``Query`` and of ``SearchRequest``."""

    view: str
    image: PictureForm
    text: str
    vector: "NDArray[np.float32] | Sequence[float]"
    key: str
    label: str


def request_of(request: SearchRequest | None, stated: OneQuery | None) -> SearchRequest:
    """Return the given request, or the request that the arguments of one query describe.

    Raises InvalidInputError for both a request and arguments, for neither, for an unknown argument, and for arguments
    that ``SearchRequest`` refuses.
    """
    if stated and request is not None:
        raise InvalidInputError(f"the request states the whole search: leave out {', '.join(stated)}, or the request")
    if request is not None:
        return request
    names = sorted(OneQuery.__annotations__)
    if unknown := [name for name in stated or () if name not in names]:
        raise InvalidInputError(f"a search has no argument {unknown[0]!r}; there are: {', '.join(names)}")
    if stated is None or not stated.keys() & {"view", "feedback", *INPUTS}:
        raise InvalidInputError("a search needs a SearchRequest, or a view and a query, such as view='color', key='a'")
    query = {name: value for name, value in stated.items() if name in ("view", *INPUTS)}
    options = {name: value for name, value in stated.items() if name not in query}
    return SearchRequest([Query(**query)], **options)  # type: ignore[arg-type]  # checked in the caller


def check_size(size: int) -> None:
    """Raise InvalidInputError for a page without hits."""
    if size < 1:
        raise InvalidInputError(f"a page has at least 1 hit, not {size}")


@dataclass(frozen=True, kw_only=True)
class CalibrationRequest:
    """The options of calibration: the threshold to learn, and the pairs to learn it from."""

    view: str = ""
    """The view of the first item of a pair, the query [default: "", the view whose threshold makes fewest errors]."""
    target: str = ""
    """The target of the second item [default: "", the view itself]."""
    space: str = ""
    """The space [default: "", the active space]."""
    pairs: "ItemComparisons | None" = None
    """Pairs of items that are the same or different [default: None, items that share a label are the same]."""
    refit: bool = False
    """Whether to fit the learner again without each fold of the items, so that the pairs of a fold measure distances of
    unseen items; otherwise the distances are those of the space as it is."""
    group_by: "Grouping | None" = None
    """With ``refit``: groups of items that stay in one fold [default: None, the groups of the space's training]."""

    def __post_init__(self) -> None:
        if self.group_by is not None and not self.refit:
            raise InvalidInputError("groups of items need a refit: also use ", Argument("refit", True))


def calibration_step(space: str, view: str, target: str) -> Call:
    """Return the call that calibrates a view and a target of a space, for messages."""
    arguments = {"space": space, "view": view} | ({} if target == view else {"target": target})
    return call("collection.spaces.calibrate", call("CalibrationRequest", **arguments))


@dataclass(frozen=True)
class SameRequest:
    """A verification: pairs of queries, which can be the same or different."""

    pairs: Sequence[tuple[Query, Query]]
    """The pairs. The first query of a pair is the query of a search, and the second is the item that the search
    finds. Pairs without views are compared in the place of the threshold that makes the fewest errors."""
    _: KW_ONLY
    target: str = ""
    """The target of the second query's view [default: "", its only target]."""
    space: str = ""
    """The space [default: "", the active space]."""
    base_rate: float = 0.5
    """The share of such pairs that are the same, above 0 and below 1."""

    @property
    def queries(self) -> list[Query]:
        """The two queries of each pair, one after the other."""
        return [query for pair in self.pairs for query in pair]


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """The answer for one pair of queries."""

    same: bool
    """Whether the distance is at most the threshold."""
    distance: float
    threshold: float
    probability: float
    """Probability that both are the same, given the base rate of the request."""


@dataclass(frozen=True)
class SuggestRequest:
    """A request for suggested labels: the queries, and the items that vote."""

    queries: Sequence[Query]
    """The queries. For one without a view, the first items of one list vote, as a search by every view makes it."""
    _: KW_ONLY
    targets: Sequence[str] = ()
    """The targets to match the queries against, as in a search."""
    k: int = 10
    """Number of labelled items that vote in each target."""
    space: str = ""
    """The space [default: "", the active space]."""
    min_share: float = 0.5
    """Minimum calibrated probability of a suggested label."""

    def __post_init__(self) -> None:
        let_one_be_several(self, "targets")

    @property
    def search(self) -> SearchRequest:
        """The search for the voters, among all items."""
        return SearchRequest(self.queries, k=self.k, targets=self.targets, space=self.space)


@dataclass(frozen=True)
class LabelShare:
    """A label with votes."""

    label: str
    share: float
    """Probability that the label is right, calibrated on items that the space was not trained on."""
    votes: float
    """Share of the voters that have the label."""


@dataclass(frozen=True)
class LikeliestClass:
    """The most likely class of a query, by its scores of attributes."""

    label: str
    share: float
    """Density of the class at the scores of the query, divided by the sum over all classes; not calibrated."""
    described: bool
    """Whether only orderings describe the class: no training item of the space has its label."""


@dataclass(frozen=True)
class SuggestedLabels:
    """The labels of one query, the most probable first."""

    query: int
    """Position of the query in the request."""
    labels: tuple[LabelShare, ...]
    """The suggested labels; empty if no label is probable enough."""
    others: tuple[LabelShare, ...] = ()
    """Labels whose probability is too small."""
    known: tuple[str, ...] = ()
    """The item's own labels, for a query by key; the item does not vote on itself."""
    likeliest: LikeliestClass | None = None
    """The most likely of all classes, in a space of attributes with classes that only orderings describe; no item can
    vote for these classes. None in other spaces."""


@dataclass(frozen=True)
class Suggestions:
    """The labels of every query."""

    results: tuple[SuggestedLabels, ...]
    """The labels, query by query."""
    calibration: str
    """A sentence for each view about the items that calibrate the shares."""


@dataclass(frozen=True)
class Embedding:
    """The vector or code of one query for one target of a space."""

    query: int
    """Position of the query in the request."""
    target: str
    vector: "NDArray[np.float32] | NDArray[np.uint8]"
    """Shape (D,); a code's bits packed as by ``np.packbits``, shape (ceil(bits / 8),)."""
    bits: int = 0
    """Number of bits of a code; 0 for a float vector."""


ITEMS_AT_ONCE = 1_000
"""Maximum number of items of a page of embeddings or neighbours."""


@dataclass(frozen=True, eq=False, kw_only=True)
class ItemEmbeddings:
    """A page of items that have a view, with the embeddings of their rows in a space."""

    space: str
    generation: int
    keys: tuple[str, ...]
    """In ascending order."""
    vectors: "NDArray[np.float32] | NDArray[np.uint8]"
    """Shape (n, D), n may be 0; codes packed as by ``np.packbits``, shape (n, ceil(bits / 8))."""
    bits: int = 0
    """Number of bits of a code; 0 for float vectors."""
    labels: tuple[tuple[str, ...], ...] = ()
    """The labels of each item."""
    after: str = ""
    """Last key of the page, after which the next page begins; "" on the last page."""


@dataclass(frozen=True, eq=False, kw_only=True)
class ItemNeighbors:
    """A page of items that have a view, with the nearest other items of each in a target of a space."""

    space: str
    generation: int
    target: str
    keys: tuple[str, ...]
    """In ascending order."""
    neighbors: tuple[tuple[str, ...], ...]
    """The keys of the nearest items of each, nearest first; fewer than k if the target has fewer items."""
    distances: tuple[tuple[float, ...], ...]
    """Their distances: Euclidean (not squared), or the number of differing bits."""
    exact: bool = True
    """Whether the index of the target always finds the nearest items."""
    after: str = ""
    """Last key of the page, after which the next page begins; "" on the last page."""
