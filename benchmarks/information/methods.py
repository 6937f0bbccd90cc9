"""The methods that learn from each kind of information: the product's default and its parts, and the rivals."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.rivals.known import UNKNOWN, Known
from benchmarks.rivals.named import OF_CLASSES, OF_GRAPHS, OF_VIEWS, Learn
from benchmarks.rivals.tuned import pipeline
from crossview.engine.learners.frame.chain import Chain
from crossview.engine.learners.frame.supervision import Supervision
from crossview.engine.training.settling import OF_ITEMS, OF_LABELS, spec_for

Rows = list[NDArray[Any]]
"""Rows of the items by view, (n, d_v), NaN for a missing view."""


def _views(supervision: Known) -> Supervision:
    return Supervision(mask=supervision.mask, groups=supervision.groups)


@dataclass(frozen=True)
class Method:
    """A pipeline of the product, and the form of its supervision."""

    spec: str
    supervision: Callable[[Known], Supervision]

    @property
    def of_views(self) -> bool:
        """Whether the method learns from nothing but which items have which views."""
        return self.supervision is _views

    def fitted(self, rows: Rows, supervision: Known) -> Chain | None:
        """Return the pipeline after it learned rows, with the same random draws each time."""
        return pipeline(self.spec, {}).fit(rows, self.supervision(supervision))


@dataclass(frozen=True)
class Rival:
    """A method that is not the product's."""

    learn: Learn
    of_views: bool = False

    @property
    def spec(self) -> str:
        """The name of the function."""
        return f"{self.learn.__module__}.{self.learn.__name__}"

    def fitted(self, rows: Rows, supervision: Known) -> Chain | None:
        """Return a pipeline after the method learned rows; None if it can learn nothing."""
        return self.learn(rows, supervision)


DEFAULT = "default"
OWN: Mapping[str, Method] = {
    "class and instance": Method("class-instance:co-em,dot", Known.supervision),
    "co-em": Method("co-em,dot", Known.supervision),
    "posteriors": Method("posteriors,dot", Known.by_classes),
    "instances": Method(OF_ITEMS, _views),
}
"""Parts of the defaults."""
RIVALS: Mapping[str, Rival] = {
    **{name: Rival(learn) for name, learn in {**OF_GRAPHS, **OF_CLASSES}.items()},
    **{name: Rival(learn, of_views=True) for name, learn in OF_VIEWS.items()},
}
METHODS: Mapping[str, Method | Rival] = {**OWN, **RIVALS}


def default_for(supervision: Known) -> Method:
    """Return what the product chooses for what is known."""
    labels = {item: (str(label),) for item, label in enumerate(supervision.classes.tolist()) if label != UNKNOWN}
    views = [np.flatnonzero(present).tolist() for present in supervision.mask.T]
    spec = spec_for(labels, views, supervision.pairs is not None)
    own = next((method for method in OWN.values() if method.spec == spec), None)
    return own or Method(spec, Known.by_classes if spec == OF_LABELS else Known.supervision)
