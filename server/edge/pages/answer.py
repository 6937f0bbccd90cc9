"""The answer of a page: a status, a body, and the headers that every answer has."""

from collections.abc import Iterable
from dataclasses import dataclass, field

HTML, SVG = "text/html; charset=utf-8", "image/svg+xml"
_POLICY = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "img-src": "'self' blob:",
    "connect-src": "'self'",
    "form-action": "'self'",
    "frame-ancestors": "'none'",
    "base-uri": "'none'",
}
_DENIED = ("camera", "microphone", "geolocation", "payment", "usb", "serial", "hid", "midi", "display-capture")
SECURITY = (
    ("content-security-policy", "; ".join(f"{name} {value}" for name, value in _POLICY.items())),
    ("x-frame-options", "DENY"),
    ("referrer-policy", "same-origin"),  # "no-referrer" would also hide the origin of forms, which the site checks
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-embedder-policy", "require-corp"),
    ("cross-origin-resource-policy", "same-origin"),
    ("permissions-policy", ", ".join(f"{name}=()" for name in _DENIED)),
)
"""Headers of every answer. No other site can show a page in a frame, read an answer or open a window on one."""
NO_STORE = ("cache-control", "no-store")
IMMUTABLE = ("cache-control", "public, max-age=31536000, immutable")
"""For addresses that contain the hash of the content."""


@dataclass(frozen=True)
class Answer:
    """The answer to a request of a browser."""

    body: bytes = b""
    content_type: str = HTML
    status: int = 200
    headers: Iterable[tuple[str, str]] = field(default=(NO_STORE,))


def local(address: str) -> str:
    """Return an address below this host, such as "/c/pets?k=5"; "/" for any other, as //host is the one of a host."""
    inside = address.startswith("/") and address[1:2] not in ("/", "\\") and address.isprintable()
    return address if inside and address.isascii() else "/"
