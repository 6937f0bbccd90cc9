"""Extractors and learners that installed packages add, and whether they can be used."""

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple, get_args

from crossview.features.installed import Noun, described, installed, package


class Addition(NamedTuple):
    """An extractor or a learner of an installed package."""

    what: str
    """It and its package, in words."""
    package: str
    """The name of the package."""
    fault: str
    """Why it cannot be used; "" if it can be."""


def additions() -> Iterator[Addition]:
    """Yield the extractors and learners of installed packages, after importing each; a fault does not end it."""
    for noun in get_args(Noun):
        for name, entry in installed(noun).items():
            own, load = _registry(noun)
            what = described(noun, entry)
            fault = f"{what} is never used: crossview itself has this name" if name in own else _fault(load, name)
            yield Addition(what, package(entry).partition(" ")[0], fault)


def _registry(noun: Noun) -> tuple[Mapping[str, type], Callable[[str], type]]:
    """Return the classes of crossview by name, and the function that loads one of another package."""
    if noun == "extractor":
        from crossview.features.registry import EXTRACTORS, extractor_class

        return EXTRACTORS, extractor_class
    from crossview.engine.learners.registry import LEARNERS, learner_class

    return LEARNERS, learner_class


def _fault(load: Callable[[str], type], name: str) -> str:
    try:
        load(name)
    except ValueError as error:
        return str(error)
    return ""
