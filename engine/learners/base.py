"""The base class of all learners: takes care of views, validation and state, and leaves the author only ``_fit``."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_array, check_consistent_length, column_or_1d
from sklearn.utils.validation import check_is_fitted, validate_data

from engine.learners.cancellation import checkpoint
from engine.learners.groups import flattened, grouped
from engine.learners.settings import check_settings
from engine.learners.state import decode, encode

Rows = NDArray[np.float64]
Mask = NDArray[np.bool_]
MultiView = Any  # a list of (n, d_v) array-likes, one per view, or one (n, d) array-like


class MultiViewLearner(TransformerMixin, BaseEstimator, ABC):  # type: ignore[misc]  # scikit-learn ships no types
    """Maps rows of several views, each of its own width, to embeddings.

    ``X`` has one of two forms: a list with one (n, d_v) array per view, or one (n, sum of d_v) array whose columns are
    cut into views by the constructor parameter ``view_slices``, the widths of the views in order (None: the learner's
    own default, one view for those that take any number, two halves for those that need two). The second form is the
    one that scikit-learn's tools know.

    Items may lack views: a mask says which rows there are, and what stands in the others' place is never looked at.

    A subclass stores its parameters in ``__init__``, among them ``view_slices``, and defines ``_fit`` and ``_project``.
    Fitted attributes end in an underscore and hold only arrays, lists of arrays and plain values, so that ``to_state``
    can store them.

    Attributes:
        view_widths_: list of int, the width d_v of each view seen by ``fit``.
        n_features_in_: int, the sum of the widths.
    """

    name: ClassVar[str]
    cross_view: ClassVar[bool] = False  # may a query of one view be matched against another view's embeddings?
    needs_labels: ClassVar[bool] = False
    multilabel: ClassVar[bool] = False  # may labels be an indicator matrix, for items of several classes?
    adds_views: ClassVar[bool] = False  # can ``add_view`` fit one more view while the others stay?
    takes_neighbors: ClassVar[bool] = False  # does ``fit`` take explicit ``neighbors`` and ``progress``?
    takes_constraints: ClassVar[bool] = False  # does ``fit`` take comparisons as ``constraints``, in place of labels?
    view_count: ClassVar[int | None] = None  # how many views it takes; None: any number
    least_views: ClassVar[int] = 1  # how many it takes at least
    keeps_space: ClassVar[bool] = False  # does it treat rows of all views alike, so that they stay comparable?
    stage: ClassVar[bool] = False  # does it only serve another learner, before or after it?
    binary: ClassVar[bool] = False  # are embeddings codes, columns of 0 and 1?
    takes_joint: ClassVar[bool] = False  # does ``fit`` ask by ``joint`` whether rows of all views are of one space?
    argument: ClassVar[str | None] = None  # the parameter that a bare value in a spec sets, as in "pca:0.99"

    groups: ClassVar[Mapping[str, Any]] = {}  # parameters that hold several settings, with their usual values

    view_slices: Sequence[int] | None
    view_widths_: list[int]

    @property
    def parts(self) -> int:
        """How many metrics there are; an embedding is the columns of one after those of another, equally many each."""
        return 1

    def parts_of(self, labels: ArrayLike, view: int = 0) -> NDArray[np.intp]:
        """Returns the metrics of (n,) classes in a view, counted from 0; -1 where a class has none of its own."""
        return np.zeros(len(np.asarray(labels)), np.intp)

    def assign(self, X: ArrayLike, category: Any = None, view: int = 0) -> int:
        """Finds the metric for a category that was not learned, from a few examples, (m, d_view), and remembers it.

        Raises:
            ValueError: if this learner has one metric for all of them.
        """
        raise ValueError(f"{self.name} has one metric for all classes; several have learners such as musl")

    def fit(self, X: MultiView, y: ArrayLike | None = None, mask: ArrayLike | None = None) -> Self:
        """Fits the learner.

        Args:
            X: list of (n, d_v) arrays, or one (n, d) array (see the class).
            y: (n,) class labels, strings or numbers; where ``multilabel``, also a (n, L) matrix, dense or sparse,
                nonzero where an item is of a class. Ignored unless ``needs_labels``.
            mask: (n, V), which items have which views. None: all of them.

        Raises:
            ValueError: for NaN, wrong shapes, a wrong number of views, missing labels, or a view of fewer than 2 rows.
        """
        self._fit(*self._validate(X, y, mask, self.needs_labels))
        return self

    def add_view(self, X: MultiView, y: ArrayLike | None = None, mask: ArrayLike | None = None) -> Self:
        """Fits one further view, the last of ``X``, and leaves what was fitted of the others as it is.

        Args:
            X: list of (n, d_v) arrays, one more than were fitted.
            y: as in ``fit``.
            mask: as in ``fit``.

        Raises:
            ValueError: as ``fit``, or if this learner fits its views together.
        """
        raise ValueError(
            f"{self.name} fits its views together, so none can be added: train again on all of them, "
            "or use a learner that can, such as multi-npp or semantic"
        )

    def transform(self, X: MultiView, view: int | None = None) -> Any:
        """Embeds rows.

        Args:
            X: rows of one view, (n, d_view), where ``view`` is given; else the same form as in ``fit``.
            view: which view the rows are of.

        Returns:
            (n, D) array for one view; a list of them for a list; for one 2-D array the embeddings of all its views
            beside each other. float32 for float32 rows, else float64.

        Raises:
            sklearn.exceptions.NotFittedError: before ``fit``.
            ValueError: for NaN or a wrong width, or an unknown view.
        """
        check_is_fitted(self)
        if view is not None:
            return self._embed(X, view)
        if _is_list_of_views(X):
            if len(X) != len(self.view_widths_):
                raise ValueError(f"{len(X)} views given, {len(self.view_widths_)} fitted; pass view= for a single one")
            return [self._embed(rows, i) for i, rows in enumerate(X)]
        X = validate_data(self, X, reset=False, dtype=[np.float64, np.float32])
        return np.hstack([self._embed(rows, i) for i, rows in enumerate(_cut(X, self.view_widths_))])

    def most_dimensions(self, ranks: Sequence[int], classes: int) -> int:
        """Returns how many dimensions embeddings can have, given the rank of each view's rows and how many classes."""
        return max(ranks)

    def check_views(self, names: Sequence[str]) -> None:
        """Checks how many views there are, given their names.

        Raises:
            ValueError: unless this learner takes so many.
        """
        exact, count = self.view_count is not None, self.view_count or self.least_views
        if len(names) < count or (exact and len(names) > count):
            least = "exactly" if exact else "at least"
            raise ValueError(
                f"{self.name} learns from {least} {count} views; you named {len(names)} ({', '.join(names)})"
            )

    def settings(self) -> dict[str, Any]:
        """Returns the values of all settings by name: parameters, and the fields of those that are groups."""
        return flattened(self, self.get_params(deep=False))

    def set_params(self, **params: Any) -> Self:
        """Sets parameters; fields of a group go by their own names, as in ``set_params(max_iter=5)``.

        Raises:
            ValueError: for an unknown name.
        """
        super().set_params(**grouped(self, params))
        return self

    def to_state(self) -> dict[str, Any]:
        """Returns name, parameters and fitted attributes as nested dicts of JSON values and arrays.

        Raises:
            TypeError: if a parameter is neither, such as a random generator.
        """
        fitted = {key: value for key, value in vars(self).items() if key.endswith("_") and not key.startswith("_")}
        return {"learner": self.name, "params": encode(self.settings()), "fitted": encode(fitted)}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """Returns the learner that ``to_state`` described.

        Raises:
            ValueError: if the state is of another learner.
        """
        if state["learner"] != cls.name:
            raise ValueError(f"this is the state of {state['learner']!r}, not of {cls.name!r}")
        learner = cls().set_params(**decode(state["params"]))
        for key, value in decode(state["fitted"]).items():
            setattr(learner, key, value)
        return learner

    def _fit(self, views: list[Rows], labels: Any, mask: Mask) -> None:
        raise NotImplementedError  # not abstract: a learner that has a ``fit`` of its own needs none

    @abstractmethod
    def _project(self, rows: Rows, view: int) -> Rows: ...

    def _validate(
        self, X: MultiView, y: ArrayLike | None, mask: ArrayLike | None, needs_labels: bool
    ) -> tuple[list[Rows], Any, Mask]:
        """Checks and cuts the input, remembers the widths.

        Returns:
            The views as float64, zeros where an item lacks one; the labels, or None; the (n, V) mask.
        """
        checkpoint()  # here, because every fit of every learner begins so
        check_settings(self)
        if needs_labels and y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        if _is_list_of_views(X):
            check_consistent_length(*X)
            there = _checked_mask(mask, len(X[0]), len(X))
            views = [
                check_array(_blanked(rows, column), dtype=np.float64, ensure_min_samples=2)
                for rows, column in zip(X, there.T, strict=True)
            ]
            self.n_features_in_ = sum(rows.shape[1] for rows in views)
        else:
            if mask is not None:
                raise ValueError("a mask needs X to be a list of one array per view")
            X = validate_data(self, X, dtype=np.float64, ensure_min_samples=2)
            views = _cut(X, self._widths(X.shape[1]))
            there = _checked_mask(None, len(X), len(views))
        self.check_views([f"view {view}" for view in range(len(views))])
        self.view_widths_ = [rows.shape[1] for rows in views]
        if not needs_labels:
            return views, None, there
        labels = self._checked_labels(y)
        check_consistent_length(views[0], labels)
        return views, labels, there

    def _validate_added(self, X: MultiView, y: ArrayLike | None, mask: ArrayLike | None, needs_labels: bool) -> Any:
        """As ``_validate``, for the views that were fitted and one more; on an error the learner stays as it was."""
        check_is_fitted(self)
        widths, columns = self.view_widths_, self.n_features_in_
        try:
            validated = self._validate(X, y, mask, needs_labels)
            if self.view_widths_[:-1] != widths:
                raise ValueError(
                    f"views of widths {widths} were fitted: give them and one more, not {self.view_widths_}"
                )
        except ValueError:
            self.view_widths_, self.n_features_in_ = widths, columns
            raise
        return validated

    def _checked_labels(self, y: Any) -> Any:
        labels: Any = y if sp.issparse(y) else np.asarray(y)
        if self.multilabel and labels.ndim == 2 and (sp.issparse(labels) or labels.shape[1] > 1):
            return sp.csr_array(check_array(labels, accept_sparse="csr", dtype=np.float64))
        return column_or_1d(labels, warn=True)

    def _widths(self, columns: int) -> list[int]:
        if self.view_slices is not None:
            widths = [int(width) for width in self.view_slices]
            if sum(widths) != columns or min(widths, default=0) < 1:
                raise ValueError(f"view_slices={widths} must be positive and add up to the {columns} columns of X")
            return widths
        count = self.view_count or self.least_views
        if columns < count:
            raise ValueError(f"n_features={columns} is too few: {type(self).__name__} takes {count} views")
        return [len(part) for part in np.array_split(np.arange(columns), count)]

    def _embed(self, rows: ArrayLike, view: int) -> NDArray[Any]:
        checkpoint()
        checked = self._checked_rows(rows, view)
        embeddings = self._project(checked.astype(np.float64, copy=False), view)
        return embeddings.astype(checked.dtype, copy=False)

    def _checked_rows(self, rows: ArrayLike, view: int) -> NDArray[Any]:
        """Returns rows of one view, (n, d_view), as float32 or float64."""
        if not 0 <= view < len(self.view_widths_):
            raise ValueError(f"view={view} is unknown: {len(self.view_widths_)} views were fitted, counted from 0")
        checked: NDArray[Any] = check_array(rows, dtype=[np.float64, np.float32])
        if checked.shape[1] != self.view_widths_[view]:
            raise ValueError(
                f"X has {checked.shape[1]} features, but view {view} of {self.name} "
                f"is expecting {self.view_widths_[view]} features as input"
            )
        return checked

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self.needs_labels
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def complete(views: list[Rows], mask: Mask) -> list[Rows]:
    """Returns the rows of the items that have every view, for learners that compare the views item by item.

    Raises:
        ValueError: if they are fewer than two.
    """
    whole = mask.all(axis=1)
    if whole.sum() < 2:
        raise ValueError(f"{whole.sum()} items have all {len(views)} views; at least 2 are needed")
    return views if whole.all() else [rows[whole] for rows in views]


def _checked_mask(mask: ArrayLike | None, count: int, views: int) -> Mask:
    if mask is None:
        return np.ones((count, views), dtype=bool)
    there = np.asarray(mask, dtype=bool)
    if there.shape != (count, views):
        raise ValueError(f"mask has shape {there.shape}, but there are {count} items and {views} views")
    for view, present in enumerate(there.sum(axis=0)):
        if present < 2:
            raise ValueError(f"{present} items have view {view}; at least 2 are needed")
    return there


def _blanked(rows: Any, there: Mask) -> Any:
    return rows if there.all() else np.where(there[:, None], rows, 0.0)


def _is_list_of_views(X: Any) -> bool:
    return isinstance(X, list | tuple) and len(X) > 0 and all(getattr(rows, "ndim", 0) == 2 for rows in X)


def _cut(X: NDArray[Any], widths: Sequence[int]) -> list[NDArray[Any]]:
    return np.split(X, np.cumsum(widths)[:-1], axis=1)
