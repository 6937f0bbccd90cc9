"""The learner of whitening keeps the contract of learners."""

from crossview_zca import ZCA

from crossview.learners import check_learner


def test_the_contract() -> None:
    """With scikit-learn's estimator checks."""
    check_learner(ZCA())
