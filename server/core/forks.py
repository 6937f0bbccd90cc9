"""Worker processes: forks of a process with their imports, the fork server, whose memory they share."""

import logging
import multiprocessing
from collections.abc import Callable
from multiprocessing.context import ForkServerProcess
from typing import Any

from crossview.engine.values.errors import BusyError

CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(
    ["crossview.server.core.jobs.worker", "crossview.server.core.writing.worker", "crossview.server.core.forked"]
)
_ATTEMPTS = 3
"""Number of fork servers that try to start a process."""
_log = logging.getLogger("crossview.server")


def started(target: Callable[..., None], arguments: tuple[Any, ...]) -> ForkServerProcess:
    """Start a process, with another fork server if the current one is killed meanwhile; BusyError if several are."""
    for _ in range(_ATTEMPTS):
        process = CONTEXT.Process(target=target, args=arguments)
        try:
            process.start()
        except (EOFError, ConnectionError) as error:
            _log.warning("the process that starts worker processes has ended: %s", error or type(error).__name__)
        else:
            return process
    raise BusyError(
        f"{_ATTEMPTS} processes that start worker processes were killed: perhaps they need more memory than the "
        "machine has; try again in a moment"
    )
