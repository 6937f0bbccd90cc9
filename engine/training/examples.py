"""Examples: the items of a training or an evaluation, with their views, and on what the views were fitted."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import MultiLabelBinarizer

from crossview.engine.catalog import state
from crossview.engine.catalog.catalog import Transaction
from crossview.engine.catalog.extractors import kind_of, step_for_rows
from crossview.engine.catalog.joined import joined_view
from crossview.engine.catalog.values import REMOTE, remoteness
from crossview.engine.learners.frame.comparisons import AnyComparisons, Taxonomy
from crossview.engine.runtime.cancellation import checkpoint
from crossview.engine.spaces.pipeline import class_of, labels_of
from crossview.engine.values.errors import Argument, InvalidInputError, NotReadyError, few
from crossview.engine.values.labels import without_labels

FEWEST = 2
"""Minimum number of items of a view for learning."""
_READ_AT_ONCE = 20_000
Chosen = NDArray[np.intp] | NDArray[np.bool_]
"""A choice among examples, by position or by a mask."""


@dataclass(frozen=True, kw_only=True)
class Examples:
    """Items with at least one of some views."""

    ids: NDArray[np.int64]
    keys: tuple[str, ...]
    rows: Mapping[str, NDArray[np.float32]]
    """One (n, d_v) array for each view; NaN in rows of items without the view, so that no code takes them for data.
    Rows that are not read yet have no columns, (n, 0)."""
    mask: NDArray[np.bool_]
    """Which items have which view, (n, V)."""
    labels: tuple[tuple[str, ...], ...]
    similar: Any = None
    """Similarity by stated pairs: a sparse (n, n) matrix with 1 for similar items; None without pairs."""
    constraints: AnyComparisons | None = None
    """Comparisons of the items by position; None without constraints."""
    taxonomy: Taxonomy | None = None
    """The tree of their labels; None without a taxonomy."""
    notion_classes: Mapping[str, NDArray[np.str_]] = field(default_factory=dict)
    """Classes in each notion of similarity that an item has, (n,) each; "" for items without a class in it."""
    groups: NDArray[np.intp] | None = None
    """Numbers of the groups that folds keep whole, (n,); None without groups."""

    def __len__(self) -> int:
        return len(self.ids)

    def take(self, which: Chosen) -> "Examples":
        """Return the chosen examples; the same object if all are chosen in their order."""
        positions = np.arange(len(self))[which]
        if np.array_equal(positions, np.arange(len(self))):
            return self
        return Examples(
            ids=self.ids[positions],
            keys=tuple(self.keys[position] for position in positions),
            rows={view: rows[positions] for view, rows in self.rows.items()},
            mask=self.mask[positions],
            labels=tuple(self.labels[position] for position in positions),
            similar=None if self.similar is None else self.similar[positions][:, positions],
            constraints=None if self.constraints is None else self.constraints.among(positions, len(self)),
            taxonomy=self.taxonomy,
            notion_classes={notion: classes[positions] for notion, classes in self.notion_classes.items()},
            groups=None if self.groups is None else self.groups[positions],
        )

    def seen_in(self, *views: str) -> "Examples":
        """Return the examples that have at least one of the views, with these views in this order."""
        mask = self._mask(views)
        having = replace(self, rows={view: self.rows[view] for view in views}, mask=mask)
        return having.take(np.flatnonzero(mask.any(axis=1)))

    def having_all(self, *views: str) -> "Examples":
        """Return the examples that have all of the views."""
        return self.take(np.flatnonzero(self._mask(views).all(axis=1)))

    def seen(self, view: str) -> NDArray[np.bool_]:
        """Return which examples have a view, (n,)."""
        mask: NDArray[np.bool_] = self._mask([view])[:, 0]
        return mask

    def ids_in(self, *views: str) -> NDArray[np.int64]:
        """Return the ascending ids of the examples that have at least one of the views."""
        return self.ids[self._mask(views).any(axis=1)]

    def _mask(self, views: Sequence[str]) -> NDArray[np.bool_]:
        return self.mask[:, [list(self.rows).index(view) for view in views]]

    def of_ids(self, ids: NDArray[np.int64]) -> "Examples":
        """Return the examples with these ids."""
        return self.take(np.isin(self.ids, ids))

    @property
    def apart(self) -> NDArray[np.int64]:
        """Numbers that are equal for examples of one group, (n,): the groups, or the ids without groups."""
        return self.ids if self.groups is None else self.groups.astype(np.int64)

    def classes(self) -> NDArray[np.str_]:
        """Return one class per example, (n,): its set of labels; an unlabelled one is alone in its class."""
        names = [class_of(labels) or f"\x1f{item}" for labels, item in zip(self.labels, self.ids, strict=True)]
        return np.array(names, dtype=np.str_)

    def indicators(self) -> Any:
        """Return which example has which label, a sparse (n, L) matrix of 0 and 1."""
        return MultiLabelBinarizer(sparse_output=True).fit_transform(self.labels)

    def labels_in(self, notion: str) -> tuple[tuple[str, ...], ...]:
        """Return the labels in a notion; the examples' own labels if no example has a label in it."""
        if notion not in self.notion_classes:
            return self.labels
        return tuple(labels_of(name) for name in self.notion_classes[notion].tolist())

    def several_labels(self) -> bool:
        """Return whether any example has more than one label."""
        return any(len(labels) > 1 for labels in self.labels)


