"""Pipelines: the own steps of views, then the learners of a spec such as ``sqrt@sift,cca``, as one chain."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import cdist
from sklearn.utils.extmath import row_norms

from crossview.engine.catalog.extractors import inputs_of, kind_of
from crossview.engine.catalog.joined import JOINT, JoinedView
from crossview.engine.catalog.values import within_reach
from crossview.engine.learners.frame.chain import Chain
from crossview.engine.learners.frame.normalization import Scale
from crossview.engine.learners.frame.stage import Stage
from crossview.engine.learners.frame.supervision import Supervision
from crossview.engine.learners.frame.view_rows import cut, slices
from crossview.engine.learners.registry import LEARNERS, build_chain
from crossview.engine.spaces.target import Target
from crossview.engine.values.errors import InvalidInputError


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
    kinds = [kind_of(record) for record in view.parts]
    return tuple(
        Part(record.dim, kind.steps, kind.robust, inputs_of(record) == {"text"})
        for record, kind in zip(view.parts, kinds, strict=True)
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
        steps = [(name, columns, view) for name, (_, view, columns) in zip(names, placed, strict=True) if name]
        for name, columns in sorted({step[:2] for step in steps}, key=lambda step: (step[0], step[1] or ())):
            options = {} if columns is None else {"columns": columns}
            positions = [view for *group, view in steps if tuple(group) == (name, columns)]
            learners.append(LEARNERS[name](views=positions, **options))
    joined = [(view, parts) for view, parts in enumerate(views, first) if len(parts) > 1]
    return learners + [Scale(views=[view], widths=[part.width for part in parts]) for view, parts in joined]


def _columns(parts: Sequence[Part]) -> list[tuple[int, int] | None]:
    """Return the range of columns of each part; None if the part is the whole view."""
    ends = np.cumsum([part.width for part in parts]).tolist()
    return list(zip([0, *ends], ends, strict=False)) if len(parts) > 1 else [None] * len(parts)


_VIEW_SETTINGS = ("frozen", "neighbor_view", "shared", "views")
"""Parameters of learners whose values are positions of views; users give the names of views."""
_BETWEEN = "\x1f"  # separates the labels of a class
_MANY = 1 << 17
"""Number of items from which on distances come from products of matrices."""
_ROUNDING = 1e-13
"""Share of the squared lengths below which a squared distance by products is rounding."""
ITEMS_AT_ONCE = 4_096
"""Number of items whose embeddings are float64 at a time: those of all items would take several times the memory."""


def build(
    stages: Sequence[Stage],
    views: Sequence[str],
    parts: Sequence[Sequence[Part]],
    settings: Mapping[str, Any] | None = None,
    seed: int = 0,
) -> Chain:
    """Return an unfitted pipeline: the steps of the views' parts, then the learners of the stages, if any.

    Stages and settings name views. Names joined by ``+`` mean the joined view of this name if it is among the views,
    and several views otherwise. ``settings`` are parameters of the main learner, and ``seed`` is the ``random_state``
    of every learner that has one.

    Raises InvalidInputError for unknown learners, settings or views, with the known ones.
    """
    learners, most = own_learners(parts), None
    if stages:
        by_position = {name: _by_position(name, value, views) for name, value in (settings or {}).items()}
        try:
            chain = build_chain([_numbered(stage, views) for stage in stages], by_position)
            chain.check_views(views)
        except ValueError as error:
            raise InvalidInputError(str(error)) from error
        for learner in chain.steps:
            if learner.get_params().get("random_state", seed) is None:
                learner.set_params(random_state=seed)
        learners += chain.steps
        most = chain.max_items
    return Chain(learners, max_items=most)


def fit(chain: Chain, rows: Sequence[NDArray[np.float32]], supervision: Supervision | None = None) -> Chain:
    """Fit a pipeline on the rows of each view, (n, d_v); InvalidInputError with the learner's message on failure."""
    try:
        chain.fit(list(rows), supervision)
    except ValueError as error:
        raise InvalidInputError(str(error)) from error
    return chain


