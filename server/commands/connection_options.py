"""The options that connect a command to its collections."""

import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, cast

import typer

from crossview.server.commands.hints import remember_collection

if TYPE_CHECKING:
    from crossview.engine.collections.home import Home
    from crossview.server.client.channels import ClientTls
    from crossview.server.client.client import Client
    from crossview.server.client.detached import DetachedCollection
    from crossview.server.client.remote_collection import RemoteCollection
    from crossview.server.client.script import Runner
    from crossview.server.commands.backend import Backend, CollectionBackend

_TLS_FILES = ("tls_ca", "tls_client_cert", "tls_client_key")
"""The options that name files for TLS; each has a variable of the environment, such as CROSSVIEW_TLS_CA."""

HomeOption = Annotated[
    Path | None,
    typer.Option("--home", metavar="DIR", help="Folder of collections [default: $CROSSVIEW_HOME or ~/.crossview]."),
]

DeviceOption = Annotated[
    Literal["cpu", "cuda"] | None,
    typer.Option("--device", help="Device that runs models of views [default: $CROSSVIEW_DEVICE or cpu]."),
]


@dataclass(frozen=True)
class ConnectionOptions:
    """A home of this machine, or a server with the maximum time of its calls in seconds."""

    PANEL: ClassVar[str] = "Connection"

    home: HomeOption = None
    server: Annotated[
        str | None,
        typer.Option("--server", metavar="HOST:PORT", help="Use a running server [default: $CROSSVIEW_SERVER]."),
    ] = None
    tls_ca: Annotated[
        Path | None,
        typer.Option(
            "--tls-ca", metavar="FILE", help="Authority of a server with TLS, in PEM [default: $CROSSVIEW_TLS_CA]."
        ),
    ] = None
    tls_client_cert: Annotated[
        Path | None,
        typer.Option("--tls-client-cert", metavar="FILE", help="Certificate that this client shows to the server."),
    ] = None
    tls_client_key: Annotated[
        Path | None,
        typer.Option("--tls-client-key", metavar="FILE", help="Key of this certificate [default: in its file]."),
    ] = None
    timeout: Annotated[
        float | None,
        typer.Option("--timeout", metavar="SECONDS", help="With --server: maximum time of a call."),
    ] = None
    api_key: Annotated[
        str | None,
        typer.Option(
            "--api-key",
            metavar="KEY",
            help="With --server: key of the caller [default: $CROSSVIEW_KEY].",
        ),
    ] = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.server is None and self.home is None:  # an explicit --home overrides the environment
            object.__setattr__(self, "server", os.environ.get("CROSSVIEW_SERVER") or None)
        if self.server is not None and not self.server.startswith(("unix:", "grpc://")):
            for name in _TLS_FILES:
                path = getattr(self, name) or os.environ.get(f"CROSSVIEW_{name.upper()}")
                object.__setattr__(self, name, Path(path) if path else None)
        if self.timeout is not None and not 0 < self.timeout < math.inf:
            raise typer.BadParameter(f"--timeout takes a positive number of seconds, not {self.timeout:g}")

    @contextmanager
    def backend(self) -> Iterator["Backend"]:
        """Yield the home or the server; raise a usage error if both are named."""
        if self.home is not None and self.server is not None:
            raise typer.BadParameter("a server has its own home: give --home or --server, not both")
        if self.server is None and any(getattr(self, name) for name in _TLS_FILES):
            raise typer.BadParameter("the files of TLS are for a server: give --server as well")
        if self.server is None and self.timeout is not None:
            raise typer.BadParameter("--timeout limits the calls of a server: give --server as well")
        if self.server is None and self.api_key is not None:
            raise typer.BadParameter("--api-key is for a server: give --server as well")
        if self.server is None:
            yield self._home()
            return
        with self.client() as client:
            yield client

    def client(self) -> "Client":
        """Return a client of the server, which must be given."""
        from crossview.server.client.client import Client

        key = os.environ.get("CROSSVIEW_KEY") or None if self.api_key is None else self.api_key
        return Client(str(self.server), self.timeout, key, tls=self._tls())

    def _tls(self) -> "ClientTls | None":
        """Return the files of TLS; None if none is named."""
        from crossview.server.client.channels import ClientTls

        files = ClientTls(ca=self.tls_ca, cert=self.tls_client_cert, key=self.tls_client_key)
        return None if files == ClientTls() else files

    def _home(self) -> "Home":
        from crossview.engine.collections.home import Home

        return Home(self.home)

    @contextmanager
    def collection(self, name: str) -> Iterator["CollectionBackend"]:
        """Yield a collection of the home or the server."""
        remember_collection(name)
        with self.backend() as backend:
            collection = backend.open(name)
            try:
                yield collection
            finally:
                collection.close()

    @contextmanager
    def detached(self, name: str) -> Iterator["DetachedCollection[Runner]"]:
        """Yield a collection of the server whose long methods return at once."""
        with self.collection(name) as collection:
            yield cast("RemoteCollection", collection).detached()


HERE = ConnectionOptions()
"""The default connection: the default home, or the server of the environment."""


@dataclass(frozen=True)
class PictureConnection(ConnectionOptions):
    """A connection for commands that read pictures; for a local home, with a limit of their size and a device."""

    max_megapixels: Annotated[
        float | None,
        typer.Option(
            "--max-megapixels",
            metavar="N",
            help="Maximum megapixels of a picture in memory [default: 100].",
        ),
    ] = None
    device: DeviceOption = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.max_megapixels is not None and not 1e-6 <= self.max_megapixels < math.inf:
            raise typer.BadParameter(f"--max-megapixels takes a positive number, not {self.max_megapixels:g}")
        if self.max_megapixels is not None and self.server is not None:
            raise typer.BadParameter(
                "--max-megapixels limits pictures that this machine reads; a server has its own limit: "
                "crossview serve --max-megapixels N"
            )
        if self.device is not None and self.server is not None:
            raise typer.BadParameter(
                "--device is for models that this machine runs; a server has its own: "
                f"crossview serve --device {self.device}"
            )

    def _home(self) -> "Home":
        if self.device is not None:
            from crossview.features.models.session import use_device

            use_device(self.device)
        if self.max_megapixels is None:
            return super()._home()
        from crossview.engine.collections.home import Home
        from crossview.features.pictures import InProcess

        return Home(self.home, InProcess(int(self.max_megapixels * 1e6)))


PICTURES_HERE = PictureConnection()
"""The default connection, with the default limit of pictures."""
