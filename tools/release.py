"""Builds the distributions of a release and checks what a release needs; ``make release-check`` runs it.

    .venv-release/bin/python tools/release.py --out dist --installed .venv/bin/python

It needs build, twine, cffconvert and pip-licenses. It exits with 1 if it finds a problem, after it has printed all.
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from email import message_from_string
from email.message import Message
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ALLOWED = {
    *("0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "ISC", "MIT", "MIT-CMU", "PSF-2.0", "Zlib"),
    *("3-Clause BSD License", "Apache Software License", "BSD License", "ISC License (ISCL)", "MIT License"),
}
"""Licences that dependencies of users may have: SPDX identifiers, and the texts of older metadata."""
FIELDS = (
    *("Name", "Version", "Summary", "Author", "Keywords", "Requires-Python", "License-Expression", "License-File"),
    *("Classifier", "Requires-Dist", "Provides-Extra", "Description-Content-Type"),
)
"""Fields that the metadata of a distribution must have."""
LINK = re.compile(r"\]\((?!https?:|#)([^)\s]+)\)")
Problems = Iterator[str]


def main() -> None:
    """Read the arguments, build, check, and print the problems."""
    parser = argparse.ArgumentParser(description="Build and check the distributions of a release.")
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="folder of the distributions")
    parser.add_argument(
        "--installed", type=Path, default=ROOT / ".venv/bin/python", help="Python with the dependencies"
    )
    arguments = parser.parse_args()
    wheel, source = build(arguments.out.resolve())
    checks: Mapping[str, Callable[[], Problems]] = {
        "descriptions render (twine)": lambda: failures(
            [sys.executable, "-m", "twine", "check", "--strict", wheel, source]
        ),
        "the citation is valid": lambda: failures([Path(sys.executable).with_name("cffconvert"), "--validate"]),
        "versions agree": lambda: version_problems(ROOT, version_of(wheel)),
        "the wheel has one package and no tests": lambda: wheel_problems(wheel),
        "the metadata is complete": lambda: metadata_problems(metadata_of(wheel)),
        "the source builds the same wheel": lambda: difference_problems(wheel),
        "licences of dependencies are allowed": lambda: licence_problems(arguments.installed),
    }
    all_problems = []
    for name, check in checks.items():
        problems = list(check())
        print(f"{'FAILED' if problems else 'ok':<7} {name}", *(f"        {problem}" for problem in problems), sep="\n")
        all_problems += problems
    relative = LINK.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    if relative and not metadata_of(wheel).get_all("Project-URL"):
        print(
            f"note: package indexes do not show the {len(relative)} relative links and pictures of README.md: "
            "no address of the project is known that could precede them"
        )
    print(f"wrote {source}\nwrote {wheel}")
    sys.exit(bool(all_problems))


def build(out: Path) -> tuple[Path, Path]:
    """Build the source distribution, and the wheel from it; return the wheel and the source distribution."""
    out.mkdir(parents=True, exist_ok=True)
    for old in (*out.glob("crossview-*.whl"), *out.glob("crossview-*.tar.gz")):
        old.unlink()
    _build("--outdir", out, ROOT)
    (wheel,), (source,) = out.glob("crossview-*.whl"), out.glob("crossview-*.tar.gz")
    return wheel, source


def _build(*arguments: str | Path) -> None:
    """Run build with the setuptools of this environment; end the program with its output if it fails."""
    done = subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", *arguments], capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(done.stdout + done.stderr)


def failures(command: list[str | Path]) -> Problems:
    """Yield the output of a command that fails."""
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        yield (done.stdout + done.stderr).strip()


def metadata_of(wheel: Path) -> Message:
    """Return the metadata of a wheel."""
    with zipfile.ZipFile(wheel) as file:
        (name,) = (name for name in file.namelist() if name.endswith(".dist-info/METADATA"))
        return message_from_string(file.read(name).decode())


def version_of(wheel: Path) -> str:
    """Return the version in the metadata of a wheel."""
    return str(metadata_of(wheel)["Version"])


def version_problems(root: Path, version: str) -> Problems:
    """Yield the files of a project that state another version than that of the wheel."""
    patterns = {
        "pyproject.toml": r'^version = "(.*)"$',
        "CITATION.cff": r"^version: (.*)$",
        "CHANGELOG.md": r"^## (\d\S*)",
    }
    for name, pattern in patterns.items():
        stated = re.search(pattern, (root / name).read_text(encoding="utf-8"), re.M)
        if stated is None or stated[1] != version:
            yield f"{name} states version {stated[1] if stated else 'nowhere'}, and the wheel {version}"


def wheel_problems(wheel: Path) -> Problems:
    """Yield what a wheel has too much, or lacks."""
    with zipfile.ZipFile(wheel) as file:
        names = file.namelist()
    tops = {name.partition("/")[0] for name in names if ".dist-info/" not in name}
    if tops != {"crossview"}:
        yield f"the wheel installs {', '.join(sorted(tops))}, not crossview alone"
    for required in ("crossview/py.typed", "licenses/LICENSE"):
        if not any(name.endswith(required) for name in names):
            yield f"the wheel lacks {required}"
    for name in names:
        if re.search(r"(^|/)(tests?|conftest\.py|test_[^/]*\.py)(/|$)", name):
            yield f"the wheel contains the test {name}"


def metadata_problems(metadata: Message) -> Problems:
    """Yield the missing fields, and the versions of Python without a classifier."""
    yield from (f"the metadata lacks {name}" for name in FIELDS if name not in metadata)
    oldest = int(str(metadata["Requires-Python"]).rpartition(".")[2])
    classifiers = metadata.get_all("Classifier", [])
    stated = {int(classifier.rpartition(".")[2]) for classifier in classifiers if "Python :: 3." in classifier}
    missing = set(range(oldest, max(stated, default=oldest) + 1)) - stated
    yield from (f"no classifier states Python 3.{minor}" for minor in sorted(missing))


def contents(wheel: Path) -> dict[str, str]:
    """Return the recorded hash of each file of a wheel."""
    with zipfile.ZipFile(wheel) as file:
        (name,) = (name for name in file.namelist() if name.endswith(".dist-info/RECORD"))
        lines = file.read(name).decode().splitlines()
    return {path: digest for path, digest, _ in (line.rsplit(",", 2) for line in lines)}


def difference_problems(wheel: Path) -> Problems:
    """Yield the files in which a wheel differs from one that is built directly from the repository."""
    with tempfile.TemporaryDirectory() as scratch:
        shutil.rmtree(ROOT / "build", ignore_errors=True)  # setuptools would add what an earlier build left there
        _build("--wheel", "--outdir", scratch, ROOT)
        (other,) = Path(scratch).glob("*.whl")
        ours, theirs = contents(wheel), contents(other)
    for path in sorted(ours.keys() | theirs.keys()):
        if ours.get(path) != theirs.get(path):
            yield f"{path} differs between the wheel of the source archive and that of the repository"


def licence_problems(python: Path) -> Problems:
    """Print the licence of each installed dependency of users, and yield those that are not allowed."""
    pinned = re.findall(r"^([\w.-]+)==\S+ \\$", (ROOT / "requirements/user.txt").read_text(encoding="utf-8"), re.M)
    command = [sys.executable, "-m", "piplicenses", "--python", str(python), "--from=mixed", "--format=json"]
    done = subprocess.run(
        [*command, "--with-system", "--packages", *pinned], capture_output=True, text=True, check=True
    )
    licences = {row["Name"]: row["License"] for row in json.loads(done.stdout)}
    for name, licence in sorted(licences.items(), key=lambda item: item[0].lower()):
        print(f"        {name:<26} {licence}")
    for name in pinned:
        if not any(_normal(name) == _normal(other) for other in licences):
            yield f"{name} is not installed beside {python}, so its licence is unknown: run make setup"
    for name, licence in licences.items():
        if not all(part in ALLOWED for part in re.split(r" AND | OR |; ", licence)):
            yield f"{name} has the licence {licence}, which tools/release.py does not allow"


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


if __name__ == "__main__":
    main()
