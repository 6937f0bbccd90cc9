"""The keys of a home: a file, HOME/.keys, from which every server of the home reads names, scopes and hashes.

The file has the SHA-256 of each key, never the key itself. Each change replaces the file in one step, so that a reader
sees the state before or after it. From the first key on, the file exists and servers of the home require keys, also if
all keys are revoked.
"""

import hashlib
import hmac
import json
import os
import re
import secrets
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from crossview.engine.catalog.file_errors import file_errors
from crossview.engine.catalog.folder import sync_folder
from crossview.engine.catalog.lock import WriterLock
from crossview.engine.catalog.names import NAME
from crossview.engine.catalog.private import make_file, make_folder, open_file
from crossview.engine.errors import AlreadyExistsError, InvalidInputError, NotFoundError, StorageError
from crossview.server.dispatch.identity import Identity, Scope
from crossview.server.errors import UnauthenticatedError

FILE = ".keys"
_FORM = re.compile(r"cv_([0-9a-f]{12})_([A-Za-z0-9_-]{43})")
"""The form of a key: a public id, and 256 random bits."""
_SECRET_BYTES = 32
_UNITS = {"h": 3_600, "d": 86_400, "w": 7 * 86_400, "y": 365 * 86_400}
_DURATION = re.compile(rf"([1-9][0-9]{{0,5}})([{''.join(_UNITS)}])")
_VERSION = 1
_OTHERS = 0o022
"""The rights of others to write a file."""


@dataclass(frozen=True)
class Key:
    """A key of a home, without its secret."""

    name: str
    scope: str
    """``read``, ``write`` or ``admin``."""
    collections: tuple[str, ...] | None
    """The collections and aliases that callers with the key may name; None for all."""
    created: str
    """The time of its creation, in ISO format, in UTC."""
    expires: str | None
    """The time from which it is invalid; None for never."""
    id: str = field(repr=False)
    """The public part of the key."""
    sha256: str = field(repr=False)
    """The hash of the whole key, hexadecimal."""

    @property
    def identity(self) -> Identity:
        """The identity of callers with the key; only administrators see absolute paths."""
        scope = Scope(self.scope)
        collections = None if self.collections is None else frozenset(self.collections)
        return Identity(self.name, scope, collections, paths=scope is Scope.ADMIN, id=self.id)

    @property
    def ends(self) -> float:
        """The time from which it is invalid, in seconds since 1970; infinite for never."""
        return float("inf") if self.expires is None else datetime.fromisoformat(self.expires).timestamp()


class Keys:
    """The keys of a home. Several processes may change them at once."""

    def __init__(self, home: Path) -> None:
        self.path: Path = home / FILE
        self._home = home

    def all(self) -> list[Key]:
        """Return the keys, sorted by name; raise StorageError if the file cannot be read."""
        return sorted(_read(self.path), key=lambda one: one.name)

    def create(
        self, name: str, scope: str, collections: Sequence[str] | None = None, expires: str | None = None
    ) -> tuple[str, Key]:
        """Create a key and return it, with its entry; nothing can show the key again.

        ``expires`` is a duration such as ``90d``: hours, days, weeks or years. Raises InvalidInputError,
        AlreadyExistsError for the name of another key, StorageError.
        """
        _check(name, scope, collections)
        now = time.time()
        ends = None if expires is None else now + _seconds(expires)
        public = secrets.token_hex(6)
        secret = f"cv_{public}_{secrets.token_urlsafe(_SECRET_BYTES)}"
        only = None if collections is None else tuple(sorted(set(collections)))
        made = Key(name, scope, only, _time(now), None if ends is None else _time(ends), public, _hash(secret))
        with self._changing() as keys:
            if any(one.name == name for one in keys):
                raise AlreadyExistsError(
                    f"a key {name!r} exists already: choose another name, or revoke it first with: "
                    f"crossview key revoke {name}"
                )
            keys.append(made)
        return secret, made

    def revoke(self, name: str) -> Key:
        """Delete a key: servers refuse it from their next call on. Raises NotFoundError, StorageError."""
        with self._changing() as keys:
            found = next((one for one in keys if one.name == name), None)
            if found is None:
                known = f"there are: {', '.join(sorted(one.name for one in keys))}" if keys else "there are none"
                raise NotFoundError(f"no key {name!r}; {known}")
            keys.remove(found)
        return found

    @contextmanager
    def _changing(self) -> Iterator[list[Key]]:
        """Yield the keys as a list, and replace the file by its content after the block."""
        with file_errors():
            make_folder(self._home, parents=True)
        with WriterLock(self._home / ".names").hold():
            keys = _read(self.path)
            yield keys
            _write(self.path, keys)


