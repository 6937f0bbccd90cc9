"""Shared parts of the commands: options, errors on one line, printing."""

import dataclasses
import functools
import json
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, ParamSpec, TypeVar, cast

import typer

from crossview.server.commands.command import running
from crossview.server.commands.hints import collection_of_command, completed, remember_collection, remember_where
from crossview.server.commands.output import escaped, escaped_json, say

if TYPE_CHECKING:
    from crossview.engine.values.info import Tuning

INTERRUPTED = 130
"""Exit code after Ctrl-C, by the convention of shells."""

TEXT_SHOWN = 60
"""Characters of an item's text in a table."""

JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]
NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="Name of the collection.")]
NewNameArgument = Annotated[str, typer.Argument(metavar="NEW", help="New name.")]

debug: ContextVar[bool] = ContextVar("debug", default=False)
"""Whether errors show their traceback."""

error_status: ContextVar[int] = ContextVar("error_status", default=1)
"""The exit status of an error; verify uses 2, because 1 is one of its answers."""

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")
_Value = TypeVar("_Value")


def fail(message: str) -> NoReturn:
    """End the command with one line on stderr and the exit status of an error."""
    say(f"error: {message}", err=True)
    raise typer.Exit(error_status.get())


def reported(command: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
    """Return the command with its errors printed on one line, exit code 1, and Ctrl-C as exit code 130."""

    @functools.wraps(command)
    def run(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Result:
        remember_where(kwargs)
        error_status.set(1)
        remember_collection(utf8(cast("str | None", kwargs.get("name"))))
        try:
            from crossview.engine.values.errors import engine_installed

            with _notes_printed(), engine_installed():
                return command(*args, **{name: utf8(value) for name, value in kwargs.items()})  # type: ignore[arg-type]
        except (typer.Exit, typer.Abort, typer.BadParameter):
            raise
        except KeyboardInterrupt:
            say("stopped", err=True)
            raise typer.Exit(INTERRUPTED) from None
        except BrokenPipeError:  # the program that reads our output, such as head, has closed it
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(error_status.get()) from None
        except Exception as error:
            if debug.get():
                raise
            fail(describe(error))

    return run


@contextmanager
def _notes_printed() -> Iterator[None]:
    """Print each InputWarning once on stderr: notes on files that are not in the documented form."""
    from crossview.engine.values.errors import InputWarning

    texts = set[str]()  # Python prints a warning again after any change of its filters

    def show_once(message: Warning | str, *_: object, **__: object) -> None:
        if str(message) not in texts:
            texts.add(str(message))
            say(f"note: {message}", err=True)

    with warnings.catch_warnings():
        warnings.simplefilter("always", InputWarning)
        warnings.showwarning = show_once
        yield


def utf8(value: _Value) -> _Value:
    """Return an argument with bytes that are not UTF-8 written as ``\\xff``, as in keys and labels of files.

    Paths keep these bytes, because the file system does.
    """
    if isinstance(value, str):
        return cast(_Value, os.fsencode(value).decode("utf-8", "backslashreplace"))
    if isinstance(value, list):
        return cast(_Value, [utf8(element) for element in value])
    return value


def describe(error: Exception) -> str:
    """Return one line that states what went wrong, with commands as remedies."""
    from crossview.engine.values.errors import CrossviewError
    from crossview.features.background import refused

    if isinstance(error, CrossviewError):
        text = completed(str(error))
    elif limit := refused(error):
        text = limit
    elif isinstance(error, OSError) and error.filename is not None:
        text = f"{error.filename}: {error.strerror}"
    elif isinstance(error, UnicodeEncodeError) and error.encoding == "utf-8":
        text = f"{error.object!r} is not UTF-8 text, as names, keys and texts must be"
    else:
        text = f"{type(error).__name__}: {error} (crossview --debug COMMAND shows where)"
    return " ".join(text.split())


def names(text: str | None) -> tuple[str, ...]:
    """Return the names of a list such as ``color,sift``."""
    return tuple(name.strip() for name in (text or "").split(",") if name.strip())


def settings(pairs: list[str] | None, option: str) -> dict[str, Any]:
    """Return the values of ``key=value`` options: JSON if they are valid JSON, otherwise text."""
    return {key: _value(text) for key, text in _split(pairs, option)}


def choices(pairs: list[str] | None, option: str) -> dict[str, tuple[Any, ...]]:
    """Return the values of ``key=value,value`` or ``key=[value, value]`` options, as JSON or otherwise as text."""
    values: dict[str, tuple[Any, ...]] = {}
    for key, text in _split(pairs, option):
        value = _value(text)
        values[key] = tuple(value) if isinstance(value, list) else tuple(map(_value, names(text)))
    return values


def _split(pairs: list[str] | None, option: str) -> Iterator[tuple[str, str]]:
    keys: set[str] = set()
    for pair in pairs or []:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise typer.BadParameter(f"{option} takes key=value, not {pair!r}")
        if key in keys:
            raise typer.BadParameter(f"{option} {key} is given twice, but has one value: give it once")
        keys.add(key)
        yield key, value


def _value(text: str) -> Any:
    from crossview.engine.catalog.ingest.cells import json_or_text

    return json_or_text(text)


def tuning(result: "Tuning") -> str:
    """Return a sentence on how settings were chosen."""
    values = ", ".join(f"{name}={value}" for name, value in result.chosen.items())
    database = f" among {result.database} items" if result.database else ""
    return (
        f"tuned to {values} ({result.measure} {result.score:.3f}{database}, the best of {len(result.tried)} candidates "
        f"by {result.folds}-fold cross-validation on {result.items} items)"
    )


YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]


@dataclasses.dataclass(frozen=True)
class Deleted:
    """The name of the deleted collection, view or space, and the generation, if only one was deleted."""

    deleted: str
    generation: int | None = None


def confirm_deletion(what: str) -> None:
    """Ask whether to delete something; fail without a terminal."""
    confirm(f"Delete {what}?", f"deleting {what} needs --yes")


def confirm(question: str, refusal: str) -> None:
    """Ask before data is lost; without a terminal, fail with the refusal."""
    if not sys.stdin.isatty():
        fail(refusal)
    typer.confirm(escaped(question), abort=True)


def print_result(value: Any, sentence: str, as_json: bool) -> None:
    """Print a value as JSON, or a sentence on it."""
    if as_json:
        print_json(value)
    else:
        say(sentence)


def print_json(value: Any) -> None:
    """Print the result of the running command in the envelope of every --json; dataclasses are objects."""
    say(json_text(value))


def json_text(value: Any) -> str:
    """Return what ``print_json`` prints."""
    envelope = {"command": running(), "collection": collection_of_command(), "result": value}
    return escaped_json(json.dumps(envelope, default=_plain, ensure_ascii=False))


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, datetime):
        return value.isoformat()
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} is not a JSON value")


def shortened(text: str) -> str:
    """Return the beginning of a text, on one line."""
    line = " ".join(text.split())
    return line if len(line) <= TEXT_SHOWN else f"{line[: TEXT_SHOWN - 3]}..."


def size(count: float) -> str:
    """Return a number of bytes, in words."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "bytes" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"
