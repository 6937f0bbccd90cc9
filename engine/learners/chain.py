"""Learners one after another, as in "l1,sqrt,multi-npp:50"."""

import copy
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine.learners.base import Mask, MultiView, MultiViewLearner, Rows
from engine.learners.hashing.hasher import Hasher
from engine.learners.hashing.itq import ITQ
from engine.learners.metrics.comparisons import Comparisons
from engine.learners.registry import from_state, learner_class, takers
from engine.learners.settings import check_settings

Progress = Callable[[int, int], None]


class Chain(MultiViewLearner):
    """Fits each learner on the embeddings of the one before it.

    Args:
        steps: fitted or unfitted learners, first to last; ``fit`` fits these very objects. With none, rows stay.
        view_slices: widths of the views in a 2-D ``X``; None: as a learner with the same number of views would cut it.

    Attributes:
        cross_view: whether the last learner is, row-wise steps after it aside.
        needs_labels: whether any is.
    """

    name = "chain"

    def __init__(self, steps: Sequence[MultiViewLearner], view_slices: Sequence[int] | None = None) -> None:
        self.steps = steps
        self.view_slices = view_slices

    @property
    def main(self) -> MultiViewLearner | None:
        """The learner that the chain is made for: the last that is no mere stage, or else the last step."""
        learners = [step for step in self.steps if not step.stage]
        return next(iter(reversed(learners or list(self.steps))), None)

    @property
    def cross_view(self) -> bool:  # type: ignore[override]  # a chain knows only once it has its steps
        """May a query of one view be matched against another view's embeddings?"""
        before = next((step for step in reversed(self.steps) if not step.keeps_space), None)
        return before is not None and before.cross_view

    @property
    def binary(self) -> bool:  # type: ignore[override]  # likewise
        """Are embeddings codes, columns of 0 and 1?"""
        return bool(self.steps) and self.steps[-1].binary

    @property
    def parts(self) -> int:
        """How many metrics the last step has."""
        return self.steps[-1].parts if self.steps else 1

    @property
    def needs_labels(self) -> bool:  # type: ignore[override]  # likewise
        """Does any step need labels?"""
        return any(step.needs_labels for step in self.steps)

    @property
    def multilabel(self) -> bool:  # type: ignore[override]  # likewise
        """Do all steps that need labels take an indicator matrix?"""
        return all(step.multilabel for step in self.steps if step.needs_labels)

    @property
    def takes_neighbors(self) -> bool:  # type: ignore[override]  # likewise
        """Does the main learner take explicit neighbours?"""
        return self.main is not None and self.main.takes_neighbors

    @property
    def comparing(self) -> MultiViewLearner | None:
        """The learner that constraints are for: the last that takes them."""
        return next((step for step in reversed(self.steps) if step.takes_constraints), None)

    @property
    def takes_constraints(self) -> bool:  # type: ignore[override]  # likewise
        """Does any step take comparisons as constraints?"""
        return self.comparing is not None

    @property
    def adds_views(self) -> bool:  # type: ignore[override]  # likewise
        """Can a view be added to every step?"""
        return all(step.adds_views for step in self.steps)

    @property
    def view_count(self) -> int | None:  # type: ignore[override]  # likewise
        """How many views the chain takes; None: any number."""
        return next((step.view_count for step in self.steps if step.view_count is not None), None)

    @property
    def least_views(self) -> int:  # type: ignore[override]  # likewise
        """How many views the chain takes at least."""
        return max((step.least_views for step in self.steps), default=1)

    def fit(
        self,
        X: MultiView,
        y: ArrayLike | None = None,
        mask: ArrayLike | None = None,
        neighbors: Any = None,
        progress: Progress | None = None,
        constraints: Comparisons | None = None,
    ) -> Self:
        """Fits every step on the embeddings of the one before it.

        Args:
            X: list of (n, d_v) arrays, or one (n, d) array.
            y: (n,) classes, or where ``multilabel`` an (n, L) indicator matrix; ignored unless ``needs_labels``.
            mask: (n, V), which items have which views. None: all of them.
            neighbors: for the main learner, see ``MultiNPP.fit``; labels then serve the other steps only.
            progress: called with (done, total) along the way, by learners that take it.
            constraints: comparisons of the items, for the last learner that takes them; labels then serve the others.

        Raises:
            ValueError: as the steps do, or if the main learner takes no neighbors, or none takes constraints.
        """
        further = self._further(neighbors, progress, constraints)
        views, labels, there = self._validate(X, y, mask, self._wants_labels(neighbors, constraints))
        _run(self.steps, "fit", views, labels, there, further)
        return self

    def add_view(
        self,
        X: MultiView,
        y: ArrayLike | None = None,
        mask: ArrayLike | None = None,
        neighbors: Any = None,
        progress: Progress | None = None,
        constraints: Comparisons | None = None,
    ) -> Self:
        """Fits one further view, the last of ``X``, step by step; arguments and errors as in ``fit``."""
        for step in self.steps:
            if not step.adds_views:
                step.add_view(X, y, mask)  # says why not
        further = self._further(neighbors, progress, constraints)
        steps = copy.deepcopy(list(self.steps))  # one that refuses must not leave those before it changed
        before = self.view_widths_, self.n_features_in_
        views, labels, there = self._validate_added(X, y, mask, self._wants_labels(neighbors, constraints))
        try:
            _run(steps, "add_view", views, labels, there, further)
        except ValueError:
            self.view_widths_, self.n_features_in_ = before
            raise
        self.steps = steps
        return self

    def check_views(self, names: Sequence[str]) -> None:
        """Checks how many views there are, as every step does."""
        for step in self.steps:
            step.check_views(names)

    def _wants_labels(self, neighbors: Any, constraints: Comparisons | None) -> bool:
        told = (neighbors is not None and self.main, constraints is not None and self.comparing)
        return any(step.needs_labels for step in self.steps if step not in told)

    def _further(
        self, neighbors: Any, progress: Progress | None, constraints: Comparisons | None
    ) -> list[dict[str, Any]]:
        """Returns what each step's ``fit`` is told besides rows, labels and mask."""
        if neighbors is not None and not self.takes_neighbors:
            raise ValueError("pairs of similar items are for learners that take them, such as multi-npp or hybrid")
        if constraints is not None and not self.takes_constraints:
            raise ValueError(f"constraints are for learners that take them: {takers()}")
        return [
            ({"neighbors": neighbors, "progress": progress} if step.takes_neighbors else {})
            | ({"constraints": constraints} if step is self.comparing else {})
            | ({"joint": Chain(self.steps[:i]).cross_view} if step.takes_joint else {})
            for i, step in enumerate(self.steps)
        ]

    def _project(self, rows: Rows, view: int) -> Rows:
        for step in self.steps:
            rows = step.transform(rows, view=view)
        return rows

    def parts_of(self, labels: ArrayLike, view: int = 0) -> NDArray[np.intp]:
        """Returns the metrics of classes, as the last step does."""
        return self.steps[-1].parts_of(labels, view) if self.steps else super().parts_of(labels, view)

    def assign(self, X: ArrayLike, category: Any = None, view: int = 0) -> int:
        """Finds the metric for a category by the last step, from rows as the first step takes them; errors as there."""
        if not self.steps:
            return super().assign(X, category, view)
        return self.steps[-1].assign(self._before_last(X, view), category, view)

    def coded(self, X: ArrayLike, view: int) -> tuple[Rows, Rows]:
        """Returns the codes of rows of one view, (n, B) columns of 0 and 1, and what they stand for, (n, D).

        Raises:
            ValueError: as ``transform``, or if the last step is no hasher.
        """
        if not isinstance(hasher := self.steps[-1], Hasher):
            raise ValueError(f"{hasher.name} makes no codes")
        rows = self._before_last(X, view)
        return hasher.transform(rows, view=view), hasher.unhashed(rows, view)

    def _before_last(self, X: ArrayLike, view: int) -> Rows:
        """Rows of one view as the last step takes them."""
        rows: Rows = self._checked_rows(X, view).astype(float, copy=False)
        for step in self.steps[:-1]:
            rows = step.transform(rows, view=view)
        return rows

    def to_state(self) -> dict[str, Any]:
        """Returns the states of the steps, by position, and the widths of the views."""
        fitted = {"view_widths_": self.view_widths_, "n_features_in_": self.n_features_in_}
        steps = {str(i): step.to_state() for i, step in enumerate(self.steps)}
        return {"learner": self.name, "params": {"view_slices": self.view_slices}, "fitted": fitted, "steps": steps}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """Returns the chain that ``to_state`` described."""
        steps = state["steps"]
        chain = cls([from_state(steps[str(i)]) for i in range(len(steps))], state["params"]["view_slices"])
        chain.view_widths_ = list(state["fitted"]["view_widths_"])
        chain.n_features_in_ = state["fitted"]["n_features_in_"]
        return chain