class KeyRing:
    """The keys of a home, as a server checks them; it reads the file again when that changes.

    ``required`` requires keys even if the home has had none.
    """

    def __init__(self, home: Path, required: bool = False) -> None:
        self._path = home / FILE
        self._required = required
        self._state: tuple[int, ...] | None = None
        self._keys: Mapping[str, tuple[bytes, Identity, float]] = {}
        """Hash, identity and end of each key, by its public id."""

    def required(self) -> bool:
        """Return whether callers need a key. Once they do, they need one as long as the process lives.

        Raises StorageError if the file cannot be read.
        """
        try:
            found = os.stat(self._path, follow_symlinks=False)
        except FileNotFoundError:
            self._keys, self._state = {}, None
            return self._required
        self._required = True
        state = found.st_ino, found.st_mtime_ns, found.st_size, found.st_ctime_ns
        if state != self._state:
            self._keys = {}  # nobody has a key while the file cannot be read
            keys = _read(self._path)
            self._keys = {one.id: (bytes.fromhex(one.sha256), one.identity, one.ends) for one in keys}
            self._state = state
        return True

    def identity(self, secret: str) -> Identity:
        """Return the identity of callers with a key; raise UnauthenticatedError for an unknown or expired one."""
        form = _FORM.fullmatch(secret)
        known = self._keys.get(form[1]) if form is not None else None
        wanted, identity, ends = known or (bytes(_SECRET_BYTES), Identity(), 0.0)
        same = hmac.compare_digest(hashlib.sha256(secret.encode()).digest(), wanted)
        if known is None or not same:
            raise UnauthenticatedError("the server does not know the key, or it was revoked: ask for a new one")
        if time.time() >= ends:
            raise UnauthenticatedError(f"the key {identity.name!r} has expired: ask for a new one")
        return identity


def _check(name: str, scope: str, collections: Sequence[str] | None) -> None:
    if not NAME.fullmatch(name):
        raise InvalidInputError(
            f"{name!r} cannot name a key: use 1 to 63 of a-z, 0-9, '-' and '_', a letter or digit first"
        )
    if scope not in (known := [one.value for one in Scope]):
        raise InvalidInputError(f"the scope of a key is {', '.join(known[:-1])} or {known[-1]}, not {scope!r}")
    if collections is None:
        return
    if scope == Scope.ADMIN.value:
        raise InvalidInputError(
            "an admin key has every collection, because it can rename them and see their aliases: name no collections, "
            "or use the scope write"
        )
    if not collections:
        raise InvalidInputError("the list of collections is empty: name one or more, or leave it out for all of them")
    for one in collections:
        if not NAME.fullmatch(one):
            raise InvalidInputError(f"{one!r} is not the name of a collection or an alias")


def _seconds(duration: str) -> float:
    match = _DURATION.fullmatch(duration)
    if match is None:
        raise InvalidInputError(
            f"{duration!r} is not a duration: use a whole number of hours, days, weeks or years, such as 12h, 90d or 1y"
        )
    return float(int(match[1]) * _UNITS[match[2]])


def _time(seconds: float) -> str:
    try:
        return datetime.fromtimestamp(int(seconds), UTC).isoformat()
    except (OverflowError, ValueError) as error:
        raise InvalidInputError("the key would expire after the year 9999: use a shorter duration, or none") from error


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def _read(path: Path) -> list[Key]:
    """Return the keys of a file; none if it does not exist."""
    try:
        os.lstat(path)
    except FileNotFoundError:
        return []
    with file_errors(), os.fdopen(open_file(path, os.O_RDONLY), "rb") as file:
        mode, content = os.fstat(file.fileno()).st_mode, file.read()
    if mode & _OTHERS:
        raise StorageError(
            "other users may write the file of the keys, so nobody can trust it: check it, then run chmod 600 on it",
            detail=path,
        )
    try:
        stored = json.loads(content)
        version = stored["version"]
        if version == _VERSION:
            return [_key(one) for one in stored["keys"]]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise StorageError(
            "the file of the keys is damaged: remove it, and create the keys again", detail=path
        ) from error
    raise StorageError(
        f"the file of the keys has version {version}, and this version of crossview reads {_VERSION}: use the newer "
        "version of crossview",
        detail=path,
    )


def _key(stored: Mapping[str, object]) -> Key:
    """Return a stored key; raise ValueError, TypeError or KeyError for a damaged one."""
    given: dict[str, Any] = dict(stored)
    only = given["collections"]
    key = Key(**{**given, "collections": None if only is None else tuple(only)})
    Scope(key.scope)
    if len(bytes.fromhex(key.sha256)) != _SECRET_BYTES or not key.ends:
        raise ValueError("not a hash or not a time")
    return key


def _write(path: Path, keys: Sequence[Key]) -> None:
    """Replace the file in one step."""
    made = path.with_name(f"{FILE}-{uuid.uuid4().hex}")
    content = json.dumps({"version": _VERSION, "keys": [asdict(one) for one in keys]}, indent=1)
    with file_errors():
        try:
            make_file(made)
            with open(made, "w", encoding="utf-8") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(made, path)
        finally:
            made.unlink(missing_ok=True)
        sync_folder(path.parent)
