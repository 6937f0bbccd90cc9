"""Descriptions of the learners for users, read from a file, because importing the learners takes seconds; and what
installed packages add."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, get_args

from crossview.engine.values.errors import NotFoundError
from crossview.features.installed import Noun, described, installed, package

FILE = Path(__file__).with_name("learners.json")
"""Written by ``tools/learners.py`` from the learners' docstrings, attributes and grids."""


@dataclass(frozen=True, kw_only=True)
class SettingGuide:
    """One setting of a learner."""

    name: str
    meaning: str
    values: str
    """The allowed values, in words."""
    default: Any
    tuned: tuple[Any, ...]
    """The values that ``tune`` tries; () if it does not tune the setting."""


@dataclass(frozen=True, kw_only=True)
class LearnerGuide:
    """One learner or stage."""

    name: str
    summary: str
    """A sentence about its purpose."""
    description: tuple[str, ...]
    """Further paragraphs."""
    stage: bool
    """Whether it is only useful before or after another learner."""
    cross_view: bool
    """Whether a query of one view can find items by another view."""
    codes: bool
    """Whether embeddings are codes of bits."""
    labels: bool
    """Whether it needs labels; with pairs or comparisons it does not."""
    pairs: bool
    """Whether it accepts ``train --pairs``."""
    comparisons: bool
    """Whether it accepts ``train --constraints``."""
    adds_views: bool
    """Whether ``space extend`` can add a view."""
    least_views: int
    most_views: int | None
    """Maximum number of views; None for any number."""
    argument: str | None
    """The setting that a value after a colon sets, as in ``pca:10``."""
    kernels: tuple[str, ...]
    """Kernels that ``tune`` tries before it; () for none."""
    settings: tuple[SettingGuide, ...]

    def needs(self) -> str:
        """Return its input in words: the views and the supervision."""
        views = "any number of views" if self.least_views == 1 else f"at least {self.least_views} views"
        if self.most_views is not None:
            views = f"exactly {self.most_views} views"
        optional = [name for name, takes in (("pairs", self.pairs), ("comparisons", self.comparisons)) if takes]
        if not self.labels:
            return ", ".join([views, *(f"{name} if given" for name in optional)])
        return f"{views}, {' or '.join(['labels', *optional])}"

    def gives(self) -> str:
        """Return its output in words: the vectors and their use."""
        across = "within and across views" if self.cross_view else "within each view"
        if self.stage:
            across = "as the learner that it serves"
        later = "views can be added later" if self.adds_views else "views cannot be added later"
        return f"{'codes' if self.codes else 'vectors'}, compared {across}; {later}"


def learner_guides() -> tuple[LearnerGuide, ...]:
    """Return the descriptions of all learners and stages: learners first, each in the order of names."""
    guides = []
    for fields in json.loads(FILE.read_text(encoding="utf-8")):
        fields["settings"] = tuple(
            SettingGuide(**setting | {"tuned": tuple(setting["tuned"])}) for setting in fields["settings"]
        )
        fields |= {name: tuple(fields[name]) for name in ("description", "kernels")}
        guides.append(LearnerGuide(**fields))
    return tuple(sorted(guides, key=lambda guide: (guide.stage, guide.name)))


def packages_of_learners() -> dict[str, str]:
    """Return the package, with its version, of each learner that another installed package registers."""
    own = {guide.name for guide in learner_guides()}
    return {name: package(entry) for name, entry in installed("learner").items() if name not in own}


def learner_guide(name: str) -> LearnerGuide:
    """Return the description of a learner or stage; NotFoundError lists the existing ones."""
    guides, packages = {guide.name: guide for guide in learner_guides()}, packages_of_learners()
    if name in packages:
        raise NotFoundError(f"learner {name!r} is of the package {packages[name]}, whose documentation describes it")
    if name not in guides:
        raise NotFoundError(f"there is no learner {name!r}; there are: {', '.join([*guides, *packages])}")
    return guides[name]


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
