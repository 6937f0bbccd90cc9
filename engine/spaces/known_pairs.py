"""Pairs of similar and dissimilar items, from people's statements or from labels, and their distances in a space."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import chain

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from crossview.engine.catalog.catalog import Transaction
from crossview.engine.catalog.joined import joined_view
from crossview.engine.runtime.cancellation import checkpoint
from crossview.engine.spaces.space import Space, Vectors
from crossview.engine.spaces.target import Target
from crossview.engine.values.comparisons import ItemComparisons
from crossview.engine.values.errors import Argument, InvalidInputError, NotReadyError
from crossview.engine.values.labels import LABELLING, without_labels

MOST_ITEMS = 1_000
"""Maximum number of labelled items from which pairs are drawn; larger sets are sampled at random."""
MOST_PAIRS = 5_000
"""Maximum number of pairs of each kind that are drawn."""
FINGERPRINT = 8
"""Bytes of a pair's fingerprint."""
_VALUES_AT_ONCE = 1 << 21
"""Components, or bytes of codes, of the vectors whose distances are computed at a time: 16 MiB as float64."""


@dataclass(frozen=True, eq=False)
class ItemPairs:
    """Pairs of items that have the rows needed for their comparison."""

    items: NDArray[np.int64]
    """(n, 2) ids: the item that is the query, and the item that is found."""
    similar: NDArray[np.bool_]
    """(n,), whether the items of a pair are similar."""
    what: str
    """A description of the pairs for notes, such as "pairs of labelled items"."""

    def __len__(self) -> int:
        return len(self.items)

    def take(self, mask: NDArray[np.bool_]) -> "ItemPairs":
        """Return the chosen pairs, (n,)."""
        return replace(self, items=self.items[mask], similar=self.similar[mask])

    def both_kinds(self) -> bool:
        """Return whether some pairs are similar and some dissimilar."""
        return bool(self.similar.any()) and not self.similar.all()

    def fingerprints(self, keys: Mapping[int, str]) -> list[bytes]:
        """Return a fingerprint of each pair, the same for both orders of its items."""
        names = ("\0".join(sorted((keys[first], keys[second]))) for first, second in self.items.tolist())
        return [blake2b(name.encode(), digest_size=FINGERPRINT).digest() for name in names]


@dataclass(frozen=True, eq=False)
class PairRows:
    """Pairs of items with their rows."""

    pairs: ItemPairs
    view: str
    """The view of the first item of a pair."""
    first: NDArray[np.float32]
    second: NDArray[np.float32]
    places: NDArray[np.int64]
    """(n, 2) positions of each pair in the two arrays of rows."""

    @classmethod
    def of(cls, tx: Transaction, view: str, target_view: str, pairs: ItemPairs) -> "PairRows":
        """Read the rows of pairs: rows of ``view`` for the first items, rows of ``target_view`` for the second."""
        columns = pairs.items.T
        first, second = (
            joined_view(tx, name).rows(tx, np.unique(column).tolist())
            for name, column in zip((view, target_view), columns, strict=True)
        )
        places = [np.searchsorted(rows.ids, column) for rows, column in zip((first, second), columns, strict=True)]
        return cls(pairs, view, first.rows, second.rows, np.stack(places, 1))

    def distances(self, space: Space, target: Target) -> NDArray[np.float64]:
        """Return the distance of every pair, (n,): from the first item as a query to the second item in the target."""
        return pair_distances(space, target, (self.view, self.first), self.second, self.places)


