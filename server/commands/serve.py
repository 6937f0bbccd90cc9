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
    key_rate: Annotated[
        float | None,
        typer.Option(
            min=0.01, metavar="N", help="Maximum requests a second of each key; callers without a key share one limit."
        ),
    ] = None
    key_bytes: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Maximum bytes of the requests in progress of each key."),
    ] = None
    grace: Annotated[float, typer.Option(min=0, help="Seconds for calls in progress to end when the server stops.")] = (
        ServerSettings.grace_seconds
    )


@dataclass(frozen=True, kw_only=True)
class WatchOptions:
    """The options of what people and monitors see of a server."""

    PANEL: ClassVar[str] = "Watch"

    health_port: Annotated[
        int | None,
        typer.Option(
            min=1, max=65535, help="Separate port for health checks, independent of the load on the main port."
        ),
    ] = None
    admin_port: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=65535,
            help="Separate HTTP port for /metrics, /healthz and /readyz; further processes use the next ports.",
        ),
    ] = None
    admin_host: Annotated[str, typer.Option(help="Address of the port for metrics, which needs no key.")] = (
        ServerSettings.admin_host
    )
    log_requests: Annotated[
        bool,
        typer.Option("--log-requests", help="Log one line for each call: method, collection, status, time, bytes, id."),
    ] = False
    log_format: Annotated[
        str, typer.Option(metavar="text|json", help="Format of the log on standard error; json: one object a line.")
    ] = ServerSettings.log_format
    slow_ms: Annotated[
        float | None,
        typer.Option(min=0, metavar="N", help="Log calls that take more milliseconds, with their stages and sizes."),
    ] = None


def serve(
    load: LoadOptions,
    watch: WatchOptions,
    host: Annotated[
        str, typer.Option(help="Address to listen on; every address except a loopback address is open to the network.")
    ] = ServerSettings.host,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port to listen on; 0 selects a free port.")
    ] = ServerSettings.port,
    home: HomeOption = None,
) -> None:
    """Serve the collections over gRPC.

    The server runs until SIGTERM or Ctrl-C. A message has at most 64 MiB, so clients can send whole photographs.

    Examples:
        crossview serve --port 50051
        crossview serve --load pets --processes 2 --health-port 50052
    """
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        # Set before the imports below load the libraries. Calls share the cores, and waiting BLAS threads would spin.
        os.environ.setdefault(name, "1")
    from crossview.server.processes import prepare_process, temporary_files

    settings = ServerSettings(
        home=home,
        host=host,
        port=port,
        health_port=watch.health_port,
        admin_port=watch.admin_port,
        admin_host=watch.admin_host,
        processes=load.processes,
        workers=load.workers or os.cpu_count() or 1,
        jobs=load.jobs,
        load=tuple(load.load or ()),
        max_megapixels=load.max_megapixels,
        key_rate=load.key_rate,
        key_bytes=load.key_bytes,
        grace_seconds=load.grace,
        log_requests=watch.log_requests,
        log_format=watch.log_format,
        slow_ms=watch.slow_ms,
    )
    if not is_loopback(host):
        say(f"warning: {host} is open to the network; there is no authentication and no encryption", err=True)
    if watch.admin_port is not None and not is_loopback(watch.admin_host):
        say(f"warning: {watch.admin_host}:{watch.admin_port} shows metrics to the network, without a key", err=True)
    served = Home(home)
    for name in settings.load:
        served.open(name).close()  # report a wrong name now, not only in the log
    prepare_process(settings)
    stopping = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopping.set())
    remove_temporary_files = temporary_files()
    if not _until(stopping, settings):
        say("stopped during a call; every acknowledged change is kept", err=True)
        remove_temporary_files()
        os._exit(1)  # the thread of the running call would keep the process alive


def _until(stopping: threading.Event, settings: ServerSettings) -> bool:
    """Serve until an event; return whether all calls ended in time."""
    from crossview.server.processes import Processes, start

    running, served = start(settings), Home(settings.home)
    if not served.names():
        say(f"warning: no collections to serve: {served.emptiness()}; is --home right?", err=True)
    say(f"crossview serves {served.path} on {running.address}")
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
