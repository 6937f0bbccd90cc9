"""The linear probe: logistic regression on a model's rows, by scikit-learn."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import Normalizer

from crossview.engine.learners.frame.base import MultiViewLearner
from crossview.engine.learners.frame.capabilities import Capabilities
from crossview.engine.learners.frame.supervision import Supervision
from crossview.engine.learners.frame.traits import SeparateLearner
from crossview.engine.learners.frame.view_rows import Rows, present_rows

CS = (0.1, 1.0, 10.0, 100.0, 1e3, 1e4, 1e5)
"""Inverse penalties to choose from; the middle one for classes of a single item."""
FOLDS = 3


@dataclass(eq=False, repr=False)
class LinearProbe(SeparateLearner, MultiViewLearner):
    """Embeddings of rows as class probabilities of a multinomial logistic regression on rows of unit length.

    Cross-validated log loss inside the training items chooses the penalty.

    Attributes:
        models_: list of the fitted regressions of scikit-learn, one per view.
    """

    name = "linear-probe"
    max_items = None
    capabilities = Capabilities(needs_labels=True)

    models_: list[Any] = field(init=False)

    view_slices: Sequence[int] | None = None

    def _fit_view(self, views: list[Rows], supervision: Supervision, view: int) -> dict[str, Any]:
        rows, classes = present_rows(views, supervision, view)
        regression = LogisticRegression(C=CS[len(CS) // 2], max_iter=2000)
        model: Any = Pipeline([("length", Normalizer()), ("regress", regression)])
        folds = min(FOLDS, int(np.unique(classes, return_counts=True)[1].min()))
        if folds > 1:
            splits = StratifiedKFold(folds, shuffle=True, random_state=0)
            model = GridSearchCV(model, {"regress__C": list(CS)}, scoring="neg_log_loss", cv=splits)
        return {"models_": model.fit(rows, classes)}

    def _project(self, rows: Rows, view: int) -> Rows:
        return np.asarray(self.models_[view].predict_proba(rows))
