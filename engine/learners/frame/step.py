"""Steps: their base class, and the checks of the views that a step maps."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

from crossview.engine.learners.frame.base import MultiViewLearner
from crossview.engine.learners.frame.capabilities import Capabilities
from crossview.engine.learners.frame.settings import OneView
from crossview.engine.learners.frame.supervision import Supervision
from crossview.engine.learners.frame.traits import SeparateLearner
from crossview.engine.learners.frame.view_rows import Rows


class Step(SeparateLearner, MultiViewLearner):
    """The base class of steps, which map the rows of each view separately, before or after the main learner of a
    pipeline.

    Args:
        views: the views to map, counted from 0; rows of other views pass unchanged. None: all views.
        view_slices: widths of the views in a 2-D ``X``; None: one view.
    """

    capabilities: ClassVar[Capabilities] = Capabilities(adds_views=True, auxiliary=True)
    max_items: int | None = None

    def __init__(self, views: Sequence[OneView] | None = None, view_slices: Sequence[int] | None = None) -> None:
        self.views = views
        self.view_slices = view_slices

    def _fit(self, views: list[Rows], supervision: Supervision) -> None:
        refuse_unknown(self.views, len(views))
        super()._fit(views, supervision)

    def _fit_view(self, views: list[Rows], supervision: Supervision, view: int) -> dict[str, Any]:
        return {}

    def _is_for(self, view: int) -> bool:
        return is_for(self.views, view)

    def _project(self, rows: Rows, view: int) -> Rows:
        return self._map(rows, view) if self._is_for(view) else rows

    @abstractmethod
    def _map(self, rows: Rows, view: int) -> Rows: ...


def is_for(views: Sequence[int] | None, view: int) -> bool:
    """Return whether a step that maps some views (None: all) maps this view."""
    return views is None or view in views


def refuse_unknown(views: Sequence[int] | None, count: int) -> None:
    """Raise ValueError if a step is to map a view that is not among ``count`` views, counted from 0."""
    if set(views or ()) - set(range(count)):
        raise ValueError(f"views={list(views or ())} but there are {count} views, counted from 0")
