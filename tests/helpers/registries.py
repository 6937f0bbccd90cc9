"""Programs and packages that only some machines have, for tests that skip without them."""

import shutil
import subprocess
from pathlib import Path

import pytest

_NO_NETWORK = (
    *("ENOTFOUND", "EAI_AGAIN", "ECONNREFUSED", "ETIMEDOUT", "ENETUNREACH", "no such host", "dial tcp"),
    *("Failed to establish a new connection", "No matching distribution"),
)


def needs(*commands: str) -> None:
    """Skip the test without these commands."""
    if missing := [name for name in commands if not shutil.which(name)]:
        pytest.skip(f"needs {' and '.join(missing)}")


def fetched(folder: Path, *command: str) -> None:
    """Run a command that may need a registry of packages; skip the test if it reaches none."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode and any(word in done.stderr for word in _NO_NETWORK):
        pytest.skip(f"{command[0]} reaches no registry")
    assert done.returncode == 0, done.stderr
