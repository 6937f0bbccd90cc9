"""Findings from the nearest items in the views themselves: doubtful labels, outliers, and drift.

The views do not know labels, so that a space that has learned a wrong label cannot defend it.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.stats import mannwhitneyu

from crossview.engine.catalog.catalog import Transaction
from crossview.engine.catalog.joined import joined_view
from crossview.engine.runtime.cancellation import checkpoint
from crossview.engine.spaces.space import Space
from crossview.engine.spaces.suggestion import VoteCalibration, fitted_calibration, vote_shares
from crossview.engine.spaces.target import Near
from crossview.engine.spaces.version import SearchState
from crossview.engine.values.audit import Finding
from crossview.engine.values.labels import without_labels
from crossview.index.base import Selection

Ids = NDArray[np.int64]
_MOST_ITEMS = 5_000
"""Maximum number of items whose nearest items are found."""
_COMPARED = 5 * 10**8
"""Maximum number of distances in a view, which bounds the time to about a minute."""
_VOTERS = 10
"""Number of nearest items that vote on a label, and that measure how far an item is from others."""
_LIKELY, _AGAINST = 0.5, 4.0
"""A label is doubtful if another one is at least this probable, and so many times as probable as each own one.
With 30 wrong labels of 1,000 Corel pictures, 25 are doubtful by colour and gist, and 16 of these are wrong."""
_DEVIATIONS = 4.0
"""An outlier is farther by so many robust standard deviations. No Corel picture is; a blank one among drawings is."""
_FEWEST, _FARTHER, _CHANCE = 20, 0.65, 1e-3
"""Drift: at least so many newer items, of which one is farther from the training items than an unseen one of then with
this probability (the area under the ROC curve), and by chance with this one at most."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Split:
    """The items with a view of a space: ids, each array ascending."""

    trained: Ids
    held_out: Ids
    """Items that the training did not learn from, and that were there."""
    newer: Ids
    """Items that came after all training items."""
    keys: dict[int, str]
    """The key of every item by id."""

    @classmethod
    def of(cls, tx: Transaction, space: Space) -> Self:
        """Return the split of a space; ids grow with time, so that an item above all training items is newer.

        Among the last items a training may have held some out: as many as the space counts stay held out.
        """
        keys, learned = tx.items.keys(), space.training_keys
        having = sorted({item for view in space.views for item in joined_view(tx, view).ids(tx).tolist()})
        trained = [item for item in having if keys[item] in learned]
        untrained = [item for item in having if keys[item] not in learned]
        held_out = sum(item < trained[-1] for item in untrained) if trained else 0
        held_out = max(held_out, min(space.held_out, len(untrained)))
        return cls(_ids(trained), _ids(untrained[:held_out]), _ids(untrained[held_out:]), keys)

    def names(self, ids: list[int]) -> tuple[str, ...]:
        """Return the keys of items."""
        return tuple(self.keys[item] for item in ids)


def _ids(items: list[int]) -> Ids:
    return np.array(items, np.int64)


