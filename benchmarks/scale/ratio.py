"""An index of ours beside raw FAISS with the same parameters, in one process: the two take turns."""

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.frame.record import usable_cores
from benchmarks.scale.data import VIEWS, Data, Vectors
from benchmarks.scale.engine import Engine
from benchmarks.scale.engines import ENGINES
from benchmarks.scale.worker import BATCH
from benchmarks.store.timing import OURS, Run, compared, take_turns

PAIRS: Mapping[str, str] = {
    "flat": "Flat",
    "ivf": "IVF2048,Flat",
    "ivf float16": "IVF2048,SQfp16",
    "hnsw": "HNSW32",
    "scan": "PQ32x4fs,RFlat",
}
"""Kinds of index of ours, and the kinds of FAISS that they use."""
ALONE, BATCHES = "one query", f"batches of {BATCH}"
FAISS, INDEX = "faiss", "crossview index"
_ROUNDS_OF_BATCHES = 5


def measured(folder: Path, kind: str, task: str, queries: int) -> list[dict[str, Any]]:
    """Return times and ratios of a kind, of single queries or of batches; ``folder`` is that of the data.

    The caller limits the threads of this process.
    """
    data = Data(folder)
    with tempfile.TemporaryDirectory(prefix="crossview-ratio-") as scratch:
        kinds = {INDEX: kind, FAISS: PAIRS[kind]}
        engines = {name: _built(name, own, Path(scratch, name), data) for name, own in kinds.items()}
        rows = []
        for effort in ENGINES[INDEX].kinds[kind].efforts:
            for view in VIEWS:
                runs = {name: _run(engine, data.queries[view], effort, task) for name, engine in engines.items()}
                rounds = queries if task == ALONE else _ROUNDS_OF_BATCHES
                seconds = take_turns({OURS: runs[INDEX], FAISS: runs[FAISS]}, rounds)
                names = {"items": data.count, "part": "ratio", "queries": view, "effort": effort, "condition": ""}
                for row in compared(task, seconds, 1 if task == ALONE else BATCH):
                    method = INDEX if row["method"] == OURS else FAISS
                    rows.append({**names, **row, "method": f"{method} {kinds[method]}"})
        return rows


def _built(name: str, kind: str, folder: Path, data: Data) -> Engine:
    folder.mkdir()
    engine = ENGINES[name].engine(kind, folder, data)
    engine.build()
    return engine


def _run(engine: Engine, queries: Vectors, effort: int, task: str) -> Run:
    size = 1 if task == ALONE else BATCH
    engine.use_threads(1 if task == ALONE else usable_cores())
    blocks = [queries[first : first + size] for first in range(0, len(queries) - size + 1, size)]
    return lambda number: engine.search(blocks[number % len(blocks)], effort, None)
