"""Statements of people about similar rows: comparisons, and trees of classes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

KINDS = {2: "pairs", 3: "triplets", 4: "quadruplets"}
"""The name of a kind of comparisons, by the number of rows in each."""


@dataclass(frozen=True, eq=False)
class Comparisons:
    """n comparisons of t rows each, given by their positions; the parameters of a metric learner turn them into
    constraints.

    Attributes:
        items: (n, t) int64: pairs; triplets (a, b, c), with a nearer to b than to c; or quadruplets (a, b, c, d), with
            a and b nearer to each other than c and d.
        similar: (n,) bool, whether a pair is similar; None for triplets and quadruplets. If the notion is an attribute
            that orders items: whether both have equal amounts; otherwise the second has more.
        weights: (n,) float64, the cost of a violation; None: 1.
        margins: (n,) float64, of triplets and quadruplets, in squared distance; None: the learner's own.
        notions: (n,) names or numbers of the notions ("by the head"); None: all comparisons are in one notion.
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
        """This set, as the only one; see :class:`MixedComparisons`."""
        return (self,)

    @property
    def kind(self) -> str:
        """The name of the kind of comparisons."""
        return KINDS[self.items.shape[1]]

    @property
    def near(self) -> NDArray[np.int64]:
        """The (n, 2) pairs that should be near; for pairs, all of them."""
        return self.items[:, :2]

    @property
    def far(self) -> NDArray[np.int64]:
        """The (n, 2) pairs that should be further apart; for pairs, all of them."""
        return self.items[:, [0, 2]] if self.items.shape[1] == 3 else self.items[:, -2:]

    def take(self, chosen: NDArray[np.bool_] | NDArray[np.intp]) -> "Comparisons":
        """Return the chosen comparisons, by mask or position."""
        return replace(self, **{name: values[chosen] for name, values in vars(self).items() if values is not None})

    def among(self, rows: NDArray[np.bool_] | NDArray[np.intp], count: int) -> "Comparisons":
        """Return the comparisons whose rows are all among the chosen of ``count`` rows, with positions among the chosen
        rows.

        Raises:
            ValueError: if a comparison names a row that does not exist.
        """
        if self.items.size and not 0 <= self.items.min() <= self.items.max() < count:
            raise ValueError(f"comparisons name rows by position, from 0 to {count - 1}")
        places = np.full(count, -1, dtype=np.int64)
        members = np.arange(count)[rows]
        places[members] = np.arange(len(members))
        moved = replace(self, items=places[self.items])
        return moved.take(np.flatnonzero((moved.items >= 0).all(axis=1)))

    def agreement(self, embedded: NDArray[Any]) -> float:
        """Return how well Euclidean distances agree with the comparisons, from 0 to 1, regardless of margins.

        For triplets and quadruplets, it is the weighted share in the right order; for pairs, the area under the ROC
        curve, NaN if all or none are similar. Equal distances count half.

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
        from sklearn.metrics import roc_auc_score  # takes a second, which readers of comparisons need not spend

        return float(roc_auc_score(self.similar, -near, sample_weight=self.weights))


MAX_NODES = 10_000
"""Maximum number of nodes of a taxonomy, because memory grows with the square of its leaves."""
_SHOWN = 20
"""Maximum number of nodes of a circle in a message."""


@dataclass(frozen=True)
class Taxonomy:
    """A tree of classes, which states that classes below a common node are more similar than others.

    Attributes:
        parents: the parent of each node by name; "" for nodes on the first level, which have no named parent.

    Raises:
        ValueError: for an empty name, a parent that is not a node, a node that is below itself, or fewer than two
            leaves.
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
        if circle := cycle(self.parents):
            raise ValueError(f"{circle[0]!r} is below itself: {' below '.join(circle[:_SHOWN])}")
        if len(self.leaves) < 2:
            raise ValueError(f"a taxonomy needs at least 2 leaves, not {len(self.leaves)}")

    @cached_property
    def leaves(self) -> tuple[str, ...]:
        """The classes: the nodes without a node below them, sorted."""
        inner = set(self.parents.values())
        return tuple(sorted(name for name in self.parents if name not in inner))

    @cached_property
    def heights(self) -> NDArray[np.int64]:
        """The height of the lowest common ancestor of each two leaves, (L, L); 0 for a leaf and itself."""
        children: dict[str, list[str]] = {}
        for name, parent in self.parents.items():
            children.setdefault(parent, []).append(name)
        order: list[str] = []  # depth first: a node comes directly before all nodes below it
        stack = [""]
        while stack:
            order.append(stack.pop())
            stack += children.get(order[-1], ())
        leaves = [node for node in order if node not in children]
        heights = np.zeros((len(leaves), len(leaves)), np.int64)
        height, first = dict.fromkeys(leaves, 0), {leaf: place for place, leaf in enumerate(leaves)}
        last = {leaf: place + 1 for leaf, place in first.items()}
        for node in reversed(order):
            if below := children.get(node):
                height[node] = 1 + max(height[child] for child in below)
                first[node], last[node] = min(first[child] for child in below), max(last[child] for child in below)
                for child in below:  # the leaves of the child, and all other leaves of the node
                    own = slice(first[child], last[child])
                    heights[own, first[node] : own.start] = height[node]
                    heights[own, own.stop : last[node]] = height[node]
        places = np.argsort(np.array(leaves, object))
        return heights[np.ix_(places, places)]

    @cached_property
    def families(self) -> NDArray[np.int64]:
        """A number for each leaf, (L,), equal for siblings, the leaves of one parent. Leaves on the first level have no
        siblings."""
        parents = [("parent", self.parents[leaf]) if self.parents[leaf] else ("leaf", leaf) for leaf in self.leaves]
        numbers = {parent: number for number, parent in enumerate(dict.fromkeys(parents))}
        return np.array([numbers[parent] for parent in parents], np.int64)

    @cached_property
    def siblings(self) -> NDArray[np.bool_]:
        """Whether each two leaves are siblings, (L, L)."""
        shared = self.families[:, None] == self.families
        return np.asarray(shared & ~np.eye(len(shared), dtype=bool))

    def positions(self, names: Sequence[str]) -> NDArray[np.int64]:
        """Return the positions of classes among the leaves, (n,); -1 for names that are not leaves."""
        places = {leaf: place for place, leaf in enumerate(self.leaves)}
        return np.array([places.get(name, -1) for name in names], np.int64)


