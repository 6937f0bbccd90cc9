"""What people say of which rows are alike, or nearer to each other than others: comparisons, and trees of classes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

KINDS = {2: "pairs", 3: "triplets", 4: "quadruplets"}
"""What comparisons are called, by the rows in each."""


@dataclass(frozen=True, eq=False)
class Comparisons:
    """n comparisons of t rows each, given by their positions; a metric learner's parameters make constraints of them.

    Attributes:
        items: (n, t) int64: pairs; triplets (a, b, c), of which a is nearer to b than to c; or quadruplets
            (a, b, c, d), of which a and b are nearer to each other than c and d.
        similar: (n,) bool, whether a pair is similar; None for triplets and quadruplets. In the notion of an attribute
            that items are ordered by: whether both have as much of it, else the second has more.
        weights: (n,) float64, what a violation costs; None: 1.
        margins: (n,) float64, of triplets and quadruplets, in squared distance; None: the learner's own.
        notions: (n,) names or numbers: in what sense each was made ("by the head"); None: all in one.
    """

    items: NDArray[np.int64]
    similar: NDArray[np.bool_] | None = None
    weights: NDArray[np.float64] | None = None
    margins: NDArray[np.float64] | None = None
    notions: NDArray[Any] | None = None

    def __len__(self) -> int:
        return len(self.items)

    @property
    def sets(self) -> tuple["Comparisons", ...]:
        """These, as the only kind; see :class:`MixedComparisons`."""
        return (self,)

    @property
    def kind(self) -> str:
        """What they are called."""
        return KINDS[self.items.shape[1]]

    @property
    def near(self) -> NDArray[np.int64]:
        """The (n, 2) pairs that should be near; of pairs all of them."""
        return self.items[:, :2]

    @property
    def far(self) -> NDArray[np.int64]:
        """The (n, 2) pairs that should be further apart; of pairs all of them."""
        return self.items[:, [0, 2]] if self.items.shape[1] == 3 else self.items[:, -2:]

    def take(self, chosen: NDArray[np.bool_] | NDArray[np.intp]) -> "Comparisons":
        """Return the chosen comparisons, by mask or position."""
        return replace(self, **{name: values[chosen] for name, values in vars(self).items() if values is not None})

    def among(self, rows: NDArray[np.bool_] | NDArray[np.intp], count: int) -> "Comparisons":
        """Return those whose rows are all among the chosen of ``count`` rows, with positions counted among these.

        Raises:
            ValueError: if one names a row that does not exist.
        """
        if self.items.size and not 0 <= self.items.min() <= self.items.max() < count:
            raise ValueError(f"constraints name rows by position, from 0 to {count - 1}")
        places = np.full(count, -1, dtype=np.int64)
        chosen = np.arange(count)[rows]
        places[chosen] = np.arange(len(chosen))
        moved = replace(self, items=places[self.items])
        return moved.take(np.flatnonzero((moved.items >= 0).all(axis=1)))

    def agreement(self, embedded: NDArray[Any]) -> float:
        """Return how well Euclidean distances agree with them, from 0 to 1, regardless of margins.

        Of triplets and quadruplets the weighted share in the right order; of pairs the area under the ROC curve, NaN
        where all are similar or none is. Equal distances count half.

        Args:
            embedded: (m, D) rows.
        """
        near, far = (
            np.linalg.norm(embedded[pairs[:, 0]] - embedded[pairs[:, 1]], axis=1) for pairs in (self.near, self.far)
        )
        if self.similar is None:
            return float(np.average(np.heaviside(far - near, 0.5), weights=self.weights))
        if self.similar.all() or not self.similar.any():
            return float("nan")
        from sklearn.metrics import roc_auc_score  # a second that reading and sending comparisons should not cost

        return float(roc_auc_score(self.similar, -near, sample_weight=self.weights))


MAX_NODES = 10_000
"""Nodes that a taxonomy may have: of each two leaves it is known how near they are."""
_SHOWN = 20
"""Nodes of a circle that a message names."""


@dataclass(frozen=True)
class Taxonomy:
    """A tree of classes, which states that classes below a common node are more alike than others.

    Attributes:
        parents: the parent of each node by name; "" of those on the first level, which have no parent of a name.

    Raises:
        ValueError: for an empty name, a parent that is no node, a node that is below itself, or fewer than two leaves.
    """

    parents: Mapping[str, str]

    def __post_init__(self) -> None:
        if "" in self.parents:
            raise ValueError("a class of the taxonomy has no name")
        for name, parent in self.parents.items():
            if parent and parent not in self.parents:
                raise ValueError(f"{name!r} is below {parent!r}, which is not in the taxonomy")
        if len(self.parents) > MAX_NODES:
            raise ValueError(f"a taxonomy has at most {MAX_NODES:,} nodes, not {len(self.parents):,}")
        if found := cycle(self.parents):
            raise ValueError(f"{found[0]!r} is below itself: {' below '.join(found[:_SHOWN])}")
        if len(self.leaves) < 2:
            raise ValueError(f"a taxonomy of {len(self.leaves)} classes says nothing: name at least 2 leaves")

    @cached_property
    def leaves(self) -> tuple[str, ...]:
        """The classes: the nodes that nothing is below, sorted."""
        inner = set(self.parents.values())
        return tuple(sorted(name for name in self.parents if name not in inner))

    @cached_property
    def heights(self) -> NDArray[np.int64]:
        """The height of the lowest common ancestor of each two leaves, (L, L); 0 of a leaf and itself."""
        children: dict[str, list[str]] = {}
        for name, parent in self.parents.items():
            children.setdefault(parent, []).append(name)
        order: list[str] = []  # each node before those below it, and those below it behind it without a gap
        stack = [""]
        while stack:
            order.append(stack.pop())
            stack += children.get(order[-1], ())
        leaves = [node for node in order if node not in children]
        found = np.zeros((len(leaves), len(leaves)), np.int64)
        height, first = dict.fromkeys(leaves, 0), {leaf: place for place, leaf in enumerate(leaves)}
        last = {leaf: place + 1 for leaf, place in first.items()}
        for node in reversed(order):
            if below := children.get(node):
                height[node] = 1 + max(height[child] for child in below)
                first[node], last[node] = min(first[child] for child in below), max(last[child] for child in below)
                for child in below:  # its leaves and all others below the node
                    own = slice(first[child], last[child])
                    found[own, first[node] : own.start] = height[node]
                    found[own, own.stop : last[node]] = height[node]
        places = np.argsort(np.array(leaves, object))
        return found[np.ix_(places, places)]

    @cached_property
    def families(self) -> NDArray[np.int64]:
        """A number for each leaf, (L,), that siblings share: leaves of one parent. On the first level none has any."""
        parents = [("parent", self.parents[leaf]) if self.parents[leaf] else ("leaf", leaf) for leaf in self.leaves]
        numbers = {parent: number for number, parent in enumerate(dict.fromkeys(parents))}
        return np.array([numbers[parent] for parent in parents], np.int64)

    @cached_property
    def siblings(self) -> NDArray[np.bool_]:
        """Which leaves are siblings, (L, L)."""
        shared = self.families[:, None] == self.families
        return np.asarray(shared & ~np.eye(len(shared), dtype=bool))

    def positions(self, names: Sequence[str]) -> NDArray[np.int64]:
        """Return the positions of classes among the leaves, (n,); -1 for what is none."""
        places = {leaf: place for place, leaf in enumerate(self.leaves)}
        return np.array([places.get(name, -1) for name in names], np.int64)


def cycle(parents: Mapping[str, str]) -> list[str]:
    """Return nodes of a tree each below the next, and the last below the first, which comes again; none where none is.

    ``parents`` is the parent of each node, "" of those on the first level. Each node is looked at once.
    """
    known = {""}
    for start in parents:
        node, path = start, dict[str, None]()
        while node not in known and node not in path:
            path[node] = None
            node = parents[node]
        if node in path:
            found = [*path, node]
            return found[found.index(node) :]
        known.update(path)
    return []


@dataclass(frozen=True, eq=False)
class MixedComparisons:
    """Comparisons of the same rows of several kinds, such as pairs and quadruplets, in the order of the sets.

    Attributes:
        sets: at least one, each of one kind; either all or none of them name notions.
    """

    sets: tuple[Comparisons, ...]

    def __len__(self) -> int:
        return sum(map(len, self.sets))

    @property
    def notions(self) -> NDArray[Any] | None:
        """(n,) in what sense each was made; None: all in one."""
        found = [one.notions for one in self.sets if one.notions is not None]
        return np.concatenate(found) if found else None

    def take(self, chosen: NDArray[np.bool_] | NDArray[np.intp]) -> "MixedComparisons":
        """Return the chosen comparisons, by mask or position; sets of which none is chosen are empty."""
        ends = np.cumsum([0, *map(len, self.sets)])
        places = np.arange(len(self))[chosen]
        members = [places[(places >= first) & (places < last)] - first for first, last in pairwise(ends)]
        return MixedComparisons(tuple(one.take(which) for one, which in zip(self.sets, members, strict=True)))

    def among(self, rows: NDArray[np.bool_] | NDArray[np.intp], count: int) -> "MixedComparisons":
        """Return those whose rows are all among the chosen; arguments and errors as for :class:`Comparisons`."""
        return MixedComparisons(tuple(one.among(rows, count) for one in self.sets))

    def agreement(self, embedded: NDArray[Any]) -> float:
        """Return the mean agreement of the sets, each of which counts once; NaN where no set has one.

        Args:
            embedded: (m, D) rows.
        """
        found = np.array([one.agreement(embedded) for one in self.sets if len(one)])
        found = found[np.isfinite(found)]
        return float(found.mean()) if len(found) else float("nan")


AnyComparisons = Comparisons | MixedComparisons
"""Of one kind, or of several."""
