"""Checking a collection for what earlier versions let in: nothing is changed, each finding is a sentence."""

from collections.abc import Iterator, Sequence

import numpy as np

from engine.catalog.catalog import Transaction
from features.vectors import MAX_VALUE

_SHOWN = 3


def findings(tx: Transaction) -> tuple[str, ...]:
    """Return what is odd in a collection, and what to do about it."""
    return (*_equal_files(tx), *_equal_keys(tx), *_other_forms(tx), *_large_rows(tx))


def _equal_files(tx: Transaction) -> Iterator[str]:
    if groups := tx.items.with_equal_sources():
        what = "1 file is" if len(groups) == 1 else f"{len(groups)} files are"
        yield f"{what} indexed under more than one key, such as {_listed(groups[0])}: delete all but one"


def _equal_keys(tx: Transaction) -> Iterator[str]:
    if groups := tx.items.with_equal_keys():
        what = "1 key stands" if len(groups) == 1 else f"{len(groups)} keys stand"
        yield f"{what} for several items, in different Unicode forms, such as {_listed(groups[0])}: delete all but one"


def _other_forms(tx: Transaction) -> Iterator[str]:
    if keys := tx.items.in_other_forms():
        what = "1 key is" if len(keys) == 1 else f"{len(keys)} keys are"
        yield f"{what} not in Unicode normal form C, such as {_listed(keys)}: these items are found by either form"


def _large_rows(tx: Transaction) -> Iterator[str]:
    for view in tx.views.all():
        found = tx.rows.get(view, tx.rows.suspects(view))
        wrong = found.ids[~(np.abs(found.rows) < MAX_VALUE).all(axis=1)].tolist()
        if wrong:
            keys = [item.key for item in tx.items.by_id(wrong[:_SHOWN]).values()]
            what = "1 row" if len(wrong) == 1 else f"{len(wrong)} rows"
            yield (
                f"{what} of view {view.name!r} cannot be compared, the values are too large: give other rows to "
                f"{_listed(keys)}"
            )


def _listed(keys: Sequence[str]) -> str:
    return ", ".join(map(repr, keys[:_SHOWN])) + (", ..." if len(keys) > _SHOWN else "")
