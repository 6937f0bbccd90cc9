"""Groups of items that splits and folds do not part, such as the recordings of one speaker."""

import json
import warnings
from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import GroupKFold, GroupShuffleSplit, StratifiedGroupKFold

from crossview.engine.catalog.catalog import Transaction
from crossview.engine.catalog.lookup import named_keys
from crossview.engine.errors import InvalidInputError, NotFoundError
from crossview.engine.recipe import Grouping

Groups = NDArray[np.intp]


def groups_of(tx: Transaction, ids: NDArray[np.int64], grouping: Grouping | None) -> Groups | None:
    """Return the group of each item, (n,), numbers from 0; those without a value are alone. None without a grouping.

    Raises NotFoundError where none of the items has the attribute, or is named among the groups.
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
    """Return which items are held out, (n,): all of a random share of the groups, of at least one.

    Raises InvalidInputError where nothing would be left to learn from.
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
            f"the items are of {count} group{'s' if count > 1 else ''}, and holding out {share:.0%} of them leaves "
            "one side empty: group by something that differs more, or hold out less"
        ) from None
    held_out[chosen] = True
    return held_out


def fold_groups(groups: Groups, classes: NDArray[np.intp], folds: int, seed: int) -> NDArray[np.intp]:
    """Return the fold of each item, (n,), groups whole, and the classes, numbers from 0, as even as these allow.

    Raises InvalidInputError for fewer groups than folds.
    """
    if (count := len(np.unique(groups))) < folds:
        raise InvalidInputError(f"the training items are of {count} groups, too few for {folds} folds")
    even = np.bincount(classes).max() >= folds
    splitter = (StratifiedGroupKFold if even else GroupKFold)(folds, shuffle=True, random_state=seed)
    found = np.empty(len(groups), np.intp)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # classes that are smaller than the number of folds are no mistake
        for number, (_, chosen) in enumerate(splitter.split(groups, classes, groups)):
            found[chosen] = number
    return np.unique(found, return_inverse=True)[1]  # a fold that large groups left empty is none


def _attribute(tx: Transaction, ids: NDArray[np.int64], name: str) -> Mapping[int, str]:
    """Return the values of an attribute, as JSON, by the ids of the items that have one; null is none."""
    found = tx.items.attributes(ids.tolist())
    return {item: _json(values[name]) for item, values in found.items() if values.get(name) is not None}


def _json(value: Any) -> str:
    """Return a JSON value as text, equal for equal values: 1 and 1.0 are."""
    whole = isinstance(value, float) and value.is_integer()
    return json.dumps(int(value) if whole else value, sort_keys=True)


def _given(tx: Transaction, groups: Mapping[str, str]) -> Mapping[int, str]:
    """Return the groups by the ids of the items that their keys or paths name."""
    keys = {key: name for name, found in named_keys(tx, list(groups)).items() for key in found}
    return {item: groups[keys[key]] for key, item in tx.items.ids_of(keys).items()}
