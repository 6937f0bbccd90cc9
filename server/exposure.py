"""Whether the network can reach a server, and whether it may."""

import ipaddress

from crossview.engine.errors import InvalidInputError
from crossview.engine.home import Home
from crossview.server.keys.keys import KeyRing
from crossview.server.settings import ServerSettings


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
