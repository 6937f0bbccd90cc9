"""Supervision: the input of a learner besides rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import check_array, column_or_1d

from crossview.engine.learners.frame.comparisons import AnyComparisons, Taxonomy


@dataclass(frozen=True, kw_only=True, eq=False)
class Supervision:
    """The input of a learner besides the rows of n items of V views; ``fit`` and ``add_view`` take it instead of y.

    Attributes:
        classes: (n,) class labels, strings or numbers: items of a class are similar. Or an (n, L) matrix, dense or
            sparse, nonzero if an item has a label: items that share a label are similar (and attract each other once
            per shared label), and an item without labels is similar only to itself.
        neighbors: instead of classes, the items whose rows in a later view are similar to each item's row in an earlier
            view: n sequences of item numbers, or a sparse (n, n) matrix, nonzero for similar items. An item is similar
            to itself only if it is among its own neighbors.
        comparisons: instead of classes, comparisons of the items, of one kind or several. Each view learns from the
            comparisons whose items all have the view.
        taxonomy: a tree whose leaves are the classes: items of sibling classes are more similar than items of others.
        notion_classes: instead of classes, class labels by notion, (n,) each, "" for an item without a class in the
            notion.
        groups: (n,) numbers: items of a group are similar for other reasons than their classes, such as recordings of
            one speaker. Learners that evaluate themselves on left-out items leave out whole groups. None: each item is
            its own group.
        mask: (n, V), whether each item has each view; None: all items have all views.
        labelled: (n,), whether the class of an item is known, for learners of unlabelled items; None: the class -1,
            None or NaN marks an unlabelled item, as in scikit-learn. Without such an item, a class is known if two or
            more items have it.
        shared_space: whether the rows of all views are vectors of one space, so that one hash can serve all views.
    """

    classes: Any = None
    neighbors: Any = None
    comparisons: AnyComparisons | None = None
    taxonomy: Taxonomy | None = None
    notion_classes: Mapping[str, Any] | None = None
    groups: NDArray[np.intp] | None = None
    mask: Any = None
    shared_space: bool = False
    labelled: Any = None

    @classmethod
    def of(cls, y: Any) -> "Supervision":
        """Return y if it is supervision, or supervision with y as class labels."""
        return y if isinstance(y, Supervision) else cls(classes=y)


def refuse_notions(learner: str, supervision: Supervision) -> None:
    """Refuse supervision in several notions, for a learner of one notion; ``learner`` is its name.

    Raises:
        ValueError: for comparisons or class labels by notion.
    """
    if supervision.comparisons is not None and supervision.comparisons.notions is not None:
        raise ValueError(f"{learner} learns one notion: use joint, or leave out the notions (their column)")
    if supervision.notion_classes is not None:
        names = ", ".join(map(str, supervision.notion_classes))
        raise ValueError(f"{learner} learns one notion, but there are labels in several ({names}): use joint")


def refuse_taxonomy(learner: str, supervision: Supervision) -> None:
    """Refuse a tree of classes, for a learner that does not use it; ``learner`` is its name.

    Raises:
        ValueError: for a tree.
    """
    if supervision.taxonomy is not None:
        raise ValueError(f"{learner} does not learn from a taxonomy: use lmnn or fantope, or leave out the taxonomy")


def checked_mask(mask: Any, count: int, views: int) -> NDArray[np.bool_]:
    """Return whether each of ``count`` items has each view, (n, V).

    Raises:
        ValueError: for another shape, or a view of fewer than two items.
    """
    if mask is None:
        return np.ones((count, views), dtype=bool)
    present = np.asarray(mask, dtype=bool)
    if present.shape != (count, views):
        raise ValueError(f"mask has shape {present.shape}, but there are {count} items and {views} views")
    for view, items in enumerate(present.sum(axis=0)):
        if items < 2:
            raise ValueError(f"{items} items have view {view}; at least 2 are needed")
    return present


def refuse_equal_rows(views: Sequence[NDArray[np.float64]], mask: NDArray[np.bool_]) -> None:
    """Refuse a view whose rows, (n, d) of which (n,) are there, are all equal.

    Raises:
        ValueError: for such a view, with its number.
    """
    for view, (rows, present) in enumerate(zip(views, mask.T, strict=True)):
        first = rows[present.argmax()]
        if not (rows[present] != first).any():
            raise ValueError(f"all rows of view {view} are equal, so that nothing can be learned: leave it out")


def checked_classes(classes: Any, multilabel: bool) -> Any:
    """Return class labels as an (n,) array or, with ``multilabel``, an indicator matrix of labels as an (n, L) CSR
    array.

    Raises:
        ValueError: for another shape.
    """
    labels: Any = classes if sp.issparse(classes) else np.asarray(classes)
    if multilabel and labels.ndim == 2 and (sp.issparse(labels) or labels.shape[1] > 1):
        return sp.csr_array(check_array(labels, accept_sparse="csr", dtype=np.float64))
    return column_or_1d(labels, warn=True)


def refuse_mixed(classes: Any) -> None:
    """Raise ValueError for labels of which some are texts and some numbers."""
    objects = isinstance(classes, np.ndarray) and classes.dtype == "O"
    if objects and len({isinstance(label, str) for label in classes.tolist()}) > 1:
        raise ValueError("y has both texts and numbers: class labels are all texts or all numbers")


def missing_labels(labels: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which of (n,) labels are missing, (n,): None, NaN, and what pandas has instead."""
    if labels.dtype.kind != "O":
        return np.asarray(labels != labels)  # only NaN differs from itself
    return np.array([_is_missing(label) for label in labels.tolist()], bool)


