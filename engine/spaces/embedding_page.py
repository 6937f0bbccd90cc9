"""One page of what a space makes of items' rows."""

from engine.catalog.catalog import Transaction
from engine.catalog.extractors import find_view
from engine.errors import InvalidInputError, NotReadyError
from engine.spaces.item_embeddings import ITEMS_AT_ONCE, ItemEmbeddings
from engine.spaces.space import Space
from engine.spaces.target import Target

_PAGE_BYTES = 1 << 23
"""Memory that the rows or the vectors of a page take at most, where one item does not take more."""


def embed_items(tx: Transaction, space: Space, view: str, target: str, after: str, limit: int) -> ItemEmbeddings:
    """Return one page; see ``Collection.embed_items``."""
    if limit < 1:
        raise InvalidInputError(f"limit must be at least 1, not {limit}")
    space.check_revisions(tx.views.all())
    chosen, record = _target(space, view, target), find_view(tx, view)
    if not after and not len(tx.rows.ids(record)):
        raise NotReadyError(f"no item of collection {tx.name()!r} has a row of view {view!r}: index some first")
    size = max(1, min(limit, ITEMS_AT_ONCE, _PAGE_BYTES // (4 * max(record.dim, chosen.dim))))
    keys = tx.items.keys_after(after, size)
    found = tx.rows.get(record, keys)
    places = {item: place for place, item in enumerate(found.ids.tolist())}
    having = [item for item in keys if item in places]
    vectors = space.probe(view, found.rows[[places[item] for item in having]], [str(chosen)])[chosen]
    return ItemEmbeddings(
        space=space.name,
        generation=space.generation,
        keys=tuple(keys[item] for item in having),
        vectors=vectors[:, : chosen.code_bytes],  # floats to re-rank by stand behind a code
        bits=chosen.dim if chosen.codes else 0,
        after=next(reversed(keys.values())) if len(keys) == size else "",
    )


def _target(space: Space, view: str, name: str) -> Target:
    """Return the target of a name, by default the view itself."""
    if name:
        return space.targets_for(view, [name])[0]
    found = {str(target): target for target in space.targets_for(view) if target.view == view}
    if view not in found:
        raise InvalidInputError(
            f"space {space.name!r} has several metrics of view {view!r}: choose the target, of {', '.join(found)}"
        )
    return found[view]
