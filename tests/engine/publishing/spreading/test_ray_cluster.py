"""A Ray cluster gives the rows of this machine, also if a worker or the program is killed."""

import os
import re
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import logged_work
import pytest
from logged_work import FailingWork, Logged
from ports import free_port
from spread_rows import extracted, killed_driver, table

from crossview.engine.collections.collection import Collection
from crossview.engine.publishing.address import engine_address
from crossview.engine.publishing.milvus import Milvus
from crossview.engine.publishing.spreading.executor import Here
from crossview.engine.publishing.spreading.extracting import ExtractRequest, extract_rows
from crossview.engine.publishing.spreading.placing import PlaceRequest, place_rows
from crossview.engine.publishing.spreading.ray_cluster import RayCluster
from crossview.engine.values.errors import InvalidInputError, NotInstalledError, NotReadyError
from crossview.features.extras import install_command

TWO = RayCluster("local", 2)
pytestmark = pytest.mark.filterwarnings("default")  # of Ray


@pytest.fixture(scope="module")
def local(place: Path, indexed: Collection) -> Path:
    """The rows of all pictures, extracted here, in partitions of two pictures."""
    extracted(place, place / "local", partition=2)
    return place / "local"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a cluster of two cores, whose processes end with the test."""
    address = f"127.0.0.1:{free_port()}"
    ray = Path(sys.executable).with_name("ray")
    options = ["--num-cpus=2", "--include-dashboard=false", "--disable-usage-stats", "--block"]
    folder = tmp_path_factory.mktemp("ray")
    os.environ |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with (folder / "log").open("wb") as log:
        head = subprocess.Popen(
            [str(ray), "start", "--head", f"--port={address.rpartition(':')[2]}", *options],
            stdout=log,
            stderr=log,
            env=environment,
            start_new_session=True,
        )
    try:
        while b"Ray runtime started" not in (folder / "log").read_bytes():
            assert head.poll() is None, (folder / "log").read_text()
            time.sleep(0.1)
        yield address
    finally:
        os.killpg(head.pid, signal.SIGKILL)
        head.wait(300)


@pytest.mark.long
def test_rows_are_those_of_this_machine(place: Path, local: Path, cluster: str, tmp_path: Path) -> None:
    """They are equal bit for bit, in the same files, with the same bad pictures; a later call has nothing to do."""
    made = extracted(place, tmp_path / "rows", RayCluster(cluster, 2), partition=2)
    assert (made.items, made.bad, made.partitions) == (18, 2, 10)
    names = [file.name for file in sorted(local.iterdir())]
    assert [file.name for file in sorted((tmp_path / "rows").iterdir())] == names
    assert table(tmp_path / "rows").equals(table(local))
    assert extracted(place, tmp_path / "rows", RayCluster(cluster, 2), partition=2).kept == 10


@pytest.mark.long
def test_a_killed_worker_is_replaced(place: Path, local: Path, cluster: str, tmp_path: Path) -> None:
    """Only its partition begins again; the rows are the same."""
    from ray import cloudpickle

    cloudpickle.register_pickle_by_value(logged_work)
    log = Logged(RayCluster(cluster, 2), tmp_path / "log")
    killed = list[int]()

    def progress(what: str, done: int, total: int, note: str = "") -> None:
        running = log.running()
        if not killed and done < total and running:
            number, pid = running.popitem()
            os.kill(pid, signal.SIGKILL)
            killed.append(number)

    request = ExtractRequest(
        pictures=str(place / "photos"),
        to=str(tmp_path / "rows"),
        bundle=str(place / "bundles"),
        published="pets",
        labels="folder",
        partition=2,
    )
    assert extract_rows(request, log, progress).items == 18
    ends = sorted(number for number, _ in log.lines("end"))
    starts = sorted(number for number, _ in log.lines("start"))
    assert ends == list(range(10))
    assert starts == sorted([*range(10), *killed])
    assert table(tmp_path / "rows").equals(table(local))


@pytest.mark.long
def test_a_killed_program_continues_without_a_partition_twice(
    place: Path, local: Path, cluster: str, tmp_path: Path
) -> None:
    """The same call continues it, with the same rows."""
    log = Logged(TWO, tmp_path / "log")
    arguments = [str(place / "photos"), str(tmp_path / "rows"), str(place / "bundles"), str(log.log), cluster, "2"]
    assert killed_driver(arguments, log, tmp_path) > 0
    assert table(tmp_path / "rows").equals(table(local))


@pytest.mark.long
def test_errors_of_workers_are_raised(cluster: str) -> None:
    """They look as they do here, without the traceback of another process."""
    from ray import cloudpickle

    cloudpickle.register_pickle_by_value(logged_work)
    for executor in (Here(), RayCluster(cluster, 1)):
        with pytest.raises(InvalidInputError, match=r"^task 7 cannot be done$"):
            list(executor.results(FailingWork(), [7]))


def test_without_ray_the_remedy_is_named(
    place: Path, indexed: Collection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Everything else works."""
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(NotInstalledError, match=re.escape(install_command("ray"))):
        extracted(place, tmp_path / "rows", TWO)
    assert extracted(place, tmp_path / "rows").items == 18


@pytest.mark.long
def test_a_cluster_that_does_not_answer_is_named(place: Path, indexed: Collection, tmp_path: Path) -> None:
    """The message has the command that starts one."""
    with pytest.raises(NotReadyError, match=r"no Ray cluster answers at 127.0.0.1:1: start a cluster"):
        extracted(place, tmp_path / "rows", RayCluster("127.0.0.1:1"))


def test_an_engine_in_a_file_is_filled_from_here(place: Path, tmp_path: Path) -> None:
    """Only one process can open it."""
    engine = Milvus(engine_address(f"milvus:{tmp_path}/items.db"), timeout=300)
    request = PlaceRequest(rows="rows", bundle=str(place / "bundles"), published="pets", engine=engine)
    with pytest.raises(InvalidInputError, match="is a file, which one process can open: place without a cluster"):
        place_rows(request, TWO)
