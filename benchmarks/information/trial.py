"""One split of one set: every method with every kind of information."""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.frame.databases import TRAINED, UNSEEN
from benchmarks.information.kinds import KINDS, Known, known
from benchmarks.unseen.data import Split, load
from benchmarks.unseen.trial import retrieved
from crossview.engine.learners.registry import parse_chain
from crossview.engine.learners.supervision import Supervision

MOST_ITEMS = 1000
"""Items that are learned from, drawn by chance where there are more."""


@dataclass(frozen=True)
class Method:
    """A column of the tables: a pipeline, and the form of its supervision."""

    spec: str
    told: Callable[[Known], Supervision]


METHODS: Mapping[str, Method] = {
    "co-em": Method("co-em,dot", Known.supervision),
    "posteriors": Method("posteriors,dot", Known.by_classes),
    "ridge to the classes": Method("sqrt,kernel:rbf,semantic,dot", Known.by_classes),
    "multi-npp": Method("sqrt,kernel:rbf,multi-npp", Known.by_pairs),
    "multi-npp, dot": Method("sqrt,kernel:rbf,multi-npp,dot", Known.by_pairs),
    "cluster cca": Method("sqrt,kernel:rbf,multi-npp", Known.by_pairs),
    "kernel cca": Method("sqrt,kernel:rbf,cca", lambda given: Supervision(mask=given.mask)),
    "kernel cca, cosine": Method("sqrt,kernel:rbf,cca,l2", lambda given: Supervision(mask=given.mask)),
    "kernel pls": Method("sqrt,kernel:rbf,pls", lambda given: Supervision(mask=given.mask)),
}
SETTINGS: Mapping[str, Mapping[str, Any]] = {"cluster cca": {"max_iter": 0}}


def run(task: tuple[str, int], data: Path, cache: Path) -> dict[str, Any]:
    """Return the figures of all methods on one split, each [kind, method, database, metric, value]."""
    name, seed = task
    began = time.monotonic()
    split = load(name, data, cache)(seed)
    draw = np.random.default_rng(seed)
    items = split.train if len(split.train) <= MOST_ITEMS else np.sort(draw.permutation(split.train)[:MOST_ITEMS])
    figures = []
    for kind in KINDS:
        given = known(kind, split, items, seed)
        for method in METHODS:
            figures += [[kind, method, *figure] for figure in _measured(method, given, split, items)]
    sizes = len(items), len(split.held_out)
    return {"data": name, "seed": seed, "sizes": sizes, "figures": figures, "seconds": time.monotonic() - began}


def _measured(method: str, given: Known, split: Split, items: Any) -> Iterator[tuple[str, str, float]]:
    """Yield database, metric and value of a method; nothing where it cannot learn from what is given."""
    chain = parse_chain(METHODS[method].spec, SETTINGS.get(method, {}))
    for step in chain.steps:
        if "random_state" in step.get_params():
            step.set_params(random_state=0)
    began = time.perf_counter()
    views = zip(split.rows.values(), given.mask.T, strict=True)
    rows = [np.where(present[:, None], view[items], np.nan) for view, present in views]
    try:
        chain.fit(rows, METHODS[method].told(given))
    except ValueError:
        return
    yield "", "seconds", time.perf_counter() - began
    learned = Split(rows=split.rows, labels=split.labels, train=items, held_out=split.held_out, groups=split.groups)
    found: dict[tuple[str, bool], list[float]] = {}
    for database, query, target, metric, value in retrieved(chain, learned):
        if metric == "map" and database in (TRAINED, UNSEEN):
            found.setdefault((database, query != target), []).append(value)
    for (database, across), values in found.items():
        yield database, "across" if across else "within", float(np.mean(values))
