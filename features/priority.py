"""Priorities of processes."""

import os

LONG_WORK, WRITES = 10, 5
"""The niceness of each."""


def give_way(to_writes: bool = True) -> None:
    """Let this process, and those that it starts, compute when few others want to; writes come before long work."""
    niceness = LONG_WORK if to_writes else WRITES
    os.setpriority(os.PRIO_PROCESS, 0, max(niceness, os.getpriority(os.PRIO_PROCESS, 0)))
