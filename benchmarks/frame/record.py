"""The form every benchmark's figures are written in: tidy rows, with the machine and the versions beside them."""

import importlib.metadata
import json
import os
import platform
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

Row = Mapping[str, Any]
"""One figure: "method", "metric", "value" and, where there are trials, "std"; any further JSON values that name it."""

_PACKAGES = {
    "numpy": "numpy",
    "scipy": "scipy",
    "sklearn": "scikit-learn",
    "faiss": "faiss-cpu",
    "cv2": "opencv-python-headless",
    "pillow": "pillow",
}


def record(name: str, settings: Mapping[str, Any], rows: Sequence[Row]) -> dict[str, Any]:
    """The document of one benchmark run: what was measured, how, on which machine and with which versions."""
    return {
        "benchmark": name,
        "machine": machine(),
        "versions": versions(),
        "settings": dict(settings),
        "rows": [dict(row) for row in rows],
    }


def write_json(path: Path, document: Mapping[str, Any]) -> None:
    """Write the document whole or not at all; a figure that is not a finite number is a ValueError."""
    text = json.dumps(document, indent=2, allow_nan=False, default=_plain) + "\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".tmp")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def machine() -> dict[str, Any]:
    """Processor model, usable cores, memory in GiB and operating system of the machine that measures."""
    return {
        "cpu": _cpu_model(),
        "cores": usable_cores(),
        "memory_gib": _memory_gib(),
        "system": f"{platform.system()} {platform.release()}",
    }


def versions() -> dict[str, str]:
    """Versions of Python and of the numeric packages, "absent" where one is not installed."""
    found = {"python": platform.python_version()}
    for module, distribution in _PACKAGES.items():
        try:
            found[module] = importlib.metadata.version(distribution)
        except importlib.metadata.PackageNotFoundError:
            found[module] = "absent"
    return found


def usable_cores() -> int:
    """Cores this process may run on, which a container can make fewer than the machine has."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _memory_gib() -> float | None:
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1)
    except (AttributeError, OSError, ValueError):
        return None


def _plain(value: Any) -> Any:
    """NumPy scalars and arrays as the JSON values they stand for."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"{type(value).__name__} is no JSON value")
