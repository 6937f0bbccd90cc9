"""The finished parts of a run, stored beside its output, so that a rerun computes only the missing parts."""

import argparse
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks.frame.digest import code_digest
from benchmarks.frame.record import plain
from benchmarks.frame.workers import each

Trial = dict[str, Any]
_ELSEWHERE = ("json", "report", "workers", "trials", "first_seed")  # options that change no trial
_SEEDS = ("seeds", "workers")  # settings that change no trial


class Journal:
    """Finished pieces of work by key, in a file of one JSON line each; without a path in memory only."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._done: dict[str, Any] = {}
        if path is not None and path.exists():
            text = path.read_text(encoding="utf-8")
            complete = text[: text.rfind("\n") + 1]
            if complete != text:  # the run was killed while it wrote the last line
                path.write_text(complete, encoding="utf-8")
            self._done = dict(json.loads(line) for line in complete.splitlines())

    def __contains__(self, key: str) -> bool:
        return key in self._done

    def __getitem__(self, key: str) -> Any:
        return self._done[key]

    def add(self, key: str, value: Any) -> None:
        """Write down a finished piece; from now on it is what was read back from its JSON."""
        line = json.dumps([key, value], default=plain)
        self._done[key] = json.loads(line)[1]
        if self._path is not None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("a", encoding="utf-8") as file:
                file.write(line + "\n")


def partial_folder(options: argparse.Namespace, settings: Mapping[str, Any], run: Callable[..., Any]) -> Path:
    """Return the folder beside the output for what a run with these options, settings and code has finished."""
    arguments = {name: value for name, value in vars(options).items() if name not in _ELSEWHERE}
    fixed = {name: value for name, value in settings.items() if name not in _SEEDS}
    text = json.dumps([arguments, fixed, code_digest(run)], sort_keys=True, default=plain)
    name = hashlib.sha256(text.encode()).hexdigest()[:16]
    return Path(options.json.with_name(options.json.name + ".partial"), name)


def cache_folder(options: argparse.Namespace) -> Path:
    """Return the folder beside the output for what is extracted once and serves all settings."""
    return Path(options.json.with_name(options.json.name + ".cache"))


def run_trials(
    options: argparse.Namespace,
    settings: Mapping[str, Any],
    tasks: Mapping[str, Any],
    run: Callable[..., Trial],
    *arguments: Any,
    progress: Callable[[Trial], str] = lambda trial: f"{trial['seconds']:.0f} s",
) -> list[Trial]:
    """Return ``run(task, *arguments)`` of every task, in their order; what an earlier run finished is not run again.

    ``run`` is a function of a module, so that worker processes find it, and returns JSON values. Finished trials are
    stored beside the output ``options.json`` by their tasks' names; ``progress`` is what is printed of each.
    """
    console = Console(stderr=True)
    journal = Journal(partial_folder(options, settings, run) / "trials.jsonl")
    missing = {name: task for name, task in tasks.items() if name not in journal}
    if len(missing) < len(tasks):
        console.print(f"{len(tasks) - len(missing)} of {len(tasks)} were finished before", highlight=False)
    for name, trial in each(missing, run, *arguments, workers=options.workers):
        journal.add(name, trial)
        console.print(f"{name}: {progress(trial)}", highlight=False)
    return [journal[name] for name in tasks]


def by_seed(seeds: Sequence[int]) -> dict[str, int]:
    """Return seeds as named tasks."""
    return {f"seed {seed}": seed for seed in seeds}
