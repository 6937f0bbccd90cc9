"""Learners one after another, as in "l1,sqrt,multi-npp:50"."""

from collections.abc import Mapping, Sequence
from typing import Any, Self

from numpy.typing import NDArray

from .base import MultiViewLearner, Rows
from .registry import from_state, learner_class
from .steps import Step


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
    def cross_view(self) -> bool:  # type: ignore[override]  # a chain knows only once it has its steps
        """May a query of one view be matched against another view's embeddings?"""
        before = next((step for step in reversed(self.steps) if not step.keeps_space), None)
        return before is not None and before.cross_view

    @property
    def needs_labels(self) -> bool:  # type: ignore[override]  # likewise
        """Does any step need labels?"""
        return any(step.needs_labels for step in self.steps)

    @property
    def view_count(self) -> int | None:  # type: ignore[override]  # likewise
        """How many views the chain takes; None: any number."""
        return next((step.view_count for step in self.steps if step.view_count is not None), None)

    def _fit(self, views: list[Rows], labels: NDArray[Any] | None) -> None:
        for step in self.steps:
            views = step.fit(views, labels).transform(views)

    def _project(self, rows: Rows, view: int) -> Rows:
        for step in self.steps:
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


def parse_chain(spec: str, settings: Mapping[str, Any] | None = None) -> Chain:
    """Returns the chain that a spec describes.

    Args:
        spec: learners' names, comma separated, first to last; a value after a colon sets a learner's main parameter
            ("pca:0.99"), and view numbers after an at sign are the views that a step is for ("sqrt@0", "l1@0+2").
        settings: further parameters of the last learner that is no mere step, or else of the last step.

    Raises:
        ValueError: for unknown names or parameters, listing the known ones.
    """
    parts = [part.strip() for part in spec.split(",")]
    names = [part.partition("@")[0].partition(":")[0] for part in parts]
    learners = [i for i, name in enumerate(names) if not issubclass(learner_class(name), Step)]
    target = learners[-1] if learners else len(parts) - 1
    return Chain([_parse(part, (settings or {}) if i == target else {}) for i, part in enumerate(parts)])


def _parse(part: str, settings: Mapping[str, Any]) -> MultiViewLearner:
    head, _, views = part.partition("@")
    name, colon, value = head.partition(":")
    learner = learner_class(name)
    params = dict(settings)
    if colon:
        if learner.argument is None:
            raise ValueError(f"{name!r} takes no value, got {part!r}")
        words = isinstance(learner().get_params()[learner.argument], str)
        params = {learner.argument: value if words else _number(value, part)} | params
    if views:
        params["views"] = [int(_number(view, part)) for view in views.split("+")]
    known = sorted(set(learner().get_params()) - {"view_slices"})
    unknown = sorted(set(params) - set(known))
    if unknown:
        raise ValueError(f"{name!r} has no parameter {', '.join(unknown)}; it has: {', '.join(known)}")
    return learner(**params)


def _number(text: str, part: str) -> float:
    try:
        return float(text) if "." in text else int(text)
    except ValueError:
        raise ValueError(f"{text!r} in {part!r} must be a number") from None
