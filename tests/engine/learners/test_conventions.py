"""The conventions of scikit-learn that its own checks do not see: missing labels, seeds, frames, and tuples of rows."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils import estimator_checks

from crossview import learners
from crossview.engine.learners.frame.base import MultiViewLearner
from crossview.engine.learners.frame.settings import drawn_seed

N, WIDTHS = 48, (6, 5)
CODES = np.repeat(np.arange(3), N // 3)
UNKNOWN = np.arange(N) % 4 == 0
RANDOM = np.random.default_rng(0)
VIEWS = [RANDOM.normal(size=(N, width)) + 2 * CODES[:, None] for width in WIDTHS]
NAMES = ["abc"[code] for code in CODES]
FORMS: dict[str, Any] = {
    "floats": np.where(UNKNOWN, np.nan, CODES.astype(float)),
    "objects": np.array([None if unknown else name for name, unknown in zip(NAMES, UNKNOWN, strict=True)], object),
    "series": pd.Series([None if unknown else name for name, unknown in zip(NAMES, UNKNOWN, strict=True)]),
    "category": pd.Series(NAMES, dtype="category").mask(UNKNOWN),
    "integers": pd.Series(CODES, dtype="Int64").mask(UNKNOWN),
    "strings": pd.Series(NAMES, dtype="string").mask(UNKNOWN),
}
SUPERVISED = (
    *(learners.ClassPosteriors, learners.Fantope, learners.Hybrid, learners.JointMetrics, learners.LMNN),
    *(learners.LinearDiscriminants, learners.MuSL, learners.MultiNPP, learners.MultiTaskLMNN, learners.NPPHash),
    *(learners.QuadrupletWise, learners.RelativeAttributes, learners.SemanticMatching),
)
OUTPUT_CHECKS = (
    estimator_checks.check_set_output_transform,
    estimator_checks.check_set_output_transform_pandas,
    estimator_checks.check_global_output_transform_pandas,
    estimator_checks.check_get_feature_names_out_error,
    estimator_checks.check_transformer_get_feature_names_out,
    estimator_checks.check_transformer_get_feature_names_out_pandas,
)
SEEDED = [kind for kind in vars(learners).values() if isinstance(kind, type) and "random_state" in vars(kind)]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", SUPERVISED)
def test_a_missing_label_is_an_error_where_all_rows_need_one(kind: type[MultiViewLearner], form: str) -> None:
    """No form of a missing value becomes a class of its own."""
    with pytest.raises(ValueError, match="12 of 48 labels are missing, the first of row 0"):
        kind().fit(VIEWS, FORMS[form])


@pytest.mark.parametrize("form", FORMS)
def test_a_missing_label_is_an_unlabelled_item_where_the_learner_can(form: str) -> None:
    """All forms of labels give the same rows and the same embeddings."""
    fitted = learners.CoEM(random_state=0).fit(VIEWS, FORMS[form])
    assert len(fitted.classes_) == 3
    marked = learners.CoEM(random_state=0).fit(VIEWS, np.where(UNKNOWN, -1, CODES))
    for one, other in zip(fitted.transform(VIEWS), marked.transform(VIEWS), strict=True):
        np.testing.assert_array_equal(one, other)


def test_texts_and_numbers_are_not_labels_together() -> None:
    with pytest.raises(ValueError, match="all texts or all numbers"):
        learners.MultiNPP().fit(VIEWS, np.array([1, "a"] * (N // 2), object))


@pytest.mark.parametrize("kind", SEEDED)
def test_a_generator_is_a_random_state(kind: type[MultiViewLearner]) -> None:
    """Equal generators draw equally, and the state of a learner is plain after any generator."""
    views, labels = (VIEWS, CODES) if kind().capabilities.least_views > 1 else (VIEWS[:1], CODES)
    first, again = (kind(random_state=np.random.RandomState(3)).fit(views, labels) for _ in range(2))
    for one, other in zip(first.transform(views), again.transform(views), strict=True):
        np.testing.assert_array_equal(one, other)
    kind(random_state=None).fit(views, labels)
    restored = kind.from_state(first.to_state())
    np.testing.assert_array_equal(restored.transform(views)[0], first.transform(views)[0])


def test_a_seed_is_itself() -> None:
    assert drawn_seed(7) == 7
    assert drawn_seed(np.random.RandomState(0)) == drawn_seed(np.random.RandomState(0))


def test_frames_have_the_names_and_the_index_of_their_rows() -> None:
    index = [f"item {number}" for number in range(N)]
    frames = [pd.DataFrame(view, index=index) for view in VIEWS]
    learner = clone(learners.CanonicalCorrelation(n_components=2).set_output(transform="pandas")).fit(frames)
    names = list(learner.get_feature_names_out())
    embedded = learner.transform(frames)
    assert [list(frame.columns) for frame in embedded] == [names[:2], names[2:]]
    assert list(embedded[1].index) == index
    assert isinstance(learner.transform(VIEWS[0], view=0), np.ndarray)
    with pytest.raises(ValueError, match="default, pandas, polars"):
        learner.set_output(transform="arrow")


@pytest.mark.parametrize("check", OUTPUT_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("kind", [learners.CanonicalCorrelation, learners.ClassPosteriors, learners.ITQ, learners.L2])
@pytest.mark.filterwarnings("ignore:X .* feature names")  # the checks fit with names and transform without, and back
def test_scikit_learns_own_checks_of_names_and_frames(kind: type[MultiViewLearner], check: Any) -> None:
    """They are the ones that the list of all checks leaves out."""
    check(kind.__name__, kind())


def test_columns_with_names_keep_them() -> None:
    learner = learners.RelativeAttributes(random_state=0).fit(VIEWS[:1], np.array(NAMES))
    assert list(learner.get_feature_names_out()) == list(learner.names_)


def test_a_view_of_one_dimension_is_named() -> None:
    with pytest.raises(ValueError, match=r"view 1 has 1 dimensions.*reshape\(-1, 1\)"):
        learners.CanonicalCorrelation().fit([VIEWS[0], VIEWS[1][:, 0]])


def test_tuples_of_rows_pass_through_a_search_over_a_grid() -> None:
    pairs = list(zip(*VIEWS, strict=True))
    steps = make_pipeline(learners.CanonicalCorrelation(), LogisticRegression())
    search = GridSearchCV(steps, {"canonicalcorrelation__n_components": [1, 2]}, cv=3).fit(pairs, CODES)
    joined = np.hstack(VIEWS)
    steps.set_params(canonicalcorrelation__view_slices=WIDTHS)
    beside = GridSearchCV(steps, {"canonicalcorrelation__n_components": [1, 2]}, cv=3).fit(joined, CODES)
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], beside.cv_results_["mean_test_score"])
    np.testing.assert_array_equal(search.predict(pairs), beside.predict(joined))
