"""Descriptions of a collection and of its spaces, from the catalog alone."""

from engine.catalog.catalog import Transaction
from engine.catalog.extractors import view_info
from engine.catalog.space_info import RAW, raw_info, space_info
from engine.errors import NotFoundError
from engine.info import CollectionInfo, SpaceInfo
from engine.query import Filter


def collection_info(tx: Transaction, bytes_on_disk: int) -> CollectionInfo:
    """Return the description of the collection."""
    return CollectionInfo(
        name=tx.name(),
        items=tx.items.count(Filter()),
        views=tuple(map(view_info, tx.views.all())),
        spaces=space_infos(tx),
        active_space=tx.active_space() or RAW,
        labels=tx.items.label_counts(),
        sequence=tx.sequence(),
        bytes_on_disk=bytes_on_disk,
        created=tx.created(),
        description=tx.description(),
    )


def space_infos(tx: Transaction) -> tuple[SpaceInfo, ...]:
    """Return the descriptions of the trained spaces, then that of ``raw``, the views themselves."""
    active, infos = tx.active_space(), []
    for name, number in tx.spaces.answering().items():
        generations = tx.spaces.generations(name)
        answering = next(one for one in generations if one.generation == number)
        infos.append(space_info(answering, generations, name == active))
    return (*infos, raw_info(tx.views.all(), active in ("", RAW), tx.created()))


def no_space(tx: Transaction, name: str) -> NotFoundError:
    """Return the error for a space that does not exist; it lists those that do."""
    known = ", ".join([*tx.spaces.answering(), RAW])
    return NotFoundError(f"no space {name!r} in collection {tx.name()!r}; there are: {known}")
