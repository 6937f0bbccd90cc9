"""Settings of all tests.

Tests take longer on a busy machine, and no example of Hypothesis fails for that. Every run draws the same examples; a
round of ``make explore`` draws others. If memory has room, files of tests are there: every commit waits for disk, which
no test needs.
"""

import os
import random
import shutil
import signal
from itertools import groupby
from pathlib import Path

import pytest
from hypothesis import HealthCheck, is_hypothesis_test, settings
from seeds import explored

MEMORY = Path("/dev/shm")  # noqa: S108 - only pytest's own folders are made there
ROOM = 1 << 30

settings.register_profile(
    "tests",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=explored() is None,
    database=None,
)
settings.load_profile("tests")

if os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > ROOM:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))

# A job in the background ignores Ctrl-C, and so would the commands that tests start.
signal.signal(signal.SIGINT, signal.default_int_handler)

LONG = frozenset(line.split()[1] for line in (Path(__file__).parent / "seconds.txt").read_text().splitlines())
"""The tests that ``make test`` leaves out because of their time; tools/test_seconds.py writes the list."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--shuffle", type=int, metavar="SEED", help="run files, and the tests of each file, in another order"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("long"):
            item.user_properties.append(("long", "marked"))  # read by tools/test_seconds.py
        elif item.nodeid.partition("[")[0] in LONG:
            item.add_marker(pytest.mark.long)
        if is_hypothesis_test(getattr(item, "obj", None)):
            item.add_marker(pytest.mark.random)
    seed = config.getoption("--shuffle")
    if seed is not None:
        chance = random.Random(seed)
        files = [list(tests) for _, tests in groupby(items, key=lambda item: item.path)]
        chance.shuffle(files)
        for tests in files:
            chance.shuffle(tests)
        items[:] = [item for tests in files for item in tests]
