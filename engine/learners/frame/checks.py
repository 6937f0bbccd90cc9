"""The contract of learners as a test, for the authors of other packages and for crossview itself."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from crossview.engine.learners.frame.base import MultiViewLearner
from crossview.engine.learners.frame.traits import AddsViews

_WIDTHS = (5, 7)
"""Columns of the two views."""
_CLASSES, _OF_CLASS, _NOISE = ("ant", "bee", "cat", "dog"), 10, 0.3


def check_learner(learner: MultiViewLearner, scikit_learn: bool = True) -> None:
    """Check that a learner keeps the contract of ``MultiViewLearner``.

    Call it in the tests of a package. It fits copies of the learner on 40 items of four classes, with two views.

    Args:
        learner: an unfitted learner, with few steps if it takes long.
        scikit_learn: whether to run scikit-learn's estimator checks first, which takes most of the time;
            ``sklearn.utils.estimator_checks.parametrize_with_checks`` runs each as a test.

    Raises:
        AssertionError: for a broken promise; scikit-learn's checks also raise the errors of the learner.
    """
    if not isinstance(learner, MultiViewLearner):
        raise AssertionError(f"a learner is a MultiViewLearner, not {learner!r}")
    kind = type(learner)
    _hold(isinstance(getattr(kind, "name", None), str), "a learner must have a name")
    can, parameters = kind.capabilities, learner.get_params()
    _hold(isinstance(learner, AddsViews) == can.adds_views, "it must define _add_view if, and only if, it adds views")
    _hold(can.main_parameter is None or can.main_parameter in parameters, "its main parameter must be a parameter")
    _hold("view_slices" in parameters, "its constructor must take view_slices")
    if scikit_learn:
        from sklearn.utils.estimator_checks import check_estimator  # learners do not need it

        check_estimator(clone(learner), on_skip=None)
    views, labels = _two_views()
    fitted = clone(learner).fit(views, labels)
    _check_forms(fitted, clone(learner).set_params(view_slices=list(_WIDTHS)), views, labels)
    _check_state(fitted, views)


def _check_forms(fitted: MultiViewLearner, joined: MultiViewLearner, views: Sequence[Any], labels: Any) -> None:
    """Check that a list of views, one array of all columns, and one view at a time have the same embeddings."""
    embeddings = fitted.transform(views)
    together = joined.fit(np.hstack(views), labels).transform(np.hstack(views))
    np.testing.assert_allclose(
        together, np.hstack(embeddings), atol=1e-8, err_msg="one array with view_slices must have equal embeddings"
    )
    for view, (rows, embedded) in enumerate(zip(views, embeddings, strict=True)):
        _hold(np.isfinite(embedded).all(), "embeddings must be finite")
        np.testing.assert_allclose(
            fitted.transform(rows, view=view), embedded, err_msg="one view alone must have equal embeddings"
        )
        single = fitted.transform(rows.astype(np.float32), view=view)
        _hold(single.dtype == np.float32, "float32 rows must have float32 embeddings")
        np.testing.assert_allclose(single, embedded, rtol=1e-4, atol=1e-4)


def _check_state(fitted: MultiViewLearner, views: Sequence[Any]) -> None:
    """Check that a learner comes back from its state, which consists of plain values and arrays, bit for bit."""
    state = fitted.to_state()
    if wrong := _not_stored(state):
        raise AssertionError(f"fitted attributes and parameters must be plain values and arrays, not {wrong}")
    again = type(fitted).from_state(state)
    _hold(again.settings() == fitted.settings(), "from_state must have equal settings")
    for view, rows in enumerate(views):
        np.testing.assert_array_equal(
            again.transform(rows, view=view), fitted.transform(rows, view=view), "from_state must have equal embeddings"
        )


def _not_stored(value: Any) -> str:
    """Return the type of a value that a collection cannot store; "" if it can store the whole tree."""
    match value:
        case np.ndarray():
            texts = value.dtype.hasobject and all(isinstance(entry, str | int | float) for entry in value.flat)
            return "an array of objects" if value.dtype.hasobject and not texts else ""
        case dict():
            return next(filter(None, map(_not_stored, value.values())), "")
        case list() | tuple():
            return next(filter(None, map(_not_stored, value)), "")
        case None | bool() | int() | float() | str() | np.generic():
            return ""
    return type(value).__name__


def _two_views() -> tuple[list[NDArray[np.float64]], NDArray[np.str_]]:
    generator = np.random.default_rng(0)
    centers = [generator.normal(size=(len(_CLASSES), width)) for width in _WIDTHS]
    views = [
        np.repeat(mean, _OF_CLASS, axis=0) + _NOISE * generator.normal(size=(len(_CLASSES) * _OF_CLASS, mean.shape[1]))
        for mean in centers
    ]
    return views, np.repeat(_CLASSES, _OF_CLASS)


def _hold(promise: bool, message: str) -> None:
    if not promise:
        raise AssertionError(message)
