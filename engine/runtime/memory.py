"""The memory that this process can still take."""

import resource
from collections.abc import Iterator
from pathlib import Path

_GROUPS = Path("/sys/fs/cgroup")
_VERSION_1, _VERSION_2 = ("memory.limit_in_bytes", "memory.usage_in_bytes"), ("memory.max", "memory.current")
"""The files of the limit and of the usage of a control group."""


def available_memory() -> int | None:
    """Return the bytes that this process can still take: the least of what the machine, its control groups and its
    limit of addresses leave.

    None if the system does not state any of these.
    """
    return min(_bounds(), default=None)


def _bounds() -> Iterator[int]:
    if (available := _field(Path("/proc/meminfo"), "MemAvailable:")) is not None:
        yield 1024 * available
    for folder, (limit, usage) in _control_groups():
        if (most := _number(folder / limit)) is not None and (used := _number(folder / usage)) is not None:
            yield most - used + (_field(folder / "memory.stat", "inactive_file") or 0)  # the kernel can drop these
    most, _ = resource.getrlimit(resource.RLIMIT_AS)
    if most != resource.RLIM_INFINITY:
        yield most - 1024 * (_field(Path("/proc/self/status"), "VmSize:") or 0)


def _control_groups() -> Iterator[tuple[Path, tuple[str, str]]]:
    """Yield the folder of each control group of the process, from its own to the root, with the files' names."""
    for line in _lines(Path("/proc/self/cgroup")):
        _, kinds, path = line.split(":", 2)
        if kinds and "memory" not in kinds.split(","):
            continue
        root, files = (_GROUPS / "memory", _VERSION_1) if kinds else (_GROUPS, _VERSION_2)
        own = root / path.lstrip("/")
        yield from ((folder, files) for folder in (own, *own.parents) if folder.is_relative_to(root))


def _field(path: Path, name: str) -> int | None:
    """Return the number after a name in a file of the kernel; None without it."""
    return next((int(line.split()[1]) for line in _lines(path) if line.split()[:1] == [name]), None)


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return []


def _number(path: Path) -> int | None:
    """Return the number in a file; None if the file is absent or states "max"."""
    (text,) = _lines(path) or [""]
    return int(text) if text.isdigit() else None
