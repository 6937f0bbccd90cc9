"""The settings of a server from the command line, the environment and a file, with the origin of each."""

import difflib
import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

from crossview.engine.values.errors import InvalidInputError
from crossview.server.wire.settings import ServerSettings, check_range

VARIABLE = "CROSSVIEW_SERVE_"
"""Prefix of the variables of the environment: CROSSVIEW_SERVE_PORT sets ``port``."""
DEFAULT = "default"
_TRUTH = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
_KINDS = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a text",
    Path: "a path in quotes",
    tuple: "a list of texts",
}


@dataclass(frozen=True)
class Configuration:
    """The settings of a server, and the origin of each: a flag, a variable, a line of a file, or the default."""

    settings: ServerSettings
    origins: Mapping[str, str]

    def toml(self) -> Iterator[str]:
        """Yield the lines of a file that gives the same settings."""
        for name in SETTINGS:
            value, origin = getattr(self.settings, name), self.origins[name]
            yield f"# {name} is not set" if value is None else f"{name} = {_toml(value)}  # {origin}"


def kind_of(name: str) -> type:
    """Return the type of a setting without None; tuple for a list of texts."""
    hint = SETTINGS[name]
    (kind,) = [member for member in get_args(hint) if member is not NoneType] if NoneType in get_args(hint) else [hint]
    plain: type = get_origin(kind) or kind
    return plain


def configured(
    flags: Mapping[str, object], environment: Mapping[str, str], file: Path | None, defaults: Mapping[str, object]
) -> Configuration:
    """Return the settings: flags go before the environment, which goes before the file and the defaults.

    Raises InvalidInputError for a file that cannot be read, an unknown name, and a value that a setting cannot have.
    """
    values: dict[str, Any] = dict(defaults)
    origins = dict.fromkeys(SETTINGS, DEFAULT)
    for name, value, origin in (*_of_file(file), *_of_environment(environment)):
        try:
            check_range(name, value)
        except InvalidInputError as error:
            raise InvalidInputError(f"{origin}: {error}") from error
        values[name], origins[name] = value, origin
    for name, flag in flags.items():
        values[name] = tuple(flag) if isinstance(flag, list) else flag
        origins[name] = "command line"
    return Configuration(ServerSettings(**values), origins)


def _of_file(file: Path | None) -> Iterator[tuple[str, Any, str]]:
    if file is None:
        return
    try:
        text = file.read_text(encoding="utf-8")
        table = tomllib.loads(text)
    except OSError as error:
        raise InvalidInputError(f"cannot read the settings in {file}: {error.strerror}") from error
    except ValueError as error:  # not UTF-8, or not TOML
        raise InvalidInputError(f"{file} is not a file in TOML: {error}") from error
    for name, value in table.items():
        origin = f"{file}, line {_line(text, name)}"
        yield name, _typed(_known(name, origin), value, origin, file.parent), origin


def _of_environment(environment: Mapping[str, str]) -> Iterator[tuple[str, Any, str]]:
    for variable in sorted(environment):
        if variable.startswith(VARIABLE):
            name = _known(variable.removeprefix(VARIABLE).lower(), variable)
            yield name, _parsed(name, environment[variable], variable), variable


def _known(name: str, origin: str) -> str:
    if name in SETTINGS:
        return name
    near = difflib.get_close_matches(name, SETTINGS, 1, 0.5)
    advice = f"did you mean {near[0]!r}?" if near else f"the settings are {', '.join(SETTINGS)}"
    raise InvalidInputError(f"{origin}: there is no setting {name!r}; {advice}")


def _typed(name: str, value: object, origin: str, folder: Path) -> object:
    """Return a value of a file; paths are relative to its folder."""
    kind = kind_of(name)
    if kind is float and type(value) is int:
        return float(value)
    if kind is Path and isinstance(value, str):
        return folder / Path(value).expanduser()
    if kind is tuple and isinstance(value, list) and all(isinstance(entry, str) for entry in value):
        return tuple(value)
    if type(value) is not kind:
        text = "a table" if isinstance(value, dict) else repr(value)
        raise InvalidInputError(f"{origin}: {name} is {_KINDS[kind]}, not {text}")
    return value


def _parsed(name: str, text: str, origin: str) -> object:
    """Return the value of a variable; a list has commas between its texts."""
    kind = kind_of(name)
    try:
        if kind is bool:
            return _TRUTH[text.lower()]
        if kind is Path and not text:
            raise ValueError(name)
        if kind is tuple:
            return tuple(filter(None, map(str.strip, text.split(","))))
        return Path(text).expanduser() if kind is Path else kind(text)
    except (ValueError, KeyError) as error:
        raise InvalidInputError(f"{origin}: {name} is {_KINDS[kind]}, not {text!r}") from error


def _line(text: str, name: str) -> int:
    """Return the number of the line on which a name of a TOML file begins."""
    written = re.search(rf"^[ \t]*\[*[ \t]*[\"']?{re.escape(name)}[\"']?[ \t]*[=.\]]", text, re.MULTILINE)
    return text.count("\n", 0, written.start()) + 1 if written else 1


def _toml(value: object) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, bool | int | float):
        return str(value).lower()
    if isinstance(value, Path):
        value = value.absolute()  # the text may become a file in another folder
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")


_HINTS = get_type_hints(ServerSettings)
SETTINGS = {field.name: _HINTS[field.name] for field in fields(ServerSettings)}
"""The type of each setting, by its name."""
