"""Parts of views: the columns that come from one stored view, and the steps that these columns need first."""

from collections.abc import Sequence
from itertools import zip_longest
from typing import Any, NamedTuple

import numpy as np

from crossview.engine.catalog.extractors import inputs_of, kind_of
from crossview.engine.catalog.joined import JoinedView
from crossview.engine.learners.frame.normalization import Scale
from crossview.engine.learners.registry import LEARNERS


class Part(NamedTuple):
    """The columns of a view's rows that come from one stored view."""

    width: int
    steps: tuple[str, ...] = ()
    """Names of its normalisation steps, such as ("l1",) for counts of words."""
    robust: bool = False
    """Whether its rows hardly differ between a picture and a changed copy."""
    texts: bool = False
    """Whether its rows describe texts."""


def parts_of(view: JoinedView) -> tuple[Part, ...]:
    """Return the parts of a view, one for each stored view in it."""
    kinds = [kind_of(one) for one in view.parts]
    return tuple(
        Part(one.dim, kind.steps, kind.robust, inputs_of(one) == {"text"})
        for one, kind in zip(view.parts, kinds, strict=True)
    )


def own_learners(views: Sequence[Sequence[Part]], first: int = 0) -> list[Any]:
    """Return the unfitted learners at the start of a pipeline, given the parts of each view.

    They apply the first step of every part, then the second steps, and so on. Last, they scale the parts of joined
    views, so that each part has the same weight. ``first`` is the position of the first view.
    """
    placed = [
        (step_names, view, columns)
        for view, parts in enumerate(views, first)
        for step_names, columns in zip((part.steps for part in parts), _columns(parts), strict=True)
    ]
    learners = []
    for names in zip_longest(*(step_names for step_names, _, _ in placed)):
        wanted = [(name, columns, view) for name, (_, view, columns) in zip(names, placed, strict=True) if name]
        for name, columns in sorted({one[:2] for one in wanted}, key=lambda one: (one[0], one[1] or ())):
            given = {} if columns is None else {"columns": columns}
            chosen = [view for *group, view in wanted if tuple(group) == (name, columns)]
            learners.append(LEARNERS[name](views=chosen, **given))
    joined = [(view, parts) for view, parts in enumerate(views, first) if len(parts) > 1]
    return learners + [Scale(views=[view], widths=[part.width for part in parts]) for view, parts in joined]


def _columns(parts: Sequence[Part]) -> list[tuple[int, int] | None]:
    """Return the range of columns of each part; None if the part is the whole view."""
    ends = np.cumsum([part.width for part in parts]).tolist()
    return list(zip([0, *ends], ends, strict=False)) if len(parts) > 1 else [None] * len(parts)
