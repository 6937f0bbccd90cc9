"""The serve command."""

import ipaddress
import os
import signal
import threading
from typing import Annotated

import typer

from server.commands.common import HomeOption


def serve(
    host: Annotated[
        str, typer.Option(help="Address to listen on. Others than loopback let the network in.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 takes a free one.")] = 50051,
    workers: Annotated[
        int | None,
        typer.Option(min=1, help="Processes that compute features of imported pictures (else one for each core)."),
    ] = None,
    log_requests: Annotated[
        bool, typer.Option("--log-requests", help="Log a line for each call: method, collection, status, time, bytes.")
    ] = False,
    home: HomeOption = None,
) -> None:
    """Serve the collections over gRPC.

    Runs until SIGTERM or Ctrl-C. Messages may have 64 MiB, so photographs can be sent as they are.
    """
    import logging

    from engine.home import Home
    from server.calls import REQUEST_LOG
    from server.listen import RunningServer

    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    if log_requests:
        logging.getLogger(REQUEST_LOG).setLevel(logging.INFO)
    if not is_loopback(host):
        typer.echo(f"warning: {host} is open to the network; there is no authentication and no encryption", err=True)
    opened = Home(home)
    stopping = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopping.set())
    if not opened.names():
        typer.echo(f"warning: no collections to serve: {opened.emptiness()}; is --home right?", err=True)
    running = RunningServer(opened, host, port, workers or os.cpu_count() or 1)
    typer.echo(f"crossview serves {opened.path} on {running.address}")
    while not stopping.wait(1.0):
        pass
    typer.echo("stopping: calls under way have 10 s", err=True)
    if not running.stop():
        typer.echo("stopped in the middle of a call; what was acknowledged is kept", err=True)
        os._exit(1)  # its thread would keep the process alive until the work is done


def is_loopback(host: str) -> bool:
    """Whether an address reaches this machine only."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"
