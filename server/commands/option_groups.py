"""Groups of options: a frozen dataclass as one parameter of a command, with a field for each option."""

import copy
import dataclasses
import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Annotated, Any, get_type_hints

from typer.models import OptionInfo

Command = Callable[..., None]


def expanded(command: Command) -> Command:
    """Return a command whose dataclass parameters are replaced by their fields, as separate parameters for typer.

    A field has the annotation of a parameter of a typer command, ``Annotated[type, typer.Option(...)]``; the original
    command receives the dataclasses. The help lists the options of a group in its panel, the class attribute ``PANEL``.
    """
    signature = inspect.signature(command)
    groups: dict[str, Any] = {
        one.name: one.annotation for one in signature.parameters.values() if dataclasses.is_dataclass(one.annotation)
    }
    if not groups:
        return command
    parameters = [part for one in signature.parameters.values() for part in _parts(one, groups)]

    @functools.wraps(command)
    def run(**given: Any) -> None:
        for name, group in groups.items():
            given[name] = group(**{field.name: given.pop(field.name) for field in dataclasses.fields(group)})
        command(**given)

    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]  # typer reads this attribute
    run.__annotations__ = {one.name: one.annotation for one in parameters}
    return run


def _parts(parameter: inspect.Parameter, groups: dict[str, Any]) -> Iterator[inspect.Parameter]:
    if parameter.name not in groups:
        yield parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        return
    group = groups[parameter.name]
    hints = get_type_hints(group, include_extras=True)
    for field in dataclasses.fields(group):
        default = inspect.Parameter.empty if field.default is dataclasses.MISSING else field.default
        yield inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=default,
            annotation=_placed(hints[field.name], getattr(group, "PANEL", None)),
        )


def _placed(annotation: Any, panel: str | None) -> Any:
    """Return the annotation of a field with the panel of its group, unless it names its own."""
    (info,) = annotation.__metadata__
    if not isinstance(info, OptionInfo) or info.rich_help_panel is not None:
        return annotation
    info = copy.copy(info)
    info.rich_help_panel = panel
    return Annotated[annotation.__origin__, info]
