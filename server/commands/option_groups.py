"""Groups of options: a frozen dataclass as one parameter of a command, with a field for each option.

A group can also take options from a request class, which declares their names, types, defaults and help.
"""

import copy
import dataclasses
import functools
import inspect
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from types import NoneType, UnionType
from typing import Annotated, Any, ClassVar, NamedTuple, Union, get_args, get_origin, get_type_hints

import typer
from typer.models import OptionInfo

Command = Callable[..., None]
_DOCUMENTED = re.compile(r'^    (\w+): [^\n]*\n    """(.*?)"""', re.MULTILINE | re.DOTALL)


class Flag(NamedTuple):
    """The properties of an option that its field of a request does not state."""

    metavar: str | None = None
    name: str = ""
    """One or several names [default: "", that of the field]."""
    help: str = ""
    """[default: "", the first sentence of the field's docstring]."""
    default: str | None = ""
    """The default in words, in the help [default: "", the field's default]; None for none."""
    least: int | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class OfRequest:
    """A group with options of a request class, which it passes on as they are."""

    REQUEST: ClassVar[Any]
    """The class."""
    FLAGS: ClassVar[Mapping[str, Flag | None]] = {}
    """The options in the order of the help, by field of the request; None for a field of the group itself."""
    ELSEWHERE: ClassVar[frozenset[str] | None] = None
    """The group has the other fields of the request, too, except these [default: None, it has only ``FLAGS``]."""

    passed: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    """The fields of the request that the command line states."""


def expanded(command: Command) -> Command:
    """Return a command whose dataclass parameters are replaced by their fields, as separate parameters for typer.

    A field has the annotation of a parameter of a typer command, ``Annotated[type, typer.Option(...)]``; the original
    command receives the dataclasses. The help lists the options of a group in its panel, the class attribute ``PANEL``.
    """
    signature = inspect.signature(command)
    groups: dict[str, Any] = {
        parameter.name: parameter.annotation
        for parameter in signature.parameters.values()
        if dataclasses.is_dataclass(parameter.annotation)
    }
    if not groups:
        return command
    parameters = [part for parameter in signature.parameters.values() for part in _parts(parameter, groups)]

    @functools.wraps(command)
    def run(**values: Any) -> None:
        for name, group in groups.items():
            passed = {option: values.pop(option) for option in _fields_of_request(group)}
            own = {field.name: values.pop(field.name) for field in dataclasses.fields(group) if field.name != "passed"}
            if passed:
                own["passed"] = {option: value for option, value in passed.items() if value is not None}
            values[name] = group(**own)
        command(**values)

    vars(run)["__signature__"] = signature.replace(parameters=parameters)  # typer reads this attribute
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def _parts(parameter: inspect.Parameter, groups: dict[str, Any]) -> Iterator[inspect.Parameter]:
    """Yield the parameters of a group, in the order of its ``FLAGS``; or another parameter, by name only."""
    if parameter.name not in groups:
        yield parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        return
    group = groups[parameter.name]
    hints, panel = get_type_hints(group, include_extras=True), getattr(group, "PANEL", None)
    parts = {
        field.name: (_placed(hints[field.name], panel), field.default)
        for field in dataclasses.fields(group)
        if field.name != "passed"
    }
    parts |= {name: _option(field, group, panel) for name, field in _fields_of_request(group).items()}
    for name in dict.fromkeys([*getattr(group, "FLAGS", ()), *parts]):
        annotation, default = parts[name]
        default = inspect.Parameter.empty if default is dataclasses.MISSING else default
        yield inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _placed(annotation: Any, panel: str | None) -> Any:
    """Return the annotation of a field with the panel of its group, unless it names its own."""
    (info,) = annotation.__metadata__
    if not isinstance(info, OptionInfo) or info.rich_help_panel is not None:
        return annotation
    info = copy.copy(info)
    info.rich_help_panel = panel
    return Annotated[annotation.__origin__, info]


def _fields_of_request(group: Any) -> dict[str, Any]:
    """Return the fields of a request that a group takes, by name."""
    if not issubclass(group, OfRequest):
        return {}
    # ``dataclasses.fields`` leaves out the arguments that are no attributes, such as ``exact``.
    fields = {name: field for name, field in group.REQUEST.__dataclass_fields__.items() if field.init}
    field_names = {name for name, flag in group.FLAGS.items() if flag is not None}
    if group.ELSEWHERE is not None:
        own = {field.name for field in dataclasses.fields(group)}
        field_names |= fields.keys() - group.ELSEWHERE - group.FLAGS.keys() - own - {"_"}
    return {name: field for name, field in fields.items() if name in field_names}


def _option(field: Any, group: Any, panel: str | None) -> tuple[Any, Any]:
    """Return the annotation and the default of the option of a field; TypeError for a type that has no option."""
    flag = group.FLAGS.get(field.name) or Flag()
    kind = field.type.type if isinstance(field.type, dataclasses.InitVar) else field.type
    default = field.default
    kinds = {*get_args(kind), kind} & {bool, int, float, str}
    if len(kinds) != 1 or get_origin(kind) not in (None, Union, UnionType):
        raise TypeError(f"{field.name} of {group.REQUEST.__name__} has no option: make it a field of {group.__name__}")
    (plain,) = kinds
    dashed = field.name.replace("_", "-")
    both = plain is bool and NoneType in get_args(kind)
    flags = flag.name.split() or [f"--{dashed}/--no-{dashed}" if both else f"--{dashed}"]
    text = flag.help or _sentence(group.REQUEST, field.name)
    option = typer.Option(
        *flags,
        metavar=flag.metavar,
        help=f"{text} [default: {flag.default}]." if flag.default else f"{text}.",
        show_default=flag.default == "",
        min=flag.least,
        rich_help_panel=panel,
    )
    return Annotated[plain | None if default is None else plain, option], default


def _sentence(request: type, name: str) -> str:
    """Return the first sentence of the docstring of a field, without its default; other fields are options there."""
    documents = _documents(request)
    text = re.sub(r" \[default: .*?\]", "", " ".join(documents[name].split()))
    sentence = re.split(r"\.(?:\s|$)", text, maxsplit=1)[0]
    return re.sub(
        r"``(\w+)``", lambda word: f"--{word[1].replace('_', '-')}" if word[1] in documents else word[1], sentence
    )


@functools.cache
def _documents(request: type) -> dict[str, str]:
    """Return the docstrings of the fields of a class, which Python does not keep, from its source."""
    documents = dict[str, str]()
    for kind in reversed(request.__mro__[:-1]):
        _, _, body = inspect.getsource(sys.modules[kind.__module__]).partition(f"\nclass {kind.__name__}")
        documents |= dict(_DOCUMENTED.findall(re.split(r"\n(?:class|@dataclass)", body, maxsplit=1)[0]))
    return documents
