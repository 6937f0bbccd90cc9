"""Learner state as plain data: nested dicts with string keys, JSON values and NumPy arrays, and nothing else."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

ARRAYS = "@arrays"


def encode(value: Any) -> Any:
    """Returns ``value`` as JSON values, arrays and dicts of them.

    Tuples become lists, NumPy scalars become Python's, arrays of strings get a fixed width, and a list of arrays
    becomes ``{"@arrays": {"0": ..., "1": ...}}``, so that a writer needs to look for arrays among dict values only.

    Raises:
        TypeError: for anything else, such as a generator or an estimator.
    """
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.astype(str) if value.dtype == object else value
    if isinstance(value, Mapping):
        return {str(key): encode(item) for key, item in value.items()}
    if isinstance(value, Sequence):
        items = [encode(item) for item in value]
        nested = any(isinstance(item, np.ndarray | dict) for item in items)
        return {ARRAYS: {str(i): item for i, item in enumerate(items)}} if nested else items
    raise TypeError(f"cannot store a {type(value).__name__} in a learner's state; give plain values or arrays")


def decode(value: Any) -> Any:
    """Undoes :func:`encode`; arrays are taken as they are, not copied."""
    if isinstance(value, Mapping):
        if set(value) == {ARRAYS}:
            items = value[ARRAYS]
            return [decode(items[str(i)]) for i in range(len(items))]
        return {key: decode(item) for key, item in value.items()}
    if isinstance(value, list):
        return [decode(item) for item in value]
    return value
