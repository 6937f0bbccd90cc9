"""Extractions of the pictures of tests, and programs that are killed in the middle of one."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from logged_work import Logged
from long_jobs import is_alive, until

from crossview.engine.publishing.spreading.executor import Executor, Here
from crossview.engine.publishing.spreading.extracting import ExtractRequest, extract_rows
from crossview.engine.publishing.spreading.outcomes import Extraction

ONE = Here(1)


def extracted(place: Path, rows: Path | str, executor: Executor = ONE, **other: Any) -> Extraction:
    """Extract the pictures of a place into a folder, by its bundle, unless other options are given."""
    given = {"bundle": str(place / "bundles"), "published": "pets", "labels": "folder", "partition": 5}
    pictures = other.pop("pictures", str(place / "photos"))
    return extract_rows(ExtractRequest(pictures=pictures, to=str(rows), **{**given, **other}), executor)


def table(rows: Path) -> Any:
    """Return the rows of all partitions."""
    return pq.read_table(sorted(rows.glob("part-*.parquet")))


DRIVER = """
import sys
from pathlib import Path
from logged_work import Logged
from crossview.engine.publishing.spreading.executor import Here
from crossview.engine.publishing.spreading.extracting import ExtractRequest, extract_rows
from crossview.engine.publishing.spreading.ray_cluster import RayCluster

if __name__ == "__main__":
    pictures, rows, bundles, log, ray, size = sys.argv[1:]
    executor = RayCluster(ray, 2) if ray else Here(2)
    if ray:
        import logged_work
        from ray import cloudpickle
        cloudpickle.register_pickle_by_value(logged_work)
    request = ExtractRequest(
        pictures=pictures, to=rows, bundle=bundles, published="pets", labels="folder", partition=int(size)
    )
    print(extract_rows(request, Logged(executor, Path(log))).kept)
"""


def killed_driver(arguments: list[str], log: Logged, folder: Path) -> int:
    """Run a driver until it has finished a partition, kill it, run it again; return the partitions that it kept.

    No partition that had ended is started again.
    """
    (folder / "driver.py").write_text(DRIVER)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, str(folder / "driver.py"), *arguments]
    first = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
    try:
        while not (log.lines("end") and log.running()):
            assert first.poll() is None, "the driver ended before it could be killed"
            time.sleep(0.01)
    finally:
        first.send_signal(signal.SIGKILL)
        first.wait()
    until(lambda: not any(is_alive(process) for _, process in log.lines("start")))
    time.sleep(2)  # a cluster ends the tasks that it was about to begin
    before = {number for number, _ in log.lines("end")}
    started = len(log.lines("start"))
    again = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    assert not before & {number for number, _ in log.lines("start")[started:]}
    assert len({number for number, _ in log.lines("end")}) == len(log.lines("end"))
    return int(again.stdout.split()[-1])
