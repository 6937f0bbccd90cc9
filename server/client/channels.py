"""The channel to a server: in plain text, over TLS, or over a Unix-domain socket."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc

from crossview.engine.errors import InvalidInputError

_SECURE, _PLAIN = "grpcs://", "grpc://"


@dataclass(frozen=True, kw_only=True)
class ClientTls:
    """The files that a client uses for TLS, in PEM.

    ``ca`` contains the authorities that may sign the server's certificate [default: those that gRPC knows]. ``cert``
    and ``key`` are the client's own certificate and key, for a server that asks for one; one file can contain both.
    """

    ca: Path | str | None = None
    cert: Path | str | None = None
    key: Path | str | None = None

    def __post_init__(self) -> None:
        if self.key is not None and self.cert is None:
            raise InvalidInputError(f"{os.fspath(self.key)} is a key without a certificate: name both files")

    def credentials(self) -> Any:
        """Return the credentials of a channel; raise InvalidInputError if a file cannot be read."""
        cert = _content(self.cert)
        key = _content(self.key) if self.key is not None else cert
        return grpc.ssl_channel_credentials(_content(self.ca), key, cert)


def channel(library: Any, address: str, tls: ClientTls | None, options: Any) -> Any:
    """Return a channel of ``library``, which is grpc or grpc.aio.

    ``address`` is HOST:PORT, grpcs://HOST:PORT for TLS, or unix:PATH. ``tls`` also means TLS.
    """
    host = address.removeprefix(_SECURE).removeprefix(_PLAIN)
    if tls is None and not address.startswith(_SECURE):
        return library.insecure_channel(host, options=options)
    if address.startswith((_PLAIN, "unix:")):
        raise InvalidInputError(f"{address} is a connection without TLS: omit the files of TLS, or use {_SECURE}")
    return library.secure_channel(host, (tls or ClientTls()).credentials(), options=options)


def _content(path: Path | str | None) -> bytes | None:
    if path is None:
        return None
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise InvalidInputError(f"cannot read {os.fspath(path)}: {error.strerror}") from error
