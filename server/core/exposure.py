"""Whether the network can reach a server, and whether it may."""

import ipaddress
from collections.abc import Collection

from crossview.engine.collections.home import Home
from crossview.engine.values.errors import InvalidInputError
from crossview.server.core.keys.keys import KeyRing
from crossview.server.wire.settings import ServerSettings


def check_exposure(settings: ServerSettings) -> None:
    """Raise InvalidInputError if a server would be open to the network without protection."""
    if not settings.listens or settings.insecure or is_loopback(settings.host):
        return
    if settings.tls is None:
        raise InvalidInputError(
            f"{settings.host} is open to the network, and the server has no TLS: give --tls-cert and --tls-key, "
            "or --insecure if something else protects the connections"
        )
    if not KeyRing(Home(settings.home).path, settings.require_keys).required():
        raise InvalidInputError(
            f"{settings.host} is open to the network, and callers need no key: give --require-keys, "
            "or --insecure if something else keeps strangers out"
        )


def is_loopback(host: str) -> bool:
    """Return whether an address can be reached from this machine only."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host in ("localhost", "localhost.")


def is_known_host(host: str, names: Collection[str] | None) -> bool:
    """Return whether a request may name a host, with or without a port: a loopback address, or one of the names.

    A page of a foreign site can make its name stand for 127.0.0.1 (DNS rebinding), and would otherwise read what only
    this machine can reach. With None, and without a host, every request may.
    """
    return names is None or not host or is_loopback(host_name(host)) or host_name(host) in names


def host_name(host: str) -> str:
    """Return a host without its port, in lower case."""
    name = host.rpartition("]")[0] + "]" if host.startswith("[") else host.partition(":")[0]
    return name.lower()
