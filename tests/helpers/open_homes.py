"""Copies of homes that a server of this process may have open."""

import subprocess
from pathlib import Path


def copy_home(source: Path, target: Path) -> Path:
    """Copy a folder, by another process: a process that closes a file of SQLite loses its locks on it (POSIX)."""
    target.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["cp", "-a", str(source), str(target)], check=True)
    return target
