"""A supervised cross-view hasher: codes whose distances rank items by predicted classes and by the item itself."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import permutations, product
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from crossview.engine.learners.frame.capabilities import Capabilities
from crossview.engine.learners.frame.cost import FitCost, FitSize
from crossview.engine.learners.frame.settings import Between, Bits, PairRows, Positive, Seed, Share, Steps
from crossview.engine.learners.frame.supervision import Supervision
from crossview.engine.learners.frame.view_rows import Rows
from crossview.engine.learners.hashing.hasher import Hasher
from crossview.engine.learners.hashing.product_codes import (
    CodeFunction,
    Examples,
    ProductCodes,
    distant_codes,
    learn_codes,
    signs,
)
from crossview.engine.learners.papers.npp.initial_projections import groups
from crossview.engine.learners.papers.npp.multi_npp import MultiNPP
from crossview.engine.learners.papers.npp.neighborhoods import pair_relations
from crossview.engine.learners.papers.npp.problem import draw_rows
from crossview.engine.learners.papers.npp.similarity import similarity_of
from crossview.engine.learners.subspace.class_instance import average_precision
from crossview.engine.learners.subspace.instances import Instances, folds_of
from crossview.engine.learners.subspace.posteriors import ClassPosteriors
from crossview.engine.learners.subspace.ridge_path import RidgePath
from crossview.engine.runtime.cancellation import report_progress
from crossview.engine.runtime.threads import over

Predictor = dict[str, Any]
"""A fitted predictor of classes or groups from the rows of a view: plain values and arrays, which a state can store."""
_PENALTIES = np.logspace(-6, 1, 15)
"""Penalties to try per row, in units of a row's mean squared length."""


def by_classes(
    views: Sequence[Rows], supervision: Supervision, alpha: float | None, random_state: int
) -> tuple[list[Predictor], list[Rows]]:
    """Return, for each view, a predictor of the probabilities of classes, and its predictions that leave each training
    row out.

    Args:
        views: (n, d_v) arrays.
        supervision: classes or label sets, and the views of each item.
        alpha, random_state: settings of :class:`ClassPosteriors`.

    Raises:
        ValueError: as ``ClassPosteriors.fit``.
    """
    labels = replace(supervision, neighbors=None)
    model = ClassPosteriors(alpha=alpha, random_state=random_state).fit(list(views), labels)
    state = model.to_state()
    left_out = state["fitted"].pop("left_out_")
    predictors = []
    for view, width in enumerate(model.view_widths_):
        own = {name: [value[view]] if isinstance(value, list) else value for name, value in state["fitted"].items()}
        predictors.append({**state, "fitted": own | {"n_features_in_": width}})
    return predictors, [rows.astype(np.float64) for rows in left_out]


def by_targets(rows: Rows, targets: Rows) -> tuple[Predictor, Rows]:
    """Return a ridge regression of (n, K) targets on (n, d) rows, and its predictions that leave each row out."""
    path = RidgePath.of_rows(rows, targets)
    unit = float(path.values.sum()) or 1.0
    penalty = path.best_penalty(_PENALTIES * unit)
    mean = rows.mean(axis=0)
    weights = (rows - mean).T @ path.coefficients(penalty)
    return {"weights": weights.T, "offsets": path.means - mean @ weights}, path.left_out(penalty)


def predicted(predictor: Predictor, rows: Rows) -> Rows:
    """Return the predictions for (n, d) rows, (n, K)."""
    if "weights" in predictor:
        return np.asarray(rows @ predictor["weights"].T + predictor["offsets"])
    return np.asarray(ClassPosteriors.from_state(predictor).embedded(rows, 0))


