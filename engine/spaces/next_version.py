"""The next version of a collection, made from the one before and the state that a transaction sees."""

from dataclasses import replace

from crossview.engine.catalog.catalog import Catalog, Transaction
from crossview.engine.catalog.description import RAW, raw_identity
from crossview.engine.catalog.item_columns import ItemColumns
from crossview.engine.catalog.item_pages import ItemPages
from crossview.engine.catalog.items import Changes
from crossview.engine.spaces.filters import Filters
from crossview.engine.spaces.indexed import choices_of
from crossview.engine.spaces.live_recall import LiveRecall
from crossview.engine.spaces.loaded import Identity, LoadedSpaces
from crossview.engine.spaces.remembered import Remembered
from crossview.engine.spaces.version import Version, Views


class _ChangesSince(dict[int, Changes]):
    """The changes since each sequence number, read once for all indexes with this number."""

    def __init__(self, tx: Transaction) -> None:
        super().__init__()
        self._tx = tx

    def __missing__(self, sequence: int) -> Changes:
        self[sequence] = self._tx.items.changed_since(sequence)
        return self[sequence]


def next_version(
    version: Version | None,
    catalog: Catalog,
    tx: Transaction,
    loaded: LoadedSpaces,
    columns: ItemColumns,
    live: LiveRecall,
) -> Version:
    """Return the version of the state that a transaction sees, made from an earlier version."""
    head, views = tx.head(), Views(tx.views.all())
    identities: dict[str, Identity] = {**tx.spaces.identities(), RAW: raw_identity(views)}
    made = Version(
        catalog=catalog,
        loaded=loaded,
        collection=head.name,
        sequence=head.sequence,
        active=head.active_space,
        history=head.history,
        views=views,
        identities=identities,
        spaces={},
        pages=ItemPages(),
        filters=Filters(columns),
        renamed=tx.moves.last_rename(),
        missing=tx.moves.any_missing(),
        live=live,
        remembered=Remembered(),
    )
    if version is None or version.history != head.history or version.sequence < head.purged:
        return made
    changes, same = _ChangesSince(tx), version.sequence == made.sequence
    renames = tx.moves.renames_since(version.renamed) if made.renamed > version.renamed else ()
    choices = tx.spaces.index_choices()
    return replace(
        made,
        spaces={
            name: space.renamed(renames).choosing(choices_of(choices, space.space)).following(tx, head, changes)
            for name, space in version.spaces.items()
            if identities.get(name) == space.identity
        },
        filters=version.filters,
        pages=version.pages if same else version.pages.after(changes[version.sequence]),
        remembered=version.remembered if same else made.remembered,
    )