def _is_missing(label: Any) -> bool:
    # NaN and NaT differ from themselves, and a comparison of pandas.NA is neither true nor false.
    same = label == label
    return label is None or not isinstance(same, bool | np.bool_) or not same


def refuse_missing(learner: str, classes: Any) -> None:
    """Refuse missing labels, for a learner that needs the labels of all rows; ``learner`` is its name.

    Raises:
        ValueError: for a missing label, with its row.
    """
    rows = np.flatnonzero(missing_labels(classes)).tolist() if isinstance(classes, np.ndarray) else []
    if rows:
        raise ValueError(
            f"Input y contains NaN or None: {len(rows)} of {len(classes)} labels are missing, the first of row "
            f"{rows[0]}, and {learner} learns from labelled rows: leave the others out, or use co-em"
        )


def without_marks(supervision: Supervision) -> Supervision:
    """Return supervision that states which items are labelled, if its classes mark unlabelled items.

    The marks are those of scikit-learn's semi-supervised learners: -1, and also None and NaN. A text "-1" is a class.
    The result has no classes if no item is labelled.
    """
    labels = np.asarray(supervision.classes)
    if supervision.labelled is not None or sp.issparse(supervision.classes) or labels.ndim != 1:
        return supervision
    marked = missing_labels(labels)
    if labels.dtype.kind != "U":
        marked[~marked] = np.asarray(labels[~marked] == -1, bool)
    if not marked.any():
        return supervision
    if marked.all():
        return replace(supervision, classes=None)
    # Any class stands in for a mark, because marks of objects cannot be sorted; ``labelled`` states that it is unknown.
    return replace(supervision, classes=np.where(marked, labels[~marked][0], labels), labelled=~marked)


def neighbor_matrix(neighbors: Any, count: int) -> Any:
    """Return the listed neighbours of ``count`` items as a sparse (n, n) matrix, nonzero for a pair that belongs.

    Args:
        neighbors: such a matrix; or, for each item, the numbers of its similar items.

    Raises:
        ValueError: unless there are ``count`` rows and all numbers are in 0..count - 1.
    """
    if not sp.issparse(neighbors):
        if len(neighbors) != count:
            raise ValueError(f"neighbors has {len(neighbors)} rows, X has {count}")
        lengths = [len(row) for row in neighbors]
        columns = np.concatenate([np.asarray(row, dtype=np.int64) for row in neighbors])
        if len(columns) and not (columns.min() >= 0 and columns.max() < count):
            raise ValueError(f"neighbors must be row numbers in 0..{count - 1}")
        rows = np.repeat(np.arange(count), lengths)
        neighbors = sp.csr_array((np.ones(len(columns)), (rows, columns)), shape=(count, count))
    if neighbors.shape != (count, count):
        raise ValueError(f"neighbors has shape {neighbors.shape}, X has {count} rows: expected {(count, count)}")
    return neighbors


def shared_classes(labels: NDArray[Any], least: int = 2) -> NDArray[Any]:
    """Return the K classes of two or more rows, sorted.

    Raises:
        ValueError: if there are fewer than ``least``, which is 2 at most.
    """
    # Each unlabelled row has its own class, so a class of one row gives no information about other rows.
    names, counts = np.unique(labels, return_counts=True)
    classes: NDArray[Any] = names[counts > 1]
    if len(classes) < least:
        raise ValueError(f"the labels have {len(classes)} class of two or more rows; at least 2 classes are needed")
    return classes


def comparable_classes(labels: NDArray[Any]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the class of each row, (n,), counted from 0, and the number of rows of each class.

    Raises:
        ValueError: if no class has two rows or there is only one class.
    """
    _, codes, counts = np.unique(labels, return_inverse=True, return_counts=True)
    if len(counts) < 2 or counts.max() < 2:
        raise ValueError(
            f"the labels have {len(counts)} classes of at most {counts.max()} rows: comparisons need at least 2 "
            "classes, one of them with 2 rows"
        )
    return codes, counts


def rows_of_classes(
    rows: NDArray[np.float64], labels: NDArray[Any], classes: NDArray[Any]
) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Return the rows of some classes, and their classes, (n,), as positions in ``classes``.

    Raises:
        ValueError: if these rows are of fewer than two of the classes.
    """
    mask = np.isin(labels, classes)
    codes = np.searchsorted(classes, labels[mask])
    if len(np.unique(codes)) < 2:
        raise ValueError("the rows of a view are of fewer than 2 classes")
    return rows[mask], codes
