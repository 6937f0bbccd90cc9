"""Learners that fit each view by itself."""

from abc import abstractmethod
from typing import Any, Self

from numpy.typing import ArrayLike, NDArray

from engine.learners.base import Mask, MultiView, MultiViewLearner, Rows
from engine.learners.cancellation import checkpoint


class SeparateLearner(MultiViewLearner):
    """Fits each view on the rows that it has, so a view can be added without touching the others.

    A subclass defines ``_fit_view`` in place of ``_fit``.
    """

    adds_views = True

    def add_view(self, X: MultiView, y: ArrayLike | None = None, mask: ArrayLike | None = None) -> Self:
        """Fits one further view, the last of ``X``, and leaves what was fitted of the others as it is."""
        views, labels, there = self._validate_added(X, y, mask, self.needs_labels)
        self._append(self._fit_present(views, labels, there, len(views) - 1))
        return self

    def _append(self, fitted: dict[str, Any]) -> None:
        for name, value in fitted.items():
            setattr(self, name, [*getattr(self, name), value])

    def _fit(self, views: list[Rows], labels: Any, mask: Mask) -> None:
        fitted = [self._fit_present(views, labels, mask, view) for view in range(len(views))]
        for name in fitted[0]:
            setattr(self, name, [attributes[name] for attributes in fitted])

    def _fit_present(self, views: list[Rows], labels: Any, mask: Mask, view: int) -> dict[str, Any]:
        checkpoint()
        there = mask[:, view]
        if there.all():
            return self._fit_view(views[view], labels, view)
        return self._fit_view(views[view][there], None if labels is None else labels[there], view)

    @abstractmethod
    def _fit_view(self, rows: Rows, labels: NDArray[Any] | None, view: int) -> dict[str, Any]:
        """Returns the fitted attributes of one view by name; each becomes a list with one entry per view."""
