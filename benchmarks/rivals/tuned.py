"""Regressions to the classes and Multi-NPP, whose settings cross-validation inside the training items chooses."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from benchmarks.rivals.known import Known, Rows
from crossview.engine.learners.frame.chain import Chain
from crossview.engine.learners.registry import parse_chain
from crossview.engine.learners.selection import Scores, search
from crossview.engine.training.examples import Examples
from crossview.engine.training.learning import learn
from crossview.engine.training.validation import by_crossing, validate_retrieval
from crossview.engine.values.recipe import FOLDS, MEASURES

SCALINGS = ("sqrt,", "", "standardize,")
"""Beginnings of pipelines."""
WIDTHS = (1.0, 0.3, 3.0)
"""Factors of the mean distance, the width of a Gaussian kernel."""
MOST_ITEMS = 1000


def tuned(
    values: Mapping[str, Sequence[Any]],
    make: Callable[..., Chain],
    training: Examples,
    measure: str = MEASURES[0],
    most: int = MOST_ITEMS,
) -> Chain:
    """Return a pipeline with the best settings, fitted on all training items.

    The search is the product's: one setting after another, the first value within a standard error of the best. If
    no fold can be learned from or measured, as with one or two items of each class, the first values stay.

    Args:
        values: values to try by setting, the likeliest first.
        make: returns an unfitted pipeline with the settings, which are its keywords.
        training: items with views and what is known of them.
        measure: one of the product's measures of tuning.
        most: items that choose settings, drawn at random if there are more.

    Raises:
        ValueError: if the pipeline cannot learn from these items.
    """
    places = np.sort(np.random.default_rng(0).permutation(len(training))[:most])
    _, validation = validate_retrieval(training.take(places), FOLDS, measure, 0)

    def score(settings: Mapping[str, Any]) -> Scores:
        if not (scores := by_crossing(validation.values(lambda: make(**settings)))):
            raise ValueError("no item has a similar item to find")
        return scores

    try:
        best, _, _ = search(values, score, exhaustive=False)
    except ValueError:
        best = {name: tried[0] for name, tried in values.items()}
    return learn(make(**best), training)


def pipeline(spec: str, settings: Mapping[str, Any]) -> Chain:
    """Return an unfitted pipeline whose draws are the same each time."""
    chain = parse_chain(spec, settings)
    for step in chain.steps:
        if "random_state" in step.get_params():
            step.set_params(random_state=0)
    return chain


def ridge(views: Sequence[Rows], supervision: Known) -> Chain:
    """Regress linearly on the classes."""
    values = {"scaling": SCALINGS, "standardize": (True, False), "alpha": (None, 1e-3, 1e-2, 0.1, 1.0)}
    return tuned(
        values, lambda scaling, **settings: pipeline(f"{scaling}semantic,dot", settings), supervision.examples(views)
    )


def kernel_semantic(views: Sequence[Rows], supervision: Known) -> Chain:
    """Regress on the classes from a Gaussian kernel, by least squares or log loss."""
    values = {
        "scaling": SCALINGS,
        "kernel__bandwidth": WIDTHS,
        "standardize": (False, True),
        "regression": ("ridge", "logistic"),
        "alpha": (None, 1e-4, 1e-3, 1e-1),
    }
    return tuned(
        values,
        lambda scaling, **settings: pipeline(f"{scaling}kernel:rbf,semantic,dot", settings),
        supervision.examples(views),
    )


def multi_npp(views: Sequence[Rows], supervision: Known) -> Chain:
    """Learn from all pairs of similar items, or from all items of one class."""
    values = {
        "begin": ("sqrt,kernel:rbf,", "standardize,kernel:rbf,", "sqrt,"),
        "n_components": (50, 20),
        "eta": (1e-6, 0.1),
        "gamma": (1e-6, 0.1),
    }
    training = supervision.examples(views, pairs=True)
    return tuned(values, lambda begin, **settings: pipeline(f"{begin}multi-npp,dot", settings), training, most=400)
