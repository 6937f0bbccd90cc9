"""Priorities of processes."""

import os

LONG_WORK, WRITES = 10, 5
"""The niceness of each kind of work."""


def give_way(to_writes: bool = True) -> None:
    """Lower the priority of this process and its children; writes have precedence over long work."""
    niceness = LONG_WORK if to_writes else WRITES
    os.setpriority(os.PRIO_PROCESS, 0, max(niceness, os.getpriority(os.PRIO_PROCESS, 0)))
