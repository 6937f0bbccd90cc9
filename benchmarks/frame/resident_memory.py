"""The memory of a process."""

import ctypes
import gc
import os
from pathlib import Path


def resident() -> int:
    """Return the bytes of this process in memory, what is free given back first."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")
