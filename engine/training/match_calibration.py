"""Calibration of match: small trainings show how near relevant and other items are to queries that they never saw."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crossview.engine.catalog.rows import ViewRows
from crossview.engine.runtime.cancellation import checkpoint
from crossview.engine.runtime.threads import one_blas_thread, over
from crossview.engine.spaces.fusing import fusion_weights
from crossview.engine.spaces.match import Floats, Match, Novelty, fitted_match
from crossview.engine.spaces.space import Space
from crossview.engine.spaces.target import Target
from crossview.engine.training.examples import Examples, split
from crossview.engine.training.learning import Refit
from crossview.engine.values.errors import InvalidInputError, NotReadyError
from crossview.index.base import Index

FEWEST_ITEMS = 100
"""Training items below which nothing is calibrated: a fifth of them as queries would be too few."""
MOST_ITEMS = 500
"""Maximum number of items of a small training, which bounds its time and the memory for novelties."""
ROUNDS = 2
"""Small trainings; each leaves out other classes."""
_QUERIES = 0.2
OUTSIDE = 0.2
"""Share of classes that a small training leaves out, and assumed share of queries that no item is relevant to."""
_HITS = 20
_LEAST_PRIOR = 1e-9
_SCALE_ITEMS = 200
"""Items whose mean distance is the unit of distances in a space."""


@dataclass(frozen=True, kw_only=True)
class Round:
    """One small training: the space that it made, the items that it learned, and queries that it never saw."""

    space: Space
    learned: Examples
    items: Examples
    """The items that the queries can find: the learned ones or, without labels, the queries' own items, none of which
    was learned. A learned item is not like the new ones that a query of another view has to find."""
    queries: Examples
    outside: NDArray[np.bool_]
    """Whether no item is relevant to a query, because its class was left out, (q,)."""

    @cached_property
    def placed(self) -> Mapping[str, tuple[Index, float]]:
        """The index of the items in each target, and the mean distance there."""
        scales = _scales(self.space, self.items)
        return {
            str(target): (self.space.index_of(target, *_rows(self.items, target)), scales[str(target)])
            for target in self.space.targets
        }


def calibrated(space: Space, refit: Refit, given: Examples) -> Space:
    """Return a fitted space with the matches of its query views and targets, and the novelties of its views.

    The learner fits again, twice, with the choices of its fit, on four fifths of at most 500 training items. Each small
    training leaves out a fifth of the classes, as queries of no class that the space knows, and a fifth of the other
    items, as queries that have relevant items. A logistic regression then learns from the first 20 hits of each query
    which of them share a label with it: the prior is that of a list of hits. Without labels, the relevant item is the
    query's own in another view, among the items that the training left out, and the targets get weights beside each
    other.

    Too few items leave the space as it is.
    """
    labelled = given.take(np.array([bool(labels) for labels in given.labels], bool))
    by_labels = len(labelled) >= FEWEST_ITEMS
    known = labelled if by_labels else given
    if len(known) < FEWEST_ITEMS or not (by_labels or space.cross_view):
        return space
    try:
        with one_blas_thread():
            rounds = over(
                range(ROUNDS if by_labels else 1), lambda number: _round(space, refit, known, number, by_labels)
            )
        found = tuple(_matches(space, rounds, len(given), _sharing if by_labels else _own))
        if not by_labels:
            found = tuple(_weighed(rounds[0], found))
        novelties = tuple(_novelty(rounds[0], view) for view in dict.fromkeys(one.view for one in found))
    except (InvalidInputError, NotReadyError):  # too few items of a kind for this learner; the space itself is good
        return space
    return replace(space, matches=found, novelties=novelties)


def _novelty(one: Round, view: str) -> Novelty:
    """Return the novelty of a view's rows, calibrated on the queries of a round that have relevant items."""
    queries = one.queries.take(~one.outside).seen_in(view)
    items = one.learned.seen_in(view)
    return Novelty.of(view, items.rows[view], queries.rows[view])


