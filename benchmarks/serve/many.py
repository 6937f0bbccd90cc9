"""Thousands of collections touched in turn, described and searched, by a server that may open few files.

``python -m benchmarks many-collections [--json OUT] [--report DIR] [--collections 2000] [--descriptors 1024]``

Every call must be answered, and the server must keep its descriptors below the limit.
"""

import argparse
import shutil
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.frame.benchmark import Benchmark, Document, positive
from benchmarks.frame.tables import table
from benchmarks.serve.figures import OURS, figure
from benchmarks.serve.process import Limits, ServerProcess, serving
from crossview import connect
from crossview.engine.collections.home import Home
from crossview.engine.values.errors import CrossviewError
from crossview.engine.values.query import Query, SearchRequest

_LOOK = 50
"""Collections between two looks at the descriptors."""
_NEAR = SearchRequest([Query("v", key="a")], k=1, space="raw")


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Return settings and figures."""
    with tempfile.TemporaryDirectory(prefix="crossview-many-") as folder:
        home = Home(Path(folder) / "home")
        names = _made(home, options.collections)
        limits = Limits(memory=4 << 30, descriptors=options.descriptors)
        with serving(home.path, limits=limits) as server, connect(server.address, timeout=60) as client:
            began, failed, most = time.perf_counter(), 0, 0
            for number, name in enumerate(names * options.rounds):
                failed += not _touched(client, name)
                if number % _LOOK == 0:
                    most = max(most, _descriptors(server))
            seconds = time.perf_counter() - began
    values = {
        "collections touched": len(names) * options.rounds,
        "failures": failed,
        "most descriptors of a process": most,
        "ms per collection": 1_000 * seconds / len(names) / options.rounds,
    }
    rows = [figure("many", "collections in turn", OURS, metric, value) for metric, value in values.items()]
    return {
        "settings": {name: getattr(options, name) for name in ("collections", "descriptors", "rounds")},
        "rows": rows,
    }


def _made(home: Home, count: int) -> list[str]:
    """Make collections, copies of one, and return their names."""
    names = [f"c{number}" for number in range(count)]
    with home.create(names[0], ["v=vectors:dim=4"]) as first:
        first.items.put_vectors("v", ["a", "b"], np.eye(4, dtype=np.float32)[:2])
    for name in names[1:]:
        shutil.copytree(home.path / names[0], home.path / name)
    return names


def _touched(client: Any, name: str) -> bool:
    with suppress(CrossviewError):
        collection = client.open(name)
        collection.info()
        return len(collection.search(_NEAR)[0].hits) == 1
    return False


def _descriptors(server: ServerProcess) -> int:
    most = 0
    for process in server.processes:
        with suppress(OSError):  # it has ended
            most = max(most, len(list(Path(f"/proc/{process}/fd").iterdir())))
    return most


def markdown(document: Document) -> str:
    """Return the report."""
    lines = [["figure", "value"], *([row["metric"], f"{row['value']:,.4g}"] for row in document["rows"])]
    return f"# Many collections\n\n{table(lines)}"


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--collections", type=positive, default=2_000)
    parser.add_argument("--descriptors", type=positive, default=1_024, help="that each process may have")
    parser.add_argument("--rounds", type=positive, default=1, help="times that each is touched")


BENCHMARK = Benchmark("many-collections", __doc__, _arguments, measure, markdown)
