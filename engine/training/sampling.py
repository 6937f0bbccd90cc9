"""The sample of the examples that a pipeline learns from, if they are more than it can learn from."""

from collections import Counter

import numpy as np
from numpy.typing import NDArray

from crossview.engine.learners.chain import Chain
from crossview.engine.training.examples import Examples

_LEAST = 5
"""Number of items of a label and a set of views that are drawn before its share, if it has so many."""
_LABELLED = 0.5
"""Share of the sample for labelled items, if they are less of all items, for learners that learn from others too."""
Positions = NDArray[np.intp]


def sampled(pipeline: Chain, found: Examples, seed: int) -> Examples:
    """Return the examples that a pipeline learns from: all, or a stratified sample of at most ``most_items``.

    The sample contains every item that a pair or a comparison names, even if these are more. Of the others, each label
    and set of views gives five items, or all if it has fewer, and further items in proportion to its number. If the
    learner needs labels, unlabelled items come last; otherwise labelled items are at least half of the sample, if there
    are so many.
    """
    most = pipeline.most_items
    if most is None or len(found) <= most:
        return found
    random = np.random.RandomState(seed)
    named = _named(found)
    labelled = np.array([bool(labels) for labels in found.labels], bool)
    for classes in found.notion_classes.values():
        labelled |= classes != ""
    wanted = max(0, most - int(named.sum()))
    share = 1.0 if pipeline.capabilities.needs_labels else max(_LABELLED, float(labelled.mean()))
    strata = _strata(found)
    first = _drawn(np.flatnonzero(labelled & ~named), strata, round(share * wanted), random)
    others = _drawn(np.flatnonzero(~labelled & ~named), strata, wanted - len(first), random)
    return found.take(np.sort(np.concatenate([np.flatnonzero(named), first, others])))


def _named(found: Examples) -> NDArray[np.bool_]:
    """Return which examples a pair or a comparison names, (n,)."""
    named = np.zeros(len(found), bool)
    if found.similar is not None:
        named |= np.diff(found.similar.indptr) > 1  # every item is similar to itself
    if found.constraints is not None:
        for one in found.constraints.sets:
            named[one.items.ravel()] = True
    return named


def _strata(found: Examples) -> NDArray[np.intp]:
    """Return the stratum of each example, (n,): its rarest label and its views."""
    counts = Counter(label for labels in found.labels for label in labels)
    rarest = [min(labels, key=lambda label: (counts[label], label), default="") for labels in found.labels]
    views = np.unique(found.mask, axis=0, return_inverse=True)[1].ravel()
    return np.asarray(np.unique(rarest, return_inverse=True)[1] * (views.max() + 1) + views)


def _drawn(items: Positions, strata: NDArray[np.intp], most: int, random: np.random.RandomState) -> Positions:
    """Return at most ``most`` of some items, drawn at random in each stratum."""
    if len(items) <= most:
        return items
    shuffled = random.permutation(items)
    numbers, sizes = np.unique(strata[shuffled], return_inverse=True, return_counts=True)[1:]
    order = np.argsort(numbers, kind="stable")
    ranks = np.empty(len(order), np.intp)
    ranks[order] = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    # The first items of every stratum precede all others, which follow by their rank as a share of their stratum.
    places = np.where(ranks < _LEAST, ranks - _LEAST, (ranks + 0.5) / sizes[numbers])
    return np.asarray(shuffled[np.argsort(places, kind="stable")[:most]])
