"""The traits that learners share.

A trait is a class without a base class of crossview that precedes :class:`~engine.learners.frame.base.MultiViewLearner`
among the bases of a learner. Traits keep learners three classes deep: a learner chooses separately how it fits and how
it embeds.
"""

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from crossview.engine.learners.frame.capabilities import Capabilities
from crossview.engine.learners.frame.supervision import Supervision
from crossview.engine.learners.frame.view_rows import Rows
from crossview.engine.runtime.cancellation import checkpoint
from crossview.engine.runtime.threads import over


@runtime_checkable
class AddsViews(Protocol):
    """The protocol of learners that can add a view to their fit; they need not name this class among their bases."""

    def _add_view(self, views: list[Rows], supervision: Supervision) -> None:
        """Fit the last of the views, validated as for ``_fit``; the fit of the other views stays as it is."""
        ...


class SeparateLearner(ABC):
    """The trait of learners that fit each view on its own rows, so that they can add a view without a fit of the
    others.

    A subclass defines ``_fit_view`` instead of ``_fit``.
    """

    capabilities: ClassVar[Capabilities] = Capabilities(adds_views=True)

    def _fit(self, views: list[Rows], supervision: Supervision) -> None:
        def fit(view: int) -> dict[str, Any]:
            checkpoint()
            return self._fit_view(views, supervision, view)

        numbers = range(len(views))
        # Views that share a generator draw from it in turn, so only views with a seed may be fitted at the same time.
        seeded = isinstance(getattr(self, "random_state", 0), int)
        fitted = over(numbers, fit) if seeded else [fit(view) for view in numbers]
        for name in fitted[0]:
            setattr(self, name, [attributes[name] for attributes in fitted])

    def _add_view(self, views: list[Rows], supervision: Supervision) -> None:
        checkpoint()
        for name, value in self._fit_view(views, supervision, len(views) - 1).items():
            setattr(self, name, [*getattr(self, name), value])

    @abstractmethod
    def _fit_view(self, views: list[Rows], supervision: Supervision, view: int) -> dict[str, Any]:
        """Fit one of the views, validated as for ``_fit``; ``present_rows`` returns its rows and their classes.

        Returns:
            The fitted attributes of the view by name. Each becomes a list with one entry per view.
        """


class LinearLearner:
    """The trait of learners that embed a row x of view v as W_v (x - m_v).

    Attributes:
        weights_: list of (D, d_v) arrays, one per view.
        means_: list of (d_v,) arrays, one per view.
    """

    weights_: list[NDArray[np.float64]]
    means_: list[NDArray[np.float64]]

    def _project(self, rows: Rows, view: int) -> Rows:
        return np.asarray((rows - self.means_[view]) @ self.weights_[view].T)
