"""The serve command."""

import os
import signal
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, ClassVar

import typer

from crossview.engine.collections.home import Home
from crossview.server.commands.connection_options import DeviceOption, HomeOption
from crossview.server.commands.output import say
from crossview.server.core.exposure import is_loopback
from crossview.server.wire.configuration import Configuration, configured
from crossview.server.wire.settings import ServerSettings


@dataclass(frozen=True, kw_only=True)
class NetworkOptions:
    """The options that state where a server listens, and how it protects its connections."""

    PANEL: ClassVar[str] = "Network"

    host: Annotated[
        str, typer.Option(help="Address to listen on; every address except a loopback address is open to the network.")
    ] = ServerSettings.host
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 selects a free port.")] = (
        ServerSettings.port
    )
    http_port: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=65535,
            help="Port for HTTP: JSON by curl, Connect and gRPC-Web; 0 selects a free port. It needs crossview[http].",
        ),
    ] = None
    web: Annotated[
        bool, typer.Option("--web", help="Serve pages for people on the HTTP port; without one, on a free port.")
    ] = False
    http_origins: Annotated[
        list[str] | None,
        typer.Option(
            "--http-origin",
            metavar="ORIGIN",
            help="Origin of pages that may call the HTTP port, such as https://example.org. Repeat for several.",
        ),
    ] = None
    socket: Annotated[
        Path | None,
        typer.Option(metavar="PATH", help="Unix-domain socket to listen on as well, for this user only."),
    ] = None
    tcp: Annotated[bool, typer.Option("--tcp/--no-tcp", help="Whether to listen on the port.")] = True
    tls_cert: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Certificate of the server with those of its issuers, in PEM."),
    ] = None
    tls_key: Annotated[Path | None, typer.Option(metavar="FILE", help="Private key of the certificate, in PEM.")] = None
    tls_client_ca: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Authorities in PEM; clients must show a certificate of one of them."),
    ] = None
    take_over: Annotated[
        bool, typer.Option("--take-over", help="Replace the server of this home at the port, without a pause.")
    ] = False
    insecure: Annotated[
        bool, typer.Option("--insecure", help="Listen without TLS or keys on an address that the network can reach.")
    ] = False


@dataclass(frozen=True, kw_only=True)
class PublishedOptions:
    """The options of a server without a catalog."""

    PANEL: ClassVar[str] = "Published collections"

    bundle: Annotated[
        str | None,
        typer.Option(
            metavar="URL", help="Serve published collections: the address that `publish --to` wrote the bundles to."
        ),
    ] = None
    engine: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="Engine with their items: milvus://HOST:PORT or milvus:FILE.db."),
    ] = None


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
    device: DeviceOption = None
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
    grace_seconds: Annotated[
        float, typer.Option("--grace", min=0, help="Seconds for calls in progress to end when the server stops.")
    ] = ServerSettings.grace_seconds


ConfigOption = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Settings of the server in TOML [default: $CROSSVIEW_CONFIG, or none]."),
]


@dataclass(frozen=True, kw_only=True)
class SettingsOptions:
    """The options that state where settings come from, and print them."""

    PANEL: ClassVar[str] = "Settings"

    config: ConfigOption = None
    print_config: Annotated[
        bool, typer.Option("--print-config", help="Print all settings in TOML with the origin of each, and exit.")
    ] = False


def configuration_of(flags: Mapping[str, object], file: Path | None) -> Configuration:
    """Return the settings of a server for its flags and file, with the file of the environment as default."""
    default_file = os.environ.get("CROSSVIEW_CONFIG")
    defaults = {"workers": os.cpu_count() or 1}
    return configured(flags, os.environ, file or (Path(default_file) if default_file else None), defaults)


def _is_given(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


@dataclass(frozen=True, kw_only=True)
class AccessOptions:
    """The options that state who may call a server, and that record what callers change."""

    PANEL: ClassVar[str] = "Access"

    require_keys: Annotated[
        bool, typer.Option("--require-keys", help="Refuse calls without a key, even if the home has no keys yet.")
    ] = False
    audit_log: Annotated[
        Path | None,
        typer.Option("--audit-log", metavar="FILE", help="Append a line of JSON for each call that changes something."),
    ] = None


@dataclass(frozen=True, kw_only=True)
class WatchOptions:
    """The options of what people and monitors see of a server."""

    PANEL: ClassVar[str] = "Watch"

    health_port: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=65535,
            help="Separate port for health checks, without TLS, independent of the load on the main port.",
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
    trace_url: Annotated[
        str | None,
        typer.Option(
            metavar="URL", help="Collector for traces of calls (OTLP over HTTP). It needs crossview[tracing]."
        ),
    ] = None
    trace_file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Append traces of calls, one JSON object a span. It needs crossview[tracing]."
        ),
    ] = None
    trace_ratio: Annotated[
        float,
        typer.Option(min=0, max=1, metavar="N", help="Share of the traces that begin at this server to record."),
    ] = ServerSettings.trace_ratio


