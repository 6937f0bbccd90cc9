"""Earlier names, which stored states and people's settings still use; this is the one place that knows them."""

from collections.abc import Mapping
from typing import Any

LEARNERS: Mapping[str, str] = {}
"""The present names of learners by their earlier ones."""
PARAMETERS: Mapping[str, Mapping[str, str]] = {}
"""By learner, the present names of constructor parameters by their earlier ones."""
ATTRIBUTES: Mapping[str, Mapping[str, str]] = {name: {"joint_": "shared_space_"} for name in ("sign", "lsh", "itq")}
"""By learner, the present names of fitted attributes by their earlier ones."""


def learner_name(name: str) -> str:
    """Return the present name of a learner."""
    return LEARNERS.get(name, name)


def present_settings(learner: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters of a learner by their present names."""
    names = PARAMETERS.get(learner, {})
    return {names.get(name, name): value for name, value in settings.items()}


def present_attributes(learner: str, fitted: Mapping[str, Any]) -> dict[str, Any]:
    """Return fitted attributes of a learner by their present names."""
    names = ATTRIBUTES.get(learner, {})
    return {names.get(name, name): value for name, value in fitted.items()}