def extend(chain: Chain, rows: Sequence[NDArray[np.float32]], parts: Sequence[Part], supervision: Supervision) -> Chain:
    """Return a fitted pipeline extended by one view, whose rows are the last; the steps of its parts come first.

    The fitted objects of the other views stay the same. ``supervision`` has a mask, (n, V).

    Raises InvalidInputError with the learner's message if the learner cannot add a view.
    """
    new = len(rows) - 1
    present = supervision.mask[:, new]
    own_rows = rows[new][present]
    blank = [np.zeros((len(own_rows), width), np.float32) for width in chain.view_widths_]
    try:
        own = Chain(own_learners([parts], first=new)).fit([*blank, own_rows])
        normalized = rows[new].copy()
        normalized[present] = own.transform(own_rows, view=new)
        chain.add_view([*rows[:new], normalized], supervision)
    except ValueError as error:
        raise InvalidInputError(f"the view cannot be added: {error}") from error
    extended = Chain([*own.steps, *chain.steps], max_items=chain.max_items)
    extended.view_widths_, extended.n_features_in_ = chain.view_widths_, chain.n_features_in_
    if chain.known_rows_:
        extended.known_rows_ = chain.known_rows_
        extended.know_rows([own_rows])
    return extended


def vectors(chain: Chain, rows: NDArray[np.float32], view: int, queries: bool = False) -> NDArray[np.float32]:
    """Return the vectors, (n, D) float32, of rows of one view, (n, d_view), as items or queries; n may be 0.

    Vectors of a hasher have columns of 0 and 1.
    """
    if not len(rows):  # estimators refuse empty input; one row of zeros gives the width
        return vectors(chain, np.zeros((1, rows.shape[1]), np.float32), view)[:0]
    with np.errstate(over="ignore"):
        parts = [within_reach(chain.embedded(rows[part], view, queries)) for part in _blocks(rows)]
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def metrics_of_items(
    chain: Chain, classes: ArrayLike, view: int, embedded: NDArray[np.floating[Any]]
) -> NDArray[np.bool_]:
    """Return under which metrics of a chain items of given classes are indexed, (n, n_metrics).

    An item whose class has a metric is indexed under that metric. Other items are indexed under the metric of the
    class that the learner predicts from their (n, D) embeddings, or under every metric if it predicts none.
    """
    own = chain.metric_of_class(classes, view)
    unknown = np.flatnonzero(own < 0)
    if len(unknown):
        own[unknown] = chain.metric_of_rows(embedded[unknown], view)
    indexed: NDArray[np.bool_] = (own[:, None] < 0) | (own[:, None] == np.arange(chain.n_metrics_))
    return indexed


def distances(
    probes: NDArray[np.float32], placed: NDArray[np.float32], indexed: NDArray[np.bool_], widths: Sequence[int]
) -> NDArray[np.float64]:
    """Return the Euclidean distances of vectors, (q, n): the smallest over an item's ``metrics_of_items``.

    ``widths`` are the chain's ``widths_of_metrics``. Products of matrices give distances to many items, several times
    as fast; they differ by 1e-6 of the vectors' length at most.
    """
    between = _by_products if len(placed) >= _MANY else cdist
    matrix, single = np.empty((len(probes), len(placed))), len(widths) == 1 and bool(indexed.all())
    of_probes = cut(probes.astype(np.float64), widths)
    for start in range(0, len(placed), ITEMS_AT_ONCE):
        some = slice(start, start + ITEMS_AT_ONCE)
        least, of_items = matrix[:, some], cut(placed[some], widths)
        if single:
            least[:] = between(of_probes[0], of_items[0])
            continue
        least[:] = np.inf
        for probe, item, mask in zip(of_probes, of_items, indexed[some].T, strict=True):
            columns = slice(None) if mask.all() else mask  # a slice copies nothing
            least[:, columns] = np.minimum(least[:, columns], between(probe, item[columns]))
    return matrix


