"""Training: from the items that have every view to a fitted space, some items kept aside."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.catalog import Transaction, ViewRecord
from engine.errors import InvalidInputError, NotReadyError
from engine.pipeline import build, fit
from engine.space import RAW, Space
from engine.views import find_view
from features import EXTRACTORS

_NAME = re.compile(r"[a-z0-9][a-z0-9_.-]{0,62}")


@dataclass(frozen=True)
class Examples:
    """The items that have a row in each of some views."""

    ids: NDArray[np.int64]
    keys: tuple[str, ...]
    rows: Mapping[str, NDArray[np.float32]]
    """One (n, d_v) array per view."""
    labels: tuple[tuple[str, ...], ...]

    def __len__(self) -> int:
        return len(self.ids)

    def take(self, chosen: NDArray[np.intp] | NDArray[np.bool_]) -> "Examples":
        """Return some of the examples."""
        positions = np.arange(len(self))[chosen]
        return Examples(
            self.ids[positions],
            tuple(self.keys[position] for position in positions),
            {view: rows[positions] for view, rows in self.rows.items()},
            tuple(self.labels[position] for position in positions),
        )

    def classes(self) -> NDArray[np.str_]:
        """Return one class per example, (n,): its set of labels; an unlabelled one is alone in its class."""
        names = ["\x1f".join(labels) or f"\x1f{item}" for labels, item in zip(self.labels, self.ids, strict=True)]
        return np.array(names, dtype=np.str_)


def examples(tx: Transaction, names: Sequence[str]) -> Examples:
    """Return every item that has a row in each of the views.

    Raises NotFoundError for an unknown view, InvalidInputError for none or repeated ones, NotReadyError without items.
    """
    if not names or len(set(names)) < len(names):
        raise InvalidInputError("name the views to learn from, each once, such as --views color,sift")
    found = [tx.rows.get(find_view(tx, name)) for name in names]
    common = found[0].ids
    for rows in found[1:]:
        common = np.intersect1d(common, rows.ids, assume_unique=True)
    if not len(common):
        raise NotReadyError(f"collection {tx.name()!r} has no items with all of {', '.join(names)}: index some first")
    keys, labels = tx.items.keys(), tx.items.labels()
    return Examples(
        common,
        tuple(keys[item] for item in common.tolist()),
        {name: rows.rows[np.searchsorted(rows.ids, common)] for name, rows in zip(names, found, strict=True)},
        tuple(labels.get(item, ()) for item in common.tolist()),
    )


def split(count: int, share: float, seed: int) -> NDArray[np.bool_]:
    """Return which of ``count`` examples are kept aside, (count,): a share of them, by chance.

    Raises InvalidInputError unless 0 <= share < 1.
    """
    if not 0 <= share < 1:
        raise InvalidInputError(f"the share that is held out must be at least 0 and below 1, not {share}")
    aside = np.zeros(count, bool)
    aside[np.random.default_rng(seed).permutation(count)[: round(share * count)]] = True
    return aside


@dataclass(frozen=True)
class Recipe:
    """What is asked of a training."""

    spec: str
    views: tuple[str, ...]
    dim: int | None = None
    settings: Mapping[str, Any] | None = None
    holdout: float = 0.0
    seed: int = 0

    def space_name(self) -> str:
        """Return the name of a space that is given none: its last learner's."""
        return re.split(r"[:@]", self.spec.split(",")[-1].strip())[0]


def check_space_name(name: str) -> str:
    """Return the name of a space; InvalidInputError if it cannot be one."""
    if name == RAW or not _NAME.fullmatch(name):
        raise InvalidInputError(
            f"{name!r} cannot name a space: use 1 to 63 of a-z, 0-9, '.', '-' and '_', and not {RAW!r}"
        )
    return name


def train(tx: Transaction, name: str, generation: int, recipe: Recipe) -> Space:
    """Return a space fitted by the recipe on what the catalog holds; the raised errors tell what is missing."""
    if recipe.dim is not None and recipe.dim < 1:
        raise InvalidInputError(f"the dimension must be at least 1, not {recipe.dim}")
    steps = own_steps([find_view(tx, view) for view in recipe.views])
    pipeline = build(recipe.spec, recipe.views, steps, recipe.settings, recipe.dim, recipe.seed)
    if not recipe.spec.strip():
        raise InvalidInputError("name a learner, such as hybrid, multi-npp, cca or pca")
    found = examples(tx, recipe.views)
    aside = split(len(found), recipe.holdout, recipe.seed)
    training = found.take(~aside)
    fit(pipeline, list(training.rows.values()), training.classes())
    return Space(
        name,
        generation,
        recipe.spec,
        recipe.views,
        {view: find_view(tx, view).revision for view in recipe.views},
        pipeline,
        dict(recipe.settings or {}) | ({} if recipe.dim is None else {"n_components": recipe.dim}),
        recipe.seed,
        frozenset(training.keys),
        int(aside.sum()),
    )


def own_steps(views: Sequence[ViewRecord]) -> list[tuple[str, ...]]:
    """Return the normalisation steps that each view's rows need first."""
    return [EXTRACTORS[view.extractor].steps for view in views]
