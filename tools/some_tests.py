"""Print the files of tests whose long tests .ci/run runs: a quarter of all, and those of the rooms that changed last.

A hash of the commit chooses the quarter, so that one commit always runs the same tests. Quarters take equal times, by
tests/seconds.txt. Rooms are those of the commits of the newest day; of their tests, ROOM_SECONDS at most are added.
"""

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TESTS = ROOT / "tests"
PARTS = 4
ROOM_SECONDS = 150.0
"""Maximum seconds of a processor for the long tests of the rooms that changed."""


def main() -> None:
    """Print the files, and on stderr how they were chosen."""
    commit = _git("rev-parse", "HEAD")
    number = int(hashlib.sha256(commit.encode()).hexdigest(), 16) % PARTS
    seconds = file_seconds()
    quarter = parts(seconds)[number]
    rooms = rooms_of(_changed())
    candidates = sorted(set(of_rooms(rooms)) & set(seconds) - set(quarter), key=lambda file: _rank(commit, file))
    added, rest = within(candidates, seconds, ROOM_SECONDS)
    _say(f"commit {commit[:12]}: part {number + 1} of {PARTS} of the long tests: {_size(quarter, seconds)}")
    _say(f"rooms of the newest day: {' '.join(sorted(rooms))}")
    _say(f"their other long tests: {_size(added, seconds)}; left out: {_size(rest, seconds)}")
    print("\n".join(sorted({*quarter, *added})))


def file_seconds() -> dict[str, float]:
    """Return the seconds of the long tests of each file of tests, 0 if none was measured."""
    seconds = {str(path.relative_to(ROOT)): 0.0 for path in TESTS.rglob("test_*.py")}
    for line in (TESTS / "seconds.txt").read_text(encoding="utf-8").splitlines():
        value, name = line.split()
        if (file := name.partition("::")[0]) in seconds:  # it may have another name since
            seconds[file] += float(value)
    return seconds


def parts(seconds: dict[str, float]) -> list[list[str]]:
    """Divide files into parts of about equal time: the longest first, each to the part that has least."""
    divided: list[list[str]] = [[] for _ in range(PARTS)]
    totals = [0.0] * PARTS
    for file in sorted(seconds, key=lambda file: (-seconds[file], file)):
        least = min(range(PARTS), key=lambda part: (totals[part], len(divided[part])))
        divided[least].append(file)
        totals[least] += seconds[file]
    return divided


def rooms_of(changed: list[str]) -> set[str]:
    """Return the folders of files, such as server/edge/pages; documents have one room."""
    folders = {Path(path).parent for path in changed}
    return {"documents" if folder.parts[:1] == ("docs",) else str(folder) for folder in folders}


def of_rooms(rooms: set[str]) -> list[str]:
    """Return the files of tests in the folders that mirror rooms, or in the nearest folder above that exists."""
    files = list[str]()
    for room in rooms:
        folder = ROOT / room if room.startswith("tests") else TESTS / room
        while not folder.is_dir():
            folder = folder.parent
        if folder != TESTS or room in ("tests", "."):
            files += [str(path.relative_to(ROOT)) for path in folder.glob("test_*.py")]
    return files


def within(files: list[str], seconds: dict[str, float], most: float) -> tuple[list[str], list[str]]:
    """Divide files into the first whose sum of seconds is at most ``most``, and the others."""
    added, rest, total = list[str](), list[str](), 0.0
    for file in files:
        fits = total + seconds[file] <= most
        (added if fits else rest).append(file)
        total += seconds[file] if fits else 0.0
    return added, rest


def _say(line: str) -> None:
    print(line, file=sys.stderr)


def _size(files: list[str], seconds: dict[str, float]) -> str:
    return f"{len(files)} files, {sum(seconds[file] for file in files):.0f} s of a processor"


def _rank(commit: str, file: str) -> str:
    return hashlib.sha256(f"{commit} {file}".encode()).hexdigest()


def _changed() -> list[str]:
    newest = int(_git("show", "-s", "--format=%ct", "HEAD"))
    lines = _git("log", f"--since={newest - 86_400}", "--format=", "--name-only", "HEAD").splitlines()
    return [line for line in lines if line]


def _git(*arguments: str) -> str:
    git = shutil.which("git") or "git"
    return subprocess.run([git, *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()


if __name__ == "__main__":
    main()
