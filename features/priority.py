"""Priorities of processes."""

import os

LONG_WORK, WRITES = 10, 5
"""Niceness of long work, and of processes that write items."""


def give_way(to_writes: bool = True) -> None:
    """Lower the priority of this process and of those that it starts; writes come before long work."""
    niceness = LONG_WORK if to_writes else WRITES
    os.setpriority(os.PRIO_PROCESS, 0, max(niceness, os.getpriority(os.PRIO_PROCESS, 0)))
