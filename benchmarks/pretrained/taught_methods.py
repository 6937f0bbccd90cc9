"""Methods that learn on top of a model's rows, and those that they are compared with."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.pretrained.probe import LinearProbe
from benchmarks.pretrained.rows import COLOR, GIST, MODEL
from benchmarks.rivals.known import UNKNOWN, Classes, Known
from benchmarks.rivals.tuned import pipeline
from crossview.engine.learners.frame.chain import Chain
from crossview.engine.learners.frame.inner import InnerProduct
from crossview.engine.learners.frame.supervision import Supervision
from crossview.engine.learners.frame.view_rows import Rows
from crossview.engine.training.settling import OF_LABELS, OF_SOME_LABELS

SIFT = "sift"
HAND_MADE = (COLOR, SIFT, GIST)
ALL = (MODEL, *HAND_MADE)
FEW = 2
"""Labels of each class where few are known."""
BITS = 64
RAW, PROBE, TAUGHT, TAUGHT_BESIDE = "raw cosine", "linear probe", "default", "default, hand-made views too"
BY_HAND = "default, hand-made views alone"
FEW_PROBE, FEW_TAUGHT = f"linear probe, {FEW} labels a class", f"co-em, {FEW} labels a class"
FEW_BESIDE = f"{FEW_TAUGHT}, hand-made views too"
RAW_CODES, TAUGHT_CODES = f"itq without labels, {BITS} bits", f"npp-hash, {BITS} bits"


@dataclass(frozen=True)
class Method:
    """A pipeline, and the views and labels that it learns from."""

    spec: str
    """The pipeline; ``LinearProbe.name`` is the rival."""
    views: Sequence[str] = (MODEL,)
    few: bool = False
    """Whether only ``FEW`` items of each class have their label."""

    @property
    def probabilities(self) -> bool:
        """Whether the first columns of the first step's embeddings are the probabilities of the known classes."""
        return self.spec in (LinearProbe.name, OF_LABELS, OF_SOME_LABELS)

    def directions(self) -> list[tuple[str, str]]:
        """Return the query views and views of the items to measure."""
        if MODEL not in self.views:
            return [(view, view) for view in self.views]
        return [(MODEL, MODEL)] if len(self.views) == 1 else [(MODEL, MODEL), (COLOR, MODEL), (MODEL, COLOR)]

    def learned(self, rows: Sequence[Rows], classes: Classes, seed: int) -> Chain:
        """Return the fitted pipeline.

        Args:
            rows: (n, d_v) of the training items in each view.
            classes: (n,) from 0.
            seed: draws the items with labels where few are known.
        """
        labelled = _few(classes, seed) if self.few else np.ones(len(classes), bool)
        if self.spec == LinearProbe.name:
            chain = Chain([LinearProbe(), InnerProduct()])
            return chain.fit([view[labelled] for view in rows], Supervision(classes=classes[labelled]))
        mask = np.ones((len(classes), len(rows)), bool)
        labels = Known(classes=np.where(labelled, classes, UNKNOWN), mask=mask, groups=None)
        return (pipeline(self.spec, {}) if self.spec else Chain()).fit(rows, labels.supervision())


def _few(classes: Classes, seed: int) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Return which items have their label, (n,): ``FEW`` of each class."""
    order = np.random.default_rng(seed).permutation(len(classes))
    labelled = np.zeros(len(classes), bool)
    for label in np.unique(classes):
        labelled[order[classes[order] == label][:FEW]] = True
    return labelled


METHODS: Mapping[str, Method] = {
    RAW: Method(""),
    PROBE: Method(LinearProbe.name),
    TAUGHT: Method(OF_LABELS),
    TAUGHT_BESIDE: Method(OF_LABELS, ALL),
    BY_HAND: Method(OF_LABELS, HAND_MADE),
    FEW_PROBE: Method(LinearProbe.name, few=True),
    FEW_TAUGHT: Method(OF_SOME_LABELS, few=True),
    FEW_BESIDE: Method(OF_SOME_LABELS, ALL, few=True),
    RAW_CODES: Method(f"itq:{BITS}"),
    TAUGHT_CODES: Method(f"npp-hash:{BITS}", ALL),
}
