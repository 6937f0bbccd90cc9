"""The certificate of a server: checked when it is loaded, and loaded again when its files change."""

import logging
import os
import ssl
import threading
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from crossview.engine.values.errors import InvalidInputError
from crossview.server.wire.settings import TlsFiles

_log = logging.getLogger("crossview.server")


@dataclass(frozen=True)
class Certificate:
    """A certificate that a server can use: its chain, key and authorities of clients in PEM.

    ``context`` makes the same TLS connections with Python's own library.
    """

    chain: bytes
    key: bytes
    client_ca: bytes | None
    context: ssl.SSLContext
    expires: datetime


class LiveCertificate:
    """The certificate in files that another program may replace. Several threads may use it.

    Raises InvalidInputError if the files cannot be used at first. Later, a server keeps the last usable certificate.
    """

    def __init__(self, files: TlsFiles) -> None:
        self.files = files
        self._state = _states(files)
        self._certificate = load_certificate(files)
        self._loading = threading.Lock()

    def current(self) -> Certificate:
        """Return the newest usable certificate; log each failure to load one."""
        with self._loading:
            state = _states(self.files)
            if state != self._state:
                self._state = state
                try:
                    self._certificate = load_certificate(self.files)
                    _log.warning("loaded the new certificate %s; it expires %s", *self._words())
                except InvalidInputError as error:
                    _log.warning("the server keeps the certificate %s, which expires %s: %s", *self._words(), error)
            return self._certificate

    def _words(self) -> tuple[Path, str]:
        return self.files.cert, f"{self._certificate.expires:%Y-%m-%d}"

    def ssl_context(self) -> ssl.SSLContext:
        """Return a context for servers of other protocols; each handshake uses the newest certificate."""

        def renew(connection: Any, _name: str | None, _context: ssl.SSLContext) -> None:
            connection.context = self.current().context

        context = _context(self.files.cert, self.files.key, self.files.client_ca)
        context.sni_callback = renew
        return context


def load_certificate(files: TlsFiles) -> Certificate:
    """Return the certificate; raise InvalidInputError if it cannot be used, such as an expired one."""
    before = _states(files)
    chain, key, *authorities = (_content(path) for path in _named(files))
    expires = _expiry(_context(files.cert, files.key, None), files.cert)
    context = _context(files.cert, files.key, files.client_ca)
    if _states(files) != before:
        raise InvalidInputError(f"{files.cert} or {files.key} changed while the server read it: try again")
    return Certificate(chain, key, authorities[0] if authorities else None, context, expires)


def _named(files: TlsFiles) -> list[Path]:
    return [path for path in (files.cert, files.key, files.client_ca) if path is not None]


def _states(files: TlsFiles) -> tuple[object, ...]:
    """Return a value that differs when a file has changed."""
    return tuple(_state(path) for path in _named(files))


def _state(path: Path) -> object:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InvalidInputError(f"cannot read {path}: {error.strerror}") from error


def _context(cert: Path, key: Path, client_ca: Path | None) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(cert, key, password=_no_password)
    except ssl.SSLError as error:
        if error.reason == "KEY_VALUES_MISMATCH":
            raise InvalidInputError(f"{key} is not the key of the certificate in {cert}") from error
        raise InvalidInputError(
            f"{cert} and {key} are not a certificate and its private key in PEM ({error.reason or 'damaged'})"
        ) from error
    if client_ca is not None:
        try:
            context.load_verify_locations(client_ca)
        except ssl.SSLError as error:
            raise InvalidInputError(f"{client_ca} contains no certificates in PEM") from error
        context.verify_mode = ssl.CERT_REQUIRED
    context.set_alpn_protocols(["http/1.1"])  # gRPC has contexts of its own
    return context


def _no_password() -> str:
    raise InvalidInputError("the private key of the certificate has a password: write it to a file without one")


def _expiry(server: ssl.SSLContext, cert: Path) -> datetime:
    """Return when a certificate expires; raise InvalidInputError if it is not valid now.

    Python reads only certificates that a connection has verified. A client that trusts this certificate alone
    therefore connects to the server in memory.
    """
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname = False
    client.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    client.load_verify_locations(cert)
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = client.wrap_bio(to_client, to_server), server.wrap_bio(to_server, to_client, server_side=True)
    unfinished = set(ends)
    try:
        while unfinished:
            for end in ends:
                try:
                    end.do_handshake()
                    unfinished.discard(end)
                except ssl.SSLWantReadError:
                    pass
    except ssl.SSLCertVerificationError as error:
        raise InvalidInputError(f"the certificate in {cert} cannot be used: {error.verify_message}") from error
    certificate = ends[0].getpeercert() or {}
    return datetime.fromtimestamp(ssl.cert_time_to_seconds(str(certificate["notAfter"])), UTC)