def stated_pairs(tx: Transaction, view: str, target: Target, stated: ItemComparisons) -> ItemPairs:
    """Return the stated pairs; if pairs have notions, those in the notion of the target.

    Pairs of unknown items are left out and counted in ``what``. Raises NotFoundError if all items are unknown,
    InvalidInputError for comparisons other than plain pairs or for pairs of only one kind, NotReadyError if no pair
    has the views.
    """
    ids = tx.items.ids_of(stated.keys)
    stated.check()
    stated, unknown = stated.of_known(ids)
    comparisons = stated.comparisons
    if comparisons.similar is None:
        raise InvalidInputError(
            f"{comparisons.kind} do not state which pairs are the same: give pairs, with the columns "
            "key_a,key_b,similar"
        )
    if comparisons.weights is not None:
        raise InvalidInputError("calibration weighs all pairs the same: remove the column weight")
    items = np.array([ids.get(key, 0) for key in stated.keys], np.int64)[comparisons.items]
    mask, notion = _having(tx, view, target, items), ""
    if stated.notions:
        if target.name not in stated.notions:
            raise InvalidInputError(
                f"the pairs are in the notions {', '.join(stated.notions)}, and {str(target)!r} is not one of them"
            )
        mask &= stated.notion_codes == stated.notions.index(target.name)
        notion = f" in the notion {target.name!r}"
    if not mask.any():
        raise NotReadyError(
            f"none of the {len(stated)} pairs has items with {_views(view, target)}: index the items first"
        )
    lacking = len(stated) - int(mask.sum())
    notes = [f"{lacking} of {len(stated)} have another notion, or lack a row"] if lacking else []
    notes += [unknown] if unknown else []
    what = f"stated pairs{notion}" + (f" ({'; '.join(notes)})" if notes else "")
    return check_kinds(ItemPairs(items, comparisons.similar, what).take(mask))


def check_kinds(pairs: ItemPairs) -> ItemPairs:
    """Return the pairs; InvalidInputError if all are of one kind."""
    if not pairs.both_kinds():
        kind, other = ("similar", "dissimilar") if len(pairs) and pairs.similar.all() else ("dissimilar", "similar")
        raise InvalidInputError(
            f"all of the {len(pairs)} usable pairs are {kind}: add pairs whose column similar states that they "
            f"are {other}"
        )
    return pairs


def labelled_pairs(tx: Transaction, space: Space, view: str, target: Target, seed: int = 0) -> ItemPairs:
    """Return the same number of pairs that share a label and pairs that do not, from items outside the training.

    If those items give pairs of only one kind, use all labelled items. Raises NotReadyError if these also do.
    """
    labels, keys = labels_for(tx, target, space.ignored_labels), tx.items.keys()
    able = having_both(tx, view, target).tolist()
    labelled = [item for item in able if item in labels]
    unseen = [item for item in labelled if keys[item] not in space.training_keys]
    what, trained = f"labelled items with {_views(view, target)}", len(unseen) < len(labelled)
    free = f"{what} that space {space.name!r} was not trained on" if trained else what
    for items, which in ((unseen, free), (labelled, what)):
        pairs = drawn_pairs(items, labels, np.random.default_rng(seed))
        if pairs.both_kinds():
            warning = _TRAINED if trained and items is labelled else ""
            return replace(pairs, what=f"pairs of {which}{warning}")
    raise NotReadyError(
        f"the {len(labelled)} {what} lack pairs of the same or of different labels: give ",
        Argument("pairs"),
        ", or ",
        LABELLING,
    )


_TRAINED = ", some of which it was trained on, so the threshold suits new items less: hold out items in the training"


def drawn_pairs(items: Sequence[int], labels: Mapping[int, Sequence[str]], generator: np.random.Generator) -> ItemPairs:
    """Return the same number of similar and dissimilar pairs of items, each pair once, its items in random order."""
    ids, shared = _sharing(items, labels, generator)
    upper = np.triu(np.ones_like(shared), 1)
    kinds = [np.argwhere(upper & (shared == similar)) for similar in (True, False)]
    count = min(MOST_PAIRS, *map(len, kinds))
    drawn = np.concatenate([generator.permutation(pairs)[:count] for pairs in kinds])
    swapped = generator.random(len(drawn)) < 0.5
    drawn[swapped] = drawn[swapped, ::-1]
    return ItemPairs(ids[drawn], np.arange(len(drawn)) < count, "")


