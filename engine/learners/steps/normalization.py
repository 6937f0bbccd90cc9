"""Normalisation of rows, view by view: the first steps of most pipelines."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.learners.base import Rows
from engine.learners.steps.step import Step


class L1(Step):
    """Divides each row by the sum of its absolute values: word counts to frequencies. Rows of zeros stay."""

    name = "l1"
    capabilities = replace(Step.capabilities, keeps_cross_view=True)

    def _map(self, rows: Rows, view: int) -> Rows:
        return _divide(rows, np.abs(rows).sum(axis=1, keepdims=True))


class L2(Step):
    """Divides each row by its Euclidean length. Rows of zeros stay."""

    name = "l2"
    capabilities = replace(Step.capabilities, keeps_cross_view=True)

    def _map(self, rows: Rows, view: int) -> Rows:
        return _divide(rows, np.linalg.norm(rows, axis=1, keepdims=True))


class Sqrt(Step):
    """Takes the signed square root of each value: on frequencies, Euclidean distance becomes Hellinger's."""

    name = "sqrt"
    capabilities = replace(Step.capabilities, keeps_cross_view=True)

    def _map(self, rows: Rows, view: int) -> Rows:
        return np.copysign(np.sqrt(np.abs(rows)), rows)


class Standardize(Step):
    """Subtracts each column's mean and divides by its standard deviation; constant columns become zero.

    Attributes:
        means_: list of (d_v,) arrays.
        deviations_: list of (d_v,) arrays, 1 where a column is constant.
    """

    name = "standardize"

    means_: list[NDArray[np.float64]]
    deviations_: list[NDArray[np.float64]]

    def _fit_view(self, rows: Rows, labels: NDArray[Any] | None, view: int) -> dict[str, Any]:
        return {"means_": rows.mean(axis=0), "deviations_": _nonzero_deviation(rows)}

    def _map(self, rows: Rows, view: int) -> Rows:
        return (rows - self.means_[view]) / self.deviations_[view]


def _divide(rows: Rows, sizes: Rows) -> Rows:
    return rows / np.where(sizes > 0, sizes, 1.0)


def _nonzero_deviation(rows: Rows) -> NDArray[np.float64]:
    deviation: NDArray[np.float64] = rows.std(axis=0)
    smallest = 10 * np.finfo(np.float64).eps * np.abs(rows).max(axis=0)  # rounding alone makes this much
    return np.where(deviation > smallest, deviation, 1.0)