Matrix = NDArray[np.float64]
_INSTANCE_CONTRAST = 0.25
"""The root mean square of 1 - 2 d / B of the instance bits, with the usual ``contrast``: that of cosines in 16
dimensions."""
_INSTANCE_WEIGHT = 0.1
"""The weight of instance embeddings in the vectors that re-rank hits, as ``ClassInstance`` usually chooses it."""
_KNOWN = 0.2
"""Weight of the known classes among the items; the predictions of rows have the rest."""
_NAMING = 3.0
"""Bits of classes for each bit that numbers the classes: with fewer, the codes of many classes are near each other."""
_CONTRASTS = (1.0, 2.0)
"""Contrasts to choose from: codes of uncertain predictions need the larger one, or the errors of bits hide them."""
_TRIED_ITEMS, _FEWEST_TRIED = 1000, 100
"""Maximum and minimum number of items that measure the choices."""
_DIGITS = 6  # groups that are equal after rounding to so many digits are one group


@dataclass(eq=False, repr=False)
class NPPHash(Hasher):
    """Codes of several views, whose Hamming distances rank items by the probability that they are similar to a query,
    and by the item itself.

    Each view predicts the classes of its rows (see :class:`ClassPosteriors`): the inner product of two predictions is
    the probability that the rows are of one class, by which retrieval should rank. The learner finds codes whose
    distances approximate these products (see :class:`ProductCodes`), over pairs of the training rows of all views, each
    predicted by a model without this row, and over the classes themselves. This is the discrete form of the future work
    of Quadrianto and Lampert (ICML 2011), "merging the phases of metric learning and the hash code generation into a
    single learning problem". A row has one code as a query and another code as an item, because the certainty of a
    query's prediction does not change its ranking, but that of an item's prediction does. If pairs of similar items are
    given, a ridge regression predicts the groups that they form.

    B bits have room for the simplex of K classes only if B >= K - 1. With fewer bits, the mean of squared products has
    the lower bound 1 / B (Welch, "Lower bounds on the maximum cross correlation of signals", IEEE Trans. Inf. Theory,
    1974), which codes can attain although several classes share one code. The learner then approximates products of
    this size, and starts from codes of the classes that are far from each other (:func:`distant_codes`) or from those
    of ITQ, which keep the order of uncertain predictions.

    The start and the contrast are the first choice whose mean average precision across views, by the bits of classes,
    is within one standard error of the best. It is measured on labelled items that have all views: their predictions
    leave each item out, and codes are learned without its fold. With fewer than 100 such items, or with pairs, the
    contrast is 1 and the start is far codes.

    Further bits code the instance embeddings of rows, see :class:`Instances`, in the same way: items of one class would
    otherwise have almost the same code. If no two items have two views, all bits code classes.

    An added view learns its own predictions, and the codes of the other views stay. Items may lack views: the learner
    uses all rows that exist.

    Args:
        n_bits: bits of a code (B).
        instances: maximum share of the bits that code instances. With fewer, codes find the class of a query more
            often, and the item itself less often. At least 3 log2(K) bits code classes, if the code has so many.
        contrast: how much the distances d of items to a query differ: the root mean square of 1 - 2 d / B, in units of
            its value for certain classes that are far from each other, or of 1 / sqrt(B), which is the larger one with
            few bits. With a larger contrast, errors of bits matter less, but fewer certain items have different
            distances; None: the better of 1 and 2.
        alpha: penalty of the regressions that predict classes, as in :class:`ClassPosteriors`; None: the penalty that
            predicts left-out rows best. With a smaller penalty, training items are nearer to their class.
        max_iter: maximum number of turns between the codes of queries and the codes of items.
        max_rows: maximum number of rows of a view to learn codes from, drawn at random. The predictions are learned
            from all rows.
        random_state: seed of the codes' start and of drawn rows.
        view_slices: widths of the views in a 2-D ``X``; None: two halves.

    Attributes:
        classes_: (K,) the classes, or the numbers of the labels, in the order of the predictions' columns; empty if
            similar items were given.
        predictors_: list of dicts, the predictor of each view.
        weights_: list of two (B, K) arrays, for queries and for items, see :class:`CodeFunction`.
        products_: list of two (B, B) arrays, for queries and for items.
        mean_: (K,) mean of the items' predictions.
        covariance_: (K, K) covariance of the items' predictions.
        contrast_: float, the root mean square of 1 - 2 d / B that the codes approximate.
        reach_: float, twice the greatest length of an item's prediction.
        instance_state_: dict, the state of the fitted ``Instances``; empty without instance bits.
        instance_codes_: dict, the same of the instance bits, by name.
        objective_: (n_iter_ + 1,) the error of the products at the start and after each turn, never rising.
        n_iter_: int, number of turns.

    Raises:
        ValueError: from ``fit``, for parameters out of range, a single view, neither labels nor neighbors, fewer than
            two classes, or no similar or no dissimilar pair.
    """

    name = "npp-hash"
    capabilities: ClassVar[Capabilities] = replace(
        MultiNPP.capabilities, binary=True, codes_of_vectors=True, main_parameter="n_bits"
    )

    classes_: NDArray[Any] = field(init=False)
    predictors_: list[Predictor] = field(init=False)
    weights_: list[Matrix] = field(init=False)
    products_: list[Matrix] = field(init=False)
    mean_: NDArray[np.float64] = field(init=False)
    covariance_: Matrix = field(init=False)
    contrast_: float = field(init=False)
    reach_: float = field(init=False)
    instance_state_: Predictor = field(init=False)
    instance_codes_: Predictor = field(init=False)

    n_bits: Bits = 64
    instances: Share = 0.375
    contrast: Annotated[float, Between(0.01, 100)] | None = None
    alpha: Positive | None = None
    max_iter: Steps = 10
    max_rows: PairRows = 4096
    random_state: Seed = None
    view_slices: Sequence[int] | None = None

    def fit_cost(self, size: FitSize) -> FitCost:
        """Return the cost of the predictors of classes, and of the instances after them."""
        classes, instances = ClassPosteriors(alpha=self.alpha).fit_cost(size), Instances().fit_cost(size)
        return FitCost(max(classes.bytes, instances.bytes), classes.operations + instances.operations)

    def codes_of_classes(self, classes: ArrayLike) -> Rows:
        """Return the codes of items of known classes, (n, B) of 0 and 1, for (n,) classes, without any rows.

        Raises:
            sklearn.exceptions.NotFittedError: before ``fit``.
            ValueError: for a class that was not learned.
        """
        check_is_fitted(self)
        members = np.asarray(classes)[:, None] == self.classes_[None, :]
        if not members.any(axis=1).all():
            raise ValueError("some of the classes were not learned; only learned classes have codes")
        codes = self._codes.item_scores(members.astype(float))
        if (of_instances := self._instance_codes()) is not None:
            middle = of_instances.item_scores(of_instances.mean[None, :])  # a class is near all of its items
            codes = np.hstack([codes, np.repeat(middle, len(codes), axis=0)])
        return np.asarray(codes > 0, dtype=float)

    def unhashed(self, rows: ArrayLike, view: int = 0, queries: bool = False) -> Rows:
        """Return vectors whose distances rank items as products of predictions and of instances do, (n, K + D + 2);
        errors as in ``scores``.

        A vector contains the predictions and the weighted instance embedding, divided by ``reach_``, and one column for
        queries or one for items that brings it to unit length.
        """
        check_is_fitted(self)
        checked = self._checked_rows(rows, view).astype(float, copy=False)
        vectors = predicted(self.predictors_[view], checked)
        if (model := self._instances()) is not None:
            vectors = np.hstack([vectors, np.sqrt(_INSTANCE_WEIGHT) * model.embedded(checked, view)])
        vectors /= self.reach_
        squares = (vectors * vectors).sum(axis=1, keepdims=True)
        vectors /= np.sqrt(np.maximum(squares, 1.0))
        rest, none = np.sqrt(np.maximum(1.0 - squares, 0.0)), np.zeros((len(vectors), 1))
        return np.hstack([vectors, rest, none] if queries else [vectors, none, rest])

    def _fit(self, views: list[Rows], supervision: Supervision) -> None:
        random = check_random_state(self.random_state)
        if supervision.neighbors is None:
            self.predictors_, left_out = by_classes(views, supervision, self.alpha, random.randint(1 << 31))
            self.classes_ = self.predictors_[0]["fitted"]["classes_"]
            members = _members(supervision.classes, self.classes_)
            targets = members[members.any(axis=1)]
        else:
            items = [np.flatnonzero(column) for column in supervision.mask.T]
            similar = similarity_of(None, supervision.neighbors, len(supervision.mask))
            pair_relations(similar, items)  # raises if no pair or every pair is similar
            targets = groups(similar, self.n_bits, random)
            fitted = [by_targets(rows[of], targets[of]) for rows, of in zip(views, items, strict=True)]
            self.predictors_, left_out = [predictor for predictor, _ in fitted], [rows for _, rows in fitted]
            self.classes_, members = np.empty(0, np.intp), np.zeros((len(supervision.mask), 0))
        drawn = [rows[draw_rows(len(rows), self.max_rows, random)] for rows in left_out]
        bits = self._learn_instances(views, supervision, targets.shape[1])
        choice = self._class_bits(left_out, members, supervision, self.n_bits - bits)
        self._learn(np.vstack(drawn), np.unique(targets.round(_DIGITS), axis=0), choice, random)
        if bits:
            self.reach_ = float(np.hypot(self.reach_, 2.0 * np.sqrt(_INSTANCE_WEIGHT)))

    def _learn_instances(self, views: list[Rows], supervision: Supervision, classes: int) -> int:
        """Learn instance embeddings and their codes, beside a number of classes; return the number of their bits, 0
        without any."""
        self.instance_state_, self.instance_codes_ = {}, {}
        needed = max(1, math.ceil(_NAMING * math.log2(classes)))
        bits = min(round(self.instances * self.n_bits), self.n_bits - needed)
        if bits < 1 or (supervision.mask.sum(axis=1) > 1).sum() < 2:
            return 0
        # With its own generator, so that the bits of classes do not depend on those of instances.
        random = check_random_state(self.random_state)
        model = Instances(random_state=random.randint(1 << 31))
        model.fit(list(views), Supervision(mask=supervision.mask, groups=supervision.groups))
        rows = [view[present] for view, present in zip(views, supervision.mask.T, strict=True)]
        drawn = [own[draw_rows(len(own), self.max_rows, random)] for own in rows]
        embedded = np.vstack([model.embedded(own, view) for view, own in enumerate(drawn)])
        examples = Examples(embedded, embedded, np.full(len(embedded), 1 / len(embedded)))
        codes, _ = learn_codes(examples, bits, (self.contrast or 1.0) * _INSTANCE_CONTRAST, self.max_iter, random)
        self.instance_state_ = model.to_state()
        self._made = (self.instance_state_, model)
        self.instance_codes_ = {
            "weights": [codes.queries.weights, codes.items.weights],
            "products": [codes.queries.products, codes.items.products],
            "mean": codes.mean,
            "covariance": codes.covariance,
            "contrast": codes.contrast,
        }
        return bits

    def _class_bits(self, left_out: Sequence[Rows], members: Rows, supervision: Supervision, bits: int) -> "ClassBits":
        """Return the choices for the bits of classes, see the class, given (n_v, K) predictions and (n, K) classes."""
        contrasts = _CONTRASTS if self.contrast is None else (self.contrast,)
        far = (False,) if bits >= left_out[0].shape[1] - 1 else (True, False)
        choices = [ClassBits(bits, *choice, self.max_iter) for choice in product(contrasts, far)]
        items = np.flatnonzero(supervision.mask.all(axis=1) & members.any(axis=1))
        items = items[draw_rows(len(items), _TRIED_ITEMS, np.random.RandomState(0))]
        folds = folds_of(len(items), None if supervision.groups is None else np.asarray(supervision.groups)[items])
        if len(choices) == 1 or len(items) < _FEWEST_TRIED or not folds:
            return choices[0]
        views = [rows[present.cumsum()[items] - 1] for rows, present in zip(left_out, supervision.mask.T, strict=True)]
        measured = partial(_precisions, choices=choices, views=views, members=members[items])
        precisions = np.hstack(over(folds, measured))
        if precisions.shape[1] < 2:  # a fold may hold one item of a class
            return choices[0]
        behind = precisions[precisions.mean(axis=1).argmax()] - precisions
        errors = behind.std(axis=1, ddof=1) / np.sqrt(behind.shape[1])
        return choices[int(np.argmax(behind.mean(axis=1) <= errors))]

    def _learn(self, predictions: Rows, targets: Rows, bits: "ClassBits", random: np.random.RandomState) -> None:
        """Learn codes from (m, K) predictions of rows and from (g, K) known groups."""
        most = self.max_iter
        codes, errors = bits.learned(predictions, targets, random, lambda turn: report_progress(turn, most))
        report_progress(most, most)
        self.weights_ = [codes.queries.weights, codes.items.weights]
        self.products_ = [codes.queries.products, codes.items.products]
        self.mean_, self.covariance_, self.contrast_ = codes.mean, codes.covariance, codes.contrast
        longest = max(float(np.linalg.norm(rows, axis=1).max()) for rows in (predictions, targets))
        self.reach_ = 2.0 * longest or 1.0
        self.objective_, self.n_iter_ = np.array(errors), len(errors) - 1

    def _add_view(self, views: list[Rows], supervision: Supervision) -> None:
        instances = Instances.from_state(self.instance_state_) if self._instances() is not None else None
        if instances is not None:
            if (supervision.mask[:, -1] & supervision.mask[:, :-1].any(axis=1)).sum() > 1:
                instances.add_view(list(views), Supervision(mask=supervision.mask))
            else:
                instances.add_blank(views[-1].shape[1])
        self._add_predictor(views, supervision)
        if instances is not None:
            self.instance_state_ = instances.to_state()

    def _add_predictor(self, views: list[Rows], supervision: Supervision) -> None:
        new, mask = len(views) - 1, supervision.mask
        if supervision.neighbors is None and len(self.classes_):
            alone = replace(supervision, mask=mask[:, new:])
            seed = check_random_state(self.random_state).randint(1 << 31)
            added, _ = by_classes(views[new:], alone, self.alpha, seed)
            if np.array_equal(added[0]["fitted"]["classes_"], self.classes_):
                self.predictors_ = [*self.predictors_, *added]
                return
        items = [np.flatnonzero(column) for column in mask.T]
        pairs = pair_relations(similarity_of(supervision.classes, supervision.neighbors, len(mask)), items)
        predictions = [predicted(self.predictors_[v], views[v][items[v]]) for v in range(new)]
        counted = [np.column_stack([rows, np.ones(len(rows))]) for rows in predictions]
        sums = np.sum([pairs[new, v].attracted.sums(rows) for v, rows in enumerate(counted)], axis=0)
        reached = sums[:, -1] > 0
        if not reached.any():
            raise ValueError("no row of the added view is similar to a row of the fitted views")
        targets = sums[reached, :-1] / sums[reached, -1:]
        self.predictors_ = [*self.predictors_, by_targets(views[new][items[new]][reached], targets)[0]]

    @property
    def _codes(self) -> ProductCodes:
        queries, items = (CodeFunction(*both) for both in zip(self.products_, self.weights_, strict=True))
        return ProductCodes(queries, items, self.mean_, self.covariance_, self.contrast_)

    def _instances(self) -> Instances | None:
        """Return the fitted instances, made once for each state; None without instance bits."""
        state = getattr(self, "instance_state_", None)  # states of earlier versions have none
        held: tuple[Any, Instances | None] = getattr(self, "_made", (None, None))
        if state and held[0] is not state:
            held = self._made = (state, Instances.from_state(state))
        return held[1] if state else None

    def _instance_codes(self) -> ProductCodes | None:
        if self._instances() is None:
            return None
        held = self.instance_codes_
        queries, items = (CodeFunction(*both) for both in zip(held["products"], held["weights"], strict=True))
        return ProductCodes(queries, items, held["mean"], held["covariance"], held["contrast"])

    def _scores(self, rows: Rows, view: int) -> Rows:
        scores = self._codes.item_scores(predicted(self.predictors_[view], rows))
        model, codes = self._instances(), self._instance_codes()
        if model is None or codes is None:
            return scores
        return np.hstack([scores, codes.item_scores(model.embedded(rows, view))])

    def _project_queries(self, rows: Rows, view: int) -> Rows:
        scores = self._codes.query_scores(predicted(self.predictors_[view], rows))
        model, codes = self._instances(), self._instance_codes()
        if model is not None and codes is not None:
            scores = np.hstack([scores, codes.query_scores(model.embedded(rows, view))])
        return np.asarray(scores > 0, dtype=float)