def _round(space: Space, refit: Refit, known: Examples, number: int, by_labels: bool) -> Round:
    """Learn from a sample without one part of its classes and without other queries."""
    generator = np.random.default_rng([space.seed, number])
    sample = known.take(np.sort(generator.permutation(len(known))[:MOST_ITEMS]))
    queries = split(len(sample), _QUERIES, space.seed + number, sample.groups)
    outside = np.zeros(len(sample), bool)
    if by_labels:
        names, classes = np.unique(sample.classes(), return_inverse=True)
        left_out = np.random.default_rng(space.seed).permutation(len(names)) % round(1 / OUTSIDE) == number
        outside = left_out[classes.ravel()] if len(names) > 2 else outside
    learned = sample.take(~(queries | outside))
    asked = sample.take(queries | outside)
    again = replace(space, pipeline=refit(learned))
    found, known_outside = learned if by_labels else asked, outside[queries | outside]
    return Round(space=again, learned=learned, items=found, queries=asked, outside=known_outside)


Relevance = Callable[[Examples, Examples, NDArray[np.int64]], NDArray[np.bool_]]
"""A function from queries, items and the ids of hits, (q, k), to whether each hit is relevant, (q, k)."""


class Judged(NamedTuple):
    """The first hits of the queries of one view in one target."""

    distances: Floats
    """(q, k), in units of the mean distance in the target."""
    relevant: NDArray[np.bool_]
    """(q, k)."""
    weights: Floats
    """Weights of the queries, (q,)."""


def _matches(space: Space, rounds: list[Round], count: int, relevance: Relevance) -> Iterator[Match]:
    own, scales = relevance is _own, _scales(space, rounds[0].items)
    for view in space.views:
        names = [str(one) for one in space.targets if (not own if view == one.view else space.cross_view)]
        of_rounds = [_judged(one, view, names, relevance) for one in rounds]
        for name in names:
            checkpoint()
            found = [one[name] for one in of_rounds if name in one]
            if not found or not scales[name] or len({one.distances.shape[1] for one in found}) > 1:
                continue
            lists = Judged(*(np.concatenate(each) for each in zip(*found, strict=True)))
            match = fitted_match((view, name), *lists, scales[name])
            if match is not None:
                # An own item is one of all items: among more items, more others are as near as it is.
                more = count / len(rounds[0].items)
                usual = float(np.clip(lists.relevant.mean() / more, _LEAST_PRIOR, 0.5))
                yield match if not own else replace(match, offset=match.offset - np.log(more), prior=usual)


def _weighed(one: Round, matches: Sequence[Match]) -> Iterator[Match]:
    """Yield the matches of own items with the weights by which targets are best fused for each view of queries.

    Targets repeat in part what others know. A logistic regression learns from which of two items is a query's own, by
    the evidence of all targets together.
    """
    for view in dict.fromkeys(match.view for match in matches):
        of_view = [match for match in matches if match.view == view]
        asked = one.queries.take(np.flatnonzero(one.queries.seen(view)))
        evidence = np.stack([_evidence(one, asked, match) for match in of_view], axis=2)
        own = asked.ids[:, None] == one.items.ids
        query, other = np.nonzero(own.any(axis=1)[:, None] & ~own)
        gaps = evidence[query, own.argmax(axis=1)[query]] - evidence[query, other]
        known = ~np.isnan(gaps).any(axis=1)
        weights = fusion_weights(gaps[known])[0] if len(of_view) > 1 and known.any() else [1.0] * len(of_view)
        for match, weight in zip(of_view, weights, strict=True):
            yield replace(match, weight=weight / max(weights))


