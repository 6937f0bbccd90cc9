"""The jobs command: what a server carries out while nobody need wait."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from crossview.server.commands.common import JsonOption, print_json, show, table
from crossview.server.commands.connection import HERE, ConnectionOptions
from crossview.server.commands.hints import hint
from crossview.server.commands.progress import numbered, progress_bar
from crossview.server.commands.saying import say

if TYPE_CHECKING:
    from crossview.server.client.client import Client
    from crossview.server.client.job import Job

DetachOption = Annotated[
    bool, typer.Option("--detach", help="With --server: print the name of the job and return without waiting.")
]


class Action(StrEnum):
    """The actions on jobs."""

    LIST = "list"
    SHOW = "show"
    CANCEL = "cancel"
    WAIT = "wait"


def check_detached(detach: bool, connection: ConnectionOptions) -> None:
    """Raises a usage error where there is no server to leave the work to."""
    if detach and connection.server is None:
        raise typer.BadParameter("--detach leaves the work to a server: give --server as well")


def print_detached(job: "Job", as_json: bool) -> None:
    """Prints the name of a job that was left to a server, and on stderr how to go on."""
    if as_json:
        print_json(job)
        return
    say(job.id)
    say(f"wait for it with: {hint('jobs', 'wait', job.id)}", err=True)


def jobs(
    action: Annotated[Action, typer.Argument(help="Action to take.")],
    job: Annotated[
        str | None, typer.Argument(metavar="[JOB]", help="The job; for list, a collection [default: all].")
    ] = None,
    connection: ConnectionOptions = HERE,
    as_json: JsonOption = False,
) -> None:
    """List, show, cancel or wait for the jobs of a server: trainings, evaluations and other long work.

    The server keeps ended jobs for 7 days. wait shows the progress of a job; to leave does not cancel the job.
    """
    if connection.server is None:
        raise typer.BadParameter("jobs are a server's: give --server HOST:PORT")
    if job is None and action != Action.LIST:
        raise typer.BadParameter(f"name the job to {action}; list the jobs with: {hint('jobs', 'list')}")
    from crossview.server.client.client import Client

    with Client(connection.server, connection.timeout) as client:
        if action == Action.LIST:
            _list(list(client.jobs.list(job or "")), as_json)
        else:
            _act(client, action, job or "", as_json)


def _list(found: "list[Job]", as_json: bool) -> None:
    if as_json:
        print_json(found)
        return
    rows = table("job", "kind", "collection", "state", "created", "progress")
    for one in found:
        rows.add_row(one.id, one.kind, one.collection, _state(one), _time(one.created), _progress(one))
    show(rows) if found else say("no jobs")


def _act(client: "Client", action: Action, job: str, as_json: bool) -> None:
    if action == Action.CANCEL:
        client.jobs.cancel(job)
    if action == Action.WAIT:
        with progress_bar(not as_json) as progress:
            found = client.jobs.wait(job, progress)
    else:
        found = client.jobs.get(job)
    if as_json:
        print_json(found)
        return
    say(f"{found.id}: {found.kind} of {found.collection}, {_state(found)}")
    times = (("created", found.created), ("started", found.started), ("ended", found.ended))
    say("; ".join(f"{name} {_time(time)}" for name, time in times if time))
    if action == Action.SHOW:
        for step in found.log:
            say(f"  {numbered(step.what, step.done, step.total, step.note)}")
    if _progress(found):
        say(_progress(found))
    if found.error:
        say(found.error)


def _state(job: "Job") -> str:
    return "cancelling" if job.cancelling and not job.has_ended else job.state


def _time(text: str) -> str:
    return text[:19].replace("T", " ")


def _progress(job: "Job") -> str:
    step = job.progress
    return "" if step is None or job.has_ended else f"{step.what} {step.done} of {step.total}"
