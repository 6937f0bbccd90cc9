"""Names of earlier versions, which stored states and settings of users still contain; no other module knows them."""

from collections.abc import Mapping
from typing import Any

LEARNERS: Mapping[str, str] = {}
"""The current name of each learner, by its earlier name."""
PARAMETERS: Mapping[str, Mapping[str, str]] = {}
"""For each learner, the current names of constructor parameters by their earlier names."""
ATTRIBUTES: Mapping[str, Mapping[str, str]] = {name: {"joint_": "shared_space_"} for name in ("sign", "lsh", "itq")}
"""For each learner, the current names of fitted attributes by their earlier names."""


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
