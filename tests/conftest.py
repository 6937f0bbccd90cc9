"""What holds for all tests.

On a busy machine they take longer, and no example of Hypothesis fails for that. Where there is room, their files are in
memory: every commit waits for the disk, which no test needs.
"""

import os
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

MEMORY = Path("/dev/shm")  # noqa: S108 - only pytest's own folders are made there
ROOM = 1 << 30

settings.register_profile("busy", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("busy")

if os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > ROOM:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))

SLOW = frozenset((Path(__file__).parent / "slow.txt").read_text().split())
"""The functions that ``make test`` leaves out; tools/slow_tests.py writes the list."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.nodeid.partition("[")[0] in SLOW:
            item.add_marker(pytest.mark.slow)