def _evidence(one: Round, asked: Examples, match: Match) -> Floats:
    """Return the evidence of a target for each item of a round, (q, n), given queries; NaN for items without it."""
    index, _ = one.placed[match.target]
    found = np.full((len(asked), len(one.items)), np.nan)
    vectors = one.space.probe(match.view, asked.rows[match.view], [match.target])
    hits = index.search(next(iter(vectors.values())), len(index), None)
    for row, (ids, distances) in enumerate(zip(hits.ids, hits.distances.astype(np.float64), strict=True)):
        found[row, np.searchsorted(one.items.ids, ids)] = match.evidence(match.of_all(distances, distances[0]))
    return found


def _judged(one: Round, view: str, names: Sequence[str], relevance: Relevance) -> dict[str, Judged]:
    """Return the first hits of the queries that have a view, by name of target; nothing in a target of few items."""
    seen = one.queries.seen(view)
    asked = one.queries.take(np.flatnonzero(seen))
    placed = [(name, *one.placed[name]) for name in names if name in one.placed]  # a notion can lack comparisons here
    names = [name for name, index, scale in placed if len(index) > _HITS and scale]
    if not names or not len(asked):
        return {}
    judged = {}
    for target, vectors in one.space.probe(view, asked.rows[view], names).items():
        index, scale = one.placed[str(target)]
        found = index.search(vectors, _HITS, None)
        relevant = relevance(asked, one.items, found.ids)
        weights = _weights(one.outside[seen])
        if relevance is _own and one.items.similar is None:
            weights = weights * relevant.shape[1]  # one of them is relevant: each of the others is evidence of its own
        judged[str(target)] = Judged(found.distances.astype(np.float64) / scale, relevant, weights)
    return judged


def _weights(outside: NDArray[np.bool_]) -> Floats:
    """Return weights of queries, (q,), by which queries outside all classes have their assumed share."""
    count = int(outside.sum())
    if not count or count == len(outside):
        return np.ones(len(outside))
    return np.where(outside, OUTSIDE * len(outside) / count, (1 - OUTSIDE) * len(outside) / (len(outside) - count))


def _scales(space: Space, items: Examples) -> dict[str, float]:
    """Return the mean distance of the first few items, as queries, to each other in each target; 0 for one item."""
    found = {}
    for target in space.targets:
        seen = items.take(np.flatnonzero(items.seen(target.view)))
        few = seen.take(np.arange(min(_SCALE_ITEMS, len(seen))))
        index = space.index_of(target, *_rows(few, target))
        vectors = space.probe(target.view, few.rows[target.view], [str(target)])[target]
        enough = len(index) > 1
        found[str(target)] = float(index.search(vectors, len(index), None).distances.mean()) if enough else 0.0
    return found


def _rows(items: Examples, target: Target) -> tuple[ViewRows, dict[int, tuple[str, ...]]]:
    """Return the rows and labels by which a space places the items in a target."""
    seen = items.take(np.flatnonzero(items.seen(target.view)))
    return ViewRows(seen.ids, seen.rows[target.view]), _labels(seen)


def _labels(items: Examples) -> dict[int, tuple[str, ...]]:
    return dict(zip(items.ids.tolist(), items.labels, strict=True))


def _sharing(queries: Examples, items: Examples, found: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return whether each hit shares a label with its query."""
    labels = {item: set(names) for item, names in _labels(items).items()}
    rows = zip(queries.labels, found.tolist(), strict=True)
    return np.array([[not labels[item].isdisjoint(own) for item in row] for own, row in rows], bool)


def _own(queries: Examples, items: Examples, found: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return whether each hit is the query's own item, or stated to be similar to it."""
    own: NDArray[np.bool_] = found == queries.ids[:, None]
    if items.similar is None:
        return own
    places = {item: place for place, item in enumerate(items.ids.tolist())}
    rows = zip(queries.ids.tolist(), found.tolist(), strict=True)
    stated = [items.similar[places[one], [places[item] for item in row]].toarray()[0] > 0 for one, row in rows]
    own |= np.array(stated, bool)
    return own
