"""Programs that tests start as a user does."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path


def started(words: Sequence[object], folder: Path, status: int = 0, **environment: str) -> str:
    """Return the output and the errors of a program that runs in a folder and ends with a status.

    The program finds the commands of this environment, and the home is ``folder/home``.
    """
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    known = {**os.environ, "PATH": path, "CROSSVIEW_HOME": str(folder / "home"), "PYTHONDONTWRITEBYTECODE": "1"}
    finished = subprocess.run(
        [str(word) for word in words], cwd=folder, env=known | environment, capture_output=True, text=True, check=False
    )
    assert finished.returncode == status, finished.stdout + finished.stderr
    return finished.stdout + finished.stderr
