"""Large margin nearest neighbours in several notions: the constraints of class labels on the metric of each notion."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from crossview.engine.learners.frame.view_rows import Rows, slices
from crossview.engine.learners.papers.joint.compared import Notions
from crossview.engine.learners.papers.joint.joint_fit import JointSettings, Learned, learn, shares_of
from crossview.engine.learners.papers.joint.objectives import Features, Inputs
from crossview.engine.learners.papers.joint.shared_map import learn_over_map
from crossview.engine.learners.papers.losses.constraints import Constraints
from crossview.engine.learners.papers.losses.impostors import Targets
from crossview.engine.runtime.cancellation import checkpoint

Triplets = NDArray[np.int64]

_ROUNDS = 12  # maximum number of searches for impostors
_NEAREST = 10  # number of nearest rows of other classes that each row pushes at first
_AT_ONCE = 30  # maximum number of nearest impostors that one search adds per row and target neighbour
_FEW = 0.02  # the search ends when new impostors are fewer than this share of the known ones


@dataclass(frozen=True, eq=False)
class _LabelledNotion:
    """Rows with a class in one notion, by position, and their classes and target neighbours."""

    members: NDArray[np.int64]
    targets: Targets

    @property
    def classes(self) -> NDArray[np.int64]:
        return self.targets.classes

    @cached_property
    def pairs(self) -> NDArray[np.int64]:
        """(m, 2) rows and their target neighbours."""
        return self.targets.pairs


@dataclass(frozen=True, eq=False)
class Classes:
    """Class labels of rows in T notions, to learn from as in large margin nearest neighbours.

    Weinberger and Saul (JMLR 2009), and for several tasks Parameswaran and Weinberger (NIPS 2010): the mean over the
    pairs (i, j) of a row and a target neighbour of ``pull`` D(i, j) plus the sum of [margin + D(i, j) - D(i, l)]_+ over
    rows l of other classes. The loss only contains rows l that were impostors in some round, so triplets without effect
    are never listed.
    """

    notions: Sequence[_LabelledNotion]
    rows: Rows
    pull: float
    margin: float

    @classmethod
    def of(cls, rows: Rows, labels: Mapping[str, NDArray[Any]], neighbors: int, pull: float, margin: float) -> Self:
        """Return the classes of (n, H) rows, with the nearest of these rows as target neighbours.

        Args:
            rows: (n, H).
            labels: (n,) by notion; with several notions, an empty label means no class.
            neighbors: number of target neighbours of each row.
            pull: weight of the pull.
            margin: in squared distance.

        Raises:
            ValueError: if in a notion no class has two rows, or there is only one class.
        """
        found = []
        for name, of_rows in labels.items():
            labelled = (of_rows.astype(str) != "") | (len(labels) == 1 and name == "")
            members = np.flatnonzero(labelled).astype(np.int64)
            try:
                targets = Targets.nearest(rows[members], of_rows[members], neighbors)
            except ValueError as error:
                raise ValueError(f"notion {name!r}: {error}" if name else str(error)) from error
            found.append(_LabelledNotion(members, targets))
        return cls(found, rows, pull, margin)

    @property
    def totals(self) -> NDArray[np.float64]:
        """(T,) numbers of target neighbours in each notion."""
        return np.array([len(one.pairs) for one in self.notions], float)

    def learn(self, inputs: Inputs, how: JointSettings) -> Learned:
        """Return the metrics learned from the classes, in rounds with searches for impostors between them.

        Over a common map of rows, the descent itself searches for impostors, which is many times faster.
        """
        if how.sharing == "joint" and isinstance(inputs, Features):
            notions = [(inputs.rows[one.members], one.targets) for one in self.notions]
            return learn_over_map(inputs, notions, shares_of(self.totals, how.balance), self.margin, self.pull, how)
        pushes = [_nearest_others(self.rows[one.members], one) for one in self.notions]
        learned = learn(inputs, self._constrained(pushes), how)
        for _ in range(_ROUNDS - 1):
            factors = learned.factors if how.sharing != "pooled" else learned.factors * len(self.notions)
            more = [
                _impostors(inputs.project(factor)[one.members], one, self.margin)
                for factor, one in zip(factors, self.notions, strict=True)
            ]
            joined = [np.unique(np.vstack(both), axis=0) for both in zip(pushes, more, strict=True)]
            known, found = sum(map(len, pushes)), sum(map(len, joined))
            if found - known <= _FEW * known:
                break
            pushes = joined
            learned = learn(inputs, self._constrained(pushes), how, learned)
        return learned

    def _constrained(self, pushes: Sequence[Triplets]) -> Notions:
        """Return pulls and pushes as constraints: a pull costs its distance, the excess over an upper bound of zero."""
        near, far, margins, weights, codes = [], [], [], [], []
        for code, (one, triplets) in enumerate(zip(self.notions, pushes, strict=True)):
            pulled, pushed = one.members[one.pairs], one.members[triplets]
            near += [pulled, pushed[:, :2]]
            far += [pulled[:, [0, 0]], pushed[:, [0, 2]]]
            margins += [np.zeros(len(pulled)), np.full(len(pushed), self.margin)]
            weights += [np.full(len(pulled), self.pull), np.ones(len(pushed))]
            codes.append(np.full(len(pulled) + len(pushed), code))
        constraints = Constraints(*map(np.concatenate, (near, far, margins, weights)))
        return Notions(constraints, np.concatenate(codes), len(self.notions), self.totals)


def _nearest_others(rows: Rows, one: _LabelledNotion) -> Triplets:
    """Return a triplet of each row, a target neighbour and each of the nearest rows of other classes."""
    return _listed(one, ((part, gaps) for part, gaps in _others(rows, one)), np.full(len(one.pairs), np.inf), _NEAREST)


def _impostors(rows: Rows, one: _LabelledNotion, margin: float) -> Triplets:
    """Return the triplets of a row, a target neighbour and the rows of other classes within the margin beyond it."""
    near = np.square(rows[one.pairs[:, 0]] - rows[one.pairs[:, 1]]).sum(axis=1)
    return _listed(one, _others(rows, one), near + margin, _AT_ONCE)


def _others(rows: Rows, one: _LabelledNotion) -> Iterator[tuple[slice, Rows]]:
    """Yield slices of the pairs, and squared distances of their first rows to all rows, infinite to rows of the same
    class."""
    for part in slices(len(one.pairs), len(rows)):
        checkpoint()
        anchors = one.pairs[part, 0]
        gaps = cdist(rows[anchors], rows, "sqeuclidean")
        gaps[one.classes[anchors][:, None] == one.classes] = np.inf
        yield part, gaps


def _listed(one: _LabelledNotion, blocks: Iterator[tuple[slice, Rows]], reach: Rows, most: int) -> Triplets:
    """Return the triplets of pairs and the rows within their reach, at most the ``most`` nearest rows of each pair."""
    found = [np.zeros((0, 3), np.int64)]
    for part, gaps in blocks:
        count = min(most, gaps.shape[1])
        nearest = np.argpartition(gaps, count - 1, axis=1)[:, :count]
        inside = np.take_along_axis(gaps, nearest, axis=1) < reach[part, None]
        pairs, places = np.nonzero(inside)
        found.append(np.column_stack([one.pairs[part][pairs], nearest[pairs, places]]))
    return np.concatenate(found)
