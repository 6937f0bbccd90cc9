"""Supervision: what a learner learns from besides the rows."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import check_array, column_or_1d

from crossview.engine.learners.comparisons import AnyComparisons, Taxonomy


@dataclass(frozen=True, kw_only=True, eq=False)
class Supervision:
    """What is known of n items of V views besides their rows; ``fit`` and ``add_view`` take it in place of y.

    Attributes:
        classes: (n,) class labels, strings or numbers: items of a class are similar. Or an (n, L) matrix, dense or
            sparse, nonzero where an item has a label: items that share one are similar (and attract once for each that
            they share), and one without only to itself.
        neighbors: in place of classes, the items whose row in a later view is similar to each item's row in an earlier
            one: n sequences of item numbers, or a sparse (n, n) matrix, nonzero where similar. To count as similar to
            itself, an item has to be among them.
        comparisons: in place of classes, comparisons of the items, of one kind or several. Each view learns from those
            that name only items that have it.
        taxonomy: a tree whose leaves are the classes: items of sibling classes are more alike than items of others.
        notion_classes: in place of classes, class labels by notion, (n,) each, "" where an item has none in it.
        groups: (n,) numbers: items of a group are alike for other reasons than their classes, as recordings of one
            speaker are, so learners that judge themselves by items that they leave out leave out whole groups; None:
            each item is a group of its own.
        mask: (n, V), which items have which views; None: all of them have all.
        labelled: (n,), whether an item's class is known, for learners of unlabelled items; None: where it is not alone
            in its class.
        shared_space: the rows of all views are vectors of one space, so that one hash should serve all views.
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
        """Return the supervision that y is, or that class labels are."""
        return y if isinstance(y, Supervision) else cls(classes=y)


def refuse_notions(learner: str, given: Supervision) -> None:
    """Refuse what is given in several notions, for a learner of one.

    Raises:
        ValueError: for comparisons or class labels by notion; ``learner`` is its name.
    """
    if given.comparisons is not None and given.comparisons.notions is not None:
        raise ValueError(f"{learner} learns one notion: take joint, or leave the notions (their column) out")
    if given.notion_classes is not None:
        names = ", ".join(map(str, given.notion_classes))
        raise ValueError(f"{learner} learns one notion, and labels are given in several ({names}): take joint")


def refuse_taxonomy(learner: str, given: Supervision) -> None:
    """Refuse a tree of classes, for a learner of other things; ``learner`` is its name.

    Raises:
        ValueError: for a tree.
    """
    if given.taxonomy is not None:
        raise ValueError(f"{learner} learns from no taxonomy: take lmnn or fantope, or leave it out")


def checked_mask(mask: Any, count: int, views: int) -> NDArray[np.bool_]:
    """Return which of ``count`` items have which of the views, (n, V).

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


def checked_classes(classes: Any, multilabel: bool) -> Any:
    """Return class labels as (n,) array, or where ``multilabel`` an indicator matrix of labels as (n, L) CSR array.

    Raises:
        ValueError: for another shape.
    """
    labels: Any = classes if sp.issparse(classes) else np.asarray(classes)
    if multilabel and labels.ndim == 2 and (sp.issparse(labels) or labels.shape[1] > 1):
        return sp.csr_array(check_array(labels, accept_sparse="csr", dtype=np.float64))
    return column_or_1d(labels, warn=True)


def neighbor_matrix(neighbors: Any, count: int) -> Any:
    """Return the listed neighbours of ``count`` items as a sparse (n, n) matrix, nonzero where a pair belongs.

    Args:
        neighbors: such a matrix; or, for each item, the numbers of its similar items.

    Raises:
        ValueError: unless there are ``count`` rows and all numbers lie in 0..count - 1.
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
    """Return the K classes of two or more rows, sorted: rows alone in theirs, as unlabelled ones are, show none.

    Raises:
        ValueError: if there are fewer than ``least``, which is 2 at most.
    """
    # Unlabelled rows have a class each, so a class of one row tells nothing about others.
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
    """Return the rows that are of some classes, and their classes, (n,), as positions in them.

    Raises:
        ValueError: if these rows are of fewer than two of the classes.
    """
    known = np.isin(labels, classes)
    codes = np.searchsorted(classes, labels[known])
    if len(np.unique(codes)) < 2:
        raise ValueError("the rows of a view are of fewer than 2 classes")
    return rows[known], codes
