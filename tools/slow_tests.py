"""Write tests/slow.txt, the tests that ``make test`` leaves out, from reports of pytest.

``pytest -m "not long" --junitxml REPORT && python tools/slow_tests.py REPORT``
"""

import argparse
import statistics
from collections import defaultdict
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parents[1]
LIST = ROOT / "tests" / "slow.txt"
SECONDS = 0.3
"""A function is slow if its tests take this long or longer on average, with what they set up."""


def main() -> None:
    """Write the list."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("reports", nargs="+", type=Path, help="files that --junitxml has written")
    seconds: dict[str, list[float]] = defaultdict(list)
    for report in parser.parse_args().reports:
        for case in ElementTree.parse(report).iter("testcase"):  # noqa: S314 - a file of this machine's own pytest
            seconds[_function(case.attrib["classname"], case.attrib["name"])].append(float(case.attrib["time"]))
    slow = sorted(name for name, times in seconds.items() if statistics.mean(times) >= SECONDS)
    LIST.write_text("".join(f"{name}\n" for name in slow), encoding="utf-8")
    print(f"{len(slow):,} of {len(seconds):,} functions are slow: {LIST.relative_to(ROOT)}")


def _function(module: str, name: str) -> str:
    """Return the id of a test's function, such as tests/test_words.py::test_each_word."""
    return f"{module.replace('.', '/')}.py::{name.partition('[')[0]}"


if __name__ == "__main__":
    main()
