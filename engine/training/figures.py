"""Figures: estimates of several spaces, as the rows and paired differences of an evaluation."""

from collections.abc import Mapping

from engine.evaluation import EvaluationDifference, EvaluationRow
from engine.training.estimate import Estimate

Figures = Mapping[tuple[str, str, int | None], Estimate]
"""Estimates of one space by (view of the items to find, metric, k)."""


def rows(view: str, measured: Mapping[str, Figures]) -> tuple[EvaluationRow, ...]:
    """Return every figure of the spaces, by their names, for queries of a view."""
    return tuple(
        EvaluationRow(
            query_view=view,
            database_view=target,
            metric=metric,
            k=k,
            value=one.value,
            space=space,
            standard_error=one.standard_error,
        )
        for space, figures in measured.items()
        for (target, metric, k), one in figures.items()
    )


def differences(view: str, measured: Mapping[str, Figures]) -> tuple[EvaluationDifference, ...]:
    """Return the paired differences of every space to the first one, where both have a figure."""
    baseline, *others = measured
    first = measured[baseline]
    return tuple(
        EvaluationDifference(
            space=space,
            baseline=baseline,
            query_view=view,
            database_view=target,
            metric=metric,
            k=k,
            value=paired.value,
            standard_error=paired.standard_error,
        )
        for space in others
        for (target, metric, k), one in measured[space].items()
        if (target, metric, k) in first
        for paired in [one.less(first[target, metric, k])]
    )
