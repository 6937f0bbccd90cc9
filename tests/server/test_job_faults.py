"""After a kill of a job's process, its server or its client, every job has ended, and no space is half made."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from long_jobs import BOTH, ended, endless, job_processes, learning, ready, until
from seeds import seed_of
from terminal import fill_rows

from crossview.engine.collections.home import Home
from crossview.engine.values.recipe import Recipe
from crossview.server.client.client import Client
from crossview.server.client.job import Job
from crossview.server.wire.errors import JobStoppedError

ROOT = Path(__file__).resolve().parents[2]
VICTIMS = ("job", "server", "client")
RECIPE = Recipe(spec="multi-npp", views=BOTH, dim=4, settings={"batch_size": 8, "max_iter": 12})
"""A training of about half a second."""
FLAGS = (
    "--learner",
    "multi-npp",
    "--views",
    "color,gist",
    "--dim",
    "4",
    "--set",
    "batch_size=8",
    "--set",
    "max_iter=12",
)


class Served:
    """A home that a process serves, which may be killed and started again."""

    def __init__(self, home: Path) -> None:
        self.home = Home(home)
        fill_rows(self.home, 10)
        self.start()

    def start(self) -> None:
        """Start the server, and wait until it answers."""
        command = [
            sys.executable,
            "-m",
            "crossview.server.commands.cli",
            "serve",
            "--port",
            "0",
            "--home",
            str(self.home.path),
        ]
        environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
        self.process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, env=environment)
        assert self.process.stdout is not None
        self.address = self.process.stdout.readline().split()[-1]

    def kill(self) -> None:
        """Kill the server at once."""
        self.process.kill()
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    made = Served(tmp_path_factory.mktemp("home"))
    with Client(made.address) as client:
        ready(client)
    yield made
    made.kill()


def check(served: Served, jobs: list[str]) -> list[Job]:
    """Check that every job has ended for a reason, and that only finished ones have a space; none is active."""
    with Client(served.address) as client:
        found = [ended(client, job) for job in jobs]
        info = client.open("rows").info()
    assert info.active_space == "raw"
    with served.home.open("rows") as collection:
        for job in found:
            made = collection.spaces.made_by(job.id)
            assert (made is not None) == (job.state == "done"), job
            assert (job.state == "done") == (job.error == "") == (job.result is not None), job
            assert job.state in ("done", "failed", "cancelled")
        assert collection.storage.findings() == ()
        with collection._opened.folder.writer.hold():
            pass
    return found


def kill_job(served: Served, delay: float) -> list[str]:
    """Kill a process that carries out jobs, while one is carried out and another waits."""
    with Client(served.address) as client:
        rows = client.open("rows").detached()
        jobs = [rows.train(RECIPE, space=f"space-{number}", activate=False).id for number in range(2)]
        time.sleep(delay)
        for process in job_processes(served.process.pid):
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
    return jobs


def kill_server(served: Served, delay: float) -> list[str]:
    """Kill the server, with jobs as before, and start it again."""
    with Client(served.address) as client:
        rows = client.open("rows").detached()
        jobs = [rows.train(RECIPE, space=f"space-{number}", activate=False).id for number in range(2)]
        time.sleep(delay)
    served.kill()
    served.start()
    return jobs


def kill_client(served: Served, delay: float) -> list[str]:
    """Kill a command that waits for its training; return the job that it began, if it came so far."""
    with Client(served.address) as client:
        before = {job.id for job in client.jobs.list()}
        command = (*("train", "rows", "--space", "space-0", "--no-activate"), *FLAGS, "--server", served.address)
        with subprocess.Popen(
            [sys.executable, "-m", "crossview.server.commands.cli", *command], cwd=ROOT, stdout=subprocess.DEVNULL
        ) as one:
            deadline = time.monotonic() + 300
            while one.poll() is None and {job.id for job in client.jobs.list()} == before:
                assert time.monotonic() < deadline
                time.sleep(0.01)
            time.sleep(delay)
            one.kill()
        return [job.id for job in client.jobs.list() if job.id not in before]


KILL: dict[str, Callable[[Served, float], list[str]]] = {"job": kill_job, "server": kill_server, "client": kill_client}


@pytest.mark.random
@pytest.mark.parametrize(
    "times",
    [pytest.param(1, id="once"), pytest.param(4, id="often", marks=pytest.mark.long)],
)
@pytest.mark.parametrize("victim", VICTIMS)
def test_whoever_is_killed_when_all_jobs_end_and_no_space_is_half_made(served: Served, victim: str, times: int) -> None:
    """The moment is random, before a commit or after it; each seed draws others."""
    draw = random.Random(seed_of(times))
    for _ in range(times):
        jobs = KILL[victim](served, draw.uniform(0.0, 1.2))
        states = [job.state for job in check(served, jobs)]
        assert victim != "client" or set(states) <= {"done", "cancelled"}


def test_a_killed_job_tells_why(served: Served) -> None:
    """A caller that waits for it learns the signal; the next job gets a process of its own."""
    with Client(served.address) as client:
        job = client.open("rows").detached().train(endless())
        learning(client, job.id)
        for process in job_processes(served.process.pid):
            os.kill(process, signal.SIGKILL)
        with pytest.raises(JobStoppedError, match="the process of the job was killed by SIGKILL"):
            client.jobs.wait(job.id)
        after = client.open("rows").detached().train(RECIPE, space="after", activate=False)
        assert client.jobs.wait(after.id).state == "done"


@pytest.mark.long
def test_a_job_that_does_not_listen_is_killed(served: Served) -> None:
    """A call that cannot be interrupted is not waited for: here, a process that is halted."""
    with Client(served.address) as client:
        job = client.open("rows").detached().train(endless())
        learning(client, job.id)
        processes = job_processes(served.process.pid)
        for process in processes:
            os.kill(process, signal.SIGSTOP)
        client.jobs.cancel(job.id)
        assert ended(client, job.id).state == "cancelled"
        until(lambda: not set(processes) & set(job_processes(served.process.pid)))


@pytest.mark.long
def test_a_commit_that_nobody_wrote_down_is_found(tmp_path: Path) -> None:
    """Killed between the commit of a space and the record of its job, a server finds the job done."""
    served = Served(tmp_path / "home")
    with Client(served.address) as client:
        job = client.open("rows").detached().train(endless(), space="made")
        learning(client, job.id)
        served.kill()
    with served.home.open("rows") as collection:  # as the job's process did a moment before
        collection.train(RECIPE, space="made", activate=False, request_id=job.id)
    served.start()
    try:
        (found,) = check(served, [job.id])
        assert found.state == "done"
        with Client(served.address) as client:
            assert client.jobs.wait(job.id).result == client.open("rows").spaces.get("made")
    finally:
        served.kill()
