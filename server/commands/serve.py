"""The serve command."""

import ipaddress
import os
import signal
import threading
from dataclasses import dataclass
from typing import Annotated, ClassVar

import typer

from crossview.engine.home import Home
from crossview.server.commands.connection_options import HomeOption
from crossview.server.commands.output import say
from crossview.server.settings import ServerSettings


@dataclass(frozen=True, kw_only=True)
class LoadOptions:
    """The options that limit and distribute the load of a server."""

    PANEL: ClassVar[str] = "Load"

    processes: Annotated[
        int,
        typer.Option(
            min=1, help="Number of server processes that share the port, each with its own indexes in memory."
        ),
    ] = ServerSettings.processes
    workers: Annotated[
        int | None,
        typer.Option(
            min=1, help="Number of processes that read the pictures of queries and imports [default: one per core]."
        ),
    ] = None
    jobs: Annotated[
        int, typer.Option(min=1, help="Number of trainings, evaluations and other jobs to run at once.")
    ] = ServerSettings.jobs
    load: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Collection to load at the start; until then, health reports NOT_SERVING. Repeat for several.",
        ),
    ] = None
    max_megapixels: Annotated[float, typer.Option(min=0.01, metavar="N", help="Maximum megapixels of a picture.")] = (
        ServerSettings.max_megapixels
    )
    grace: Annotated[float, typer.Option(min=0, help="Seconds for calls in progress to end when the server stops.")] = (
        ServerSettings.grace_seconds
    )


@dataclass(frozen=True, kw_only=True)
class HttpOptions:
    """The options of the port for HTTP."""

    PANEL: ClassVar[str] = "HTTP"

    http_port: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=65535,
            help="Port for HTTP: JSON by curl, Connect and gRPC-Web; 0 selects a free port. It needs crossview[http].",
        ),
    ] = None
    http_origin: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ORIGIN",
            help="Origin of pages that may call the HTTP port, such as https://example.org. Repeat for several.",
        ),
    ] = None


def serve(
    load: LoadOptions,
    http: HttpOptions,
    host: Annotated[
        str, typer.Option(help="Address to listen on; every address except a loopback address is open to the network.")
    ] = ServerSettings.host,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port to listen on; 0 selects a free port.")
    ] = ServerSettings.port,
    health_port: Annotated[
        int | None,
        typer.Option(
            min=1, max=65535, help="Separate port for health checks, independent of the load on the main port."
        ),
    ] = None,
    log_requests: Annotated[
        bool,
        typer.Option("--log-requests", help="Log one line for each call: method, collection, status, time, bytes."),
    ] = False,
    home: HomeOption = None,
) -> None:
    """Serve the collections over gRPC and, on another port, over HTTP.

    The server runs until SIGTERM or Ctrl-C. A message has at most 64 MiB, so clients can send whole photographs.

    Examples:
        crossview serve --port 50051
        crossview serve --load pets --processes 2 --health-port 50052
        crossview serve --http-port 8080
    """
    _use_one_thread_a_call()
    from crossview.server.processes import prepare_process, temporary_files

    settings = ServerSettings(
        home=home,
        host=host,
        port=port,
        health_port=health_port,
        http_port=http.http_port,
        http_origins=tuple(http.http_origin or ()),
        processes=load.processes,
        workers=load.workers or os.cpu_count() or 1,
        jobs=load.jobs,
        load=tuple(load.load or ()),
        max_megapixels=load.max_megapixels,
        grace_seconds=load.grace,
        log_requests=log_requests,
    )
    if not is_loopback(host):
        say(f"warning: {host} is open to the network; there is no authentication and no encryption", err=True)
    served = Home(home)
    for name in settings.load:
        served.open(name).close()  # report a wrong name now, not only in the log
    prepare_process(settings)
    stopping = _set_by_signals()
    remove_temporary_files = temporary_files()
    if not _until(stopping, settings):
        say("stopped during a call; every acknowledged change is kept", err=True)
        remove_temporary_files()
        os._exit(1)  # the thread of the running call would keep the process alive


def _set_by_signals() -> threading.Event:
    """Return an event that SIGTERM and Ctrl-C set."""
    stopping = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopping.set())
    return stopping


def _use_one_thread_a_call() -> None:
    """Limit BLAS to one thread, before imports load it: calls share the cores, and its waiting threads would spin."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")


def _until(stopping: threading.Event, settings: ServerSettings) -> bool:
    """Serve until an event; return whether all calls ended in time."""
    from crossview.server.processes import Processes, start

    running, served = start(settings), Home(settings.home)
    if not served.names():
        say(f"warning: no collections to serve: {served.emptiness()}; is --home right?", err=True)
    say(f"crossview serves {served.path} on {running.address}")
    if running.http_port is not None:
        say(f"and over HTTP on {settings.host}:{running.http_port}")
    while not stopping.wait(1.0):
        if isinstance(running, Processes):
            running.replace_dead()
    say(f"stopping: calls in progress have {settings.grace_seconds:g} s to end", err=True)
    return running.stop()


def is_loopback(host: str) -> bool:
    """Return whether an address can be reached from this machine only."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"
