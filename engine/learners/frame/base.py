"""The base class of all learners, which handles views, validation and state."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils import check_array, check_consistent_length
from sklearn.utils.validation import check_is_fitted, validate_data

from crossview.engine.learners.frame.capabilities import Capabilities
from crossview.engine.learners.frame.cost import FitCost, FitSize, linear_cost
from crossview.engine.learners.frame.settings import GroupedSettings, check_settings, flattened, grouped
from crossview.engine.learners.frame.stage import learner_name, present_attributes, present_settings
from crossview.engine.learners.frame.supervision import (
    Supervision,
    checked_classes,
    checked_mask,
    refuse_equal_rows,
    refuse_missing,
    refuse_mixed,
    refuse_notions,
    refuse_taxonomy,
    without_marks,
)
from crossview.engine.learners.frame.traits import AddsViews
from crossview.engine.learners.frame.view_rows import (
    Mask,
    MultiView,
    Rows,
    cut,
    framed,
    is_list_of_views,
    rows_of_tuples,
)
from crossview.engine.runtime.cancellation import checkpoint
from crossview.engine.runtime.threads import one_blas_thread

if TYPE_CHECKING:
    from crossview.engine.learners.sklearn_types import BaseEstimator, TransformerMixin
else:
    from sklearn.base import BaseEstimator, TransformerMixin

MAX_ITEMS = 10_000
"""Default maximum number of items to learn from."""
MANY_ITEMS = 100_000
"""That of learners whose time and memory hardly grow with the items; more items change no figure (docs/learners)."""


_OUTPUTS = ("default", "pandas", "polars")


class MultiViewLearner(TransformerMixin, BaseEstimator, auto_wrap_output_keys=None, metaclass=GroupedSettings):
    """The base class of learners, which map rows of several views, each of its own width, to embeddings.

    ``X`` has one of three forms: a list with one (n, d_v) array per view; one (n, sum of d_v) array, whose columns the
    constructor parameter ``view_slices`` divides into views by their widths (None: the learner's own default, one view
    for learners that take any number of views, two halves for those that need two); or a list of n tuples with a row
    per view. scikit-learn's tools, such as GridSearchCV, use the second and the third form.

    Items may lack views: the mask of a :class:`Supervision` states which rows exist. Learners ignore the values of
    missing rows.

    A subclass stores its parameters in ``__init__``, among them ``view_slices``, and defines ``_fit`` and ``_project``,
    and ``_add_view`` (:class:`~engine.learners.frame.traits.AddsViews`) if its capabilities state that it adds views.
    Fitted attributes end in an underscore and contain only arrays, lists of arrays and plain values, so that
    ``to_state`` can store them.

    Attributes:
        view_widths_: list of int, the width d_v of each view seen by ``fit``.
        n_features_in_: int, the sum of the widths.
        n_metrics_: int, the number of metrics; an embedding has the columns of each metric, one metric after another.
        metric_names_: list of str, the names of the metrics; empty: they have numbers.
        metric_widths_: list of lists of int, one per view: the number of columns of each metric; empty: all metrics
            have the same number.
        names_: list of str, a name for each column of the embeddings, as attributes have; empty: columns have no names.
        max_items: int, the maximum number of items to learn from; a training draws a sample of more items. None: any
            number, for steps that need only a few copies of their rows.
        left_out_: list of (n_v, D) arrays, one per view: the embedding of each training row by a model without this
            row, in the order of the rows that have the view; empty if the learner computes none. A chain uses them.
    """

    name: ClassVar[str]
    capabilities: ClassVar[Capabilities] = Capabilities()

    groups: ClassVar[Mapping[str, Any]] = {}
    """The parameters that contain several settings, with their default values."""

    view_slices: Sequence[int] | None
    view_widths_: list[int]
    n_features_in_: int
    n_metrics_: int = 1
    metric_names_: Sequence[str] = ()
    metric_widths_: Sequence[Sequence[int]] = ()
    names_: Sequence[str] = ()
    left_out_: Sequence[NDArray[np.float32]] = ()

    max_items: int | None = MAX_ITEMS

    _sklearn_output_config: Mapping[str, str] = {}
    """The output that ``set_output`` chose, under the name that scikit-learn's ``clone`` copies."""

    @property
    def needs_labels(self) -> bool:
        """Whether ``fit`` needs class labels, given the parameters, because some parameters replace labels."""
        return self.capabilities.needs_labels

    @property
    def least_columns(self) -> int:
        """The minimum number of columns of rows, given the parameters."""
        return 1

    @property
    def ordered_classes(self) -> frozenset[str]:
        """The classes that the parameters order; the learner uses only labelled rows of these classes.

        It is empty for a learner without such a parameter, which learns from all classes.
        """
        return frozenset()

    def widths_of_metrics(self, view: int, columns: int) -> list[int]:
        """Return the number of columns of each metric, in their order, among the columns of a view's embeddings."""
        if self.metric_widths_:
            return [int(width) for width in self.metric_widths_[view]]
        return [columns // self.n_metrics_] * self.n_metrics_

    def metric_of_class(self, labels: ArrayLike, view: int = 0) -> NDArray[np.intp]:
        """Return the metrics of (n,) classes in a view, counted from 0; -1 for a class without its own metric."""
        return np.full(len(np.asarray(labels)), 0 if self.n_metrics_ == 1 else -1)

    def metric_of_rows(self, embeddings: ArrayLike, view: int = 0) -> NDArray[np.intp]:
        """Return the metric of the likeliest class of each of (n, D) embedded rows; -1 if the learner cannot determine
        it."""
        return np.full(len(np.asarray(embeddings)), -1)

    def place_of_class(self, name: str, view: int = 0) -> NDArray[np.float64]:
        """Return the place of a class among the embeddings of a view, (D,).

        Raises:
            ValueError: for a class that this learner does not know, or if it has no places of classes.
        """
        raise ValueError("its learner has no places of classes: train one that has, such as attributes")

    def described_classes(self, view: int = 0) -> tuple[str, ...]:
        """Return the classes that this learner knows only from orderings, without rows of a view; empty: none."""
        return ()

    def class_probabilities(self, X: ArrayLike, view: int = 0) -> dict[str, NDArray[np.float64]]:
        """Return the probability of each class for rows of a view, (n,) by class.

        Raises:
            ValueError: if this learner does not estimate probabilities; or as ``transform``.
        """
        raise ValueError(f"{self.name} does not estimate probabilities of classes; attributes, for example, does")

    def assign(self, X: ArrayLike, category: Any = None, view: int = 0) -> int:
        """Find the metric for a category that was not learned, from a few examples, (m, d_view), and remember it.

        Raises:
            ValueError: if this learner has one metric for all classes.
        """
        raise ValueError(f"{self.name} has one metric for all classes; musl, for example, has several")

    def fit(self, X: MultiView, y: Any = None) -> Self:
        """Fit the learner.

        Args:
            X: list of (n, d_v) arrays, or one (n, d) array (see the class).
            y: (n,) class labels, or a :class:`Supervision`, which can contain classes. The learner ignores classes if
                it does not need them, or if it learns from given neighbors or comparisons instead. Learners of
                unlabelled items, such as co-em, take -1, None and NaN as unlabelled; for others, -1 is a class, and
                None and NaN are errors.

        Raises:
            ValueError: for NaN, wrong shapes, parameters out of range, a wrong number of views, a view of fewer than 2
                rows, missing labels, or supervision of a kind that the learner does not take.
        """
        views, supervision = self._validated(X, y)
        with one_blas_thread():
            self._fit(views, supervision)
        for view, width in enumerate(self.view_widths_):
            if not self.embedded(np.zeros((1, width)), view).shape[1]:
                raise ValueError(f"nothing can be learned from the rows of view {view}: no dimension is left")
        return self

    def again(self) -> Self:
        """Return an unfitted copy that keeps the choices of this fit, to fit it faster on some of the items."""
        learner: Self = clone(self)
        return learner

    def add_view(self, X: MultiView, y: Any = None) -> Self:
        """Fit one further view, the last of ``X``; the fit of the other views stays as it is.

        Args:
            X: list of (n, d_v) arrays, one more than there are fitted views.
            y: as in ``fit``.

        Raises:
            sklearn.exceptions.NotFittedError: before ``fit``.
            ValueError: as ``fit``, or if this learner fits its views together.
        """
        if not isinstance(self, AddsViews):
            raise ValueError(
                f"{self.name} fits its views together, so none can be added: train again on all of them, "
                "or use a learner that can, such as multi-npp or semantic"
            )
        check_is_fitted(self)
        widths, columns = self.view_widths_, self.n_features_in_
        try:
            views, supervision = self._validated(X, y)
            if self.view_widths_[:-1] != widths:
                raise ValueError(
                    f"views of widths {widths} were fitted: give them and one more, not {self.view_widths_}"
                )
            with one_blas_thread():
                self._add_view(views, supervision)
        except Exception:
            self.view_widths_, self.n_features_in_ = widths, columns
            raise
        return self

    def transform(self, X: MultiView, view: int | None = None) -> Any:
        """Embed rows.

        Args:
            X: with ``view``, rows of this view, (n, d_view); otherwise the same form as in ``fit``.
            view: the view of the rows.

        Returns:
            (n, D) array for one view; a list of arrays for a list; for one 2-D array, the embeddings of all its views
            beside each other. float32 for float32 rows, otherwise float64. Without ``view``, frames instead of arrays
            if ``set_output`` says so.

        Raises:
            sklearn.exceptions.NotFittedError: before ``fit``.
            ValueError: for NaN or a wrong width, or an unknown view.
        """
        check_is_fitted(self)
        if view is not None:
            return self._embed(X, view)
        if (tuples := rows_of_tuples(X)) is not None:
            X = np.hstack(tuples)
        if is_list_of_views(X):
            if len(X) != len(self.view_widths_):
                raise ValueError(f"{len(X)} views given, {len(self.view_widths_)} fitted; pass view= for a single one")
            return [
                framed(self._embed(rows, i), self._output, rows, partial(self._names, i)) for i, rows in enumerate(X)
            ]
        rows = validate_data(self, X, reset=False, dtype=[np.float64, np.float32])
        embeddings = np.hstack([self._embed(part, i) for i, part in enumerate(cut(rows, self.view_widths_))])
        return framed(embeddings, self._output, X, lambda: self.get_feature_names_out().tolist())

    def set_output(self, *, transform: str | None = None) -> Self:
        """Set what ``transform`` returns without ``view``: "default", an array, or a frame of "pandas" or "polars".

        None changes nothing.

        Raises:
            ValueError: for another kind.
        """
        if transform not in (None, *_OUTPUTS):
            raise ValueError(f"transform is one of {', '.join(_OUTPUTS)}, not {transform!r}")
        if transform is not None:
            self._sklearn_output_config = {"transform": transform}
        return self

    @property
    def _output(self) -> str:
        return self._sklearn_output_config.get("transform", "")

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return a name for each column that ``transform`` returns for one array, (sum of D,).

        ``input_features``, the names of the columns of ``X``, are only checked.

        Raises:
            sklearn.exceptions.NotFittedError: before ``fit``.
            ValueError: for other names than those of ``X``, or another number.
        """
        check_is_fitted(self)
        if input_features is not None:
            if len(input_features) != self.n_features_in_:
                raise ValueError(f"input_features should have length equal to the {self.n_features_in_} columns of X")
            if list(getattr(self, "feature_names_in_", input_features)) != list(input_features):
                raise ValueError("input_features is not equal to feature_names_in_")
        names = [name for view in range(len(self.view_widths_)) for name in self._names(view)]
        return np.array(names, dtype=object)

    def _names(self, view: int) -> list[str]:
        """Return a name for each column of the embeddings of a view, (D,)."""
        prefix = f"view{view}_" if len(self.view_widths_) > 1 else ""
        numbers = range(self.embedded(np.zeros((1, self.view_widths_[view])), view).shape[1])
        return [
            prefix + name for name in self.names_ or [f"{type(self).__name__.lower()}{number}" for number in numbers]
        ]

    def transform_queries(self, X: ArrayLike, view: int) -> Any:
        """Embed query rows of one view, (n, d_view), to compare with embedded items; the default is ``transform``.

        Returns, raises: as ``transform``.
        """
        check_is_fitted(self)
        return self._embed(X, view, queries=True)

    def most_dimensions(self, ranks: Sequence[int], classes: int) -> int:
        """Return the maximum number of dimensions of embeddings, given the rank of each view's rows and the number of
        classes."""
        return max(ranks)

    def fit_cost(self, size: FitSize) -> FitCost:
        """Return the estimated cost of a fit, so that a training can refuse what does not fit into memory."""
        steps = self.settings().get("max_iter")
        return linear_cost(size, size.widths, steps if isinstance(steps, int) else 1)

    def embedded_widths(self, size: FitSize) -> tuple[int, ...]:
        """Return the estimated number of columns of each view's embeddings."""
        dims = self.settings().get("n_components", self.settings().get("n_bits"))
        return size.widths if not isinstance(dims, int) else (dims,) * len(size.widths)

    def check_views(self, names: Sequence[str]) -> None:
        """Raise ValueError unless this learner takes this number of views; the message shows their names."""
        self.capabilities.check_views(self.name, names)

    def settings(self) -> dict[str, Any]:
        """Return the values of all settings by name: parameters, and the fields of parameters that are groups."""
        return flattened(self, self.get_params(deep=False))

    def set_params(self, **params: Any) -> Self:
        """Set parameters; set the fields of a group by their own names, as in ``set_params(max_iter=5)``.

        Raises:
            ValueError: for an unknown name.
        """
        super().set_params(**grouped(self, params))
        return self

    def to_state(self) -> dict[str, Any]:
        """Return name, parameters and fitted attributes, as dicts, lists, plain values and arrays of the learner
        itself; a generator of random numbers becomes None."""
        fitted = {
            key: list(value) if isinstance(value, list) else value  # lists grow when a view is added
            for key, value in vars(self).items()
            if key.endswith("_") and not key.startswith("_")
        }
        params = self.settings()
        if isinstance(params.get("random_state"), np.random.RandomState):
            params["random_state"] = None
        return {"learner": self.name, "params": params, "fitted": fitted}

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """Return the learner that ``to_state`` described.

        Raises:
            ValueError: if the state is of another learner.
        """
        if learner_name(state["learner"]) != cls.name:
            raise ValueError(f"this is the state of {state['learner']!r}, not of {cls.name!r}")
        learner = cls().set_params(**present_settings(cls.name, state["params"]))
        for key, value in present_attributes(cls.name, state["fitted"]).items():
            if not key.endswith("_") or key.startswith("_"):
                raise ValueError(f"{cls.name} learns no {key!r}")
            setattr(learner, key, value)
        return learner

    @abstractmethod
    def _fit(self, views: list[Rows], supervision: Supervision) -> None:
        """Fit validated views: float64, zeros for missing rows. ``supervision`` has a mask, and classes if the learner
        needs them."""

    @abstractmethod
    def _project(self, rows: Rows, view: int) -> Rows: ...

    def _project_queries(self, rows: Rows, view: int) -> Rows:
        return self._project(rows, view)

    def _validated(self, X: MultiView, y: Any) -> tuple[list[Rows], Supervision]:
        supervision = Supervision.of(y)
        needs_classes = self._needs_classes(supervision)
        if needs_classes and supervision.classes is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        views, mask = self._validated_views(X, supervision.mask)
        classes = checked_classes(supervision.classes, self.capabilities.multilabel) if needs_classes else None
        check_consistent_length(views[0], classes, *(supervision.notion_classes or {}).values())
        supervision = replace(supervision, classes=classes, mask=mask)
        if needs_classes and self.needs_labels:
            refuse_missing(self.name, classes)
        elif needs_classes:
            # A learner that uses labels without needing them is semi-supervised; for the others -1 is a class like any.
            supervision = without_marks(supervision)
        refuse_mixed(supervision.classes)
        return views, supervision

    def _needs_classes(self, supervision: Supervision) -> bool:
        """Return whether the learner learns from classes, considering its other supervision.

        Raises:
            ValueError: for supervision of a kind that this learner does not take.
        """
        if supervision.neighbors is not None and not self.capabilities.takes_neighbors:
            raise ValueError("pairs of similar items are for learners that take them, such as multi-npp or hybrid")
        can = self.capabilities
        if supervision.comparisons is not None and not (can.takes_comparisons or can.orders_items):
            raise ValueError("comparisons of items are for learners that take them, such as fantope or lmnn")
        if not can.takes_taxonomy:
            refuse_taxonomy(self.name, supervision)
        if not (can.notions or can.orders_items):
            refuse_notions(self.name, supervision)
        rest = supervision.neighbors, None if can.orders_items else supervision.comparisons, supervision.notion_classes
        return self.needs_labels and all(part is None for part in rest)

    def _validated_views(self, X: MultiView, mask: Any = None) -> tuple[list[Rows], Mask]:
        """Check the parameters, divide ``X`` into views, check the rows, and remember the widths of the views."""
        checkpoint()  # here, because every fit of every learner validates its views first
        check_settings(self)
        X = X if (tuples := rows_of_tuples(X)) is None else tuples
        if is_list_of_views(X):
            check_consistent_length(*X)
            present = checked_mask(mask, len(X[0]), len(X))
            views = [
                check_array(rows if has.all() else np.where(has[:, None], rows, 0.0), dtype=float, ensure_min_samples=2)
                for rows, has in zip(X, present.T, strict=True)
            ]
            self.n_features_in_ = sum(rows.shape[1] for rows in views)
        else:
            if mask is not None:
                raise ValueError("a mask needs X to be a list of one array per view")
            X = validate_data(self, X, dtype=np.float64, ensure_min_samples=2)
            views = cut(X, self._widths(X.shape[1]))
            present = checked_mask(None, len(X), len(views))
        self.check_views([f"view {view}" for view in range(len(views))])
        if not self.capabilities.auxiliary:
            refuse_equal_rows(views, present)
        self.view_widths_ = [rows.shape[1] for rows in views]
        return views, present

    def _widths(self, columns: int) -> list[int]:
        if self.view_slices is not None:
            widths = [int(width) for width in self.view_slices]
            if sum(widths) != columns or min(widths, default=0) < 1:
                raise ValueError(f"view_slices={widths} must be positive and add up to the {columns} columns of X")
            return widths
        count = self.capabilities.least_views
        if columns < count:
            raise ValueError(f"n_features={columns} is too few: {type(self).__name__} needs {count} views")
        return [len(part) for part in np.array_split(np.arange(columns), count)]

    def unhashed(self, rows: ArrayLike, view: int = 0, queries: bool = False) -> Rows:
        """Return the vectors, (n, D), behind the codes of rows of one view, as items or queries.

        Raises:
            ValueError: if embeddings are not codes, or no vectors are behind them; or as ``transform``.
        """
        raise ValueError(f"{self.name} does not make codes of vectors")

    def embedded(self, rows: NDArray[Any], view: int, queries: bool = False) -> NDArray[Any]:
        """Embed rows that need no checks, (n, d_view) finite float32 or float64.

        The result is that of ``transform`` of a view, or of ``transform_queries``; for a single row the checks would
        take most of the time.
        """
        checkpoint()
        project = self._project_queries if queries else self._project
        embeddings = project(rows.astype(np.float64, copy=False), view)
        return embeddings.astype(rows.dtype, copy=False)

    def _embed(self, rows: ArrayLike, view: int, queries: bool = False) -> NDArray[Any]:
        return self.embedded(self._checked_rows(rows, view), view, queries)

    def _checked_rows(self, rows: ArrayLike, view: int) -> NDArray[Any]:
        """Return rows of one view, (n, d_view), as float32 or float64."""
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
