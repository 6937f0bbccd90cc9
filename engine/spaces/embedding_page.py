"""One page of what a space makes of items' rows."""

from engine.catalog.catalog import Transaction
from engine.catalog.extractors import find_view
from engine.errors import InvalidInputError, NotReadyError
from engine.spaces.item_embeddings import ITEMS_AT_ONCE, ItemEmbeddings
from engine.spaces.space import Space

_PAGE_BYTES = 1 << 23
"""Memory that the rows or the vectors of a page take at most, where one item does not take more."""


def embed_items(tx: Transaction, space: Space, view: str, target: str, after: str, limit: int) -> ItemEmbeddings:
    """Return one page; see ``Collection.embed_items``."""
    if limit < 1:
        raise InvalidInputError(f"limit must be at least 1, not {limit}")
    views = tx.views.all()
    space.check_revisions(views)
    chosen = _target(space, view, target)
    record, dim = find_view(tx, view), space.dims(views)[chosen]
    if not after and not len(tx.rows.ids(record)):
        raise NotReadyError(f"no item of collection {tx.name()!r} has a row of view {view!r}: index some first")
    size = max(1, min(limit, ITEMS_AT_ONCE, _PAGE_BYTES // (4 * max(record.dim, dim))))
    keys = tx.items.keys_after(after, size)
    found = tx.rows.get(record, keys)
    places = {item: place for place, item in enumerate(found.ids.tolist())}
    there = [item for item in keys if item in places]
    vectors = space.probe(view, found.rows[[places[item] for item in there]], [chosen])[chosen]
    bits = dim if space.binary else 0
    return ItemEmbeddings(
        space.name,
        space.generation,
        tuple(keys[item] for item in there),
        vectors[:, : -(-bits // 8)] if bits else vectors,  # floats to re-rank by stand behind a code
        bits,
        next(reversed(keys.values())) if len(keys) == size else "",
    )


def _target(space: Space, view: str, target: str) -> str:
    """Return the target that is asked for, by default the view itself."""
    space.check_reachable(view, [target] if target else [])
    if not target and view not in space.targets:
        raise InvalidInputError(
            f"space {space.name!r} has several metrics of view {view!r}: choose the target, "
            f"of {', '.join(space.targets_of(view))}"
        )
    return target or view
