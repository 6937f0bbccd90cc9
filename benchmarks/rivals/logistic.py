"""Kernel logistic regression of each view, with scikit-learn, by inner products of class posteriors."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from benchmarks.rivals.known import UNKNOWN, Known, Rows
from crossview.engine.learners.frame.base import MultiViewLearner
from crossview.engine.learners.frame.capabilities import Capabilities
from crossview.engine.learners.frame.chain import Chain
from crossview.engine.learners.frame.inner import InnerProduct
from crossview.engine.learners.frame.normalization import signed_root
from crossview.engine.learners.frame.supervision import Supervision
from crossview.engine.learners.frame.traits import SeparateLearner
from crossview.engine.learners.frame.view_rows import Rows as Floats
from crossview.engine.learners.frame.view_rows import present_rows

LANDMARKS = 250
CS = (1.0, 10.0, 100.0, 1000.0)
"""Inverse penalties; the second is that with which scalings are compared, and that of classes too small to choose."""
SCALINGS = (FunctionTransformer(signed_root), FunctionTransformer(), StandardScaler())
FOLDS = 3
MOST_ITEMS = 1000
"""Rows that choose the settings, drawn at random where there are more."""


@dataclass(eq=False, repr=False)
class LogisticPosteriors(SeparateLearner, MultiViewLearner):
    """Embeddings of rows as class posteriors of a multinomial logistic regression on a Gaussian kernel map.

    The width of the kernel is the median squared distance. Cross-validated log loss chooses the scaling of the columns,
    then the penalty, view by view.

    Attributes:
        models_: list of the fitted pipelines of scikit-learn, one per view.
    """

    name = "logistic-posteriors"
    max_items = None
    capabilities = Capabilities(cross_view=True, needs_labels=True)

    models_: list[Any] = field(init=False)

    view_slices: Sequence[int] | None = None

    def _fit_view(self, views: list[Floats], supervision: Supervision, view: int) -> dict[str, Any]:
        rows, classes = present_rows(views, supervision, view)
        return {"models_": _chosen(rows, classes).fit(rows, classes)}

    def _project(self, rows: Floats, view: int) -> Floats:
        return np.asarray(self.models_[view].predict_proba(rows))


def kernel_logistic(views: Sequence[Rows], supervision: Known) -> Chain | None:
    """Learn from the items of known classes; nothing from pairs."""
    labelled = supervision.classes != UNKNOWN
    if supervision.pairs is not None or len(np.unique(supervision.classes[labelled])) < 2:
        return None
    return Chain([LogisticPosteriors(), InnerProduct()]).fit(
        [rows[labelled] for rows in views],
        Supervision(classes=supervision.classes[labelled], mask=supervision.mask[labelled]),
    )


def _chosen(rows: Floats, classes: NDArray[Any]) -> Any:
    """Return the unfitted model with the chosen settings."""
    draw = np.sort(np.random.default_rng(0).permutation(len(rows))[:MOST_ITEMS])
    scalings = [_scaling(clone(scale), rows) for scale in SCALINGS]
    some, of_some = rows[draw], classes[draw]
    regression = LogisticRegression(C=CS[1], max_iter=2000, tol=1e-3)
    model = Pipeline([("scale", None), ("map", Nystroem(random_state=0)), ("regress", regression)])
    model.set_params(**{name: values[0] for name, values in scalings[0].items()})
    folds = min(FOLDS, np.unique(of_some, return_counts=True)[1].min())
    if folds > 1:
        model.set_params(map__n_components=min(LANDMARKS, len(some) - -(-len(some) // folds)))
        splits = StratifiedKFold(folds, shuffle=True, random_state=0)
        for values in (scalings, [{"regress__C": list(CS)}]):
            search = GridSearchCV(model, values, scoring="neg_log_loss", cv=splits, refit=False).fit(some, of_some)
            model = model.set_params(**search.best_params_)
    return model.set_params(map__n_components=min(LANDMARKS, len(rows)))


def _scaling(scale: Any, rows: Floats) -> dict[str, list[Any]]:
    """Return a scaling of columns and the width of the kernel after it, as values of settings."""
    some = scale.fit_transform(rows[np.random.default_rng(0).permutation(len(rows))[:500]])
    width = float(np.median(euclidean_distances(some, squared=True)[np.triu_indices(len(some), 1)])) or 1.0
    return {"scale": [scale], "map__gamma": [1 / width]}
