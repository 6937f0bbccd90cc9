"""Chains fitted stage by stage, so that what several have in common is fitted once."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from numpy.typing import NDArray

from crossview.engine.learners.frame.base import MultiViewLearner
from crossview.engine.learners.frame.chain import Chain
from crossview.engine.learners.frame.supervision import Supervision
from crossview.engine.learners.frame.view_rows import Rows
from crossview.engine.learners.registry import parse_chain

Labels = NDArray[Any]


class Embedded(NamedTuple):
    """The embeddings of each view by a chain, and its last learner."""

    learned: Sequence[Rows]
    """Training rows as later stages learn from them: as if left out, where a learner knows how."""
    train: Sequence[Rows]
    """Training rows as any others, by the functions that were learned from them."""
    items: Sequence[Rows]
    """Test rows as items."""
    queries: Sequence[Rows]
    """Test rows as queries."""
    learner: MultiViewLearner | None = None


class Stages:
    """Embeds rows by chains that are fitted on training rows.

    Args:
        train: (n, d_v) array per view.
        labels: (n,) their classes.
        test: (m, d_v) array per view, of other items.
    """

    def __init__(self, train: Sequence[Rows], labels: Labels, test: Sequence[Rows]) -> None:
        self.labels = labels
        self._made: dict[tuple[tuple[str, str], ...], Embedded] = {(): Embedded(train, train, test, test)}

    def embedded(self, spec: str, settings: Mapping[str, Any]) -> Embedded:
        """Return what a chain makes of the rows; all but what its last stage makes is kept for other chains."""
        steps = parse_chain(spec, settings).steps
        names = tuple((step.name, repr(sorted(step.settings().items()))) for step in steps)
        for count in range(1, len(steps)):
            if names[:count] not in self._made:
                self._made[names[:count]] = self._after(self._made[names[: count - 1]], steps[:count])
        return self._after(self._made[names[:-1]], steps)

    def _after(self, before: Embedded, steps: Sequence[MultiViewLearner]) -> Embedded:
        """Return what the last of some steps makes of what those before it made."""
        step, shared = steps[-1], Chain(steps[:-1]).capabilities.cross_view
        step.fit(list(before.learned), Supervision(classes=self.labels, shared_space=shared))
        train, items = (
            [step.transform(x, view=v) for v, x in enumerate(rows)] for rows in (before.train, before.items)
        )
        queries = [step.transform_queries(rows, view) for view, rows in enumerate(before.queries)]
        learned = [rows.astype(float) for rows in step.left_out_]
        if not learned and before.learned is not before.train:
            learned = [step.transform(rows, view=view) for view, rows in enumerate(before.learned)]
        return Embedded(learned or train, train, items, queries, step)
