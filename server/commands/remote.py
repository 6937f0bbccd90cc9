"""What all commands that work through a server have in common."""

import functools
import inspect
import math
from collections.abc import Callable
from typing import Annotated, Any

import typer

from server.commands.common import timeout

TimeoutOption = Annotated[
    float | None,
    typer.Option("--timeout", metavar="SECONDS", help="With --server: give up where one call takes longer."),
]


def timed(command: Callable[..., None]) -> Callable[..., None]:
    """Gives a command that has ``--server`` the option ``--timeout`` behind it, which the connection then heeds."""
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
    run.__signature__ = signature.replace(  # type: ignore[attr-defined]  # what typer reads the options from
        parameters=[one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in parameters]
    )
    run.__annotations__ = {**command.__annotations__, "seconds": TimeoutOption}
    return run
