"""Run the random tests with new seeds until the time ends, and print for each failure the command that repeats it."""

import argparse
import os
import re
import secrets
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FAILED = re.compile(r"^(?:FAILED|ERROR) (tests/\S+::.*?)(?: - .*)?$", re.MULTILINE)
PASSED = re.compile(r"(\d+) passed")


def main() -> None:
    """Explore; exit with 1 if a test failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=30, help="start no round after this time")
    parser.add_argument("tests", nargs="*", default=["tests"], help="files or folders of tests")
    options = parser.parse_args()
    end = time.monotonic() + 60 * options.minutes
    passed, failures, rounds = 0, dict[str, int](), 0
    while time.monotonic() < end:
        seed, rounds = secrets.randbits(31), rounds + 1
        output = explore(seed, options.tests)
        passed += sum(map(int, PASSED.findall(output)))
        for test in FAILED.findall(output):
            failures.setdefault(test, seed)
        print(f"seed {seed}: {passed:,} passed in {rounds} rounds, {len(failures)} have failed", flush=True)
    for test, seed in failures.items():
        print(f"FAILED {test}; repeat it with:\n  {command(seed, test)}")
    raise SystemExit(bool(failures))


def explore(seed: int, tests: list[str]) -> str:
    """Run the random tests with a seed; return the output of pytest, which is printed if a test fails."""
    words = [sys.executable, "-m", "pytest", "-q", "-n", "auto", "-m", "random", f"--hypothesis-seed={seed}", *tests]
    environment = {**os.environ, "CROSSVIEW_SEED": str(seed), "OMP_NUM_THREADS": "1"}
    result = subprocess.run(words, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=False)
    if result.returncode:
        print(result.stdout, flush=True)
    return result.stdout


def command(seed: int, test: str) -> str:
    """Return the command that repeats a test with a seed."""
    return f"CROSSVIEW_SEED={seed} .venv/bin/python -m pytest -n 0 --hypothesis-seed={seed} '{test}'"


if __name__ == "__main__":
    main()
