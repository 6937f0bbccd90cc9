"""Copies: how well spaces find an indexed picture by changed copies of its file."""

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crossview.engine.catalog.joined import part_names
from crossview.engine.runtime.progress import Progress
from crossview.engine.training.estimate import Estimate, Key, Sample, differences, rows
from crossview.engine.values.any_collection import AnyCollection
from crossview.engine.values.errors import InvalidInputError, NotReadyError
from crossview.engine.values.evaluation import Evaluation, EvaluationRequest
from crossview.engine.values.item import Item, content_hash, path_of_source
from crossview.engine.values.query import Query, SearchRequest
from crossview.features.copy_kinds import KINDS, copies
from crossview.features.errors import ImageError
from crossview.features.pictures import MAX_PIXELS, encoded_picture

LENGTHS = (1, 3, 10)
"""Default lengths of the hit lists."""
_PAGE = 1_000
Ranks = Mapping[tuple[str, str, str], NDArray[np.float64]]
"""By space, target and kind of copy: the rank of each original, (n,) from 1; infinite if it is not among the hits."""


class Original(NamedTuple):
    """An indexed picture."""

    copies: Mapping[str, bytes]
    """The encoded copies by kind."""
    keys: frozenset[str]
    """The keys of the items with this very file: a copy that finds any of them is right."""


def originals(
    collection: AnyCollection, view: str, count: int, seed: int, within: Sequence[str] = ()
) -> list[Original]:
    """Draw up to ``count`` items that have a view and, on this machine, the picture file that was indexed.

    ``within`` are the keys to draw from [default: (), all items].

    Raises NotReadyError if there are none.
    """
    items = [item for item in _items(collection) if set(part_names(view)) <= {*item.views} and item.source]
    same: dict[str, set[str]] = {}
    for item in items:
        same.setdefault(item.content_hash, set()).add(item.key)
    among = {*within}
    items = [item for item in items if not among or item.key in among]
    drawn: list[Original] = []
    for place in np.random.default_rng(seed).permutation(len(items)):
        if len(drawn) == count:
            break
        if altered := _copies(items[place]):
            drawn.append(Original(altered, frozenset(same[items[place].content_hash])))
    if not drawn:
        raise NotReadyError(f"no item of {collection.name} with the view {view} has its unchanged picture file here")
    return drawn


def _items(collection: AnyCollection) -> Iterator[Item]:
    after = ""
    while page := collection.items(after=after, limit=_PAGE):
        yield from page
        after = page[-1].key


def _copies(item: Item) -> dict[str, bytes]:
    """Return the copies of an item's file; none if the file is missing, changed or unreadable."""
    try:
        data = encoded_picture(path_of_source(item.source), MAX_PIXELS)
        return copies(data) if content_hash(data) == item.content_hash else {}
    except ImageError:
        return {}


def ranks(
    collection: AnyCollection,
    pictures: Sequence[Original],
    request: EvaluationRequest,
    progress: Progress | None = None,
) -> Ranks:
    """Return the rank of each original in searches by its copies, by the spaces, view and targets of a request."""
    ranks_of: dict[tuple[str, str, str], NDArray[np.float64]] = {}
    for space in request.spaces or (collection.info().active_space,):
        for place, original in enumerate(pictures):
            for kind, copy in original.copies.items():
                query = Query(request.view, image=copy)
                search = SearchRequest(
                    [query], k=max(request.k or LENGTHS), space=space, targets=request.targets, merge=False
                )
                for hits in collection.search(search):
                    of_all = ranks_of.setdefault((space, hits.target, kind), np.full(len(pictures), np.inf))
                    of_all[place] = next((rank for rank, hit in enumerate(hits, 1) if hit.key in original.keys), np.inf)
            if progress is not None:
                progress(f"{space}: copies", place + 1, len(pictures))
    return ranks_of


def evaluate_copies(
    collection: AnyCollection, request: EvaluationRequest, count: int, progress: Progress | None = None
) -> Evaluation:
    """Measure how often ``count`` indexed pictures, drawn by the request's seed, are among the first k of their copies.

    The metrics are ``recall_exact``, ``recall_resized`` and so on, one for each kind of copy. The searches are those of
    users: this machine reads the files and makes the copies, the collection can be on a server.

    Raises InvalidInputError for a count below 1, and for a request for another measure; NotReadyError without files.
    """
    began = time.monotonic()
    if count < 1:
        raise InvalidInputError(f"copy at least 1 picture, not {count}")
    if request.fits or request.databases or request.by or request.constraints or request.pairs or request.taxonomy:
        raise InvalidInputError(
            "copies are measured by searches in the space as it is: leave out databases, by, refit, constraints, pairs "
            "and taxonomy"
        )
    pictures = originals(collection, request.view, count, request.seed)
    ranks_of = ranks(collection, pictures, request, progress)
    measured: dict[str, dict[Key, Estimate]] = {space: {} for space, _, _ in ranks_of}
    for (space, target, kind), of_kind in sorted(
        ranks_of.items(), key=lambda entry: (entry[0][1], KINDS.index(entry[0][2]))
    ):
        for k in request.k or LENGTHS:
            measured[space]["", target, f"recall_{kind}", k] = Estimate([Sample((of_kind <= k).astype(float))])
    return Evaluation(
        rows=rows(request.view, measured),
        queries=len(pictures) * len(KINDS),
        protocol=f"copies of {len(pictures)} indexed pictures; recall of the picture itself among all items",
        codebook="",
        seconds=time.monotonic() - began,
        differences=differences(request.view, measured),
    )
