"""Groups of items that splits and folds keep whole, such as the recordings of one speaker."""

import json
import warnings
from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import GroupKFold, GroupShuffleSplit, StratifiedGroupKFold

from crossview.engine.catalog.catalog import Transaction
from crossview.engine.catalog.lookup import named_keys
from crossview.engine.values.errors import InvalidInputError, NotFoundError
from crossview.engine.values.recipe import Grouping

Groups = NDArray[np.intp]


def groups_of(tx: Transaction, ids: NDArray[np.int64], grouping: Grouping | None) -> Groups | None:
    """Return the group of each item, (n,), numbered from 0; an item without a value is alone. None without a grouping.

    Raises NotFoundError if no item has the attribute, or if the groups name no item.
    """
    if grouping is None:
        return None
    values = _given(tx, grouping.groups) if grouping.groups else _attribute(tx, ids, grouping.name)
    if not any(item in values for item in ids.tolist()):
        what = "the file names none of them" if grouping.groups else f"none of them has an attribute {grouping.name!r}"
        raise NotFoundError(f"the {len(ids)} items cannot be grouped by {grouping.name}: {what}")
    numbers: dict[Hashable, int] = {}
    found = [numbers.setdefault(("of", values[i]) if i in values else i, len(numbers)) for i in ids.tolist()]
    return np.array(found, np.intp)


def split_groups(groups: Groups, share: float, seed: int) -> NDArray[np.bool_]:
    """Return which items are held out, (n,): those of a random share of the groups, at least one group.

    Raises InvalidInputError if no group is left to learn from.
    """
    held_out = np.zeros(len(groups), bool)
    if not share:
        return held_out
    splitter = GroupShuffleSplit(1, test_size=share, random_state=seed)
    try:
        _, chosen = next(splitter.split(groups, groups=groups))
    except ValueError:
        count = len(np.unique(groups))
        raise InvalidInputError(
            f"the items form {count} group{'s' if count > 1 else ''}, and holding out {share:.0%} of them leaves "
            "one side empty: choose a grouping with more groups, or hold out less"
        ) from None
    held_out[chosen] = True
    return held_out


def fold_groups(groups: Groups, classes: NDArray[np.intp], folds: int, seed: int) -> NDArray[np.intp]:
    """Return the fold of each item, (n,): groups stay whole, and classes, numbers from 0, spread as evenly as possible.

    Raises InvalidInputError for fewer groups than folds.
    """
    if (count := len(np.unique(groups))) < folds:
        raise InvalidInputError(
            f"the training items form {count} groups, too few for {folds} folds: use fewer folds, or other groups"
        )
    even = np.bincount(classes).max() >= folds
    splitter = (StratifiedGroupKFold if even else GroupKFold)(folds, shuffle=True, random_state=seed)
    found = np.empty(len(groups), np.intp)
    with warnings.catch_warnings():
        # scikit-learn warns of classes with fewer items than folds, which are allowed here
        warnings.simplefilter("ignore", UserWarning)
        for number, (_, chosen) in enumerate(splitter.split(groups, classes, groups)):
            found[chosen] = number
    return np.unique(found, return_inverse=True)[1]  # large groups can leave a fold empty: number the others


def _attribute(tx: Transaction, ids: NDArray[np.int64], name: str) -> Mapping[int, str]:
    """Return the JSON values of an attribute by item id; items without it, or with null, are left out."""
    found = tx.items.attributes(ids.tolist())
    return {item: _json(values[name]) for item, values in found.items() if values.get(name) is not None}


def _json(value: Any) -> str:
    """Return a JSON value as text, the same for equal values such as 1 and 1.0."""
    whole = isinstance(value, float) and value.is_integer()
    return json.dumps(int(value) if whole else value, sort_keys=True)


def _given(tx: Transaction, groups: Mapping[str, str]) -> Mapping[int, str]:
    """Return the given groups by item id; keys or paths name the items."""
    keys = {key: name for name, found in named_keys(tx, list(groups)).items() for key in found}
    return {item: groups[keys[key]] for key, item in tx.items.ids_of(keys).items()}
