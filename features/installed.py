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
    entries = entry_points(group=f"crossview.{noun}s")
    return {entry.name: entry for entry in sorted(entries, key=lambda entry: entry.name)}


def load(noun: Noun, entry: EntryPoint, *bases: type) -> type[Any]:
    """Return the class that an entry point names.

    Raises:
        ValueError: if it cannot be imported, is not a subclass of one of the ``bases``, or has another name; the
            message names the package.
    """
    origin = described(noun, entry)
    try:
        loaded = entry.load()
    except Exception as error:  # the code of another package can raise anything
        raise ValueError(
            f"{origin} cannot be loaded from {entry.value}: {error}; repair or upgrade the package, or uninstall it"
        ) from error
    if not (isinstance(loaded, type) and issubclass(loaded, bases)):
        names = " or ".join(base.__name__ for base in bases)
        raise ValueError(f"{origin} must be a subclass of {names}, but {entry.value} is {loaded!r}")
    if (name := getattr(loaded, "name", None)) != entry.name:
        raise ValueError(f"{origin} has the name {name!r}: its class and its entry point must have the same name")
    return loaded


def described(noun: Noun, entry: EntryPoint) -> str:
    """Return the name of what an entry point registers, and its package, in words."""
    return f"{noun} {entry.name!r} of the package {package(entry)}"


def package(entry: EntryPoint) -> str:
    """Return the name and version of the package of an entry point."""
    return "unknown" if entry.dist is None else f"{entry.dist.name} {entry.dist.version}"
