"""Graphs and self-training: what scikit-learn and the product's simplest learner make of few, wrong and no labels.

Each takes the rows of the items, (n, d_v) with NaN for a missing view, and what is known; it returns a fitted pipeline.
Choices are made inside the training items: graphs by the overlap of the views' neighbours.
"""

import warnings
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.cluster import SpectralClustering
from sklearn.neighbors import kneighbors_graph
from sklearn.preprocessing import FunctionTransformer, Normalizer, StandardScaler
from sklearn.semi_supervised import LabelSpreading, SelfTrainingClassifier
from sklearn.svm import SVC

from benchmarks.rivals.known import Known, Rows
from crossview.engine.learners.frame.chain import Chain
from crossview.engine.learners.frame.supervision import Supervision
from crossview.engine.learners.registry import parse_chain

NEIGHBORS = 10
ALPHA = 0.9
"""Share of its label that an item takes from its neighbours."""
MOST_CLUSTERS = 64


def scalings(rows: Rows) -> dict[str, Rows]:
    """Return versions of rows, (n, d), in which distances may mean more."""
    unit, root = Normalizer(), FunctionTransformer(lambda values: np.sign(values) * np.sqrt(np.abs(values)))
    versions = {"none": rows, "unit": unit.fit_transform(rows), "root": unit.fit_transform(root.fit_transform(rows))}
    return {**versions, "standard": StandardScaler().fit_transform(rows)}


def neighbor_graph(views: Sequence[Rows], mask: NDArray[np.bool_]) -> Any:
    """Return the sum of the views' graphs of nearest neighbours, sparse (n, n), symmetric.

    The scaling of each view is that whose neighbours overlap most with those in the other views.
    """
    graphs = [
        {
            name: _spread(kneighbors_graph(scaled, NEIGHBORS), present)
            for name, scaled in scalings(rows[present]).items()
        }
        for rows, present in zip(views, mask.T, strict=True)
    ]
    total = sp.csr_array((len(mask), len(mask)))
    for number, of_view in enumerate(graphs):
        rest = sum(
            (graph for other, of_other in enumerate(graphs) if other != number for graph in of_other.values()),
            total * 0,
        )
        best = max(of_view.values(), key=lambda graph: float((graph * rest).sum()))
        total = total + best.maximum(best.T)
    return sp.csr_array(total)


def _spread(graph: Any, present: NDArray[np.bool_]) -> Any:
    """Return a graph of the items that have a view as a graph of all items."""
    places, sparse = np.flatnonzero(present), graph.tocoo()
    entries = (sparse.data, (places[sparse.row], places[sparse.col]))
    return sp.csr_array(sp.coo_array(entries, shape=(len(present), len(present))))


def label_spreading(views: Sequence[Rows], supervision: Known) -> Chain | None:
    """Spread labels along the graph of neighbours (Zhou et al., NIPS 2003), and learn posteriors of the result."""
    classes = supervision.grouped()
    if not (classes >= 0).any():
        return None
    graph = neighbor_graph(views, supervision.mask).toarray()

    def similarity(items: Rows, others: Rows) -> Rows:
        return np.asarray(graph[np.ix_(items[:, 0].astype(int), others[:, 0].astype(int))])

    model = LabelSpreading(kernel=similarity, alpha=ALPHA, max_iter=1000)
    model.fit(np.arange(len(classes), dtype=float)[:, None], classes)
    return _posteriors(views, supervision, model.transduction_)


def self_training(views: Sequence[Rows], supervision: Known) -> Chain | None:
    """Let a support vector machine on all views label the others, step by step, and learn posteriors of the result."""
    classes = supervision.grouped()
    counts = np.bincount(classes + 1)[1:]
    if len(counts) < 2 or not supervision.mask.all():
        return None
    joined = np.hstack([StandardScaler().fit_transform(rows) / np.sqrt(rows.shape[1]) for rows in views])
    with warnings.catch_warnings(action="ignore"):  # of classes with one item, and of the probabilities' future name
        model = SelfTrainingClassifier(SVC(C=10.0, probability=True, random_state=0), threshold=0.75)
        return _posteriors(views, supervision, model.fit(joined, classes).predict(joined))


def spectral_clustering(views: Sequence[Rows], supervision: Known) -> Chain | None:
    """Cluster the graph of neighbours and stated pairs, by its largest eigengap, and learn posteriors of the result."""
    graph = neighbor_graph(views, supervision.mask)
    if supervision.pairs is not None:
        graph = graph + supervision.pairs
    root = 1 / np.sqrt(np.maximum(graph.sum(axis=1), 1e-9))
    values = np.linalg.eigvalsh((graph * root[:, None] * root).toarray())[::-1][: MOST_CLUSTERS + 1]
    gaps = [first - second for first, second in pairwise(values.tolist())]
    model = SpectralClustering(2 + int(np.argmax(gaps[1:])), affinity="precomputed", random_state=0)
    return _posteriors(views, supervision, model.fit_predict(graph.toarray()))


def _posteriors(views: Sequence[Rows], supervision: Known, classes: NDArray[Any]) -> Chain:
    """Return the learner of posteriors, with inner products, of classes of all items."""
    chain = parse_chain("posteriors,dot", {"random_state": 0})
    chain.fit(list(views), Supervision(classes=np.asarray(classes), mask=supervision.mask, groups=supervision.groups))
    return chain
