"""The folder of a collection on disk."""

from collections.abc import Iterator, Sequence

import numpy as np

from crossview.engine.catalog.catalog import Transaction
from crossview.engine.collections.opened import Opened
from crossview.features.vectors import MAX_VALUE

_SHOWN = 3
"""Number of keys that a finding names."""


class Storage:
    """The state of a collection on disk."""

    def __init__(self, opened: Opened) -> None:
        self._opened = opened

    def is_alive(self) -> bool:
        """Return whether the collection still exists as it was opened."""
        return self._opened.folder.is_alive()

    def findings(self) -> tuple[str, ...]:
        """Return the inconsistencies, one sentence each, such as one file that is two items."""
        with self._opened.read() as tx:
            return tuple(_findings(tx))

    def compact(self) -> None:
        """Free the disk space of deleted and replaced data: in index snapshots, in tombstones, and in the catalog.

        Searches continue meanwhile; writers wait while the method writes the catalog again. It needs free disk space
        for a copy of the catalog, and as much again while the copy replaces the catalog.

        Raises BusyError, StorageError (also without enough disk space). No data is lost in either case.
        """
        from crossview.engine.catalog.database_copies import write_anew
        from crossview.engine.spaces.deletion import forget_old_snapshots, free_disk_space

        self._opened.check_open()
        forget_old_snapshots(self._opened.files)
        self._opened.versions().compact()
        with self._opened.writable.write() as tx:
            tx.purge()
        free_disk_space(self._opened.catalog, self._opened.files)
        with self._opened.folder.writing():
            write_anew(self._opened.folder.database)
        self._opened.catalog.truncate_log()


def _findings(tx: Transaction) -> Iterator[str]:
    """Yield a sentence, with the remedy, about each inconsistency that earlier versions accepted."""
    if groups := tx.items.with_equal_sources():
        what = "1 file is" if len(groups) == 1 else f"{len(groups)} files are"
        yield f"{what} indexed under more than one key, such as {_listed(groups[0])}: delete all but one"
    if groups := tx.items.with_equal_keys():
        what = "1 key stands" if len(groups) == 1 else f"{len(groups)} keys stand"
        yield f"{what} for several items, in different Unicode forms, such as {_listed(groups[0])}: delete all but one"
    if keys := tx.items.in_other_forms():
        what = "1 key is" if len(keys) == 1 else f"{len(keys)} keys are"
        yield f"{what} not in Unicode normal form C, such as {_listed(keys)}: these items are found by either form"
    yield from _large_rows(tx)


def _large_rows(tx: Transaction) -> Iterator[str]:
    for view in tx.views.all():
        rows = tx.rows.get(view, tx.rows.suspects(view))
        wrong = rows.ids[~(np.abs(rows.rows) < MAX_VALUE).all(axis=1)].tolist()
        if wrong:
            keys = [item.key for item in tx.items.by_id(wrong[:_SHOWN]).values()]
            what = "1 row" if len(wrong) == 1 else f"{len(wrong)} rows"
            yield (
                f"{what} of view {view.name!r} cannot be compared, their values are too large: replace the rows of "
                f"{_listed(keys)}"
            )


def _listed(keys: Sequence[str]) -> str:
    return ", ".join(map(repr, keys[:_SHOWN])) + (", ..." if len(keys) > _SHOWN else "")