@dataclass(frozen=True)
class ClassBits:
    """A number of bits that code classes, and choices how to learn them.

    Attributes:
        contrast: as in ``NPPHash``.
        far: whether to start from codes of the classes that are far from each other, instead of those of ITQ.
    """

    bits: int
    contrast: float
    far: bool
    max_iter: int

    def learned(
        self,
        predictions: Rows,
        targets: Rows,
        random: np.random.RandomState,
        report: Callable[[int], None] = lambda turn: None,
    ) -> tuple[ProductCodes, list[float]]:
        """Return codes of (m, K) predictions and (g, K) known groups, and the errors, as ``learn_codes`` does."""
        shares = np.repeat([(1 - _KNOWN) / len(predictions), _KNOWN / len(targets)], [len(predictions), len(targets)])
        examples = Examples(predictions, np.vstack([predictions, targets]), shares)
        contrast = self.contrast * max(_contrast(targets), 1.0 / np.sqrt(self.bits))
        directions = distant_codes(targets.shape[1], self.bits, random).T if self.far else None
        return learn_codes(examples, self.bits, contrast, self.max_iter, random, report, directions)


def _precisions(fold: Any, choices: Sequence[ClassBits], views: Sequence[Rows], members: Rows) -> Rows:
    """Return the average precision of a fold's items across views for each choice, (C, m), of items that share a class.

    Args:
        fold: positions of the items to learn from, and of those to measure.
        views: (n, K) predictions of the items in each view.
        members: (n, K) classes of the items.
    """
    learned, held = fold
    relevant = members[held] @ members[held].T > 0
    np.fill_diagonal(relevant, False)
    ties = np.random.RandomState(0).uniform(size=relevant.shape)  # orders equally distant items
    precisions = []
    for choice in choices:
        known, examples = np.unique(members[learned], axis=0), np.vstack([rows[learned] for rows in views])
        codes, _ = choice.learned(examples, known, np.random.RandomState(0))
        query_codes = [signs(codes.query_scores(rows[held])) for rows in views]
        item_codes = [signs(codes.item_scores(rows[held])) for rows in views]
        similar = (
            query_codes[query] @ item_codes[item].T / 2 + ties for query, item in permutations(range(len(views)), 2)
        )
        precisions.append(np.mean([average_precision(one, relevant) for one in similar], axis=0)[relevant.any(axis=1)])
    return np.array(precisions)


def _contrast(targets: Rows) -> float:
    """Return the root mean square of the cosines of (g, K) groups about their mean: 1 / sqrt(K - 1) for K classes."""
    centred = targets - targets.mean(axis=0)
    lengths = np.linalg.norm(centred, axis=1, keepdims=True)
    directions = np.divide(centred, lengths, out=np.zeros_like(centred), where=lengths > 0)
    moments = directions.T @ directions / len(directions)
    return float(np.linalg.norm(moments)) or 1.0


def _members(classes: Any, names: NDArray[Any]) -> Rows:
    """Return the sets of classes of items, (n, K)."""
    if np.ndim(classes) == 2:
        return np.asarray(classes[:, names].toarray() != 0, dtype=float)
    return np.asarray(np.asarray(classes)[:, None] == names[None, :], dtype=float)
