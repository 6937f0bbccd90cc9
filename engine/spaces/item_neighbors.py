"""The nearest other items of each item in a target, page by page, and the graph of all of them."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np

from crossview.engine.spaces.embedding_files import key_line, replacing
from crossview.engine.spaces.search import Page, passing
from crossview.engine.spaces.target import Target
from crossview.engine.spaces.version import SearchState
from crossview.engine.values.conditions.filter import EVERY_ITEM, Filter, FilterForm
from crossview.engine.values.errors import BusyError, InvalidInputError, NotReadyError
from crossview.engine.values.query import ITEMS_AT_ONCE, ItemNeighbors

_BYTES = 1 << 24
"""Maximum bytes of the raw rows of a page."""
_NEIGHBORS = 50_000
"""Maximum number of neighbours in a page, so that the page fits into a message."""


def neighbors_of(state: SearchState, view: str, target: Target, k: int, page: Page, chosen: Filter) -> ItemNeighbors:
    """Return one page; see ``Collection.items.neighbors``. Raises StaleError as ``Version.read``."""
    (version, indexed), space = state, state.space
    record = version.joined_view(view)
    space.check_revisions(version.views)
    size = max(1, min(page.limit, ITEMS_AT_ONCE, _BYTES // (4 * record.dim), _NEIGHBORS // k))
    with version.read() as tx:
        if not page.after and not len(record.ids(tx)):
            raise NotReadyError(f"no item of collection {tx.name()!r} has a row of view {view!r}: index items first")
        keys = tx.items.keys_after(page.after, size, page.among)
        found = record.rows(tx, keys)
    own = found.ids.tolist()
    probes = space.probe(view, found.rows, [str(target)])
    (lists,) = indexed.neighbours(probes, own, k, passing(state, chosen)).values()
    of_item = dict(zip(own, lists, strict=True))
    having = [item for item in keys if item in of_item]
    with version.read() as tx:
        items = sorted({item for near in lists for item in near.ids.tolist()})
        key_of: dict[int, str] = dict(map(tuple, tx.items.each("key", items)))
    return ItemNeighbors(
        space=space.name,
        generation=space.generation,
        target=str(target),
        keys=tuple(keys[item] for item in having),
        neighbors=tuple(tuple(key_of[near] for near in of_item[item].ids.tolist()) for item in having),
        distances=tuple(tuple(of_item[item].distances.tolist()) for item in having),
        exact=indexed.searcher(target).capabilities.exact,
        after=next(reversed(keys.values())) if len(keys) == size else "",
    )


class Finder(Protocol):
    """The items of a collection, local or on a server."""

    def neighbors(
        self,
        view: str,
        *,
        target: str = "",
        space: str = "",
        k: int = 15,
        filter: FilterForm = EVERY_ITEM,
        after: str = "",
    ) -> ItemNeighbors:
        """Return one page."""


def every_page(
    items: Finder, view: str, target: str = "", space: str = "", k: int = 15, filter: FilterForm = EVERY_ITEM
) -> Iterator[ItemNeighbors]:
    """Yield all pages; BusyError if the space's generation in use changes between two pages."""
    first = page = items.neighbors(view, target=target, space=space, k=k, filter=filter)
    yield page
    while page.after:
        page = items.neighbors(view, target=target, space=first.space, k=k, filter=filter, after=page.after)
        if page.generation != first.generation:
            raise BusyError(
                f"space {first.space!r} changed from generation {first.generation} to {page.generation} "
                "during the reading of its neighbours: start again"
            )
        yield page


class WrittenGraph(NamedTuple):
    """The content of a written graph."""

    path: Path
    keys: Path
    """The file of keys, one on each line."""
    items: int
    edges: int
    exact: bool


def write_graph(path: Path, pages: Iterable[ItemNeighbors]) -> WrittenGraph:
    """Write the distances of nearest items as a sparse matrix, which ``scipy.sparse.load_npz`` reads (CSR, float32).

    Row i has the distances of the nearest items of item i, in the columns of these items. The file ``.keys.txt`` beside
    it has the keys of the items, one on each line, ascending. An item without the query's view has an empty row. The
    distance of equal items is a stored 0. Memory is that of the graph: 8 bytes for each edge, and the keys.

    Raises InvalidInputError for another ending or a key that does not fit on a line, and OSError.
    """
    if path.suffix != ".npz":
        raise InvalidInputError(f"{path} must end in .npz, the format of sparse matrices")
    number: dict[str, int] = {}
    rows, counts, columns, distances, exact = list[int](), list[int](), list[int](), list[float](), True
    for page in pages:
        for key, near, far in zip(page.keys, page.neighbors, page.distances, strict=True):
            rows.append(number.setdefault(key, len(number)))
            counts.append(len(near))
            columns += [number.setdefault(one, len(number)) for one in near]
            distances += far
        exact = exact and page.exact
    keys = sorted(number)
    place = np.empty(len(number), np.int64)
    place[[number[key] for key in keys]] = np.arange(len(keys))
    row = np.repeat(place[rows], counts)
    column = place[np.array(columns, np.int64)]
    order = np.lexsort((column, row))
    pointers = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=len(keys)))])
    kind = np.int32 if len(row) < 2**31 else np.int64
    keys_path = path.with_suffix(".keys.txt")
    with replacing(path) as part, replacing(keys_path) as keys_part, part.open("wb") as file:
        keys_part.write_text("".join(map(key_line, keys)), "utf-8", newline="\n")
        np.savez_compressed(
            file,
            indices=column[order].astype(kind),
            indptr=pointers.astype(kind),
            format=np.array(b"csr"),
            shape=np.array([len(keys)] * 2),
            data=np.array(distances, np.float32)[order],
        )
    return WrittenGraph(path, keys_path, len(keys), len(row), exact)