def _run(
    steps: Sequence[MultiViewLearner],
    method: str,
    views: list[Rows],
    labels: Any,
    mask: Mask,
    further: Sequence[Mapping[str, Any]],
) -> None:
    for step, how in zip(steps, further, strict=True):
        try:
            views = getattr(step, method)(views, labels, mask, **how).transform(views)
        except (ValueError, ArithmeticError) as error:
            raise ValueError(f"{_described(step)} cannot be fitted: {error}") from error


def _described(step: MultiViewLearner) -> str:
    """Returns a step's name, with the settings that may be why it cannot be fitted."""
    usual = type(step)().settings()
    own = {name: value for name, value in step.settings().items() if name not in ("random_state", "views")}
    given = ", ".join(f"{name}={value!r}" for name, value in own.items() if repr(value) != repr(usual[name]))
    return f"{step.name} with {given[:200]}" if given else step.name


def parse_chain(spec: str, settings: Mapping[str, Any] | None = None) -> Chain:
    """Returns the chain that a spec describes.

    Args:
        spec: learners' names, comma separated, first to last; a value after a colon sets a learner's main parameter
            ("pca:0.99"), and view numbers after an at sign are the views that a step is for ("sqrt@0", "l1@0+2").
        settings: further parameters of the last learner that is no mere stage, or else of the last one; one named
            "kernel__bandwidth" is the parameter "bandwidth" of every "kernel" in the spec. Where neither tells its
            number of dimensions, it has no fewer than an "itq" at the end has bits.

    Raises:
        ValueError: for unknown names or parameters, listing the known ones.
    """
    parts = [part.strip() for part in spec.split(",")]
    names = [part.partition("@")[0].partition(":")[0] for part in parts]
    learners = [i for i, name in enumerate(names) if not learner_class(name).stage]
    target = learners[-1] if learners else len(parts) - 1
    main, others = _by_learner(settings or {}, names)
    chosen = [others.get(name, {}) | (main if i == target else {}) for i, name in enumerate(names)]
    steps = [_parse(part, params, i == target) for i, (part, params) in enumerate(zip(parts, chosen, strict=True))]
    if "n_components" not in main and ":" not in parts[target]:
        _widen(steps[target], steps[-1])
    return Chain(steps)


