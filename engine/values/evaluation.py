"""Evaluations: their requests and their results."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from crossview.engine.values.conditions.filter import EVERY_ITEM, FilterForm
from crossview.engine.values.errors import Argument, InvalidInputError
from crossview.engine.values.item import let_one_be_several
from crossview.engine.values.markup import Markup
from crossview.engine.values.notebook import Figure, figures_html, shown
from crossview.engine.values.numbers import check_count, check_seed

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from crossview.engine.learners.frame.comparisons import Taxonomy
    from crossview.engine.values.comparisons import ItemComparisons
    from crossview.engine.values.recipe import Grouping

LENGTHS = (5, 10, 30, 50, 70, 100)
"""Default lengths of the hit lists to measure."""
RECALLS = (1, 10)
"""Default lengths if each query must find its own item, and the lengths by labels."""
RECALL_LEVELS = tuple(level / 10 for level in range(11))
"""The recalls of precision-recall curves."""
SHOWN_QUERIES, SHOWN_HITS = 3, 8
"""Number of best and of worst queries of a report, and number of their hits."""
FIRST = 10
"""The number of first hits that coverage and hubness count."""
MEAN, SECONDS = "mean", "seconds"
"""The word for means over all pairs of views, and the measure of the time of a fit."""
TRAINED, UNSEEN, MIXED = "trained", "unseen", "mixed"
DATABASES = (TRAINED, UNSEEN, MIXED)
"""The items that the queries search. Queries are held-out items; the database contains the training items of the
spaces, the other held-out items, or both. By labels, no query finds its own item or an item of its group, in any
view, except for ``recall`` and ``median_rank``."""
LABELS, ITEMS = "labels", "items"
BY = (LABELS, ITEMS)
"""The relevant items of a query: those that share a label with it, or only its own item in another view."""


@dataclass(frozen=True, kw_only=True)
class EvaluationRequest:
    """The spaces to measure, and how to measure them.

    Raises InvalidInputError for a space or a database that is named twice, for an unknown database, and for options
    that exclude each other: comparisons with anything that divides items, splits or groups without a refit, and
    ``by="items"`` with the database ``trained``.
    """

    view: str = ""
    """The query view [default: "", every view that all spaces have, in turn; across these views if a space can, and
    their mean]."""
    learners: tuple[str, ...] = ()
    """Learners or pipelines, such as ``sqrt,cca``, to fit on every split and to measure beside the spaces."""
    views: tuple[str, ...] = ()
    """The views to learn from, with learners [default: (), all views that items have]."""
    spaces: tuple[str, ...] = ()
    """The spaces, all measured with the same queries and databases [default: (), the active space, or none with
    learners]."""
    targets: tuple[str, ...] = ()
    """The targets to search [default: (), all targets that the view can be matched against]."""
    databases: tuple[str, ...] = ()
    """Some of ``DATABASES`` [default: (), trained and unseen if at least two labels have two held-out items each,
    otherwise trained; by items, unseen; of every view, unseen if any label has two held-out items, otherwise
    trained]."""
    by: str = ""
    """Relevant items: items that share a label, or the query's own item in another view [default: "", labels, or items
    if no item has a label]. One of ``BY``."""
    k: tuple[int, ...] = ()
    """Lengths of the hit lists [default: (), ``LENGTHS``; by items ``RECALLS``; of every view 10]."""
    refit: bool = False
    """Fit the learner again on a new split, as always with learners. Otherwise, the queries are items that the training
    held out."""
    test_size: float = 0.2
    """With ``refit``: share of the items to use as queries."""
    splits: int = 1
    """With ``refit``: number of splits; the figures are means over the splits."""
    seed: int = 0
    """Seed of the queries, and with ``refit`` of the splits. The next numbers draw the next splits and queries."""
    group_by: "Grouping | None" = None
    """With ``refit``: groups of items that stay on one side of a split [default: None, the groups of the spaces'
    training]."""
    max_queries: int = 2_000
    """Maximum number of held-out items to draw as queries. They are the same for every space, which can still find the
    other held-out items. With 2,000 queries, the standard error of a share is below .012."""
    where: FilterForm = EVERY_ITEM
    """Only items that pass this filter are queries; it does not change what they can find."""
    constraints: "ItemComparisons | None" = None
    """Comparisons that the distances within the view are measured by, instead of retrieval by labels."""
    taxonomy: "Taxonomy | None" = None
    """A tree of the labels that also weighs wrong votes [default: None, the taxonomy of the first space with one]."""
    pairs: "ItemComparisons | None" = None
    """Similar and dissimilar pairs that the distances have to separate, measured instead of retrieval by labels."""
    per_query: bool = False
    """Whether the result also has the figures of each query."""
    hits: int = 0
    """With ``per_query``: number of first hits to return for each query, with all its relevant items; 0 returns
    neither."""
    details: bool = False
    """Whether the result also has what a report shows: the best and the worst queries and, by labels, precision-recall
    curves and the confusion of classes."""

    def __post_init__(self) -> None:
        let_one_be_several(self, "spaces", "targets", "databases", "learners", "views")
        if len(set(self.measured)) < len(self.measured):
            raise InvalidInputError(f"name each space once, and each learner, not {', '.join(self.measured)}")
        if self.views and not self.learners:
            raise InvalidInputError("views are those to learn from: leave them out, or name ", Argument("learners"))
        self._check_databases()
        if self.taxonomy is not None and (self.constraints is not None or self.by == ITEMS):
            raise InvalidInputError("a taxonomy measures votes of labels: leave it out by items and by constraints")
        if self.by not in ("", *BY):
            raise InvalidInputError(f"by must be {' or '.join(BY)}, not {self.by!r}")
        for length in self.k:
            check_count("every k", length)
        check_count("max_queries", self.max_queries)
        check_seed(self.seed)
        check_count("splits", self.splits)
        if not self.fits and (self.splits > 1 or self.group_by is not None):
            raise InvalidInputError("splits and groups of items need a refit: also use ", Argument("refit", True))
        self._check_pairs()
        self._check_per_query()
        if not self.view and (self.constraints is not None or self.pairs is not None):
            raise InvalidInputError("comparisons and pairs measure the distances of one view: name it")
        if self.constraints is not None and (self.targets or self.fits or self.databases or self.by):
            raise InvalidInputError(
                "comparisons measure distances within the view, in the space as it is: leave out targets, refit, "
                "database and by"
            )

    @property
    def measured(self) -> tuple[str, ...]:
        """The names of what to measure: the spaces, then the learners; empty for the active space."""
        return (*self.spaces, *self.learners)

    @property
    def fits(self) -> bool:
        """Whether pipelines are fitted on new splits: those of the spaces with ``refit``, and those of learners."""
        return self.refit or bool(self.learners)

    def _check_pairs(self) -> None:
        if self.pairs is None:
            return
        if self.constraints is not None or self.fits or self.databases or self.by or len(self.targets) > 1:
            raise InvalidInputError(
                "pairs measure distances in one target, in the space as it is: leave out constraints, further targets, "
                "refit, database and by"
            )

    def _check_per_query(self) -> None:
        if self.hits < 0 or (self.hits and not self.per_query):
            raise InvalidInputError(f"hits is a number of hits of each query, with per_query, not {self.hits}")
        if (self.per_query or self.details) and (self.constraints is not None or self.pairs is not None):
            raise InvalidInputError("comparisons and pairs have no queries: leave out per_query and details")

    def _check_databases(self) -> None:
        if unknown := [name for name in self.databases if name not in DATABASES]:
            raise InvalidInputError(f"there is no database {unknown[0]!r}; there are: {', '.join(DATABASES)}")
        if len(set(self.databases)) < len(self.databases):
            raise InvalidInputError(f"name each database once, not {', '.join(self.databases)}")
        if self.by == ITEMS and TRAINED in self.databases:
            raise InvalidInputError(OWN_ITEM)


OWN_ITEM = "by items, a query must find its own item, which the database trained lacks: measure unseen or mixed"


@dataclass(frozen=True, kw_only=True)
class EvaluationRow:
    """One figure of one space."""

    query_view: str
    """"" for the mean over all pairs of a query view and a view of the items to find, and for ``seconds``."""
    database_view: str
    """As ``query_view``."""
    metric: str
    """The measure.

    - By labels: ``accuracy``, ``precision`` or ``map``. In a mixed database also ``unseen_share``, the share of
      held-out items among the first k divided by their share among all items that the query can find: 1 is in
      proportion, and below 1 training items displace held-out items.
    - By labels and of every view also ``label_recall``, the share of the relevant items that are among the first k;
      ``r_precision``, the share of relevant items among the first R, where R is their number; and ``ndcg``, the
      normalised discounted cumulative gain of the first k, with a gain of 1 for a relevant item.
    - Of every view also ``seconds``, the time of a fit.
    - By a taxonomy: ``hierarchical_accuracy``, the mean over queries of 1 for a right vote, 1/2 for a vote for a
      sibling class and 0 otherwise; and ``lca_loss``, the mean height of the lowest common ancestor of the vote and the
      query's class, divided by the height of the tree.
    - By items, and by labels across views if the database contains the queries' own items: ``recall``, the share of
      queries that find their own item among the first k, by labels 1 and 10; and ``median_rank``, the median over
      queries of the rank of their own item, from 1. The ranking contains all items of the database.
    - By items and by labels: ``coverage``, the share of the items that are among the first 10 hits of some query,
      divided by the largest possible share, min(1, 10 x queries / items); and ``hubness``, the skewness of how often
      an item is among the first 10: a few items answer many queries if it is large. By labels, the hits are those
      without the query's own item and group.
    - By comparisons: ``order``, the share of triplets or quadruplets in order, or ``auc``, the area under the ROC curve
      of pairs.
    - By pairs: ``accuracy``, the share of pairs that the threshold classifies right; ``equal_error_rate``, the error
      rate of both kinds at the distance where these rates are equal; and ``true_accept_rate_0.1`` and
      ``true_accept_rate_0.01``, the share of similar pairs below the distance that .1 and .01 of the dissimilar pairs
      are below.
    """
    k: int | None
    """Length of the hit list; None for metrics of whole rankings and of comparisons."""
    value: float
    """0 to 1; an unseen_share, a median_rank, a hubness and seconds can be larger, and a hubness below 0."""
    space: str = ""
    database: str = ""
    """One of ``DATABASES``; "" by comparisons."""
    standard_error: float | None = None
    """Standard error of the value, over queries or comparisons; with several splits, over splits, corrected for the
    items that they share. None if there are too few, and with one split for coverage, hubness, seconds and means over
    views."""


@dataclass(frozen=True, kw_only=True)
class EvaluationDifference:
    """The figure of a space minus the figure of the first measured space, over the same queries or comparisons."""

    space: str
    baseline: str
    """The first space."""
    query_view: str
    database_view: str
    metric: str
    k: int | None
    value: float
    """Above 0 if the space is better than the first; below 0 for median_rank, hubness, lca_loss, equal_error_rate and
    seconds."""
    database: str = ""
    standard_error: float | None = None
    """Standard error of the mean paired difference, over queries, comparisons or splits; None if there are too few."""


@dataclass(frozen=True)
class Overlap:
    """The numbers of measured comparisons that a space has seen in training."""

    space: str
    trained_items: int
    """Comparisons that name an item that the space was trained on."""
    learned_from: int
    """Comparisons that the space learned from."""


@dataclass(frozen=True, kw_only=True, eq=False)
class PerQuery:
    """The figures of each query of one space, in one database and one split, and its hits if the request wants them.

    The queries are the same, in the same order, for every space, so that figures of two spaces are paired.
    """

    space: str
    query_view: str
    database_view: str
    database: str
    split: int
    """From 1; always 1 unless the request has several splits."""
    keys: tuple[str, ...]
    """The keys of the q queries."""
    figures: "Mapping[str, NDArray[np.float64]]"
    """The figure of each query, (q,), by name: ``average_precision``, ``rank`` (of the query's own item, from 1), and
    metrics of ``EvaluationRow`` with their k, such as ``precision@10``. NaN for a query that the metric does not
    count."""
    items: tuple[str, ...] = ()
    """The keys of the items to find; empty without hits, as the next two."""
    hits: "tuple[NDArray[np.int32], ...]" = ()
    """The first hits of each query, as positions in ``items``, the nearest first."""
    relevant: "tuple[NDArray[np.int32], ...]" = ()
    """All relevant items of each query, as ascending positions in ``items``."""

    def run(self) -> Iterator[tuple[str, dict[str, float]]]:
        """Yield each query that has a relevant item, with the scores of its hits.

        A score is minus the rank, because programs that read runs sort by score, and break ties in their own way.
        ``dict(one.run())`` is a run of ranx, pytrec_eval and ir_measures.
        """
        for key, hits, relevant in zip(self.keys, self.hits, self.relevant, strict=True):
            if len(relevant):
                yield key, {self.items[item]: -float(rank) for rank, item in enumerate(hits.tolist(), 1)}

    def qrels(self) -> Iterator[tuple[str, dict[str, int]]]:
        """Yield each query that has a relevant item, with 1 for all its relevant items, those below its hits too."""
        for key, relevant in zip(self.keys, self.relevant, strict=True):
            if len(relevant):
                yield key, {self.items[item]: 1 for item in relevant.tolist()}


@dataclass(frozen=True, kw_only=True)
class Curve:
    """A precision-recall curve of one space in one database."""

    query_view: str
    database_view: str
    space: str
    database: str
    precision: tuple[float, ...]
    """Interpolated precision at ``RECALL_LEVELS``, the mean over the queries and the splits; empty without a query that
    has a relevant item."""

    @property
    def place(self) -> tuple[str, str, str, str]:
        """The subject of the curve."""
        return self.space, self.query_view, self.database_view, self.database


@dataclass(frozen=True)
class Confused:
    """How many queries of a class get the votes for a class, the same or another."""

    label: str
    """The class of the queries; of a query with several labels the one voted for, or else its first."""
    vote: str
    """The class that the nearest items vote for."""
    count: int


@dataclass(frozen=True, kw_only=True)
class Confusion:
    """The classes that the k nearest items vote for, by the class of the query, in one space and one database."""

    query_view: str
    database_view: str
    space: str
    database: str
    k: int
    """10, or the smallest measured length if 10 is not measured."""
    entries: tuple[Confused, ...]
    """The pairs of classes that occur, in the order of names; the counts are sums over the splits."""

    @property
    def place(self) -> tuple[str, str, str, str]:
        """The subject of the confusion."""
        return self.space, self.query_view, self.database_view, self.database


@dataclass(frozen=True, kw_only=True)
class QueryExample:
    """One of the best or of the worst queries of one space in one database, of the first split."""

    query_view: str
    database_view: str
    space: str
    database: str
    best: bool
    """Whether it is one of the best; otherwise it is one of the worst."""
    key: str
    metric: str
    """``average_precision``, or by items ``rank``, that of the query's own item."""
    value: float
    hits: tuple[str, ...]
    """The keys of the first hits, the nearest first."""
    relevant: tuple[bool, ...]
    """Whether each hit is relevant to the query."""


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """The result of an evaluation: the accuracy of spaces, by the same queries or comparisons."""

    rows: tuple[EvaluationRow, ...]
    """The figures, space by space."""
    queries: int
    """Number of queries; with several splits, the rounded mean of a split."""
    protocol: str
    """A sentence about how the evaluation measured."""
    codebook: str
    """A sentence about the pictures that the visual words were fitted on."""
    seconds: float
    databases: Mapping[str, int] = field(default_factory=dict)
    """Number of items in each measured database; empty by comparisons."""
    differences: tuple[EvaluationDifference, ...] = ()
    """Differences of every space except the first, if both have a figure."""
    overlaps: tuple[Overlap, ...] = ()
    """One for each space, if the evaluation measured comparisons."""
    comparisons: int = 0
    """Number of measured comparisons or pairs; 0 if the evaluation used queries."""
    per_query: tuple[PerQuery, ...] = ()
    """The figures of each query by space, split, target and database; empty unless the request wants them."""
    curves: tuple[Curve, ...] = ()
    """By space, target and database; empty unless the request wants them and there are labels."""
    confusions: tuple[Confusion, ...] = ()
    """As ``curves``."""
    examples: tuple[QueryExample, ...] = ()
    """The best queries, the best first, and the worst, the worst first, by space, target and database."""

    @shown
    def _repr_html_(self) -> Markup:
        count, words = (self.comparisons, "comparisons") if self.comparisons else (self.queries, "queries")
        return figures_html(f"Evaluation by {count:,} {words}", [_figure(row) for row in self.rows], self.protocol)


def crossing(query_view: str, database_view: str) -> str:
    """Return the words for a query view and a view of the items to find."""
    return f"{query_view} → {database_view}" if query_view else MEAN


def _figure(row: EvaluationRow) -> Figure:
    place = crossing(row.query_view, row.database_view) + (f", {row.database}" if row.database else "")
    metric = "mAP" if row.metric == "map" else row.metric.replace("_", " ")
    error = "" if row.standard_error is None else f" ± {row.standard_error:.3f}"
    return Figure((place, metric, str(row.k or "")), row.space, f"{row.value:.3f}{error}")
