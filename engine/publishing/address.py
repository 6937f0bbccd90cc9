"""The address of an engine: which one it is, where it is, and how to reach it."""

import os
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

from crossview.engine.values.errors import InvalidInputError

TOKEN = "CROSSVIEW_ENGINE_TOKEN"  # noqa: S105 - the name of a variable
"""The variable of the environment with the token of an engine, ``USER:PASSWORD`` or a key."""
_FORMS = "milvus://HOST:PORT, milvus+tls://HOST:PORT or milvus:FILE.db"
_PORT = 19530


@dataclass(frozen=True)
class EngineAddress:
    """The place of an engine: a Milvus server, or Milvus Lite in a file."""

    text: str
    """The address as it was given, without a token."""
    uri: str
    """The address as the library of the engine takes it: of a server, or the path of a file."""
    database: str = ""
    """The database of a server [default: its default database]."""
    authorities: str = ""
    """Path of the certificates, in PEM, of the authorities that a server's certificate must come from."""
    token: str = field(default="", repr=False)

    @property
    def is_file(self) -> bool:
        """Whether the engine runs in this process and keeps its data in a file, which one process can open."""
        return "://" not in self.uri

    def __str__(self) -> str:
        return self.text


def engine_address(text: str) -> EngineAddress:
    """Return the engine of an address; the token comes from the environment, so that no list of processes shows it.

    Addresses are ``milvus://HOST[:PORT][/DATABASE]``, ``milvus+tls://...`` with ``?authorities=FILE``, and
    ``milvus:FILE.db``. Raises InvalidInputError.
    """
    scheme, _, rest = text.partition(":")
    if scheme == "milvus" and rest and not rest.startswith("//"):
        if not rest.endswith(".db"):
            raise InvalidInputError(f"{text!r} is not an engine: the name of a file ends in .db, as in milvus:items.db")
        return EngineAddress(text, str(Path(rest).expanduser().absolute()))
    if scheme not in ("milvus", "milvus+tls"):
        raise InvalidInputError(f"{text!r} is not an engine: write {_FORMS}")
    parts = urlsplit(text)
    try:
        host, port = parts.hostname, parts.port or _PORT
    except ValueError as error:
        raise InvalidInputError(f"{text!r} is not an engine: {error}") from None
    if not host:
        raise InvalidInputError(f"{text!r} names no host: write {_FORMS}")
    if parts.username or parts.password:
        raise InvalidInputError(f"do not write a password into an address: set {TOKEN} to USER:PASSWORD")
    query = parse_qs(parts.query)
    if unknown := sorted(query.keys() - {"authorities"}):
        raise InvalidInputError(f"{text!r} has the unknown setting {unknown[0]!r}; there is: authorities")
    protected = scheme == "milvus+tls"
    host = f"[{host}]" if ":" in host else host
    return EngineAddress(
        text=text,
        uri=f"http{'s' * protected}://{host}:{port}",
        database=unquote(parts.path.strip("/")),
        authorities=query.get("authorities", [""])[0],
        token=os.environ.get(TOKEN, ""),
    )
