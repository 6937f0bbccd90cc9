"""Normalisation of rows, view by view: the first steps of most pipelines."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from crossview.engine.learners.frame.base import MultiViewLearner
from crossview.engine.learners.frame.capabilities import Capabilities
from crossview.engine.learners.frame.settings import Between, Count, OneView
from crossview.engine.learners.frame.step import Step, is_for, refuse_unknown
from crossview.engine.learners.frame.supervision import Supervision
from crossview.engine.learners.frame.traits import SeparateLearner
from crossview.engine.learners.frame.view_rows import Rows, present_rows

Column = Annotated[int, Between(0, 1_000_000)]


class Normalization(SeparateLearner, MultiViewLearner):
    """The base class of normalisations, which keep the width of rows.

    It is not a :class:`~engine.learners.frame.step.Step`, because normalisations would then be four classes deep.

    Args:
        views: the views to map, counted from 0; rows of other views pass unchanged. None: all views.
        columns: the first column to map and the one after the last, counted from 0; other columns pass unchanged. None:
            all columns.
        view_slices: widths of the views in a 2-D ``X``; None: one view.

    Raises:
        ValueError: from ``fit``, if a view to map lacks the columns.
    """

    capabilities: ClassVar[Capabilities] = Step.capabilities
    max_items: int | None = None

    def __init__(
        self,
        views: Sequence[OneView] | None = None,
        columns: Sequence[Column] | None = None,
        view_slices: Sequence[int] | None = None,
    ) -> None:
        self.views = views
        self.columns = columns
        self.view_slices = view_slices

    def _fit(self, views: list[Rows], supervision: Supervision) -> None:
        refuse_unknown(self.views, len(views))
        super()._fit(views, supervision)

    def _fit_view(self, views: list[Rows], supervision: Supervision, view: int) -> dict[str, Any]:
        rows, _ = present_rows(views, supervision, view)
        if self.columns is None:
            return self._fit_columns(rows)
        first, end = self._range()
        if is_for(self.views, view) and end > rows.shape[1]:
            raise ValueError(f"columns={[first, end]}, but view {view} has {rows.shape[1]} columns")
        return self._fit_columns(rows[:, first:end])

    def _project(self, rows: Rows, view: int) -> Rows:
        if not is_for(self.views, view):
            return rows
        if self.columns is None:
            return self._normalized(rows, view)
        first, end = self._range()
        mapped = rows.copy()  # a copy, because the rows belong to the caller
        mapped[:, first:end] = self._normalized(rows[:, first:end], view)
        return mapped

    def _range(self) -> tuple[int, int]:
        columns = [int(column) for column in self.columns or ()]
        if len(columns) != 2 or columns[0] >= columns[1]:
            raise ValueError(f"columns={columns} must be the first column and the one after the last, as in [0, 64]")
        return columns[0], columns[1]

    def _fit_columns(self, rows: Rows) -> dict[str, Any]:
        """Return the fitted attributes of the columns of one view, by name."""
        return {}

    @abstractmethod
    def _normalized(self, rows: Rows, view: int) -> Rows:
        """Return the normalised columns of rows of one view."""


class L1(Normalization):
    """Division of each row by the sum of its absolute values, as of word counts into frequencies. Rows of zeros
    stay."""

    name = "l1"
    capabilities: ClassVar[Capabilities] = replace(Step.capabilities, keeps_cross_view=True)

    def _normalized(self, rows: Rows, view: int) -> Rows:
        return _divide(rows, np.abs(rows).sum(axis=1, keepdims=True))


class L2(Normalization):
    """Division of each row by its Euclidean length. Rows of zeros stay."""

    name = "l2"
    capabilities: ClassVar[Capabilities] = replace(Step.capabilities, keeps_cross_view=True)

    def _normalized(self, rows: Rows, view: int) -> Rows:
        return _divide(rows, np.linalg.norm(rows, axis=1, keepdims=True))


class Sqrt(Normalization):
    """Signed square root of each value: on frequencies, the Euclidean distance becomes Hellinger's."""

    name = "sqrt"
    capabilities: ClassVar[Capabilities] = replace(Step.capabilities, keeps_cross_view=True)

    def _normalized(self, rows: Rows, view: int) -> Rows:
        return signed_root(rows)


class Standardize(Normalization):
    """Standardisation: subtracts each column's mean and divides by its standard deviation; constant columns become
    zero.

    Attributes:
        means_: list of (d_v,) arrays.
        deviations_: list of (d_v,) arrays, 1 for constant columns.
    """

    name = "standardize"

    means_: list[NDArray[np.float64]]
    deviations_: list[NDArray[np.float64]]

    def _fit_columns(self, rows: Rows) -> dict[str, Any]:
        return {"means_": rows.mean(axis=0), "deviations_": _nonzero_deviation(rows)}

    def _normalized(self, rows: Rows, view: int) -> Rows:
        return (rows - self.means_[view]) / self.deviations_[view]


class Scale(Step):
    """Division of rows by the root mean square length of the centred training rows, so that views have the same scale.

    In rows of joined views (``color+gist``), it divides each part by the length of the part: each part then adds as
    much to the mean squared distance of two training rows as any other. Constant parts stay.

    Args:
        views: the views to map, counted from 0; rows of other views pass unchanged. None: all views.
        widths: columns of each part, in order; None: rows have one part.
        view_slices: widths of the views in a 2-D ``X``; None: one view.

    Attributes:
        scales_: list of (d_v,) arrays, the divisor of each column of a view.

    Raises:
        ValueError: from ``fit``, unless the widths add up to the width of each view to map.
    """

    name = "scale"

    scales_: list[NDArray[np.float64]]

    def __init__(
        self,
        views: Sequence[OneView] | None = None,
        widths: Sequence[Count] | None = None,
        view_slices: Sequence[int] | None = None,
    ) -> None:
        super().__init__(views, view_slices)
        self.widths = widths

    def _fit_view(self, views: list[Rows], supervision: Supervision, view: int) -> dict[str, Any]:
        rows, _ = present_rows(views, supervision, view)
        if not self._is_for(view):
            return {"scales_": np.ones(rows.shape[1])}
        widths = [rows.shape[1]] if self.widths is None else [int(width) for width in self.widths]
        if sum(widths) != rows.shape[1]:
            raise ValueError(f"widths={widths} must add up to the {rows.shape[1]} columns of view {view}")
        parts = np.split(_deviation(rows), np.cumsum(widths)[:-1])
        lengths = [float(np.linalg.norm(part)) or 1.0 for part in parts]
        return {"scales_": np.repeat(lengths, widths)}

    def _map(self, rows: Rows, view: int) -> Rows:
        return rows / self.scales_[view]


def signed_root(rows: Rows) -> Rows:
    """Return the square roots of numbers, with their signs."""
    return np.copysign(np.sqrt(np.abs(rows)), rows)


def _divide(rows: Rows, sizes: Rows) -> Rows:
    return rows / np.where(sizes > 0, sizes, 1.0)


def _nonzero_deviation(rows: Rows) -> NDArray[np.float64]:
    deviations = _deviation(rows)
    deviations[deviations == 0] = 1.0
    return deviations


def _deviation(rows: Rows) -> NDArray[np.float64]:
    """Return the standard deviations of columns, (d,): 0 for a column whose values differ only by rounding."""
    # The deviation of a constant column is rounding; a division by it would turn rounding into values of about 1.
    smallest = 10 * np.finfo(np.float64).eps * np.abs(rows).max(axis=0)
    deviations: NDArray[np.float64] = rows.std(axis=0)
    deviations[deviations <= smallest] = 0.0
    return deviations
