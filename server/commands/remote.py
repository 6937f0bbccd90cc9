"""The option that all commands which can use a server share: the timeout of its calls."""

import functools
import inspect
import math
from collections.abc import Callable
from typing import Annotated, Any

import typer

from server.commands.common import timeout

TimeoutOption = Annotated[
    float | None,
    typer.Option("--timeout", metavar="SECONDS", help="With --server: give up a call that takes longer."),
]


def timed(command: Callable[..., None]) -> Callable[..., None]:
    """Returns a command that has ``--server`` with ``--timeout`` after it; any other command as it is."""
    signature = inspect.signature(command)
    if "server" not in signature.parameters:
        return command

    @functools.wraps(command)
    def run(*args: Any, seconds: float | None = None, **kwargs: Any) -> None:
        if seconds is not None and not 0 < seconds < math.inf:
            raise typer.BadParameter(f"--timeout takes a positive number of seconds, not {seconds:g}")
        timeout.set(seconds)
        command(*args, **kwargs)

    option = inspect.Parameter("seconds", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=TimeoutOption)
    parameters = list(signature.parameters.values())
    parameters.insert(list(signature.parameters).index("server") + 1, option)
    run.__signature__ = signature.replace(  # type: ignore[attr-defined]  # what typer reads
        parameters=[one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in parameters]
    )
    run.__annotations__ = {**command.__annotations__, "seconds": TimeoutOption}
    return run
