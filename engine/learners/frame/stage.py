"""Stages: the notation of pipelines, as in "sqrt@sift,kernel:rbf,multi-npp:50"."""

from collections.abc import Sequence
from dataclasses import dataclass


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
