"""Multi-view neighborhood preserving projections (Multi-NPP)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from crossview.engine.learners.frame.base import MANY_ITEMS, MultiViewLearner
from crossview.engine.learners.frame.capabilities import Capabilities
from crossview.engine.learners.frame.settings import (
    Arrays,
    Between,
    Count,
    Dimensions,
    OneView,
    Positive,
    Seed,
    Steps,
    Weight,
    group,
)
from crossview.engine.learners.frame.supervision import Supervision
from crossview.engine.learners.frame.traits import LinearLearner
from crossview.engine.learners.frame.view_rows import Mask, Rows
from crossview.engine.learners.papers.npp.initial_projections import Start, random_projections, start, start_from_fixed
from crossview.engine.learners.papers.npp.neighborhoods import Neighborhood, attracting, nearest_items, pair_relations
from crossview.engine.learners.papers.npp.problem import Problem, View
from crossview.engine.learners.papers.npp.scisd import Scisd
from crossview.engine.learners.papers.npp.similarity import Numbers, Similarity, similarity_of
from crossview.engine.learners.papers.npp.subproblem import Regularizer, Subproblem
from crossview.engine.learners.subspace.span import Span
from crossview.engine.runtime.cancellation import checkpoint, report_progress

FULL_PAIRS = 5000
"""Maximum number of rows of a view for which batch_size="auto" uses all rows and pairs."""
_BATCH = 16_384
"""Number of rows of a batch with batch_size="auto": time and memory then stay the same for any larger view."""
_FACTORS = 2.0 ** np.arange(-4, 3)
"""Scales of the start to compare, in units of the reach of the loss."""
_COLUMNS = 1024
"""Number of rows of each other view that repel the rows of a batch."""
_PROBE = 2048
"""Number of rows of each view that serve to estimate the objective of a large problem."""
Matrix = NDArray[np.float64]

_GIVEN = "one array for each view"


@dataclass(frozen=True)
class Optimization:
    """Settings of the minimisation, and the scale of the rows.

    Attributes:
        max_iter: maximum number of alternations (N); each alternation learns all views that are not frozen. The start
            is regularised and the loss is not, so a few alternations generalise better than many.
        inner_iter: maximum number of steps of each convex sub-problem.
        tol: stop when an alternation lowers the objective by less than this share of its value.
        batch_size: number of rows in each convex sub-problem. The rows are drawn again each time, and come with all
            rows that attract them and a sample of the rows that repel them, so that time and memory do not grow with
            the number of pairs. None uses all rows and pairs; "auto" is None up to 5,000 rows of a view, and 16,384
            above.
        scaled: whether to centre each view and scale it to unit mean square first. False uses the rows as they are.
    """

    max_iter: Steps = 2
    inner_iter: Count = 15
    tol: Weight = 1e-4
    batch_size: Count | Literal["auto"] | None = "auto"
    scaled: bool = True

    def batch(self, largest: int) -> int | None:
        """Return the number of rows of a batch, for the number of rows of the largest view; None: all rows and
        pairs."""
        if self.batch_size is None or isinstance(self.batch_size, int):
            return self.batch_size
        return _BATCH if largest > FULL_PAIRS else None


@dataclass
class Alternation:
    """The alternating minimisation of a problem, which changes the problem's projections in place.

    Args:
        problem: the problem to minimise.
        batch_size: number of rows of the learned view in each bound, see ``Optimization``. None: all rows and pairs;
            then the objective never rises.
        generator: generator of the draws.
    """

    problem: Problem
    batch_size: int | None
    generator: np.random.RandomState

    def __post_init__(self) -> None:
        self._probe = self.problem
        if self.batch_size is not None:
            self._probe = self.problem.sample(_PROBE, self.generator)

    def rescale(self) -> None:
        """Scale all projections by the one of several factors with the least loss, because starts have no scale of
        their own."""
        unit = self.problem.scisd.reach / max(self._probe.distance(), np.finfo(np.float64).tiny)
        factors = (unit * _FACTORS).tolist()
        best = factors[int(np.argmin(self._probe.losses(factors)))]
        self.problem.weights[:] = [best * W for W in self.problem.weights]

    def run(self, how: Optimization) -> NDArray[np.float64]:
        """Minimise, and return the objective before the first alternation and after each; with batches, an estimate
        from the same rows each time.

        Args:
            how: the settings; with batches, all alternations run, for any tolerance.
        """
        history = [self._probe.objective()]
        done, total = 0, how.max_iter * len(self.problem.free) * how.inner_iter

        def report(steps: int) -> None:
            report_progress(done + steps, total)

        for _ in range(how.max_iter):
            before = list(self.problem.weights)
            for view in self.problem.free:
                checkpoint()
                self.problem.weights[view] = self._bound(view).solve(how.inner_iter, how.tol / 10, report)
                done += how.inner_iter
            history.append(self._probe.objective())
            if self.batch_size is not None:
                continue
            if history[-1] > history[-2]:  # rounding in sums over many pairs
                self.problem.weights[:], history[-1] = before, history[-2]
            if history[-2] - history[-1] <= how.tol * abs(history[-2]):
                break
        report_progress(total, total)
        return np.array(history)

    def _bound(self, view: int) -> Subproblem:
        if self.batch_size is None:
            return self.problem.bound(view)
        return self.problem.sampled_bound(view, self.batch_size, _COLUMNS, self.generator)


class FixedProjection(NamedTuple):
    """The projection of a view that stays as it was fitted."""

    weights: Matrix
    mean: NDArray[np.float64]


@dataclass(eq=False, repr=False)
class MultiNPP(LinearLearner, MultiViewLearner):
    """Projections of the views into one space, with similar items of two views near and dissimilar items about 1 apart.

    Quadrianto and Lampert, "Learning Multi-View Neighborhood Preserving Projections", ICML 2011. The objective is the
    sum, over all pairs of views, of 1/2 mean over similar inter-view pairs of ||W_1 x - W_2 y||^2 + 1/2 mean over
    dissimilar ones of SCISD of the distance, + eta Omega(W_1) + gamma Omega(W_2) + ... Algorithm 1 minimises it: in
    turn, each view's projection minimises the convex bound of equation (12) or (13), so the objective never rises.
    Unless ``scaled`` is False, each view is centred and scaled to unit mean square, so that eta and gamma mean the same
    for counts and for frequencies.

    Only pairs across views enter the objective, so distances within a view and across views have different scales.
    Items may lack views: the learner uses all rows that exist.

    Args:
        n_components: dimensions of the embeddings (D), at most the columns of all views together; with a frozen view,
            at most the number of its principal components.
        a: shape of the SCISD loss, > 1.
        lam: lambda of the SCISD loss; None: 1 / a, with which the loss of dissimilar items ends at a distance of 1.
        eta: weight of the first view's regularisation.
        gamma: weight of every other view's regularisation.
        penalty: "l2" (squared Frobenius norm) or "l1" (sum of absolute values, for sparse projections).
        neighborhood: the pairs that attract and the pairs that repel each other; None: ``Neighborhood()``.
        optimization: the settings of the minimisation; None: ``Optimization()``.
        init: the start: "neighbors", "labels", "cca", "pca" or "random" (see ``start``), or one (D, d_v) array per
            view. With a frozen view, the other views start at small random projections with "random", and otherwise at
            their ridge regressions on the mean embedding of similar items.
        ridge: weight of the penalty of the ridge regressions at the start, in units of a column's mean square, with
            ``init="labels"`` or a frozen view.
        frozen: the view, or views, whose projections stay fixed: at their PCA (Algorithm 2, "hybrid"), or at the arrays
            of ``init``. None: the learner learns all views.
        spread: with ``frozen``, scale the PCA so that the root mean square distance of dissimilar items within the
            frozen view is ``spread`` times a lam, the distance at which the loss ends; None keeps the PCA's own scale.
        random_state: seed of drawn pairs and of random starts.
        view_slices: widths of the views in a 2-D ``X``; None: two halves.

    Attributes:
        objective_: (n_iter_ + 1,) the objective at the start and after each alternation, never rising; with batches,
            estimates from the same rows each time.
        n_iter_: int, number of alternations.
    """

    name = "multi-npp"
    max_items = MANY_ITEMS
    capabilities: ClassVar[Capabilities] = Capabilities(
        cross_view=True,
        needs_labels=True,
        multilabel=True,
        takes_neighbors=True,
        adds_views=True,
        least_views=2,
        main_parameter="n_components",
    )
    groups: ClassVar[Mapping[str, Any]] = {"neighborhood": Neighborhood(), "optimization": Optimization()}

    @property
    def needs_labels(self) -> bool:
        """Whether ``fit`` needs class labels; with ``similar="knn"`` it does not, because nearest neighbours in a view
        count as similar."""
        return self._neighborhood.similar == "labels"

    n_components: Dimensions = 50
    a: Annotated[float, Between(1, 1e3, above=True)] = 3.7
    lam: Positive | None = None
    eta: Weight = 1e-6
    gamma: Weight = 1e-6
    penalty: Literal["l2", "l1"] = "l2"
    neighborhood: Neighborhood | None = None
    optimization: Optimization | None = None
    init: Start | Annotated[Sequence[Any], Arrays(2, _GIVEN)] = "neighbors"
    ridge: Weight = 0.1
    frozen: OneView | Sequence[OneView] | None = None
    spread: Positive | None = None
    random_state: Seed = None
    view_slices: Sequence[int] | None = None

    def most_dimensions(self, ranks: Sequence[int], classes: int) -> int:
        """Return the sum of the ranks of all views, because each view may have directions of its own."""
        return sum(ranks)

    def _fit(self, views: list[Rows], supervision: Supervision) -> None:
        self._learn(views, supervision.mask, self._similarity(views, supervision), {})

    def _add_view(self, views: list[Rows], supervision: Supervision) -> None:
        """Run Algorithm 2 with the fitted projections instead of the PCA."""
        fixed = {
            view: FixedProjection(W, mean)
            for view, (W, mean) in enumerate(zip(self.weights_, self.means_, strict=True))
        }
        self._learn(views, supervision.mask, self._similarity(views, supervision), fixed)

    def _similarity(self, views: list[Rows], supervision: Supervision) -> Similarity:
        if supervision.neighbors is None and self._neighborhood.similar == "knn":
            view, k = self._neighborhood.neighbor_view, self._neighborhood.n_neighbors
            if not 0 <= view < len(views):
                raise ValueError(f"neighbor_view={view!r} but there are {len(views)} views, counted from 0")
            return nearest_items(views[view], supervision.mask[:, view], k)
        return similarity_of(supervision.classes, supervision.neighbors, len(supervision.mask))

    @property
    def _neighborhood(self) -> Neighborhood:
        return cast(Neighborhood, group(self, "neighborhood"))

    def _frozen(self, count: int) -> list[int]:
        views: list[int] = [] if self.frozen is None else np.atleast_1d(self.frozen).tolist()
        if max(views, default=0) >= count:
            raise ValueError(f"frozen={self.frozen} but there are {count} views, counted from 0")
        if len(set(views)) >= count:
            raise ValueError("frozen names every view, so there is no view to learn: leave out at least one")
        return sorted(set(views))

    def _learn(self, views: list[Rows], mask: Mask, similar: Similarity, fixed: Mapping[int, FixedProjection]) -> None:
        generator = check_random_state(self.random_state)
        frozen = list(fixed) or self._frozen(len(views))
        how = cast(Optimization, group(self, "optimization"))
        batch = how.batch(mask.sum(axis=0).max())
        items = [np.flatnonzero(column) for column in mask.T]
        k = self._neighborhood.nearest
        near = None if k is None else attracting(similar, views, mask, frozen, k)
        drawing = generator if self._neighborhood.pairs == "sampled" and batch is None else None
        relations = pair_relations(similar, items, near, drawing, self._neighborhood.weighting)
        self.means_: list[NDArray[np.float64]] = [
            fixed[v].mean if v in fixed else _mean(_present(x, i), how.scaled)
            for v, (x, i) in enumerate(zip(views, items, strict=True))
        ]
        # pop frees each view once it is copied: a view of a million items takes gigabytes
        scaled = [_view(views.pop(0), i, mean, how.scaled) for i, mean in zip(items, self.means_, strict=True)]
        initial = {v: old.weights * scaled[v].scale for v, old in fixed.items()} or self._given(scaled)
        begun = initial
        at_random = isinstance(self.init, str) and self.init == "random" and not fixed
        if not initial and (not frozen or at_random):
            drawn = random_projections([v.span.width for v in scaled], self.n_components, generator)
            begun = {v: W for v, W in enumerate(drawn) if v not in frozen}
        problem = Problem(
            views=[self._in_span(view, v, frozen, begun) for v, view in enumerate(scaled)],
            relations=relations,
            scisd=Scisd(self.a, 1 / self.a if self.lam is None else self.lam),
            penalties=[Regularizer(self.penalty, self.gamma if view else self.eta) for view in range(len(items))],
            weights=[],
            free=[view for view in range(len(items)) if view not in frozen],
        )
        del scaled
        begun = {v: problem.views[v].span.coordinates(W) for v, W in begun.items()}
        if frozen:
            staying = {view: begun.get(view) for view in frozen}
            moving = {view: W for view, W in begun.items() if at_random and view not in frozen}
            problem.weights = start_from_fixed(
                problem, staying, self.n_components, self.spread, self.ridge, similar, generator, moving
            )
        elif initial:
            problem.weights = list(begun.values())
        else:
            name = cast(Start, self.init)
            problem.weights = start(name, problem, similar, list(begun.values()), self.ridge, generator)
        turns = Alternation(problem, batch, generator)
        if not (frozen or initial):
            turns.rescale()
        self.objective_: NDArray[np.float64] = turns.run(how)
        self.n_iter_: int = len(self.objective_) - 1
        self.weights_: list[NDArray[np.float64]] = [
            view.span.lifted(W) / view.scale for W, view in zip(problem.weights, problem.views, strict=True)
        ]

    def _in_span(self, view: View, number: int, frozen: Sequence[int], begun: Mapping[int, Matrix]) -> View:
        """Return a view by its coordinates in the span of its rows and of the start of its projection.

        The penalty "l2" is the same for coordinates, and no gradient leaves the span. The penalty "l1" depends on the
        columns, and a frozen projection is not optimised, so these keep the rows themselves.
        """
        if number in frozen or self.penalty == "l1":
            return view
        return view._replace(span=Span.of(view.rows, begun.get(number)))

    def _given(self, views: Sequence[View]) -> dict[int, Matrix]:
        """Return the projections that ``init`` gives, converted for the scaled rows."""
        if isinstance(self.init, str):
            return {}
        matrices = [np.array(W, dtype=np.float64) for W in self.init]
        if [W.shape for W in matrices] != [(self.n_components, view.rows.shape[1]) for view in views]:
            raise ValueError(f"init must hold one ({self.n_components}, d_v) array per view")
        return {number: W * view.scale for number, (W, view) in enumerate(zip(matrices, views, strict=True))}


def _present(rows: Rows, items: Numbers) -> Rows:
    return rows if len(items) == len(rows) else rows[items]


def _mean(rows: Rows, scaled: bool) -> NDArray[np.float64]:
    return np.asarray(rows.mean(axis=0) if scaled else np.zeros(rows.shape[1]))


def _view(rows: Rows, items: Numbers, mean: NDArray[np.float64], scaled: bool) -> View:
    centered = _present(rows, items) - mean
    if not scaled:
        return View(Span(centered), items, 1.0)
    scale = float(np.linalg.norm(centered)) / float(np.sqrt(centered.size)) or 1.0
    centered /= scale
    return View(Span(centered), items, scale)


@dataclass(eq=False, repr=False)
class Hybrid(MultiNPP):
    """Multi-NPP whose view ``frozen`` is projected by its PCA (Quadrianto and Lampert, ICML 2011, Algorithm 2).

    Use it if you know the view of the queries or the view of the database: distances within the frozen view are those
    of its own space. The parameters are those of :class:`MultiNPP` without ``init``: the other view starts at its ridge
    regression on the mean embedding of its similar items, and one convex optimisation (``max_iter``) follows.
    """

    name = "hybrid"
    groups: ClassVar[Mapping[str, Any]] = {
        "neighborhood": Neighborhood(nearest=20),
        "optimization": Optimization(max_iter=1),
    }

    init: Start = field(default="neighbors", init=False)
    ridge: Weight = field(default=0.1, init=False)
    frozen: OneView | Sequence[OneView] = 0
    spread: Positive | None = 0.5

    def most_dimensions(self, ranks: Sequence[int], classes: int) -> int:
        """Return the rank of the widest view: the frozen view has no more principal components than its rank."""
        return max(ranks)
