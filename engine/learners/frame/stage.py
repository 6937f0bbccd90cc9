"""Stages: the notation of pipelines, as in "sqrt@sift,kernel:rbf,multi-npp:50", and names of earlier versions in it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

LEARNERS: Mapping[str, str] = {}
"""The current name of each learner, by its earlier name."""
PARAMETERS: Mapping[str, Mapping[str, str]] = {}
"""For each learner, the current names of constructor parameters by their earlier names."""
ATTRIBUTES: Mapping[str, Mapping[str, str]] = {name: {"joint_": "shared_space_"} for name in ("sign", "lsh", "itq")}
"""For each learner, the current names of fitted attributes by their earlier names."""


@dataclass(frozen=True)
class Stage:
    """One learner of a pipeline in the notation ``name:argument@view+view``."""

    name: str
    argument: str | None = None
    """The value of the learner's main parameter; None: the notation gives none."""
    views: tuple[str, ...] | None = None
    """The views that the learner maps; None: all of them."""

    def __str__(self) -> str:
        argument = "" if self.argument is None else f":{self.argument}"
        views = "" if self.views is None else f"@{'+'.join(self.views)}"
        return f"{self.name}{argument}{views}"


def parse_stages(spec: str) -> tuple[Stage, ...]:
    """Return the stages of a comma-separated spec, first to last, without a check of the learners' names."""
    return tuple(_parse(part.strip()) for part in spec.split(","))


def format_stages(stages: Sequence[Stage]) -> str:
    """Return the spec that ``parse_stages`` reads as these stages."""
    return ",".join(map(str, stages))


def _parse(text: str) -> Stage:
    head, at, views = text.partition("@")
    name, colon, argument = head.partition(":")
    return Stage(name, argument if colon else None, tuple(views.split("+")) if at else None)


def learner_name(name: str) -> str:
    """Return the current name of a learner."""
    return LEARNERS.get(name, name)


def present_settings(learner: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters of a learner by their current names."""
    names = PARAMETERS.get(learner, {})
    return {names.get(name, name): value for name, value in settings.items()}


def present_attributes(learner: str, fitted: Mapping[str, Any]) -> dict[str, Any]:
    """Return fitted attributes of a learner by their current names."""
    names = ATTRIBUTES.get(learner, {})
    return {names.get(name, name): value for name, value in fitted.items()}