def views_with_items(tx: Transaction) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the views that at least two items have, not all with the same row, and a sentence about each other view.

    Raises NotReadyError if there is no such view.
    """
    counts = {view.name: len(tx.rows.ids(view)) for view in tx.views.all()}
    if max(counts.values(), default=0) < FEWEST:
        raise NotReadyError(f"the items of collection {tx.name()!r} have no views: index pictures, texts or vectors")
    having = {0: "no item has it", 1: "one item has it, and learning needs two"}
    equal = "all its rows are equal, so that nothing can be learned from them"
    reasons = {
        name: having.get(count) or (equal if joined_view(tx, name).has_equal_rows(tx) else "")
        for name, count in counts.items()
    }
    if all(reasons.values()):
        raise NotReadyError(f"no view can be learned from: {few(f'{name}: {why}' for name, why in reasons.items())}")
    notes = tuple(f"view {name!r} is left out: {reason}" for name, reason in reasons.items() if reason)
    return tuple(name for name, reason in reasons.items() if not reason), notes


def examples(tx: Transaction, names: Sequence[str], ignored: Sequence[str] = ()) -> Examples:
    """Return the examples of ``listed`` with their rows; raises its errors."""
    return with_rows(tx, listed(tx, names, ignored))


def listed(tx: Transaction, names: Sequence[str], ignored: Sequence[str] = ()) -> Examples:
    """Return every item that has a row in at least one of the views, without its rows and the ``ignored`` labels.

    Raises NotFoundError for an unknown view, InvalidInputError for no, repeated or wrongly joined views,
    NotReadyError for a view that no item has.
    """
    if not names or len(set(names)) < len(names):
        raise InvalidInputError(
            "name the views to learn from, each once, such as ", Argument("views", ["color", "sift"])
        )
    ids_of = {name: joined_view(tx, name).ids(tx) for name in names}
    for name, having in ids_of.items():
        if not len(having):
            raise _no_rows(tx, name)
    ids = np.unique(np.concatenate(list(ids_of.values())))
    keys, labels = tx.items.keys(), without_labels(tx.items.labels(), ignored)
    numbers = ids.tolist()
    return Examples(
        ids=ids,
        keys=tuple(keys[item] for item in numbers),
        rows={name: np.empty((len(ids), 0), np.float32) for name in names},
        mask=np.column_stack([np.isin(ids, having, assume_unique=True) for having in ids_of.values()]),
        labels=tuple(labels.get(item, ()) for item in numbers),
        notion_classes=_notion_classes(tx, numbers),
    )


def check_rows(items: Examples) -> tuple[str, ...]:
    """Return a sentence about each view whose rows float32 rounds too much; InvalidInputError if all rows are equal."""
    notes = list[str]()
    for column, (name, rows) in enumerate(items.rows.items()):
        having = rows[items.mask[:, column]]
        if len(having) > 1 and (having == having[0]).all():
            raise InvalidInputError(
                f"all rows of view {name!r} are equal, so that nothing can be learned from them: leave it out of the "
                "views"
            )
        if (times := remoteness(having)) > REMOTE:
            notes.append(
                f"the rows of view {name!r} are {times:.0e} times as far from 0 as from each other, and float32 rounds "
                "their differences: subtract their mean before they are added"
            )
    return tuple(notes)


def with_rows(tx: Transaction, items: Examples) -> Examples:
    """Return examples with their rows, read in blocks: few rows are in memory twice."""
    return replace(items, rows={name: _rows(tx, items, name) for name in items.rows})


def _rows(tx: Transaction, items: Examples, name: str) -> NDArray[np.float32]:
    """Return the rows of a view, (n, d), NaN for items without it."""
    view = joined_view(tx, name)
    rows = np.full((len(items), view.dim), np.nan, np.float32)
    having = np.flatnonzero(items.seen(name))
    for start in range(0, len(having), _READ_AT_ONCE):
        checkpoint()
        places = having[start : start + _READ_AT_ONCE]
        rows[places] = view.rows(tx, items.ids[places].tolist()).rows
    return rows


def _no_rows(tx: Transaction, name: str) -> NotReadyError:
    """Return the error for a view that no item has; for a joined view it names the rarest part."""
    view = joined_view(tx, name)
    part = min(view.parts, key=lambda view_part: len(tx.rows.ids(view_part)))
    joined = len(view.parts) > 1
    lacking = f"all parts of view {name!r}, and the fewest have {part.name!r}" if joined else f"view {name!r}"
    return NotReadyError(
        f"no item of collection {tx.name()!r} has {lacking}: leave {name!r} out of the views, "
        "or give the items this view with: ",
        step_for_rows(part),
    )


def _notion_classes(tx: Transaction, ids: Sequence[int]) -> dict[str, NDArray[np.str_]]:
    labels = tx.items.notion_labels()
    notions = sorted({notion for item in ids for notion in labels.get(item, ())})
    return {notion: np.array([class_of(labels.get(item, {}).get(notion, ())) for item in ids]) for notion in notions}


def codebooks(tx: Transaction, names: Iterable[str], queries: set[str], what: str = "queries") -> str:
    """Return the training data of fitted views in words, and the number of queries among them."""
    sentences = []
    parts = {part.name: part for name in names for part in joined_view(tx, name).parts}
    for view in [parts[name] for name in sorted(parts)]:
        packed = tx.views.state(view, view.revision)
        if packed is None:
            continue
        fitted = state.unpack(packed)
        keys = fitted["keys"]
        overlap = "which ones is not known" if keys is None else f"{len(queries & set(keys))} {what} among them"
        labels = "any labels they had" if kind_of(view).learns_labels else "no labels"
        sentences.append(
            f"{view.name}: revision {view.revision}, fitted with {labels} on "
            f"{fitted['pictures']} {fitted.get('kind', 'pictures')}, {overlap}"
        )
    return "; ".join(sentences) or "no view that takes part has a codebook"
