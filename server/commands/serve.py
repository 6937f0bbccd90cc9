"""The serve command."""

import ipaddress
import os
import signal
import sys
import threading
from typing import Annotated

import typer

from server.commands.connection import HomeOption
from server.settings import ServerSettings

SWITCH_SECONDS = 0.001
"""How long a thread keeps the interpreter from others, which want it for less: searches, between two scans."""


def serve(
    host: Annotated[
        str, typer.Option(help="Address to listen on; any other than a loopback address is open to the network.")
    ] = ServerSettings.host,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 takes a free one.")] = ServerSettings.port,
    workers: Annotated[
        int | None,
        typer.Option(min=1, help="Processes that compute the features of imported pictures (default: one per core)."),
    ] = None,
    jobs: Annotated[
        int, typer.Option(min=1, help="Trainings, evaluations and other jobs that are carried out at once.")
    ] = ServerSettings.jobs,
    log_requests: Annotated[
        bool, typer.Option("--log-requests", help="Log a line for each call: method, collection, status, time, bytes.")
    ] = False,
    home: HomeOption = None,
) -> None:
    """Serve the collections over gRPC.

    Runs until SIGTERM or Ctrl-C. A message may be as large as 64 MiB, so photographs can be sent as they are.
    """
    import logging

    from server.interceptors import REQUEST_LOG
    from server.listen import RunningServer

    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    if log_requests:
        logging.getLogger(REQUEST_LOG).setLevel(logging.INFO)
    settings = ServerSettings(home=home, host=host, port=port, workers=workers or os.cpu_count() or 1, jobs=jobs)
    if not is_loopback(host):
        typer.echo(f"warning: {host} is open to the network; there is no authentication and no encryption", err=True)
    sys.setswitchinterval(SWITCH_SECONDS)
    stopping = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopping.set())
    running = RunningServer(settings)
    served = running.collections.home
    if not served.names():
        typer.echo(f"warning: no collections to serve: {served.emptiness()}; is --home right?", err=True)
    typer.echo(f"crossview serves {served.path} on {running.address}")
    while not stopping.wait(1.0):
        pass
    typer.echo(f"stopping: calls under way have {settings.grace_seconds:g} s to end", err=True)
    if not running.stop():
        typer.echo("stopped during a call; every acknowledged change is kept", err=True)
        os._exit(1)  # the thread of that call would keep the process alive


def is_loopback(host: str) -> bool:
    """Returns whether an address can be reached from this machine only."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"