def serve(
    context: typer.Context,
    network: NetworkOptions,
    load: LoadOptions,
    access: AccessOptions,
    watch: WatchOptions,
    published: PublishedOptions,
    settings_of: SettingsOptions,
    home: HomeOption = None,
) -> None:
    """Serve the collections over gRPC and, on another port, over HTTP.

    The server runs until SIGTERM or Ctrl-C. A message has at most 64 MiB, so clients can send whole photographs.
    Options go before variables of the environment such as CROSSVIEW_SERVE_PORT, and those before the file of --config.

    Examples:
        crossview serve --port 50051
        crossview serve --load pets --processes 2 --health-port 50052
        crossview serve --config crossview.toml --print-config
        crossview serve --host 0.0.0.0 --tls-cert server.pem --tls-key server.key
        crossview serve --http-port 8080
        crossview serve --web --http-port 8080
        crossview serve --bundle s3://models/crossview --engine milvus://milvus:19530
    """
    options = {
        **{name: value for group in (network, load, access, watch, published) for name, value in asdict(group).items()},
        "home": home,
    }
    configuration = configuration_of(
        {name: value for name, value in options.items() if _is_given(context, name)}, settings_of.config
    )
    if settings_of.print_config:
        say("\n".join(configuration.toml()))
        return
    settings = configuration.settings
    _warn_of_network(settings)
    served = Home(settings.home)
    for name in settings.load if settings.bundle is None else ():
        served.open(name).close()  # report a wrong name now, not only in the log
    run_server(settings)


def run_server(
    settings: ServerSettings, show: Callable[[str], None] | None = None, index: tuple[str, Path] | None = None
) -> None:
    """Serve until SIGTERM or Ctrl-C.

    ``show`` gets the address of the pages once the server serves them [default: print it]. ``index`` is a collection
    and the folder that a job of the server indexes.
    """
    _use_one_thread_a_call()
    from crossview.server.edge.processes import prepare_process, temporary_files

    prepare_process(settings)
    stopping = _set_by_signals()
    remove_temporary_files = temporary_files()
    if not _until(stopping, settings, show or (lambda address: _note(f"open {address}", err=False)), index):
        _note("stopped during a call; every acknowledged change is kept")
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


def _until(
    stopping: threading.Event,
    settings: ServerSettings,
    show: Callable[[str], None],
    index: tuple[str, Path] | None,
) -> bool:
    """Serve until an event; return whether all calls ended in time."""
    from crossview.engine.values.errors import StorageError
    from crossview.server.core.succession import Place, successor
    from crossview.server.edge.processes import Processes, start

    settings = successor(settings)
    running, served = start(settings), Home(settings.home)
    if settings.bundle is None and not served.names():
        _note(f"warning: no collections to serve: {served.emptiness()}; is --home right?")
    _note(f"crossview serves {settings.bundle or served.path} on {running.address}", err=False)
    if running.http_port is not None:
        _note(f"and over HTTP on {settings.host}:{running.http_port}", err=False)
    pages = page_address(settings, running.http_port) if settings.web else ""
    place = Place(served.path, running.address)
    try:
        previous = place.take(settings.take_over, pages)
    except StorageError as error:
        previous = None
        _note(f"warning: a later server cannot take over from this one: {error}")
    if index is not None and not isinstance(running, Processes):
        running.jobs.index(*index)
    if pages:
        show(pages)
    if previous is not None:
        _note(f"the previous server, process {previous}, ends its calls and stops")
    while not stopping.wait(1.0):
        if isinstance(running, Processes):
            running.replace_dead()
    _note(f"stopping: calls in progress have {settings.grace_seconds:g} s to end")
    in_time = running.stop()
    place.leave()  # not before: a server that takes over shares the ports until the end
    return in_time


def _note(text: str, err: bool = True) -> None:
    """Print a text; a closed terminal or pipe does not matter: a server serves, and stops, without a reader."""
    try:
        say(text, err=err)
    except OSError:  # the rest of the text, which waits in the buffer, must not fail again at the end of the process
        os.dup2(os.open(os.devnull, os.O_WRONLY), (sys.stderr if err else sys.stdout).fileno())


def page_address(settings: ServerSettings, port: int | None) -> str:
    """Return the address of the pages, for a browser on this machine."""
    host = {"0.0.0.0": "localhost", "::": "localhost"}.get(settings.host, settings.host)  # noqa: S104 - what it replaces
    host = f"[{host}]" if ":" in host else host
    return f"http{'' if settings.tls is None else 's'}://{host}:{port}/"


def _warn_of_network(settings: ServerSettings) -> None:
    """Print a warning if other machines can reach the server, and nothing protects it."""
    from crossview.server.core.keys.keys import KeyRing

    if settings.listens and settings.insecure and not is_loopback(settings.host):
        keys = KeyRing(Home(settings.home).path, settings.require_keys).required()
        lacking = ["authentication"] * (not keys) + ["encryption"] * (settings.tls is None)
        if lacking:
            say(f"warning: {settings.host} is open to the network; there is no {' and no '.join(lacking)}", err=True)
    if settings.admin_port is not None and not is_loopback(settings.admin_host):
        where = f"{settings.admin_host}:{settings.admin_port}"
        say(f"warning: {where} shows metrics to the network, without a key", err=True)
