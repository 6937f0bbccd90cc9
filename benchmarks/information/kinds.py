"""Kinds of information on the items that are learned from, drawn by a seed."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.neighbors import NearestNeighbors

from benchmarks.rivals.known import UNKNOWN, Classes, Known
from benchmarks.sets.split import Split

Draw = np.random.Generator
_NEIGHBORS = 5


Kind = Callable[[Classes, Split, NDArray[np.int64], Draw], Mapping[str, Any]]
"""Takes the true classes of the items, the split, their numbers in it and a generator; return fields of ``Known``."""


def _few(each: int, classes: Classes, split: Split, items: NDArray[np.int64], draw: Draw) -> Mapping[str, Any]:
    labels = np.full(len(classes), UNKNOWN)
    for label in np.unique(classes):
        members = np.flatnonzero(classes == label)
        labels[draw.permutation(members)[:each]] = label
    return {"classes": labels}


def _all(classes: Classes, split: Split, items: NDArray[np.int64], draw: Draw) -> Mapping[str, Any]:
    return {"classes": classes}


def _none(classes: Classes, split: Split, items: NDArray[np.int64], draw: Draw) -> Mapping[str, Any]:
    return {"classes": np.full(len(classes), UNKNOWN)}


def _wrong(share: float, classes: Classes, split: Split, items: NDArray[np.int64], draw: Draw) -> Mapping[str, Any]:
    changed = (classes + draw.integers(1, classes.max() + 1, len(classes))) % (classes.max() + 1)
    return {"classes": np.where(draw.random(len(classes)) < share, changed, classes)}


def _half(share: float, classes: Classes, split: Split, items: NDArray[np.int64], draw: Draw) -> Mapping[str, Any]:
    """Label a share of the items of half of the classes, and no items of the other classes."""
    count = int(classes.max()) + 1
    labelled = np.isin(classes, draw.permutation(count)[: count // 2])
    return {"classes": np.where(labelled & (draw.random(len(classes)) < share), classes, UNKNOWN)}


def _pairs(
    each: float, wrong: float, classes: Classes, split: Split, items: NDArray[np.int64], draw: Draw
) -> Mapping[str, Any]:
    """Return so many pairs for each item; a share of them join items drawn by chance."""
    count = len(classes)
    first = draw.integers(count, size=round(each * count))
    second = np.array([draw.choice(np.flatnonzero(classes == classes[item])) for item in first])
    chance = draw.random(len(first)) < wrong
    second[chance] = draw.integers(count, size=int(chance.sum()))
    links = sp.csr_array((np.ones(len(first)), (first, second)), shape=(count, count))
    return {"classes": np.full(count, UNKNOWN), "pairs": _symmetric(links)}


def _symmetric(links: Any) -> Any:
    both = sp.csr_array(((links + links.T) > 0).astype(np.float64))
    return sp.csr_array(both - sp.diags_array(both.diagonal()))


def _labels_and_pairs(classes: Classes, split: Split, items: NDArray[np.int64], draw: Draw) -> Mapping[str, Any]:
    return {**_pairs(0.5, 0.0, classes, split, items, draw), **_few(2, classes, split, items, draw)}


def _one_view(classes: Classes, split: Split, items: NDArray[np.int64], draw: Draw) -> Mapping[str, Any]:
    mask = np.zeros((len(classes), len(split.rows)), bool)
    mask[np.arange(len(classes)), draw.integers(mask.shape[1], size=len(classes))] = True
    return {"classes": classes, "mask": mask}


def _half_missing(classes: Classes, split: Split, items: NDArray[np.int64], draw: Draw) -> Mapping[str, Any]:
    """Return half of the items have one view only, and five of a class are labelled."""
    single = draw.random(len(classes)) < 0.5
    mask = _one_view(classes, split, items, draw)["mask"]
    return {**_few(5, classes, split, items, draw), "mask": mask | ~single[:, None]}


def _neighbors(classes: Classes, split: Split, items: NDArray[np.int64], draw: Draw) -> Mapping[str, Any]:
    """Make an item similar to its nearest neighbours in the last view."""
    rows = list(split.rows.values())[-1][items]
    graph = NearestNeighbors(n_neighbors=_NEIGHBORS).fit(rows).kneighbors_graph()
    return {"classes": np.full(len(classes), UNKNOWN), "pairs": _symmetric(sp.csr_array(graph))}


KINDS: Mapping[str, Kind] = {
    "all labels": _all,
    "1 label a class": partial(_few, 1),
    "2 labels a class": partial(_few, 2),
    "5 labels a class": partial(_few, 5),
    "10 labels a class": partial(_few, 10),
    "20 % of the labels wrong": partial(_wrong, 0.2),
    "40 % of the labels wrong": partial(_wrong, 0.4),
    "half of the classes without labels": partial(_half, 1.0),
    "1 pair for 2 items": partial(_pairs, 0.5, 0.0),
    "1 pair an item": partial(_pairs, 1.0, 0.0),
    "1 pair an item, 10 % wrong": partial(_pairs, 1.0, 0.1),
    "2 pairs an item, 20 % wrong": partial(_pairs, 2.0, 0.2),
    "2 labels a class, 1 pair for 2 items": _labels_and_pairs,
    "all labels, one view an item": _one_view,
    "5 labels a class, half of the items with one view": _half_missing,
    "neighbours in the last view": _neighbors,
    "views alone": _none,
}


STANDARD = (
    "1 label a class",
    "2 labels a class",
    "5 labels a class",
    "10 labels a class",
    "all labels",
    "20 % of the labels wrong",
    "40 % of the labels wrong",
    "half of the classes without labels",
    "1 pair an item, 10 % wrong",
    "views alone",
)
"""The kinds that are measured unless others are named."""


def known(kind: str, split: Split, items: NDArray[np.int64], seed: int) -> Known:
    """Return what is known of some items of a split, by their numbers."""
    classes = np.unique(split.labels, return_inverse=True)[1][items]
    draw = np.random.default_rng([seed, list(KINDS).index(kind)])
    groups = None if split.groups is None else np.unique(split.groups[items], return_inverse=True)[1]
    fields = {"mask": np.ones((len(items), len(split.rows)), bool), "groups": groups}
    return Known(**{**fields, **KINDS[kind](classes, split, items, draw)})
