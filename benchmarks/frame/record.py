"""The form every benchmark's figures are written in: tidy rows, with the machine and the versions beside them."""

import argparse
import importlib.metadata
import json
import os
import platform
import shlex
import shutil
import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

Row = Mapping[str, Any]
"""One figure: "method", "metric", "value" and, where there are trials, "std"; any further JSON values that name it."""

ROOT = Path(__file__).resolve().parents[2]
_SOURCES = ("--", ".", ":!benchmarks/results", ":!docs", ":!*.md")  # what can change a figure
_MAIN = ("main", "origin/main")
_PACKAGES = {
    "numpy": "numpy",
    "scipy": "scipy",
    "sklearn": "scikit-learn",
    "faiss": "faiss-cpu",
    "cv2": "opencv-python-headless",
    "pillow": "pillow",
}


def record(name: str, command: str) -> dict[str, Any]:
    """Return the head of a run's document: what is run, when, from which sources, on which machine."""
    date = datetime.now(UTC).date().isoformat()
    about = {"benchmark": name, "command": command, "date": date}
    return {**about, **source(), "machine": machine(), "versions": versions()}


def command(name: str, parser: argparse.ArgumentParser, options: argparse.Namespace) -> str:
    """Return the command line that runs a benchmark with the options, paths relative to the project's folder.

    The path of the output and options with default values are left out.
    """
    words = ["python", "-m", "benchmarks", name]
    for option, value in vars(options).items():
        if option not in ("json", "report") and value != parser.get_default(option):
            words += [f"--{option.replace('_', '-')}", *_words(value)]
    return shlex.join(words)


def provenance(document: Mapping[str, Any]) -> str:
    """Return one paragraph: command, commit, date, machine and duration of the run that a document is of."""
    host = document["machine"]
    return (
        f"`{document['command']}`, {_commit_in_words(document)}, {document['date']}; {host['cores']} cores of "
        f"{host['cpu']}, {host['memory_gib']} GiB; {document['seconds']:,.0f} s."
    )


def made_of(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return how a document was made, in words, by name."""
    host, versions_of = document["machine"], document.get("versions", {})
    return {
        "command": document["command"],
        "version": _commit_in_words(document),
        "date": document["date"],
        "machine": f"{host['cores']} cores of {host['cpu']}, {host['memory_gib']} GiB",
        "packages": ", ".join(f"{name} {version}" for name, version in versions_of.items()),
        "seconds": f"{document['seconds']:,.0f}",
        "seeds": _in_words(document["settings"].get("seeds")),
    }


def source() -> dict[str, Any]:
    """Return what identifies the sources; commits are "" without a repository.

    A branch can be rewritten before it is merged, and its commits are gone then. ``base``, the last commit that the
    branch shares with the main branch, stays valid, as does the digest of the code.
    """
    commit = _git("rev-parse", "HEAD").strip()
    base = next(filter(None, (_git("merge-base", "HEAD", main).strip() for main in _MAIN)), commit)
    dirty = bool(_git("status", "--porcelain", *_SOURCES))
    return {"commit": commit, "base": base, "dirty": dirty}


def history(root: Path = ROOT) -> frozenset[str] | None:
    """Return the commits of a project's history; None if git does not know all of them."""
    if _git("rev-parse", "--is-shallow-repository", root=root).strip() != "false":
        return None
    return frozenset(_git("rev-list", "HEAD", root=root).split())


def write_json(path: Path, document: Mapping[str, Any]) -> None:
    """Write the complete document or nothing, a line for each row; a figure that is not finite is a ValueError."""
    text = "{\n" + ",\n".join(f"{json.dumps(name)}: {_lines(value)}" for name, value in document.items()) + "\n}\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(path)


def machine() -> dict[str, Any]:
    """Return processor model, usable cores, memory in GiB and operating system of the machine that measures."""
    return {
        "cpu": _cpu_model(),
        "cores": usable_cores(),
        "memory_gib": _memory_gib(),
        "system": f"{platform.system()} {platform.release()}",
    }


def versions() -> dict[str, str]:
    """Return versions of Python and of the numeric packages, "absent" where one is not installed."""
    packages = {"python": platform.python_version()}
    for module, distribution in _PACKAGES.items():
        try:
            packages[module] = importlib.metadata.version(distribution)
        except importlib.metadata.PackageNotFoundError:
            packages[module] = "absent"
    return packages


def usable_cores() -> int:
    """Return cores this process may run on, which a container can make fewer than the machine has."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _lines(value: Any) -> str:
    """Return JSON with a line for each element of a list of objects."""
    if isinstance(value, list) and value and all(isinstance(element, dict) for element in value):
        return "[\n" + ",\n".join(map(_lines, value)) + "\n]"
    return json.dumps(_brief(value), allow_nan=False, default=plain)


def _brief(value: Any) -> Any:
    """Return JSON values with six significant digits of every float, which is more than any figure has."""
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, Mapping):
        return {name: _brief(part) for name, part in value.items()}
    return [_brief(part) for part in value] if isinstance(value, list | tuple) else value


def _commit_in_words(document: Mapping[str, Any]) -> str:
    words = f"commit {document['commit'][:7] or 'unknown'}"
    if document["dirty"]:
        words += " with uncommitted changes"
    if document.get("commit_lost"):
        base = document.get("base")
        words += " (not in the repository" + (f"; based on {base[:7]})" if base else ")")
    return words


def _in_words(seeds: Any) -> str:
    if not isinstance(seeds, list) or not seeds:
        return "" if seeds is None else str(seeds)
    return f"{seeds[0]} to {seeds[-1]}" if len(seeds) > 1 else str(seeds[0])


def _git(*arguments: str, root: Path = ROOT) -> str:
    program = shutil.which("git")
    if program is None:
        return ""
    try:
        done = subprocess.run([program, *arguments], cwd=root, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return done.stdout


def _words(value: Any) -> list[str]:
    """Return an option's value as words of a command line."""
    if isinstance(value, Path):
        return [os.path.relpath(value, ROOT)]
    if isinstance(value, tuple):
        return [",".join(map(str, value))]
    return list(map(str, value)) if isinstance(value, list) else [str(value)]


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _memory_gib() -> float | None:
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1)
    except (AttributeError, OSError, ValueError):
        return None


def plain(value: Any) -> Any:
    """Return NumPy scalars and arrays as the JSON values they stand for."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")
