"""Learners and extractors of other installed packages, which register them as entry points.

The group of learners is ``crossview.learners``, that of extractors ``crossview.extractors``.
"""

from collections.abc import Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Literal

Noun = Literal["learner", "extractor"]
"""The value that an entry point registers."""


def installed(noun: Noun) -> Mapping[str, EntryPoint]:
    """Return the entry points of other packages by the name of their learner or extractor, sorted; none is loaded."""
    found = entry_points(group=f"crossview.{noun}s")
    return {one.name: one for one in sorted(found, key=lambda one: one.name)}


def load(noun: Noun, entry: EntryPoint, *bases: type) -> type[Any]:
    """Return the class that an entry point names.

    Raises:
        ValueError: if it cannot be imported, is not a subclass of one of the ``bases``, or has another name; the
            message names the package.
    """
    origin = described(noun, entry)
    try:
        found = entry.load()
    except Exception as error:  # the code of another package can raise anything
        raise ValueError(
            f"{origin} cannot be loaded from {entry.value}: {error}; repair or upgrade the package, or uninstall it"
        ) from error
    if not (isinstance(found, type) and issubclass(found, bases)):
        names = " or ".join(base.__name__ for base in bases)
        raise ValueError(f"{origin} must be a subclass of {names}, but {entry.value} is {found!r}")
    if (name := getattr(found, "name", None)) != entry.name:
        raise ValueError(f"{origin} has the name {name!r}: its class and its entry point must have the same name")
    return found


def described(noun: Noun, entry: EntryPoint) -> str:
    """Return the name of what an entry point registers, and its package, in words."""
    return f"{noun} {entry.name!r} of the package {package(entry)}"


def package(entry: EntryPoint) -> str:
    """Return the name and version of the package of an entry point."""
    return "unknown" if entry.dist is None else f"{entry.dist.name} {entry.dist.version}"