def base_rate(tx: Transaction, view: str, target: Target, ignored: Sequence[str] = (), seed: int = 0) -> float:
    """Return the share of pairs with a common label among all pairs of labelled items; 0 without labels."""
    labels = labels_for(tx, target, ignored)
    labelled = [item for item in having_both(tx, view, target).tolist() if item in labels]
    ids, shared = _sharing(labelled, labels, np.random.default_rng(seed))
    pairs = len(ids) * (len(ids) - 1)
    same = int(shared.sum()) - len(ids)
    return same / pairs if 0 < same < pairs else 0.0


def _sharing(
    items: Sequence[int], labels: Mapping[int, Sequence[str]], generator: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return ascending ids of at most ``MOST_ITEMS`` labelled items, (n,), and which of them share a label, (n, n)."""
    ids = np.sort(generator.permutation(np.array(items, np.int64))[:MOST_ITEMS])
    columns: dict[str, int] = {}
    codes = [[columns.setdefault(label, len(columns)) for label in labels[item]] for item in ids.tolist()]
    ends = np.cumsum([0, *map(len, codes)])
    places = np.fromiter(chain.from_iterable(codes), np.intp, ends[-1])
    members = csr_array((np.ones(len(places), np.int32), places, ends), shape=(len(ids), max(1, len(columns))))
    return ids, (members @ members.T).toarray() > 0


def having_both(tx: Transaction, view: str, target: Target) -> NDArray[np.int64]:
    """Return the ascending ids of the items that have both views of a pair."""
    return np.intersect1d(joined_view(tx, view).ids(tx), joined_view(tx, target.view).ids(tx))


def labels_for(tx: Transaction, target: Target, ignored: Sequence[str] = ()) -> Mapping[int, Sequence[str]]:
    """Return the labels by item that define sameness in a target: labels in its notion, otherwise the items' own.

    The own labels are those that the space does not ignore.
    """
    in_notion = {item: names[target.name] for item, names in tx.items.notion_labels().items() if names.get(target.name)}
    return in_notion or without_labels(tx.items.labels(), ignored)


def _having(tx: Transaction, view: str, target: Target, items: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which pairs have the rows for their comparison, (n,)."""
    able = [np.isin(items[:, side], joined_view(tx, name).ids(tx)) for side, name in enumerate((view, target.view))]
    return np.asarray(able[0] & able[1])


def _views(view: str, target: Target) -> str:
    return f"view {view!r}" if view == target.view else f"views {view!r} and {target.view!r}"


def pair_distances(
    space: Space,
    target: Target,
    first: tuple[str, NDArray[np.float32]],
    second: NDArray[np.float32],
    pairs: NDArray[np.int64],
) -> NDArray[np.float64]:
    """Return the distance of every pair, (n,), the same as a search in the target returns.

    ``first`` is a view and its rows, (m, d), as queries; ``second`` has rows of the target's view, (l, e), as items.
    ``pairs``, (n, 2), has positions in both. Distances are Euclidean, not squared, or numbers of differing bits.

    Raises the errors of ``Space.probe``.
    """
    asking = space.probe(*first, [str(target)])[target]
    answering = space.probe(target.view, second, [str(target)], items=True)[target]
    distances, at_once = np.empty(len(pairs)), max(1, _VALUES_AT_ONCE // max(1, asking.shape[1]))
    for start in range(0, len(pairs), at_once):
        checkpoint()
        a, b = pairs[start : start + at_once].T
        distances[start : start + at_once] = _between(target, asking[a], answering[b])
    return distances


def _between(target: Target, first: Vectors, second: Vectors) -> NDArray[np.float64]:
    """Return the distances of vectors of a target, (n, w) each, row by row."""
    if target.codes and not target.floats:
        differing: NDArray[np.float64] = np.bitwise_count(np.bitwise_xor(first, second)).sum(axis=1, dtype=np.float64)
        return differing
    if target.floats:  # the float vectors follow the code
        first, second = (
            np.ascontiguousarray(vectors[:, target.code_bytes :]).view(np.float32) for vectors in (first, second)
        )
    return np.asarray(np.linalg.norm(first.astype(np.float64) - second, axis=1))