def _by_products(probes: NDArray[np.float64], placed: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the Euclidean distances of vectors, (q, n), 0 below the rounding of the products."""
    items = placed.astype(np.float64)
    squares = (-2 * probes) @ items.T
    squares += (1 - _ROUNDING) * row_norms(probes, squared=True)[:, None]
    squares += (1 - _ROUNDING) * row_norms(items, squared=True)
    np.maximum(squares, 0, out=squares)
    return np.sqrt(squares, out=squares)


def codes_and_vectors(
    chain: Chain, rows: NDArray[np.float32], view: int, queries: bool = False
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return the codes of a chain that ends in a hasher, columns of 0 and 1, and the float vectors before hashing."""
    if not len(rows):
        one_code, one_vector = codes_and_vectors(chain, np.zeros((1, rows.shape[1]), np.float32), view)
        return one_code[:0], one_vector[:0]
    with np.errstate(over="ignore"):
        parts = [chain.codes_and_vectors(rows[part], view, queries) for part in _blocks(rows)]
    codes, floats = (np.concatenate(every) for every in zip(*parts, strict=True))
    return np.ascontiguousarray(codes, np.float32), within_reach(floats)


def _blocks(rows: NDArray[np.float32]) -> Iterator[slice]:
    """Yield slices of rows that are embedded together: a kernel compares each of them with thousands of landmarks."""
    return slices(len(rows), 1, ITEMS_AT_ONCE)


def targets_of_view(chain: Chain, view: str, position: int, rerank: bool) -> tuple[Target, ...]:
    """Return the targets of a view of a fitted chain: one for each metric, named or numbered from 1.

    Numbered metrics belong to classes and share one scale of distances. Named metrics are notions: every item is
    indexed under each of them, and each has a scale of its own.
    """
    row = np.zeros((1, chain.view_widths_[position]), np.float32)
    floats = codes_and_vectors(chain, row, position)[1].shape[1] if rerank else 0
    widths = chain.widths_of_metrics(position, vectors(chain, row, position).shape[1])
    numbered = len(widths) > 1 and not chain.metric_names_
    names = chain.metric_names_ or [str(metric + 1) if numbered else "" for metric in range(len(widths))]
    return tuple(
        Target(
            view=view,
            name=name,
            metric=metric,
            dim=width,
            codes=chain.capabilities.binary,
            floats=floats,
            scale=view if numbered else "",
        )
        for metric, (name, width) in enumerate(zip(names, widths, strict=True))
    )


def _numbered(stage: Stage, views: Sequence[str]) -> Stage:
    """Return a stage with its views as positions."""
    if stage.views is None:
        return stage
    positions, names = [], list(stage.views)
    while names:  # take the longest run of names that is a joined view
        length = next((count for count in range(len(names), 1, -1) if JOINT.join(names[:count]) in views), 1)
        positions.append(str(_position(JOINT.join(names[:length]), views)))
        names = names[length:]
    return replace(stage, views=tuple(positions))


def _by_position(name: str, value: Any, views: Sequence[str]) -> Any:
    """Return the value of a setting, with names of views ("color", "color,sift" or a list) replaced by positions."""
    if name.rpartition("__")[2] not in _VIEW_SETTINGS:
        return value
    if isinstance(value, str) and "," in value:
        value = [part.strip() for part in value.split(",")]
    values = value if isinstance(value, list | tuple) else [value]
    if unknown := [view for view in values if isinstance(view, str | int) and not _is_view(view, views)]:
        raise InvalidInputError(f"{name}={unknown[0]!r} is not one of the views {', '.join(views)}")
    return [_position(view, views) for view in value] if isinstance(value, list | tuple) else _position(value, views)


def _is_view(value: str | int, views: Sequence[str]) -> bool:
    return value in views if isinstance(value, str) else 0 <= value < len(views)


def _position(value: Any, views: Sequence[str]) -> Any:
    return list(views).index(value) if isinstance(value, str) and value in views else value


def class_of(labels: Sequence[str]) -> str:
    """Return the name of the class that a learner gets for a set of labels."""
    return _BETWEEN.join(labels)


def labels_of(name: str) -> tuple[str, ...]:
    """Return the set of labels behind the name of a class."""
    return tuple(name.split(_BETWEEN)) if name else ()
