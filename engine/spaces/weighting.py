"""Weighted notions: the exact nearest items by several notions of one view together."""

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from crossview.engine.runtime.cancellation import checkpoint
from crossview.engine.spaces.space import Space, Vectors
from crossview.engine.spaces.target import Neighbor, Target
from crossview.engine.values.errors import Argument, InvalidInputError
from crossview.features.stages import stage
from crossview.index.base import Index, Selection

_FIRST_DEPTH = 4
"""Items that each notion gives in the first round, as a multiple of k, and the growth in each further round."""
_CLEARLY = 1 - 1e-6
"""Relative error of distances, which indexes round to float32."""


def check_notions(space: Space) -> None:
    """Raise InvalidInputError for a space without notions to weigh."""
    if not space.pipeline.capabilities.notions:
        raise InvalidInputError(
            f"space {space.name!r} has no notions of similarity to weigh: train a space with ",
            Argument("spec", "joint"),
        )


def shown(weights: Mapping[str, float]) -> str:
    """Return weights as a text such as ``head=2,wing=1``, which hits have instead of a target."""
    return ",".join(f"{name}={weight:g}" for name, weight in sorted(weights.items()))


def nearest_by_weights(
    indexes: Mapping[Target, Index],
    probes: Mapping[Target, Vectors],
    weights: Sequence[float],
    own: Sequence[int | None],
    k: int,
    only: Callable[[Target], Selection] | None,
) -> list[list[Neighbor]]:
    """Return the k nearest items of every query by sqrt(sum of w_t d_t^2), among those that ``only`` selects.

    ``probes`` has the (q, D_t) vectors of the queries by target, each with its weight; ``own`` has the item behind each
    query, which the query must not find.

    Each notion gives more and more of its nearest items, until no unseen item can be among the k: an unseen item is
    further away, in every notion, than the last item of that notion (the threshold algorithm of Fagin, Lotem and Naor,
    2003).
    """
    if len(probes) < len(weights):
        raise InvalidInputError("a notion has two weights: name each notion once")
    parts = [
        (indexes[target], vectors.astype(np.float64), weight, None if only is None else only(target))
        for (target, vectors), weight in zip(probes.items(), weights, strict=True)
        if weight
    ]
    found: dict[int, list[Neighbor]] = {}
    left, depth, size = list(range(len(own))), _FIRST_DEPTH * (k + 1), max(1, *(len(part[0]) for part in parts))
    while left:
        checkpoint()
        with stage("search indexes", targets=len(parts)):
            results = [
                index.search(vectors[left].astype(np.float32), min(depth, size), chosen)
                for index, vectors, _, chosen in parts
            ]
        unseen = np.zeros(len(left))
        for (_, _, weight, _), result in zip(parts, results, strict=True):
            unseen += weight * result.distances[:, -1].astype(np.float64) ** 2
        for row, query in enumerate(left):
            ids = np.unique(np.concatenate([result.ids[row] for result in results]))
            ids = ids[(ids >= 0) & (ids != (-1 if own[query] is None else own[query]))]
            squares = np.zeros(len(ids))
            for index, vectors, weight, _ in parts:
                gaps = index.get(ids) - vectors[query]
                squares += weight * np.vecdot(gaps, gaps)
            order = np.lexsort((ids, squares))[:k]
            if depth >= size or (len(order) == k and squares[order[-1]] <= _CLEARLY * unseen[row]):
                found[query] = [Neighbor(int(ids[place]), math.sqrt(squares[place])) for place in order]
        left, depth = [query for query in left if query not in found], depth * _FIRST_DEPTH
    return [found[query] for query in range(len(own))]
