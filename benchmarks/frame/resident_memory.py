"""The memory of a process, and of those that it started."""

import ctypes
import gc
import os
import re
from contextlib import suppress
from pathlib import Path


def resident() -> int:
    """Return the bytes of this process in memory, what is free given back first."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def family(root: int) -> set[int]:
    """Return a process and all that it started, by id."""
    parents: dict[int, int] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):  # id (name) state parent ...; a name can contain brackets
        with suppress(OSError):  # it ended meanwhile
            parents[int(path.parent.name)] = int(path.read_text().rpartition(")")[2].split()[1])
    processes, new = {root}, {root}
    while new := {child for child, parent in parents.items() if parent in new} - processes:
        processes |= new
    return processes


def peak(root: int) -> int:
    """Return the most bytes that a process had in memory, and its family with it, mapped files included."""
    return sum(map(_peak, family(root)))


def _peak(process: int) -> int:
    try:
        match = re.search(r"^VmHWM:\s+(\d+) kB", Path(f"/proc/{process}/status").read_text(), re.MULTILINE)
    except OSError:  # it has ended
        return 0
    return 1024 * int(match[1]) if match else 0
