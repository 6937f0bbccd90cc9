"""Descriptions of the learners for users, read from a file, because importing the learners takes seconds."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from crossview.engine.values.errors import NotFoundError
from crossview.features.installed import installed, package

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
        others = [name for name, taken in (("pairs", self.pairs), ("comparisons", self.comparisons)) if taken]
        if not self.labels:
            return ", ".join([views, *(f"{name} if given" for name in others)])
        return f"{views}, {' or '.join(['labels', *others])}"

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
        fields["settings"] = tuple(SettingGuide(**one | {"tuned": tuple(one["tuned"])}) for one in fields["settings"])
        fields |= {name: tuple(fields[name]) for name in ("description", "kernels")}
        guides.append(LearnerGuide(**fields))
    return tuple(sorted(guides, key=lambda one: (one.stage, one.name)))


def packages_of_learners() -> dict[str, str]:
    """Return the package, with its version, of each learner that another installed package registers."""
    own = {one.name for one in learner_guides()}
    return {name: package(entry) for name, entry in installed("learner").items() if name not in own}


def learner_guide(name: str) -> LearnerGuide:
    """Return the description of a learner or stage; NotFoundError lists the existing ones."""
    found, others = {one.name: one for one in learner_guides()}, packages_of_learners()
    if name in others:
        raise NotFoundError(f"learner {name!r} is of the package {others[name]}, whose documentation describes it")
    if name not in found:
        raise NotFoundError(f"there is no learner {name!r}; there are: {', '.join([*found, *others])}")
    return found[name]
