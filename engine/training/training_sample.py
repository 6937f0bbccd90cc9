"""The sample of the examples that a pipeline learns from, if they are more than it can learn from."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from crossview.engine.learners.frame.chain import Chain
from crossview.engine.training.examples import Examples
from crossview.engine.training.measures import Members, members
from crossview.engine.values.errors import Argument, InvalidInputError

_LEAST = 5
"""Number of items of a label, and of a label and a set of views, that are drawn before its share, if it has so many."""
_LABELLED = 0.5
"""Share of the sample for labelled items, if they are less of all items, for learners that learn from others too."""
Positions = NDArray[np.intp]
Bools = NDArray[np.bool_]


def sampled(pipeline: Chain, examples: Examples, seed: int) -> Examples:
    """Return the examples that a pipeline learns from: all, or a stratified sample of at most ``most_items``.

    The sample contains every item that a pair or a comparison names, even if these are more. Among the others, each
    label, and each label with a set of views, gives five items, or all if it has fewer, and further items in proportion
    to its number. If the learner needs labels, unlabelled items come last; otherwise labelled items are at least half
    of the sample, if there are so many. Groups are drawn whole, so that the items left out have no relative in the
    sample.

    Raises InvalidInputError if every group is larger than the sample.
    """
    most = pipeline.most_items
    if most is None or len(examples) <= most:
        return examples
    units, random = _Units.of(examples), np.random.RandomState(seed)
    room = max(0, most - units.count(units.named))
    share = 1.0 if pipeline.capabilities.needs_labels else max(_LABELLED, float(units.labelled[units.of_item].mean()))
    first = units.drawn(np.flatnonzero(units.labelled & ~units.named), round(share * room), random)
    remaining = room - units.count(first)
    unlabelled = units.drawn(np.flatnonzero(~units.labelled & ~units.named), remaining, random)
    mask = units.named.copy()
    mask[first] = mask[unlabelled] = True
    if not mask.any():
        raise InvalidInputError(
            f"every group has more than {most:,} items, and groups stay whole: raise ", Argument("sample")
        )
    return examples.take(mask[units.of_item])


def stratified(labels: Sequence[Sequence[str]], most: int, seed: int) -> Positions:
    """Return the places of at most ``most`` items, drawn at random, ascending: every label keeps its share.

    Each label, and the items without a label together, first give five items, or all if they have fewer.
    """
    units = _Units.of_labels(labels)
    return np.sort(units.drawn(np.arange(len(labels)), most, np.random.RandomState(seed)))


@dataclass(frozen=True, eq=False)
class _Units:
    """The units of the sample: u groups of items, or single items."""

    of_item: Positions
    """The unit of each item, (n,)."""
    sizes: NDArray[np.intp]
    """Numbers of items, (u,)."""
    named: Bools
    """Whether a pair or a comparison names an item of the unit, (u,)."""
    labelled: Bools
    """Whether an item of the unit has a label, in any notion, (u,)."""
    labels: Members
    """Which labels the items of the unit have, (u, L)."""
    strata: NDArray[np.intp]
    """Numbers of the rarest label and the views of the unit, (u,)."""

    @classmethod
    def of(cls, examples: Examples) -> Self:
        of_item = np.arange(len(examples))
        if examples.groups is not None:
            of_item = np.unique(examples.groups, return_inverse=True)[1]
        count = int(of_item.max()) + 1

        def any_of(items: Bools) -> Bools:
            return np.bincount(of_item[items], minlength=count) > 0

        labelled = np.array([bool(labels) for labels in examples.labels], bool)
        for classes in examples.notion_classes.values():
            labelled |= classes != ""
        labels, rarest = _labels(examples.labels, of_item, count)
        present = np.column_stack([any_of(has) for has in examples.mask.T])
        views = np.unique(present, axis=0, return_inverse=True)[1].ravel()
        strata = rarest * (int(views.max()) + 1) + views
        return cls(of_item, np.bincount(of_item), any_of(_named(examples)), any_of(labelled), labels, strata)

    @classmethod
    def of_labels(cls, items: Sequence[Sequence[str]]) -> Self:
        """Return the units of single items that only labels describe."""
        every, none = np.arange(len(items)), np.zeros(len(items), bool)
        labels, rarest = _labels(items, every, len(items))
        return cls(every, np.ones(len(items), np.intp), none, rarest > 0, labels, rarest)

    def count(self, units: Positions | Bools) -> int:
        """Return the number of items of some units."""
        return int(self.sizes[units].sum())

    def drawn(self, units: Positions, most: int, random: np.random.RandomState) -> Positions:
        """Return some of the units, with at most ``most`` items, drawn at random in each stratum."""
        if self.count(units) <= most:
            return units
        shuffled = random.permutation(units)
        order = shuffled[np.argsort(self._places(shuffled), kind="stable")]
        return order[_fitting(self.sizes[order], most)]

    def _places(self, shuffled: Positions) -> NDArray[np.float64]:
        """Return by what number each unit is drawn: the first of every stratum and label precede all others, which
        follow by their rank as a share of their stratum."""
        numbers, sizes = np.unique(self.strata[shuffled], return_inverse=True, return_counts=True)[1:]
        order = np.argsort(numbers, kind="stable")
        ranks = np.empty(len(order), np.intp)
        ranks[order] = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        places = np.where(ranks < _LEAST, ranks - _LEAST, (ranks + 0.5) / sizes[numbers])
        having = self.labels[shuffled].tocsc()
        having.sort_indices()
        of_label = np.arange(having.nnz) - np.repeat(having.indptr[:-1], np.diff(having.indptr))
        early = of_label < _LEAST
        np.minimum.at(places, having.indices[early], of_label[early] - _LEAST)
        return np.asarray(places)


def _fitting(sizes: NDArray[np.intp], most: int) -> Bools:
    """Return which units are drawn, in their order: those that fit into what is left of ``most`` items."""
    if (sizes == 1).all():
        return np.arange(len(sizes)) < most
    mask, room = np.zeros(len(sizes), bool), most
    for unit, size in enumerate(sizes.tolist()):
        if size <= room:
            mask[unit], room = True, room - size
    return mask


def _named(examples: Examples) -> Bools:
    """Return which examples a pair or a comparison names, (n,)."""
    mask = np.zeros(len(examples), bool)
    if examples.similar is not None:
        mask |= np.diff(examples.similar.indptr) > 1  # every item is similar to itself
    if examples.constraints is not None:
        for comparisons in examples.constraints.sets:
            mask[comparisons.items.ravel()] = True
    return mask


def _labels(items: Sequence[Sequence[str]], of_item: Positions, count: int) -> tuple[Members, NDArray[np.intp]]:
    """Return which labels the items of each of ``count`` units have, (u, L), and the number of the rarest, (u,), from
    1; 0 without a label."""
    of_items = members(items, sorted({label for labels in items for label in labels}))
    held = np.bincount(of_items.indices, minlength=of_items.shape[1])
    of_items = of_items[:, np.lexsort((np.arange(len(held)), held))].tocoo()  # the rarest label becomes the first
    units = csr_array((np.ones(of_items.nnz, bool), (of_item[of_items.row], of_items.col)), (count, len(held)))
    units.sum_duplicates()
    rarest, having = np.zeros(count, np.intp), np.flatnonzero(np.diff(units.indptr))
    rarest[having] = units.indices[units.indptr[having]] + 1
    return units, rarest
