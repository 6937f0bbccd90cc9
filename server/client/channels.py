"""The channel to a server: in plain text, over TLS, or over a Unix-domain socket."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc

from crossview.engine.values.errors import InvalidInputError

_SECURE, _PLAIN = "grpcs://", "grpc://"
_OTHER_SCHEMES = ("dns", "ipv4", "ipv6", "unix-abstract", "xds")
"""Schemes of addresses that only gRPC knows."""


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


def check_address(address: str) -> str:
    """Return the address of a server; InvalidInputError unless it is [SCHEME://]HOST:PORT or unix:PATH."""
    wrong = f"not {address!r:.60}"
    if not isinstance(address, str):
        raise InvalidInputError(f"the address of a server is HOST:PORT or unix:PATH, {wrong}")
    if address.startswith(("http://", "https://")):
        raise InvalidInputError(f"a client speaks gRPC: give HOST:PORT of its port, or {_SECURE}HOST:PORT, {wrong}")
    scheme, _, path = address.partition(":")
    if (scheme == "unix" and path) or scheme in _OTHER_SCHEMES:
        return address
    host, _, port = address.removeprefix(_SECURE).removeprefix(_PLAIN).rpartition(":")
    if not host or set(host) & set(" /") or not port.isascii() or not port.isdecimal() or not 0 < int(port) < 1 << 16:
        raise InvalidInputError(f"the address of a server is HOST:PORT, such as localhost:50051, or unix:PATH, {wrong}")
    return address


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
