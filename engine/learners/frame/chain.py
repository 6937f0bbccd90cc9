"""The chain: learners one after another, as in "l1,sqrt,multi-npp:50"."""

import copy
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Annotated, Any, ClassVar, Generic, Self, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crossview.engine.learners.frame.base import MultiViewLearner
from crossview.engine.learners.frame.capabilities import Capabilities, composed, main_position
from crossview.engine.learners.frame.cost import FitCost, FitSize, linear_cost
from crossview.engine.learners.frame.settings import Between
from crossview.engine.learners.frame.supervision import Supervision
from crossview.engine.learners.frame.view_rows import MultiView, Rows, slices

Fingerprints = NDArray[np.uint64]
_NONE = np.empty(0, np.intp)
FEWEST_SAMPLED, MOST_SAMPLED = 100, 1_000_000_000
"""The bounds of ``max_items``."""
Value = TypeVar("Value")


def fingerprints(rows: NDArray[np.float32] | Rows) -> Fingerprints:
    """Return a number for each of (n, d) rows, (n,): equal rows have equal numbers, different rows with a probability
    of 2^-64.

    A state stores the numbers instead of the rows, which would be as large as the collection.
    """
    hashes = np.empty(len(rows), np.uint64)
    factors = _factors(rows.shape[1])
    for part in slices(len(rows), rows.shape[1]):
        numbers = rows[part].astype(np.float32) + np.float32(0)  # -0 becomes 0, which it equals
        hashes[part] = numbers.view(np.uint32).astype(np.uint64) @ factors
    return hashes


@lru_cache(maxsize=64)
def _factors(count: int) -> Fingerprints:
    """Return pseudorandom odd numbers, (count,): Steele, Lea and Flood's SplitMix64 (2014), from its seed 0."""
    state = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (state ^ (state >> np.uint64(31))) | np.uint64(1)


