"""Commands on the jobs of a server, list, show, cancel and wait, and the option --detach."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from crossview.server.commands.common import JsonOption, print_json
from crossview.server.commands.connection_options import HERE, ConnectionOptions
from crossview.server.commands.hints import hint
from crossview.server.commands.output import say, show, table
from crossview.server.commands.progress_bar import numbered, progress_bar

if TYPE_CHECKING:
    from crossview.server.client.client import Client
    from crossview.server.client.job import Job

DetachOption = Annotated[
    bool, typer.Option("--detach", help="With --server: print the name of the job and return without waiting.")
]


def check_detached(detach: bool, connection: ConnectionOptions) -> None:
    """Raise a usage error if no server can carry out the job."""
    if detach and connection.server is None:
        raise typer.BadParameter("--detach leaves the work to a server: give --server as well")


def print_detached(job: "Job", as_json: bool) -> None:
    """Print the id of a job on a server, and on stderr the command that waits for it."""
    if as_json:
        print_json(job)
        return
    say(job.id)
    say(f"wait for it with: {hint('job wait', job.id)}", err=True)


JobArgument = Annotated[str, typer.Argument(metavar="JOB", help="Name of the job, as job list prints it.")]


@contextmanager
def _server(connection: ConnectionOptions) -> "Iterator[Client]":
    """Yield a client of the server; raise a usage error if none is named."""
    if connection.server is None:
        raise typer.BadParameter("only a server has jobs: give --server HOST:PORT")
    with connection.client() as client:
        yield client


def list_(
    collection: Annotated[
        str | None, typer.Argument(metavar="NAME", help="Collection whose jobs to list [default: every collection].")
    ] = None,
    connection: ConnectionOptions = HERE,
    as_json: JsonOption = False,
) -> None:
    """List the jobs of a server: trainings and other long work.

    The server keeps ended jobs for 7 days.

    Examples:
        crossview job list --server localhost:50051
        crossview job list pets --server localhost:50051
    """
    with _server(connection) as client:
        jobs = list(client.jobs.list(collection or ""))
    if as_json:
        print_json(jobs)
        return
    rows = table("job", "kind", "collection", "state", "created", "progress")
    for job in jobs:
        rows.add_row(job.id, job.kind, job.collection, _state(job), _time(job.created), _progress(job))
    show(rows) if jobs else say("no jobs")


def show_(job: JobArgument, connection: ConnectionOptions = HERE, as_json: JsonOption = False) -> None:
    """Show the state, progress and notes of a job.

    Examples:
        crossview job show 5f0c9a1e --server localhost:50051
        crossview job show 5f0c9a1e --server localhost:50051 --json
    """
    with _server(connection) as client:
        _print(client.jobs.get(job), as_json, log=True)


def cancel(job: JobArgument, connection: ConnectionOptions = HERE, as_json: JsonOption = False) -> None:
    """Cancel a job; its work changes nothing.

    Examples:
        crossview job cancel 5f0c9a1e --server localhost:50051
        crossview job cancel 5f0c9a1e --server localhost:50051 --json
    """
    with _server(connection) as client:
        client.jobs.cancel(job)
        _print(client.jobs.get(job), as_json)


def wait(job: JobArgument, connection: ConnectionOptions = HERE, as_json: JsonOption = False) -> None:
    """Wait for a job, and show its progress.

    The command fails if the job fails. Ctrl-C ends the command, and does not cancel the job.

    Examples:
        crossview job wait 5f0c9a1e --server localhost:50051
        crossview job wait 5f0c9a1e --server localhost:50051 --json
    """
    with _server(connection) as client, progress_bar(not as_json) as progress:
        ended_job = client.jobs.wait(job, progress)
    _print(ended_job, as_json)


def _print(job: "Job", as_json: bool, log: bool = False) -> None:
    if as_json:
        print_json(job)
        return
    say(f"{job.id}: {job.kind} of {job.collection}, {_state(job)}")
    times = (("created", job.created), ("started", job.started), ("ended", job.ended))
    say("; ".join(f"{name} {_time(time)}" for name, time in times if time))
    if log and job.call_id:
        say(f"submitted by the call {job.call_id}")
    for step in job.log if log else ():
        say(f"  {numbered(step.what, step.done, step.total, step.note)}")
    if _progress(job):
        say(_progress(job))
    if job.error:
        say(job.error)


def _state(job: "Job") -> str:
    return "cancelling" if job.cancelling and not job.has_ended else job.state


def _time(text: str) -> str:
    return text[:19].replace("T", " ")


def _progress(job: "Job") -> str:
    step = job.progress
    return "" if step is None or job.has_ended else f"{step.what} {step.done} of {step.total}"
