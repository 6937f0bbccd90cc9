"""Placing: the vectors of items in every target of a space, by key."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crossview.engine.catalog.rows import ViewRows
from crossview.engine.publishing.generation import Placed
from crossview.engine.publishing.records import Record
from crossview.engine.spaces.space import Space
from crossview.engine.spaces.target import Target


def placed(space: Space, views: Mapping[str, Sequence[str]], records: Sequence[Record]) -> dict[Target, Placed]:
    """Return the vectors of items by target and key, with the hidden targets.

    ``views`` are the parts of each view of the space; an item has a view if it has a row of every part.
    """
    rows = dict[str, ViewRows]()
    for view, parts in views.items():
        having = [place for place, record in enumerate(records) if all(part in record.rows for part in parts)]
        if having:
            values = [np.concatenate([records[place].rows[part] for part in parts]) for place in having]
            rows[view] = ViewRows(np.array(having, np.int64), np.stack(values).astype(np.float32))
    if not rows:
        return {}
    labels = {place: record.item.labels for place, record in enumerate(records)}
    by_target: dict[Target, Any] = {**space.place(rows, labels), **space.sketched(rows)}
    return {target: _by_key(records, *pair) for target, pair in by_target.items()}


def _by_key(records: Sequence[Record], ids: NDArray[np.int64], vectors: NDArray[Any]) -> Placed:
    return {records[place].item.key: vector for place, vector in zip(ids.tolist(), vectors, strict=True)}