@dataclass(frozen=True)
class Neighbourhoods:
    """The nearest items of items in the views of a space, found in the indexes of the views themselves."""

    raw: SearchState
    split: Split
    views: Sequence[str]

    def drawn(self, ids: Sequence[int]) -> list[int]:
        """Return at most as many of the items as the time allows, drawn at random, ascending."""
        most = min(_MOST_ITEMS, _COMPARED // max(1, len(self.split.keys)) + 1)
        if len(ids) <= most:
            return sorted(ids)
        return sorted(np.random.default_rng(0).permutation(ids)[:most].tolist())

    def lists(
        self, ids: Sequence[int], k: int, among: Ids | None = None
    ) -> Iterator[tuple[str, list[int], list[Near]]]:
        """Yield for each view the items that have it, and the k nearest others of each, of all items or ``among``."""
        for view in self.views:
            checkpoint()
            with self.raw.version.read() as tx:
                rows = joined_view(tx, view).rows(tx, ids)
            if not len(rows.ids):
                continue
            (target,) = self.raw.space.targets_of(view)
            selection: Selection | None = None if among is None else self.raw.indexed.searcher(target).selection(among)
            probes = self.raw.space.probe(view, rows.rows, [str(target)])
            only = None if selection is None else _always(selection)
            yield view, rows.ids.tolist(), self.raw.indexed.neighbours(probes, rows.ids.tolist(), k, only)[target]


def _always(selection: Selection) -> Callable[[object], Selection]:
    return lambda _: selection


def doubtful_labels(near: Neighbourhoods, ignored: Sequence[str], limit: int) -> Iterator[Finding]:
    """Yield the finding of labelled items whose nearest labelled items have another label.

    The probability of a label is calibrated in each view on all these items, and its mean over the views counts.
    """
    with near.raw.version.read() as tx:
        labels = without_labels(tx.items.labels(), ignored)
    ids = near.drawn([item for item in labels if item in near.split.keys])
    probable: dict[int, list[dict[str, float]]] = defaultdict(list)
    for _, items, lists in near.lists(ids, _VOTERS, np.array(sorted(labels), np.int64)):
        shares = [vote_shares([hits], labels, _VOTERS, True) if len(hits.ids) else {} for hits in lists]
        calibration = _calibrated(items, shares, labels)
        for item, votes in zip(items, shares, strict=True):
            if votes and calibration is not None:
                probable[item].append({label: calibration.probability(share) for label, share in votes.items()})
    doubts = []
    for item, views in probable.items():
        means: Counter[str] = Counter()
        for probabilities in views:
            means.update({label: probability / len(views) for label, probability in probabilities.items()})
        other = max((label for label in means if label not in labels[item]), key=means.__getitem__, default="")
        own = max(means[label] for label in labels[item])
        if other and means[other] >= _LIKELY and means[other] >= _AGAINST * own:
            doubts.append((own - means[other], item, other))
    doubts.sort()
    if not doubts:
        return
    worst = doubts[:limit]
    yield Finding(
        kind="doubtful_labels",
        count=len(doubts),
        sentence=f"{_number(len(doubts), 'item has a label', 'items have labels')} that the nearest items in the views "
        "contradict: look at them, and change the wrong labels",
        keys=near.split.names([item for _, item, _ in worst]),
        details=tuple(f"{', '.join(labels[item])}; the nearest items are {other}" for _, item, other in worst),
        values=tuple(other for _, _, other in worst),
    )


def _calibrated(
    items: Sequence[int], votes: Sequence[Mapping[str, float]], labels: Mapping[int, Sequence[str]]
) -> VoteCalibration | None:
    """Return the calibration of the shares of votes on the items themselves; None without votes."""
    votes_right = [
        (share, label in labels[item]) for item, of in zip(items, votes, strict=True) for label, share in of.items()
    ]
    if not votes_right:
        return None
    shares, right = zip(*votes_right, strict=True)
    return fitted_calibration(np.array(shares), np.array(right, bool), "")


def outliers(near: Neighbourhoods, limit: int) -> Iterator[Finding]:
    """Yield the finding of items that are far from all others in their views.

    An item is as far as its local outlier factor states: its mean distance to the nearest items by theirs (Breunig et
    al., SIGMOD 2000). The mean over the views of its robust standard score counts.
    """
    ids = near.drawn(list(near.split.keys))
    beyond: dict[int, list[float]] = defaultdict(list)
    for _, items, lists in near.lists(ids, _VOTERS, np.array(ids, np.int64)):
        mean = {item: float(np.mean(hits.distances)) for item, hits in zip(items, lists, strict=True) if len(hits.ids)}
        # Added to all distances, so that equal items, at distance 0, have finite logarithms.
        least = 1e-3 * float(np.median([*mean.values()])) if mean else 0.0
        if not least:
            continue
        usual = [np.mean([mean[item] for item in hits.ids.tolist()]) for hits in lists if len(hits.ids)]
        logs = np.log((np.array([*mean.values()]) + least) / (np.array(usual) + least))
        # 1.4826 median absolute deviations are the standard deviation of a normal distribution.
        spread = 1.4826 * float(np.median(np.abs(logs - np.median(logs))))
        for item, score in zip(mean, ((logs - np.median(logs)) / max(spread, 1e-3)).tolist(), strict=True):
            beyond[item].append(score)
    scores = sorted((-float(np.mean(views)), item) for item, views in beyond.items() if np.mean(views) > _DEVIATIONS)
    if not scores:
        return
    yield Finding(
        kind="outliers",
        count=len(scores),
        sentence=f"{_number(len(scores), 'item is', 'items are')} far from all others in the views, such as a blank, "
        "broken or foreign picture: look at each, and delete what does not belong",
        keys=near.split.names([item for _, item in scores[:limit]]),
        details=tuple(f"{-score:.1f} standard deviations farther than usual" for score, _ in scores[:limit]),
    )


def drift(near: Neighbourhoods, limit: int) -> Iterator[Finding]:
    """Yield a finding if newer items are farther from the training items than unseen items of the training's time."""
    split = near.split
    earlier = split.held_out if len(split.held_out) >= _FEWEST else split.trained
    if min(len(split.newer), len(earlier)) < _FEWEST:
        return
    worst: tuple[float, Finding] | None = None
    before = dict(_nearest(near, near.drawn(earlier.tolist())))
    for view, (items, now) in _nearest(near, near.drawn(split.newer.tolist())):
        if view not in before:
            continue
        usual = before[view][1]
        area = float(mannwhitneyu(now, usual, alternative="greater").statistic) / (len(now) * len(usual))
        chance = float(mannwhitneyu(now, usual, alternative="greater").pvalue)
        if area < _FARTHER or chance > _CHANCE or (worst is not None and worst[0] >= area):
            continue
        far = np.flatnonzero(now > np.quantile(usual, 0.95))
        order = far[np.argsort(-now[far], kind="stable")][:limit]
        worst = (
            area,
            Finding(
                kind="drift",
                count=len(far),
                sentence=f"newer items differ from the training items: in view {view!r}, a newer item is farther from "
                f"them than an earlier unseen item with a probability of {area:.2f} (.50 without drift): train again",
                keys=split.names([items[place] for place in order.tolist()]),
                details=tuple(f"distance {now[place]:.4g}, earlier {np.median(usual):.4g}" for place in order.tolist()),
                view=view,
            ),
        )
    if worst is not None:
        yield worst[1]


def _nearest(near: Neighbourhoods, ids: Sequence[int]) -> Iterator[tuple[str, tuple[list[int], Floats]]]:
    """Yield for each view the items with a training item, and the distance of each to its nearest other one."""
    for view, items, lists in near.lists(ids, 1, near.split.trained):
        some = [(item, hits.distances[0]) for item, hits in zip(items, lists, strict=True) if len(hits.ids)]
        if some:
            yield view, ([item for item, _ in some], np.array([distance for _, distance in some], np.float64))


def _number(count: int, singular: str, plural: str) -> str:
    return f"{count:,} {singular if count == 1 else plural}"
