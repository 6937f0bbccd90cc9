"""Priorities of processes."""

import os

_NICENESS = 10


def give_way() -> None:
    """Let this process, and those that it starts, compute when few others want to."""
    os.setpriority(os.PRIO_PROCESS, 0, max(_NICENESS, os.getpriority(os.PRIO_PROCESS, 0)))
