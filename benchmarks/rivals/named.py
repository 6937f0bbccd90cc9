"""The rivals by name, by what they learn from."""

from collections.abc import Callable, Mapping, Sequence

from benchmarks.rivals import canonical, graphs, logistic, tuned
from benchmarks.rivals.known import Known, Rows
from crossview.engine.learners.frame.chain import Chain

Learn = Callable[[Sequence[Rows], Known], Chain | None]
"""Learns from rows by view, (n, d_v) with NaN for a missing view, and what is known of the items; returns a fitted
pipeline, or None or a ValueError where it can learn nothing."""

OF_CLASSES: Mapping[str, Learn] = {
    "kernel logistic": logistic.kernel_logistic,
    "tuned kernel semantic": tuned.kernel_semantic,
    "tuned ridge": tuned.ridge,
    "tuned multi-npp": tuned.multi_npp,
}
OF_VIEWS: Mapping[str, Learn] = {
    "tuned cca": canonical.cca,
    "tuned kernel cca": canonical.kernel_cca,
    "csa": canonical.csa,
    "kernel csa": canonical.kernel_csa,
}
"""They learn from nothing but which views belong to one item."""
OF_GRAPHS: Mapping[str, Learn] = {
    "label spreading": graphs.label_spreading,
    "self-training": graphs.self_training,
    "spectral clustering": graphs.spectral_clustering,
}
"""They also learn from items without labels."""
