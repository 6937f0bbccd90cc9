"""One split of one set: every learner at its own defaults, in every database and direction."""

import time
from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.frame import beside
from benchmarks.frame.databases import TRAINED, UNSEEN
from benchmarks.rivals.known import Known
from benchmarks.rivals.named import OF_CLASSES, OF_VIEWS, Learn
from benchmarks.rivals.tuned import pipeline
from benchmarks.sets.named import load
from benchmarks.sets.split import Split
from crossview.engine.learners.frame.chain import Chain
from crossview.engine.learners.frame.supervision import Supervision
from crossview.engine.learners.frame.view_rows import Rows
from crossview.engine.learners.selection import distances
from crossview.engine.training.settling import OF_LABELS
from crossview.engine.values.evaluation import FIRST, MIXED

DEFAULT = "default"
METHODS: Mapping[str, str | Learn] = {
    DEFAULT: OF_LABELS,
    "posteriors, dot": "posteriors,dot",
    "instances": "instances",
    "multi-npp": "multi-npp",
    "kernel multi-npp": "sqrt,kernel:rbf,multi-npp",
    "hybrid": "hybrid",
    "semantic": "semantic",
    "kernel semantic": "kernel:rbf,semantic",
    "sqrt kernel semantic": "sqrt,kernel:rbf,semantic",
    "cca": "cca",
    "kernel cca": "sqrt,kernel:rbf,cca",
    "pls": "pls",
    "lda": "lda",
    "semantic, dot": "sqrt,kernel:rbf,semantic,dot",
    "multi-npp, dot": "sqrt,kernel:rbf,multi-npp,dot",
    "kernel lda": "sqrt,kernel:rbf,lda",
    "lmnn": "lmnn",
    "pca": "pca",
    "raw": "",
    **OF_CLASSES,
    **OF_VIEWS,
}
"""Pipelines by name, each learner with its own defaults; tuning also tries the two that end in ``dot``. Then rivals,
which choose their settings inside the training items."""
MOST_ITEMS = {"lmnn": 1000}
"""Training items above which a method is left out: it would take minutes for each view."""
SHARE, SECONDS = "unseen_share", "seconds"


def run(task: tuple[str, int], data: Path, cache: Path) -> dict[str, Any]:
    """Return the figures of all methods on one split, each [method, database, query view, view, metric, value]."""
    name, seed = task
    began = time.monotonic()
    split = load(name, data, cache)(seed)
    methods = {method: spec for method, spec in METHODS.items() if len(split.train) <= MOST_ITEMS.get(method, np.inf)}
    figures = [[method, *figure] for method, spec in methods.items() for figure in measured(spec, split)]
    sizes = len(split.train), len(split.held_out)
    return {"data": name, "seed": seed, "sizes": sizes, "figures": figures, "seconds": time.monotonic() - began}


def measured(method: str | Learn, split: Split) -> Iterator[tuple[Any, ...]]:
    """Yield database, query view, view of the items, metric and value of one method; nothing if it takes no such
    views."""
    began = time.perf_counter()
    if isinstance(method, str):
        chain = _learned(pipeline(method, {}) if method else Chain(), split)
    else:
        chain = method([view[split.train] for view in split.rows.values()], known(split))
    if chain is not None:
        yield "", "", "", SECONDS, time.perf_counter() - began
        yield from retrieved(chain, split)


def _learned(chain: Chain, split: Split) -> Chain | None:
    """Return a pipeline after its fit; None if it does not take as many views."""
    try:
        chain.check_views(list(split.rows))
    except ValueError:
        return None
    learn(chain, split)
    return chain


def known(split: Split) -> Known:
    """Return what is known of the training items: all classes and all views."""
    classes = np.unique(split.labels[split.train], return_inverse=True)[1]
    groups = None if split.groups is None else np.unique(split.groups[split.train], return_inverse=True)[1]
    return Known(classes=classes, mask=np.ones((len(classes), len(split.rows)), bool), groups=groups)


def learn(chain: Chain, split: Split) -> None:
    """Fit a pipeline on the training items of a split."""
    groups = None if split.groups is None else split.groups[split.train]
    supervision = Supervision(classes=split.labels[split.train], groups=groups)
    chain.fit([view[split.train] for view in split.rows.values()], supervision)


def retrieved(chain: Chain, split: Split) -> Iterator[tuple[str, str, str, str, float]]:
    """Yield database, query view, view of the items, metric and value of a fitted pipeline."""
    names, rows = list(split.rows), list(split.rows.values())
    items = [chain.transform(view, view=number).astype(np.float64) for number, view in enumerate(rows)]
    for query, target in product(range(len(rows)), repeat=2):
        if query == target or (chain.steps and chain.capabilities.cross_view):
            queries = chain.transform_queries(rows[query][split.held_out], query).astype(np.float64)
            for database, metric, value in _retrieved(queries, items[target], split):
                if query != target or metric not in beside.OWN:
                    yield database, names[query], names[target], metric, value


def _retrieved(queries: Rows, items: Rows, split: Split) -> Iterator[tuple[str, str, float]]:
    """Yield mAP and the figures beside it in every database, and the share of unseen items among the first hits in a
    mixed one. A query finds its own item in no database, except for the figures of how soon it finds that."""
    count = len(split.labels)
    unseen = np.isin(np.arange(count), split.held_out)
    whole = distances(queries, items)
    gaps = whole.copy()
    gaps[np.arange(len(queries)), split.held_out] = np.inf
    relevant = split.labels[split.held_out][:, None] == split.labels[None, :]
    for database, members in ((TRAINED, ~unseen), (UNSEEN, unseen), (MIXED, np.ones(count, bool))):
        order = np.argsort(gaps[:, members], axis=1, kind="stable")
        own = 0 if database == TRAINED else 1  # the query itself is last
        order = order[:, : order.shape[1] - own]
        ranked = np.take_along_axis(relevant[:, members], order, axis=1)
        yield database, beside.MAP, _mean_average_precision(ranked)
        figures = beside.of_hits(order, int(members.sum()))
        if own:
            figures |= beside.of_own(whole[:, members], np.cumsum(members)[split.held_out] - 1)
        yield from ((database, metric, value) for metric, value in figures.items())
        if database == MIXED:
            first = np.take_along_axis(np.broadcast_to(unseen, gaps.shape), order, axis=1)[:, :FIRST]
            yield database, SHARE, float(first.mean() / ((unseen.sum() - 1) / (count - 1)))


def _mean_average_precision(ranked: NDArray[np.bool_]) -> float:
    counts = ranked.sum(axis=1)
    precision = ranked.cumsum(axis=1) / np.arange(1, ranked.shape[1] + 1)
    return float(((precision * ranked).sum(axis=1)[counts > 0] / counts[counts > 0]).mean())
