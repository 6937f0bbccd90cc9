"""Learners one after another, as in "l1,sqrt,multi-npp:50"."""

import copy
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crossview.engine.learners.base import MultiView, MultiViewLearner, Rows
from crossview.engine.learners.capabilities import Capabilities, composed, main_position
from crossview.engine.learners.known_rows import Fingerprints, KnownRows, fingerprints
from crossview.engine.learners.supervision import Supervision

_NONE = np.empty(0, np.intp)


class Chain(MultiViewLearner):
    """Fits each learner on the embeddings of the one before it.

    Where a learner has embeddings of its training rows that leave them out (``left_out_``), rows that equal a training
    row are embedded so, and later learners are fitted on these: rows that were learned from are placed among new ones
    as if they were new, too.

    Args:
        steps: fitted or unfitted learners, first to last; ``fit`` fits these very objects. With none, rows stay.
        view_slices: widths of the views in a 2-D ``X``; None: as a learner with the same number of views would cut it.

    Attributes:
        known_rows_: list of (n_v,) uint64 arrays, fingerprints of the training rows of each view where a step has
            ``left_out_``; else empty.
    """

    name = "chain"

    known_rows_: Sequence[Fingerprints] = ()

    def __init__(self, steps: Sequence[MultiViewLearner] = (), view_slices: Sequence[int] | None = None) -> None:
        self.steps = steps
        self.view_slices = view_slices
        self._known: dict[int, KnownRows] = {}

    @property
    def capabilities(self) -> Capabilities:  # type: ignore[override]  # a chain knows only once it has its steps
        """What the steps can do together."""
        return composed([replace(step.capabilities, needs_labels=step.needs_labels) for step in self.steps])

    @property
    def main_learner(self) -> MultiViewLearner | None:
        """The learner that the chain is made for: the last that is not auxiliary, or else the last step."""
        return self.steps[main_position([step.capabilities for step in self.steps])] if self.steps else None

    @property
    def n_metrics_(self) -> int:  # type: ignore[override]  # likewise
        """How many metrics the last step has."""
        return self.steps[-1].n_metrics_ if self.steps else 1

    @property
    def metric_names_(self) -> Sequence[str]:  # type: ignore[override]  # likewise
        """The names of the last step's metrics."""
        return self.steps[-1].metric_names_ if self.steps else ()

    @property
    def metric_widths_(self) -> Sequence[Sequence[int]]:  # type: ignore[override]  # likewise
        """The widths of the last step's metrics, by view."""
        return self.steps[-1].metric_widths_ if self.steps else ()

    @property
    def names_(self) -> Sequence[str]:
        """The names of the columns of the last step's embeddings, one per attribute; none where they have none."""
        return getattr(self.steps[-1], "names_", ()) if self.steps else ()

    def add_view(self, X: MultiView, y: Any = None) -> Self:
        """Fits one further view, the last of ``X``, step by step; arguments and errors as in ``fit``."""
        for step in self.steps:
            if not step.capabilities.adds_views:
                step.add_view(X, y)  # refuses by its own name
        return super().add_view(X, y)

    def check_views(self, names: Sequence[str]) -> None:
        """Checks how many views there are, as every step does."""
        for step in self.steps:
            step.check_views(names)

    def metric_of_class(self, labels: ArrayLike, view: int = 0) -> NDArray[Any]:
        """Returns the metrics of classes, as the last step does."""
        if not self.steps:
            return super().metric_of_class(labels, view)
        return self.steps[-1].metric_of_class(labels, view)

    def metric_of_rows(self, embeddings: ArrayLike, view: int = 0) -> NDArray[Any]:
        """Returns the metrics of the classes that embedded rows seem to be of, as the last step does."""
        if not self.steps:
            return super().metric_of_rows(embeddings, view)
        return self.steps[-1].metric_of_rows(embeddings, view)

    def assign(self, X: ArrayLike, category: Any = None, view: int = 0) -> int:
        """Finds the metric for a category by the last step, from rows as the first step takes them; errors as there."""
        if not self.steps:
            return super().assign(X, category, view)
        return self.steps[-1].assign(self._before_last(X, view), category, view)

    def place_of_class(self, name: str, view: int = 0) -> NDArray[Any]:
        """Returns where a class lies among embeddings of a view, (D,), as the last step tells.

        Raises:
            ValueError: for a class that it does not know, or where it knows no places of classes.
        """
        place = getattr(self.steps[-1], "place_of_class", None) if self.steps else None
        if place is None:
            raise ValueError("its learner knows no places of classes: train one that does, such as attributes")
        found: NDArray[Any] = place(name, view)
        return found

    def described_classes(self, view: int = 0) -> tuple[str, ...]:
        """Returns the classes that the last step knows of a view by orderings alone; none where it tells no classes."""
        described = getattr(self.steps[-1], "described_classes", None) if self.steps else None
        return () if described is None else described(view)

    def class_probabilities(self, X: ArrayLike, view: int = 0) -> dict[str, NDArray[np.float64]]:
        """Returns the shares, (n,) by class, of the densities of rows of a view by which the last step tells classes.

        Raises:
            AttributeError: where it tells none, see ``described_classes``.
        """
        found: dict[str, NDArray[np.float64]] = self.steps[-1].class_probabilities(self._before_last(X, view), view)
        return found

    def codes_and_vectors(self, X: ArrayLike, view: int, queries: bool = False) -> tuple[Rows, Rows]:
        """Returns the codes of rows of one view, (n, B) columns of 0 and 1, and the vectors they stand for, (n, D).

        ``queries``: the rows are to be compared with items.

        Raises:
            ValueError: as ``transform``, or if the last step is no hasher.
        """
        hasher, rows = self.steps[-1], self._before_last(X, view, queries)
        codes = hasher.transform_queries(rows, view) if queries else hasher.transform(rows, view=view)
        return codes, hasher.unhashed(rows, view, queries)

    def _fit(self, views: list[Rows], given: Supervision) -> None:
        first = list(views)
        self._run("fit", self.steps, views, given)
        if any(step.left_out_ for step in self.steps):
            self.know_rows([rows[present] for rows, present in zip(first, given.mask.T, strict=True)])

    def _add_view(self, views: list[Rows], given: Supervision) -> None:
        steps = copy.deepcopy(list(self.steps))  # one that refuses must not leave those before it changed
        self._run("add_view", steps, views, given)
        self.steps = steps

    def know_rows(self, views: Sequence[NDArray[Any]]) -> None:
        """Remembers the (n_v, d_v) rows of further views, as the first step takes them, in their order in training."""
        self.known_rows_ = [*self.known_rows_, *map(fingerprints, views)]
        self._known = {}

    def _run(self, method: str, steps: Sequence[MultiViewLearner], views: list[Rows], given: Supervision) -> None:
        for number, step in enumerate(steps):
            try:
                views = getattr(step, method)(views, self._given_to(number, given)).transform(views)
            except (ValueError, ArithmeticError) as error:
                raise ValueError(f"{_described(step)} cannot be fitted: {error}") from error
            for rows, present, left_out in zip(views, given.mask.T, step.left_out_, strict=False):
                rows[present] = left_out

    def _given_to(self, number: int, given: Supervision) -> Supervision:
        """Returns what one step learns from; comparisons are for the last that takes them."""
        step = self.steps[number].capabilities
        later = any(one.capabilities.takes_comparisons for one in self.steps[number + 1 :])
        return replace(
            given,
            neighbors=given.neighbors if step.takes_neighbors else None,
            comparisons=given.comparisons if step.orders_items or (step.takes_comparisons and not later) else None,
            taxonomy=given.taxonomy if step.takes_taxonomy else None,
            notion_classes=given.notion_classes if step.notions else None,
            shared_space=Chain(self.steps[:number]).capabilities.cross_view,
        )

    def _needs_classes(self, given: Supervision) -> bool:
        needed = [step._needs_classes(self._given_to(number, given)) for number, step in enumerate(self.steps)]
        super()._needs_classes(given)  # refuses what no step takes; what one takes in part, it refuses by its own name
        return any(needed)

    def _project(self, rows: Rows, view: int) -> Rows:
        return self._after(self.steps, rows, view)

    def _project_queries(self, rows: Rows, view: int) -> Rows:
        return self._after(self.steps, rows, view, queries=True)

    def _before_last(self, X: ArrayLike, view: int, queries: bool = False) -> Rows:
        """Returns rows of one view as the last step takes them."""
        rows: Rows = self._checked_rows(X, view).astype(float, copy=False)
        return self._after(self.steps[:-1], rows, view, queries)

    def _after(self, steps: Sequence[MultiViewLearner], rows: Rows, view: int, queries: bool = False) -> Rows:
        """Returns rows of one view after some of the steps, from the first on."""
        known, positions = self._known_among(rows, view)
        for step in steps:
            rows = step.embedded(rows, view, queries)
            if len(known) and step.left_out_:
                rows[known] = step.left_out_[view][positions[known]]
        return rows

    def _known_among(self, rows: Rows, view: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Returns which rows are known ones of a view, and the positions of all among these, -1 where they are not."""
        if view >= len(self.known_rows_):
            return _NONE, _NONE
        if view not in self._known:
            self._known[view] = KnownRows(self.known_rows_[view])
        positions = self._known[view].positions(rows)
        return np.flatnonzero(positions >= 0), positions

    def to_state(self) -> dict[str, Any]:
        """Returns the states of the steps, by position, and the widths of the views."""
        fitted = {"view_widths_": self.view_widths_, "n_features_in_": self.n_features_in_}
        if self.known_rows_:
            fitted["known_rows_"] = list(self.known_rows_)
        steps = {str(i): step.to_state() for i, step in enumerate(self.steps)}
        return {"learner": self.name, "params": {"view_slices": self.view_slices}, "fitted": fitted, "steps": steps}


def _described(step: MultiViewLearner) -> str:
    """Returns a step's name, with the settings that may be why it cannot be fitted."""
    usual = type(step)().settings()
    own = {name: value for name, value in step.settings().items() if name not in ("random_state", "views")}
    given = ", ".join(f"{name}={value!r}" for name, value in own.items() if repr(value) != repr(usual[name]))
    return f"{step.name} with {given[:200]}" if given else step.name