def cycle(parents: Mapping[str, str]) -> list[str]:
    """Return the nodes of a circle, each below the next, with the first node also at the end; empty without a circle.

    ``parents`` is the parent of each node, "" for nodes on the first level. The function visits each node once.
    """
    clear = {""}
    for start in parents:
        node, path = start, dict[str, None]()
        while node not in clear and node not in path:
            path[node] = None
            node = parents[node]
        if node in path:
            nodes = [*path, node]
            return nodes[nodes.index(node) :]
        clear.update(path)
    return []


@dataclass(frozen=True, eq=False)
class MixedComparisons:
    """Comparisons of the same rows of several kinds, such as pairs and quadruplets, in the order of the sets.

    Attributes:
        sets: at least one set, each of one kind; either all or none of them name notions.
    """

    sets: tuple[Comparisons, ...]

    def __len__(self) -> int:
        return sum(map(len, self.sets))

    @property
    def notions(self) -> NDArray[Any] | None:
        """(n,) the notion of each comparison; None: all are in one notion."""
        notions = [part.notions for part in self.sets if part.notions is not None]
        return np.concatenate(notions) if notions else None

    def take(self, chosen: NDArray[np.bool_] | NDArray[np.intp]) -> "MixedComparisons":
        """Return the chosen comparisons, by mask or position; sets without a chosen comparison are empty."""
        ends = np.cumsum([0, *map(len, self.sets)])
        places = np.arange(len(self))[chosen]
        members = [places[(places >= first) & (places < last)] - first for first, last in pairwise(ends)]
        return MixedComparisons(tuple(part.take(which) for part, which in zip(self.sets, members, strict=True)))

    def among(self, rows: NDArray[np.bool_] | NDArray[np.intp], count: int) -> "MixedComparisons":
        """Return the comparisons whose rows are all among the chosen; arguments and errors as for
        :class:`Comparisons`."""
        return MixedComparisons(tuple(part.among(rows, count) for part in self.sets))

    def agreement(self, embedded: NDArray[Any]) -> float:
        """Return the mean agreement of the sets, with equal weights; NaN if no set has an agreement.

        Args:
            embedded: (m, D) rows.
        """
        agreements = np.array([part.agreement(embedded) for part in self.sets if len(part)])
        agreements = agreements[np.isfinite(agreements)]
        return float(agreements.mean()) if len(agreements) else float("nan")


AnyComparisons = Comparisons | MixedComparisons
"""Comparisons of one kind, or of several kinds."""


def folds_of(comparisons: AnyComparisons, folds: int, seed: int) -> NDArray[np.intp]:
    """Return the fold of each comparison, (n,); every notion spreads evenly over the folds."""
    fold_of = np.random.default_rng(seed).permutation(len(comparisons)) % folds
    if comparisons.notions is not None:
        order = np.lexsort((fold_of, comparisons.notions.astype(str)))
        fold_of[order] = np.arange(len(comparisons)) % folds
    return fold_of