def _widen(learner: MultiViewLearner, last: MultiViewLearner) -> None:
    """Gives a learner as many dimensions as an ITQ behind it has bits, where it would make fewer of its own."""
    own = learner.get_params().get("n_components")
    if isinstance(last, ITQ) and last.n_bits is not None and isinstance(own, int) and own < last.n_bits:
        learner.set_params(n_components=last.n_bits)


def _by_learner(settings: Mapping[str, Any], names: Sequence[str]) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """Returns the settings without a learner's name before them, and those with one, by that name."""
    main: dict[str, Any] = {}
    others: dict[str, dict[str, Any]] = {}
    for key, value in settings.items():
        name, found, param = key.partition("__")
        if not found:
            main[key] = value
        elif name not in names:
            raise ValueError(f"setting {key!r} is for {name!r}, but the learners are {', '.join(names)}")
        else:
            others.setdefault(name, {})[param] = value
    return main, others


def _parse(part: str, settings: Mapping[str, Any], main: bool) -> MultiViewLearner:
    head, at, views = part.partition("@")
    name, colon, value = head.partition(":")
    learner = learner_class(name)
    params = dict(settings)
    if colon:
        if learner.argument is None:
            raise ValueError(f"{name!r} takes no value, got {part!r}")
        params = {learner.argument: _value(value)} | params
    if at:
        params["views"] = list(map(_value, views.split("+")))
    known = sorted(set(learner().settings()) - {"view_slices"})
    unknown = sorted(set(params) - set(known))
    if unknown:
        raise ValueError(f"{name!r} has no parameter {', '.join(unknown)}; it has: {', '.join(known)}")
    made = learner().set_params(**params)
    check_settings(made, {} if main else {setting: f"{name}__{setting}" for setting in settings})
    return made


def _value(text: str) -> int | float | str:
    """Returns a number where a text is one."""
    for kind in (int, float):
        with suppress(ValueError):
            return kind(text)
    return text
