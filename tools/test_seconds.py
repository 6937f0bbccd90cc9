"""Write tests/seconds.txt, the tests that ``make test`` leaves out because of their time, from reports of pytest.

``make test-all REPORT=report.xml && python tools/test_seconds.py report.xml``; a part of the tests needs ``--add``.
"""

import argparse
import statistics
from collections import defaultdict
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parents[1]
LIST = ROOT / "tests" / "seconds.txt"
LONG = 0.1
"""A function is long if its tests take so many seconds or more on average, with what they set up."""


def main() -> None:
    """Write the list: seconds, and a function, such as tests/test_words.py::test_each_word.

    A line of a file without a function has the seconds of its tests that are marked long.
    """
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("reports", nargs="+", type=Path, help="files that --junitxml has written")
    parser.add_argument("--add", action="store_true", help="keep the lines of functions that the reports lack")
    arguments = parser.parse_args()
    functions: dict[str, list[float]] = defaultdict(list)
    marked: dict[str, float] = defaultdict(float)
    for report in arguments.reports:
        for case in ElementTree.parse(report).iter("testcase"):  # noqa: S314 - a file of this machine's own pytest
            name = f"{case.attrib['classname'].replace('.', '/')}.py::{case.attrib['name']}"
            if case.find("properties/property[@name='long']") is not None:
                marked[name.partition("::")[0]] += float(case.attrib["time"])
            else:
                functions[name.partition("[")[0]].append(float(case.attrib["time"]))
    slow = {name: sum(times) for name, times in functions.items() if statistics.mean(times) >= LONG}
    earlier = dict[str, float]()
    if arguments.add:
        lines_before = (line.split() for line in LIST.read_text(encoding="utf-8").splitlines())
        earlier = {name: float(seconds) for seconds, name in lines_before if name not in functions}
    lines = sorted((earlier | marked | slow).items())
    LIST.write_text("".join(f"{seconds:.1f} {name}\n" for name, seconds in lines), encoding="utf-8")
    rest = sum(sum(times) for name, times in functions.items() if name not in slow)
    print(f"{len(slow):,} functions are long, {len(marked):,} files have marked ones; the others take {rest:.0f} s")


if __name__ == "__main__":
    main()