class KnownViews:
    """A finder of rows among the training rows of their view.

    It makes the table of a view when a caller first needs it, so that loading a state takes no time.

    Args:
        known: the (n_v,) fingerprints of the training rows of each view. Among equal rows, the first counts.
    """

    def __init__(self, known: Sequence[Fingerprints]) -> None:
        self.known = known
        self._tables: dict[int, dict[int, int]] = {}

    def among(self, rows: Rows, view: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return the numbers of the known rows among (m, d) rows, and each row's position in training, (m,), -1 for a
        new row.

        Both are empty for a view without training rows.
        """
        if view >= len(self.known):
            return _NONE, _NONE
        if view not in self._tables:
            self._tables[view] = {value: place for place, value in reversed(list(enumerate(self.known[view].tolist())))}
        table = self._tables[view]
        positions = np.array([table.get(value, -1) for value in fingerprints(rows).tolist()], dtype=np.intp)
        return np.flatnonzero(positions >= 0), positions


class LastStepAttribute(Generic[Value]):
    """A descriptor for a class with ``steps``: the attribute or method of the last step.

    A chain shares the attribute because its embeddings are those of its last step. The descriptor reads the step each
    time, because a step learns the value in ``fit``, and settings can replace the steps. A chain without steps, and the
    class itself, have the inherited value.
    """

    def __set_name__(self, owner: type, name: str) -> None:
        self._owner = owner
        self._name = name

    def __get__(self, chain: Any, kind: type) -> Value:
        if chain is not None and chain.steps:
            return cast(Value, getattr(chain.steps[-1], self._name))
        inherited = super(self._owner, kind if chain is None else chain)
        return cast(Value, getattr(inherited, self._name))


class ChainCapabilities:
    """A descriptor of the capabilities of a chain: those of its steps one after another, with their settings."""

    def __get__(self, chain: "Chain | None", kind: type["Chain"]) -> Capabilities:
        steps = () if chain is None else chain.steps
        return composed([replace(step.capabilities, needs_labels=step.needs_labels) for step in steps])


class Chain(MultiViewLearner):
    """A learner that fits each of its steps on the embeddings of the step before.

    Some learners compute embeddings of their training rows by models without these rows (``left_out_``). The chain
    embeds rows that equal a training row in this way, and fits later learners on these embeddings. Otherwise training
    rows would be closer to their class than any new row.

    Args:
        steps: fitted or unfitted learners, first to last; ``fit`` fits these objects themselves. Without steps, rows
            stay as they are.
        view_slices: widths of the views in a 2-D ``X``; None: the division of a learner with the same number of views.
        max_items: maximum number of items that a training draws for the chain; None: the smallest of the steps.

    Attributes:
        known_rows_: list of (n_v,) uint64 arrays, fingerprints of the training rows of each view, if a step has
            ``left_out_``; otherwise empty.
    """

    name = "chain"
    capabilities: ClassVar[ChainCapabilities] = ChainCapabilities()

    n_metrics_: LastStepAttribute[int] = LastStepAttribute()
    metric_names_: LastStepAttribute[Sequence[str]] = LastStepAttribute()
    metric_widths_: LastStepAttribute[Sequence[Sequence[int]]] = LastStepAttribute()
    names_: LastStepAttribute[Sequence[str]] = LastStepAttribute()
    metric_of_class: LastStepAttribute[Callable[..., NDArray[np.intp]]] = LastStepAttribute()
    metric_of_rows: LastStepAttribute[Callable[..., NDArray[np.intp]]] = LastStepAttribute()
    place_of_class: LastStepAttribute[Callable[..., NDArray[np.float64]]] = LastStepAttribute()
    described_classes: LastStepAttribute[Callable[..., tuple[str, ...]]] = LastStepAttribute()

    known_rows_: Sequence[Fingerprints] = ()

    def __init__(
        self,
        steps: Sequence[MultiViewLearner] = (),
        view_slices: Sequence[int] | None = None,
        max_items: Annotated[int, Between(FEWEST_SAMPLED, MOST_SAMPLED)] | None = None,
    ) -> None:
        self.steps: Sequence[MultiViewLearner] = steps
        self.view_slices = view_slices
        self.max_items = max_items
        self._views = KnownViews(())

    @property
    def most_items(self) -> int | None:
        """The maximum number of items to learn from: ``max_items``, or the smallest of the steps; None: any number."""
        bounds = [step.max_items for step in self.steps if step.max_items is not None]
        return self.max_items or min(bounds, default=None)

    def fit_cost(self, size: FitSize) -> FitCost:
        """Return the memory of the most expensive step, with its input, and the arithmetic of all steps."""
        most, operations = 0.0, 0.0
        for step in self.steps:
            cost = step.fit_cost(size)
            most = max(most, cost.bytes + linear_cost(size, size.widths).bytes)
            operations += cost.operations
            size = replace(size, widths=step.embedded_widths(size))
        return FitCost(most, operations)

    def embedded_widths(self, size: FitSize) -> tuple[int, ...]:
        """Return the estimated number of columns of each view's embeddings."""
        for step in self.steps:
            size = replace(size, widths=step.embedded_widths(size))
        return size.widths

    @property
    def main_learner(self) -> MultiViewLearner | None:
        """The main learner of the chain: the last that is not auxiliary, or the last step if all are auxiliary."""
        return self.steps[main_position([step.capabilities for step in self.steps])] if self.steps else None

    def again(self) -> Self:
        """Return an unfitted chain of steps that keep their choices."""
        return type(self)([step.again() for step in self.steps], self.view_slices, self.max_items)

    def add_view(self, X: MultiView, y: Any = None) -> Self:
        """Fit one further view, the last of ``X``, step by step; arguments and errors are those of ``fit``."""
        for step in self.steps:
            if not step.capabilities.adds_views:
                step.add_view(X, y)  # it raises an error whose message names the step; that of the chain would not
        return super().add_view(X, y)

    def check_views(self, names: Sequence[str]) -> None:
        """Raise ValueError unless every step takes this number of views."""
        for step in self.steps:
            step.check_views(names)

    def assign(self, X: ArrayLike, category: Any = None, view: int = 0) -> int:
        """Find the metric for a category by the last step; the rows of ``X`` are inputs of the first step."""
        if not self.steps:
            return super().assign(X, category, view)
        return self.steps[-1].assign(self._before_last(X, view), category, view)

    def class_probabilities(self, X: ArrayLike, view: int = 0) -> dict[str, NDArray[np.float64]]:
        """Return the probability of each class for rows of a view, (n,) by class, as the last step estimates it.

        Raises:
            ValueError: if the last step does not estimate probabilities.
        """
        if not self.steps:
            return super().class_probabilities(X, view)
        return self.steps[-1].class_probabilities(self._before_last(X, view), view)

    def codes_and_vectors(self, X: ArrayLike, view: int, queries: bool = False) -> tuple[Rows, Rows]:
        """Return the codes of rows of one view, (n, B) columns of 0 and 1, and the vectors behind the codes, (n, D).

        Args:
            X: (n, d_view) rows, inputs of the first step.
            view: the view of the rows.
            queries: whether the rows are queries, which some learners embed differently from items.

        Raises:
            ValueError: as ``transform``, or if the last step does not make codes of vectors.
        """
        hasher, rows = self.steps[-1], self._before_last(X, view, queries)
        codes = hasher.transform_queries(rows, view) if queries else hasher.transform(rows, view=view)
        return codes, hasher.unhashed(rows, view, queries)

    def _fit(self, views: list[Rows], supervision: Supervision) -> None:
        first = list(views)
        self.known_rows_ = ()  # known rows of an earlier fit have different embeddings
        self._run("fit", self.steps, views, supervision)
        if any(step.left_out_ for step in self.steps):
            self.know_rows([rows[present] for rows, present in zip(first, supervision.mask.T, strict=True)])

    def _add_view(self, views: list[Rows], supervision: Supervision) -> None:
        steps = copy.deepcopy(list(self.steps))  # if a step raises, the steps before it must stay unchanged
        self._run("add_view", steps, views, supervision)
        self.steps = steps

    def know_rows(self, views: Sequence[NDArray[Any]]) -> None:
        """Remember the (n_v, d_v) training rows of further views, as inputs of the first step, in their order."""
        self.known_rows_ = [*self.known_rows_, *map(fingerprints, views)]

    def _run(self, method: str, steps: Sequence[MultiViewLearner], views: list[Rows], supervision: Supervision) -> None:
        # Views of an earlier fit may have further rows now, which its models did not leave out.
        positions = [KnownViews(self.known_rows_).among(rows, view)[1] for view, rows in enumerate(views)]
        for number, step in enumerate(steps):
            try:
                getattr(step, method)(views, given_to(steps, number, supervision))
            except (ValueError, ArithmeticError) as error:
                raise ValueError(f"{_described(step)} cannot be fitted: {error}") from error
            views = [_training_rows(step, rows, v, supervision.mask[:, v], positions) for v, rows in enumerate(views)]

    def _needs_classes(self, supervision: Supervision) -> bool:
        needed = [step._needs_classes(given_to(self.steps, n, supervision)) for n, step in enumerate(self.steps)]
        # The chain refuses supervision that no step takes. A step that takes only a part has already refused the rest,
        # with a message that names the step.
        super()._needs_classes(supervision)
        return any(needed)

    def _project(self, rows: Rows, view: int) -> Rows:
        return self._after(self.steps, rows, view)

    def _project_queries(self, rows: Rows, view: int) -> Rows:
        return self._after(self.steps, rows, view, queries=True)

    def _before_last(self, X: ArrayLike, view: int, queries: bool = False) -> Rows:
        """Return rows of one view as inputs of the last step."""
        rows: Rows = self._checked_rows(X, view).astype(float, copy=False)
        return self._after(self.steps[:-1], rows, view, queries)

    def _after(self, steps: Sequence[MultiViewLearner], rows: Rows, view: int, queries: bool = False) -> Rows:
        """Return rows of one view after the first of the steps."""
        if self._views.known is not self.known_rows_:  # loading a state and adding a view replace them
            self._views = KnownViews(self.known_rows_)
        trained, positions = self._views.among(rows, view)
        new = np.delete(np.arange(len(rows)), trained) if len(trained) else trained
        for step in steps:
            if not len(trained) or not step.left_out_:
                rows = step.embedded(rows, view, queries)
                continue
            before, rows = rows, np.empty((len(rows), step.left_out_[view].shape[1]), rows.dtype)
            rows[trained] = step.left_out_[view][positions[trained]]
            if len(new):
                rows[new] = step.embedded(before[new], view, queries)
        return rows

    def to_state(self) -> dict[str, Any]:
        """Return the states of the steps by position, and the widths of the views."""
        fitted = {"view_widths_": self.view_widths_, "n_features_in_": self.n_features_in_}
        if self.known_rows_:
            fitted["known_rows_"] = list(self.known_rows_)
        params = {"view_slices": self.view_slices, "max_items": self.max_items}
        steps = {str(i): step.to_state() for i, step in enumerate(self.steps)}
        return {"learner": self.name, "params": params, "fitted": fitted, "steps": steps}


def given_to(steps: Sequence[MultiViewLearner], number: int, supervision: Supervision) -> Supervision:
    """Return the part of the chain's supervision that one step takes.

    Comparisons are for the last step that takes them. The steps before it prepare its rows without them, because two
    steps that fit the same comparisons would count them twice.
    """
    step = steps[number].capabilities
    later = any(other.capabilities.takes_comparisons for other in steps[number + 1 :])
    return replace(
        supervision,
        neighbors=supervision.neighbors if step.takes_neighbors else None,
        comparisons=supervision.comparisons if step.orders_items or (step.takes_comparisons and not later) else None,
        taxonomy=supervision.taxonomy if step.takes_taxonomy else None,
        notion_classes=supervision.notion_classes if step.notions else None,
        shared_space=Chain(steps[:number]).capabilities.cross_view,
    )


def _training_rows(
    step: MultiViewLearner, rows: Rows, view: int, present: NDArray[np.bool_], positions: Sequence[NDArray[np.intp]]
) -> Rows:
    """Return the embeddings of the rows of a view for the next step, each by a model without the row if there is one.

    ``positions`` has, for each view of an earlier fit, the positions of the rows in that fit, -1 for other rows.
    """
    if view >= len(step.left_out_):
        return np.asarray(step.transform(rows, view=view))
    left_out = step.left_out_[view]
    if not len(positions[view]):
        embeddings = np.zeros((len(rows), left_out.shape[1]), rows.dtype)
        embeddings[present] = left_out
        return embeddings
    embeddings = np.asarray(step.transform(rows, view=view))
    again = present & (positions[view] >= 0)
    embeddings[again] = left_out[positions[view][again]]
    return embeddings


def _described(step: MultiViewLearner) -> str:
    """Return a step's name, with the settings that may be the reason for its error."""
    usual = type(step)().settings()
    own = {name: value for name, value in step.settings().items() if name not in ("random_state", "views")}
    settings = ", ".join(f"{name}={value!r}" for name, value in own.items() if repr(value) != repr(usual[name]))
    return f"{step.name} with {settings[:200]}" if settings else step.name
