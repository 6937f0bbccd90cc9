"""A collection that follows its folder: the time of a run of ``crossview index`` after many files have changed.

``python -m benchmarks follow [--json OUT] [--report DIR] [--files 10000]``

The files are drawn pictures of 384 x 256 pixels. Before each measured run, some files get other pictures, some move,
some are renamed, some are removed, and the root is renamed. The time is that of the whole command, with the start of
Python. Each item has the hash of its first picture as a label, which must stay with it.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, cast

import numpy as np
from rich.console import Console

from benchmarks.frame.benchmark import Benchmark, Document, positive
from benchmarks.frame.headlines import stated
from benchmarks.frame.tables import figures_by, table
from benchmarks.store.timing import OURS, figure
from crossview.engine.collections.home import Home
from crossview.engine.values.item import ItemUpdate
from crossview.features.encoding import png

NAME, VIEWS = "photos", ("color", "sift", "gist")
NOTHING, CHANGED, WALK = "nothing has changed", "files and root have changed", "os.walk and stat"
WANTED_S = 6.0
_ITEMS_AT_ONCE = 1_000


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Return settings and rows."""
    console, chance = Console(stderr=True), np.random.default_rng(options.seed)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        root = folder / "tree"
        console.print(f"drawing {options.files:,} files ...", highlight=False)
        for number in range(options.files):
            _write(root / f"{number % 50}" / f"{number % 7}" / f"{number}.png", options.seed, number)
        with Home(folder / "home").create(NAME, VIEWS):
            pass
        console.print("indexing ...")
        first, _ = _index(folder, root)
        _label(folder)
        rows = [figure("first run", OURS, "s", first)]
        for turn in range(options.rounds):
            console.print(f"round {turn + 1} of {options.rounds} ...", highlight=False)
            root = _changed(root, folder / f"tree-{turn}", options, turn, chance)
            seconds, report = _index(folder, root)
            rows += [figure(CHANGED, OURS, name, value) for name, value in _counts(folder, report).items()]
            rows += [figure(CHANGED, OURS, "s", seconds), figure(NOTHING, OURS, "s", _index(folder, root)[0])]
            rows.append(figure(NOTHING, WALK, "s", _walk(root)))
    settings = {name: getattr(options, name) for name in ("files", "each", "rounds", "seed")}
    return {"settings": settings, "rows": _medians(rows)}


def _write(path: Path, seed: int, number: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    blocks = np.random.default_rng((seed, number)).integers(0, 255, (16, 24, 3), np.uint8)
    path.write_bytes(cast(bytes, png(blocks.repeat(16, 0).repeat(16, 1))))


def _index(folder: Path, root: Path) -> tuple[float, dict[str, Any]]:
    """Return the seconds and the report of a run."""
    command = [sys.executable, "-m", "crossview.server.commands.cli", "index", NAME, str(root), "--json"]
    began = time.perf_counter()
    done = subprocess.run([*command, "--home", str(folder / "home")], check=True, capture_output=True)
    return time.perf_counter() - began, json.loads(done.stdout)["result"]


def _label(folder: Path) -> None:
    """Give each item the hash of its picture as a label."""
    after = ""
    with Home(folder / "home").open(NAME) as collection:
        while items := collection.items(after=after, limit=_ITEMS_AT_ONCE):
            collection.items.update([ItemUpdate(item.key, labels=(item.content_hash,)) for item in items])
            after = items[-1].key


def _changed(root: Path, new: Path, options: argparse.Namespace, turn: int, chance: np.random.Generator) -> Path:
    """Change files, and return the renamed root."""
    files = sorted(path for path in root.rglob("*.png"))
    picked = [files[place] for place in chance.permutation(len(files))[: 4 * options.each]]
    edited, moved, renamed, removed = (picked[start::4] for start in range(4))
    (root / "moved").mkdir(exist_ok=True)
    for number, path in enumerate(edited):
        _write(path, options.seed + 1, turn * options.each + number)
    for path in moved:
        path.rename(root / "moved" / path.name)
    for number, path in enumerate(renamed):
        path.rename(path.with_name(f"renamed-{turn}-{number}.png"))
    for path in removed:
        path.unlink()
    return root.rename(new)


def _counts(folder: Path, report: dict[str, Any]) -> dict[str, float]:
    """Return what a run did, and what is wrong afterwards."""
    counts = {"updated": report["updated"], "moved": len(report["moved"]), "added": report["added"]}
    labels, ghosts, after = set[str](), 0, ""
    with Home(folder / "home").open(NAME) as collection:
        while items := collection.items(after=after, limit=_ITEMS_AT_ONCE):
            labels.update(*(item.labels for item in items))
            ghosts += sum(not item.missing and not os.path.exists(item.source) for item in items)
            after = items[-1].key
        total = collection.items.count()
        (hits,) = collection.search(view="color", key=items[-1].key if items else after, k=1_000)
        ghosts += sum(not os.path.exists(hit.source) for hit in hits)
    return {**counts, "labels lost": total - len(labels), "ghosts": ghosts}


def _walk(root: Path) -> float:
    """Return the seconds of the least that any program must do."""
    began = time.perf_counter()
    for folder, _, files in os.walk(root):
        for name in files:
            os.stat(os.path.join(folder, name))
    return time.perf_counter() - began


def _medians(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    values: dict[tuple[str, str, str], list[float]] = {}
    for row in rows:
        values.setdefault((row["task"], row["method"], row["metric"]), []).append(row["value"])
    return [figure(*place, float(np.median(numbers))) for place, numbers in values.items()]


def markdown(document: Document) -> str:
    """Return the report."""
    settings, tasks = document["settings"], figures_by(document["rows"], "task")
    rows = [["run", "s", "wanted", "updated", "moved", "added", "labels lost", "ghosts", "os.walk and stat, s"]]
    for (task,), methods in tasks.items():
        ours, walk = methods[OURS], methods.get(WALK, {})
        limit = f"<= {WANTED_S:g}" if task == CHANGED else ""
        counted = [f"{ours[name]:,.0f}" if name in ours else "" for name in rows[0][3:8]]
        rows.append([task, f"{ours['s']:.1f}", limit, *counted, f"{walk['s']:.2f}" if walk else ""])
    about = (
        f"{settings['files']:,} files of 384 x 256 pixels in the views {', '.join(VIEWS)}; medians over "
        f"{settings['rounds']} rounds, in each of which {settings['each']} files get other pictures, as many "
        "move, are renamed and are removed, and the root is renamed. The time is "
        "that of the whole command. Ghosts are hits, or items that are not marked as missing, without a file."
    )
    return "\n\n".join(["# Following a folder", about, table(rows)])


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--files", type=positive, default=10_000, help="number of files")
    parser.add_argument("--each", type=positive, default=100, help="files of each kind of change in a round")
    parser.add_argument("--rounds", type=positive, default=3)
    parser.add_argument("--seed", type=int, default=0)


BENCHMARK = Benchmark(
    "follow",
    __doc__,
    _arguments,
    measure,
    markdown,
    headline=stated(
        "Follow a folder of 10,000 pictures of which 400 changed: s",
        "{0:.1f}",
        "{1:.0f} (first indexing)",
        {"task": "files and root have changed", "method": "crossview", "metric": "s"},
        {"task": "first run", "method": "crossview", "metric": "s"},
    ),
)
