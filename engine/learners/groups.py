"""Settings that belong together: a constructor takes them as one frozen dataclass, users set its fields by their names.

A learner's class names its groups and their usual values; a group of None has the usual value. Field names are unique
within a learner, so that ``--set``, grids and stored states know settings only, whichever group holds them.
"""

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any


def group(learner: Any, name: str) -> Any:
    """Returns the value of a learner's group.

    Raises:
        ValueError: if it is no value of the group.
    """
    value, usual = getattr(learner, name), learner.groups[name]
    if value is not None and not isinstance(value, type(usual)):
        raise ValueError(f"{name} must be None or a value of {type(usual).__name__}, not {value!r}")
    return usual if value is None else value


def flattened(learner: Any, params: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a learner's parameters by name, each group replaced by its fields."""
    found: dict[str, Any] = {}
    for name, value in params.items():
        if name in learner.groups:
            found |= vars(group(learner, name))
        else:
            found[name] = value
    return found


def grouped(learner: Any, params: Mapping[str, Any]) -> dict[str, Any]:
    """Returns new parameters of a learner, those that are fields of a group in one new value of the group."""
    found = dict(params)
    for name in learner.groups:
        changed = {one.name: found.pop(one.name) for one in fields(learner.groups[name]) if one.name in found}
        if changed:
            value = replace(found.get(name) or group(learner, name), **changed)
            found[name] = None if value == learner.groups[name] else value
    return found
