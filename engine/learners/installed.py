"""Learners of other installed packages, which register them as entry points of the group ``crossview.learners``."""

from collections.abc import Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Any

GROUP = "crossview.learners"


def installed() -> Mapping[str, EntryPoint]:
    """Return the entry points of other packages by the name of their learner, sorted; none is loaded."""
    return {one.name: one for one in sorted(entry_points(group=GROUP), key=lambda one: one.name)}


def load(entry: EntryPoint, base: type) -> type[Any]:
    """Return the class that an entry point names.

    Raises:
        ValueError: if it cannot be imported, is not a subclass of ``base``, or has another name.
    """
    origin = f"learner {entry.name!r} of the package {package(entry)}"
    try:
        found = entry.load()
    except Exception as error:  # the code of another package can raise anything
        raise ValueError(f"{origin} cannot be loaded from {entry.value}: {error}") from error
    if not (isinstance(found, type) and issubclass(found, base)):
        raise ValueError(f"{origin} must be a subclass of {base.__name__}, but {entry.value} is {found!r}")
    if (name := getattr(found, "name", None)) != entry.name:
        raise ValueError(f"{origin} has the name {name!r}: its class and its entry point must have the same name")
    return found


def package(entry: EntryPoint) -> str:
    """Return the name and version of the package of an entry point."""
    return "unknown" if entry.dist is None else f"{entry.dist.name} {entry.dist.version}"
