"""The base class of steps."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from crossview.engine.learners.base import Rows, SeparateLearner
from crossview.engine.learners.capabilities import Capabilities
from crossview.engine.learners.settings import OneView
from crossview.engine.learners.supervision import Supervision


class Step(SeparateLearner):
    """Maps the rows of each view by itself, before or after the learner that a pipeline is made for.

    Args:
        views: the views it is for, counted from 0; rows of the others pass unchanged. None: all views.
        view_slices: widths of the views in a 2-D ``X``; None: one view.
    """

    capabilities = Capabilities(adds_views=True, auxiliary=True)

    def __init__(self, views: Sequence[OneView] | None = None, view_slices: Sequence[int] | None = None) -> None:
        self.views = views
        self.view_slices = view_slices

    def _fit(self, views: list[Rows], given: Supervision) -> None:
        unknown = sorted(set(self.views or ()) - set(range(len(views))))
        if unknown:
            raise ValueError(f"views={list(self.views or ())} but there are {len(views)} views, counted from 0")
        super()._fit(views, given)

    def _fit_view(self, rows: Rows, labels: NDArray[Any] | None, view: int) -> dict[str, Any]:
        return {}

    def _is_for(self, view: int) -> bool:
        return self.views is None or view in self.views

    def _project(self, rows: Rows, view: int) -> Rows:
        return self._map(rows, view) if self._is_for(view) else rows

    @abstractmethod
    def _map(self, rows: Rows, view: int) -> Rows: ...
