"""Joint metrics: metrics of several notions of similarity that share one map."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from crossview.engine.learners.frame.base import MultiViewLearner
from crossview.engine.learners.frame.capabilities import Capabilities
from crossview.engine.learners.frame.settings import Count, Dimensions, Seed, Share, Weight, drawn_seed, group
from crossview.engine.learners.frame.supervision import Supervision
from crossview.engine.learners.frame.traits import LinearLearner, SeparateLearner
from crossview.engine.learners.frame.view_rows import MultiView, Rows
from crossview.engine.learners.papers.joint.classes import Classes
from crossview.engine.learners.papers.joint.joint_fit import JointSettings, Sharing, Solving
from crossview.engine.learners.papers.joint.joint_objects import Listed, labels_of, notions_of
from crossview.engine.learners.papers.joint.losses import LossName
from crossview.engine.learners.papers.joint.objectives import Features
from crossview.engine.learners.papers.losses.constraints import Bounds
from crossview.engine.learners.subspace.span import Span


@dataclass(eq=False, repr=False)
class JointMetrics(LinearLearner, SeparateLearner, MultiViewLearner):
    """A metric for each notion of similarity in which comparisons were made, over one map that all metrics share.

    Zhang, Maji and Tomioka, "Jointly Learning Multiple Measures of Similarities from Triplet Comparisons" (2015),
    equation (2): notion t has K_t = L M_t L^T. The objective is the mean loss over all comparisons, plus alpha |L|_F^2
    and alpha tr(M_t). The penalties lead each M_t to its own rank, so notions have embeddings of different widths; the
    learner cuts directions below a ten-thousandth of a metric's largest eigenvalue. It centres rows and divides them by
    their root mean square length first, so that alpha has the same meaning in any unit.

    From classes it learns as in large margin nearest neighbours, by notion: each row pulls its nearest rows of the same
    class and pushes rows of other classes a margin beyond its nearest rows.

    Args:
        n_components: D, the columns of the common map; for independent or pooled metrics, their maximum rank.
        alpha: weight of both penalties; only the product of two weights would matter (Proposition 1), so there is one.
        loss: "hinge"; "logistic"; "tste", with D - 1 degrees of freedom; or "crowd", that of the crowd kernel.
        sharing: "joint"; "independent", a separate metric of each notion, with a penalty of alpha times its trace; or
            "pooled", one metric for all comparisons.
        balance: 0: every comparison has the same weight; 1: every notion has the same weight, for any number of
            comparisons.
        bounds: with ``loss="hinge"``, the bounds of comparisons on squared distances; None: ``Bounds()``.
        n_neighbors: for classes, number of target neighbours of each row; in smaller classes, all other rows.
        pull: for classes, weight of the pull; with 1 it equals that of the push.
        solving: settings of the solver; None: ``Solving()``.
        random_state: seed of a random start, and of the small noise in the other start.
        view_slices: widths of the views in a 2-D ``X``; None: one view.

    Attributes:
        common_: list of (d_v, D) L; (d_v, 0) if notions share no map.
        local_: list of (T, D, D) factors R_t, M_t = R_t R_t^T.
        totals_: list of (T,) sums of the weights of each notion's comparisons, or numbers of target neighbours.
        objective_: list of the objectives reached; sums over independent metrics.
        steps_: list of the numbers of iterations.
        converged_: list, whether the solver converged before ``max_iter``.

    Raises:
        ValueError: from ``fit``, for parameters out of range, missing labels, fewer than two classes, or a notion
            without comparisons.
    """

    name = "joint"
    capabilities: ClassVar[Capabilities] = Capabilities(
        needs_labels=True, takes_comparisons=True, notions=True, adds_views=True, main_parameter="n_components"
    )
    groups: ClassVar[Mapping[str, Any]] = {"bounds": Bounds(), "solving": Solving()}

    common_: list[NDArray[np.float64]] = field(init=False)
    local_: list[NDArray[np.float64]] = field(init=False)
    totals_: list[NDArray[np.float64]] = field(init=False)
    objective_: list[float] = field(init=False)
    steps_: list[int] = field(init=False)
    converged_: list[bool] = field(init=False)

    n_components: Dimensions = 32
    alpha: Weight = 1e-3
    loss: LossName = "hinge"
    sharing: Sharing = "joint"
    balance: Share = 0.0
    bounds: Bounds | None = None
    n_neighbors: Count = 3
    pull: Weight = 1.0
    solving: Solving | None = None
    random_state: Seed = 0
    view_slices: Sequence[int] | None = None

    @property
    def n_iter_(self) -> int:
        """The number of iterations of the view with the most iterations."""
        return max(self.steps_)

    def add_notions(self, X: MultiView, y: Supervision) -> Self:
        """Learn metrics of notions that were not fitted, over the existing map; the fitted metrics stay as they are.

        The weight of the penalty relative to a new notion's mean loss is the same as that relative to the mean loss of
        all fitted notions. A share of the whole loss, as in ``fit``, would leave the metric of few comparisons near
        zero.

        Args:
            X: rows of every view, as for ``fit``.
            y: supervision with comparisons, or classes, by notion. Fitted notions are ignored.

        Raises:
            sklearn.exceptions.NotFittedError: before ``fit``.
            ValueError: as ``fit``, if the fitted notions share no map, or if there is no new notion.
        """
        check_is_fitted(self)
        if self.sharing != "joint" or not self.metric_names_:
            raise ValueError("only notions with a common map can be extended: fit some with sharing='joint'")
        widths, columns = self.view_widths_, self.n_features_in_
        try:
            views, supervision = self._validated(X, y)
            if self.view_widths_ != widths:
                raise ValueError(f"views of widths {widths} were fitted, not {self.view_widths_}")
        finally:
            self.view_widths_, self.n_features_in_ = widths, columns
        new = [name for name in notions_of(supervision) if name not in self.metric_names_]
        if not new:
            raise ValueError(f"there is no new notion among {', '.join(notions_of(supervision))}")
        for view, added in enumerate([self._added(rows, supervision, view, new) for view, rows in enumerate(views)]):
            for name, values in added.items():
                getattr(self, name)[view] = values
        self.metric_names_: list[str] = [*self.metric_names_, *new]
        self.n_metrics_: int = len(self.metric_names_)
        return self

    def _fit(self, views: list[Rows], supervision: Supervision) -> None:
        names = notions_of(supervision)
        self.metric_names_ = [] if self.sharing == "pooled" or names == [""] else names
        self.n_metrics_ = max(1, len(self.metric_names_))
        super()._fit(views, supervision)

    def _add_view(self, views: list[Rows], supervision: Supervision) -> None:
        names = notions_of(supervision)
        if self.metric_names_ and names != list(self.metric_names_):
            raise ValueError(f"the notions {', '.join(self.metric_names_)} were fitted, not {', '.join(names)}")
        super()._add_view(views, supervision)

    def _fit_view(self, views: list[Rows], supervision: Supervision, view: int) -> dict[str, Any]:
        present = supervision.mask[:, view]
        rows = views[view] if present.all() else views[view][present]
        mean = rows.mean(axis=0)
        span = Span.of(rows - mean)
        scale = float(np.sqrt(np.mean(np.square(span.rows).sum(axis=1)))) or 1.0
        inputs = Features(np.ascontiguousarray(span.rows) / scale)
        source = self._source(inputs.rows, supervision, view, notions_of(supervision))
        learned = source.learn(inputs, self._how())
        weights = [span.lifted(factor.T) / scale for factor in learned.factors]
        return {
            "weights_": np.vstack(weights),
            "means_": mean,
            "metric_widths_": [len(rows) for rows in weights],
            "common_": span.lifted(learned.common.T).T / scale,
            "local_": learned.local,
            "totals_": source.totals,
            "objective_": learned.objective,
            "steps_": learned.steps,
            "converged_": learned.converged,
        }

    def _added(self, rows: Rows, supervision: Supervision, view: int, names: Sequence[str]) -> dict[str, Any]:
        """Return the attributes of a view that change with new notions."""
        common, rows = self.common_[view], rows[supervision.mask[:, view]]
        mapped = Features((rows - self.means_[view]) @ common)
        how = replace(self._how(), sharing="independent")
        weights, local, totals = [self.weights_[view]], list(self.local_[view]), self.totals_[view]
        for name in names:
            source = self._source(rows, supervision, view, [name])
            totals = np.concatenate([totals, source.totals])
            (factor,) = source.learn(mapped, how).factors
            weights.append((common @ factor).T)
            local.append(np.pad(factor, ((0, 0), (0, common.shape[1] - factor.shape[1]))))
        return {
            "weights_": np.vstack(weights),
            "metric_widths_": [*self.metric_widths_[view], *(len(rows) for rows in weights[1:])],
            "local_": np.stack(local),
            "totals_": totals,
        }

    def _source(self, rows: Rows, supervision: Supervision, view: int, names: Sequence[str]) -> Listed | Classes:
        """Return the supervision in some notions of a view's rows, (m, H), of the items that have the view."""
        present, bounds = supervision.mask[:, view], cast(Bounds, group(self, "bounds"))
        if self.loss != "hinge":
            bounds = bounds.of_validation()
        if supervision.comparisons is None:
            labels = {name: labels_of(supervision)[name][present] for name in names}
            return Classes.of(rows, labels, self.n_neighbors, self.pull, bounds.margin)
        comparisons = supervision.comparisons.among(present, len(present))
        return Listed.of(comparisons, names, bounds, f"items that have view {view}")

    def _how(self) -> JointSettings:
        settings = self.settings() | {"random_state": drawn_seed(self.random_state)}
        return JointSettings(**{f.name: settings[f.name] for f in fields(JointSettings) if f.name in settings})
