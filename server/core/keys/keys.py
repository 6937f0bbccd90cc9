"""The keys of a home: a file, HOME/.keys, from which every server of the home reads names, scopes and hashes.

The file has the SHA-256 of each key, never the key itself. Each change replaces the file in one step, so that a reader
sees the state before or after it. From the first key on, the file exists and servers of the home require keys, also if
all keys are revoked.

A key is for collections, not for names: a grant follows its collection through all renames, and what takes the old name
does not get the key. Earlier versions stored names; reading the file binds those to the collections that have them.
"""

import hashlib
import hmac
import json
import logging
import os
import re
import secrets
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from crossview.engine.catalog.file_errors import file_errors
from crossview.engine.catalog.folder import CollectionFolder, sync_folder
from crossview.engine.catalog.lock import WriterLock
from crossview.engine.catalog.names import NAME, Names
from crossview.engine.catalog.private import make_file, make_folder, open_file
from crossview.engine.values.errors import (
    AlreadyExistsError,
    BusyError,
    InvalidInputError,
    NotFoundError,
    StorageError,
    call,
)
from crossview.server.core.keys.grants import Grant, HomeNames, LiveNames, Reach
from crossview.server.wire.errors import UnauthenticatedError
from crossview.server.wire.identity import Identity, Scope

FILE = ".keys"
_FORM = re.compile(r"cv_([0-9a-f]{12})_([A-Za-z0-9_-]{43})")
"""The form of a key: a public id, and 256 random bits."""
_SECRET_BYTES = 32
_UNITS = {"h": 3_600, "d": 86_400, "w": 7 * 86_400, "y": 365 * 86_400}
_DURATION = re.compile(rf"([1-9][0-9]{{0,5}})([{''.join(_UNITS)}])")
_VERSION = 2
_NAMES_ONLY = 1
"""The version of files whose keys have names of collections instead of grants."""
_OTHERS = 0o022
"""The rights of others to write a file."""
_log = logging.getLogger("crossview.server")


@dataclass(frozen=True)
class Key:
    """A key of a home, without its secret."""

    name: str
    scope: str
    """``read``, ``write`` or ``admin``."""
    collections: tuple[Grant, ...] | None
    """The collections and aliases that callers with the key may use; None for all."""
    created: str
    """The time of its creation, in ISO format, in UTC."""
    expires: str | None
    """The time from which it is invalid; None for never."""
    id: str = field(repr=False)
    """The public part of the key."""
    sha256: str = field(repr=False)
    """The hash of the whole key, hexadecimal."""

    def identity(self, names: LiveNames | None) -> Identity:
        """Return the identity of callers with the key in a home; only administrators see absolute paths.

        None if the collections are not those of the home, but published ones, which keep their names.
        """
        scope, grants = Scope(self.scope), self.collections
        if grants is None:
            reach = None
        else:
            reach = frozenset(grant.name for grant in grants) if names is None else Reach(grants, names)
        return Identity(self.name, scope, reach, paths=scope is Scope.ADMIN, id=self.id)

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
        return sorted(_read(self.path), key=lambda key: key.name)

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
        digest = hashlib.sha256(secret.encode()).hexdigest()
        grants = None if collections is None else tuple(Grant(collection) for collection in sorted(set(collections)))
        with self._changing() as keys:
            only = None if grants is None else self._bound(grants)
            key = Key(name, scope, only, _time(now), None if ends is None else _time(ends), public, digest)
            if any(other.name == name for other in keys):
                raise AlreadyExistsError(
                    f"a key {name!r} exists already: choose another name, or revoke it first with: ",
                    call("keys.revoke", name),
                )
            keys.append(key)
        return secret, key

    def revoke(self, name: str) -> Key:
        """Delete a key: servers refuse it from their next call on. Raises NotFoundError, StorageError."""
        with self._changing() as keys:
            key = _named(keys, name)
            keys.remove(key)
        return key

    def grant(self, name: str, collection: str) -> Key:
        """Give a key the right to one more collection or alias; return its new entry.

        A deleted collection that the key had by this name leaves the entry.

        Raises NotFoundError for an unknown key or collection, InvalidInputError for a key that has every collection.
        """
        Names(self._home).check_exists(collection)
        with self._changing() as keys:
            key = _named(keys, name)
            if key.collections is None:
                raise InvalidInputError(f"the key {name!r} has every collection already")
            (grant,) = self._bound((Grant(collection),))
            names = HomeNames.of(self._home)
            rest = [old for old in key.collections if old != grant and (old.name != collection or old.shown(names))]
            changed = replace(key, collections=(*rest, grant))
            keys[keys.index(key)] = changed
        return changed

    def bind(self) -> None:
        """Bind the grants of names to the collections and aliases that have them now; StorageError.

        Whatever frees a name calls this first, so that no key waits for the next collection of this name.
        """
        if not any(_unbound(key) for key in _read(self.path)):
            return
        with self._changing() as keys:
            keys[:] = [
                key if key.collections is None else replace(key, collections=self._bound(key.collections))
                for key in keys
            ]

    def keep_alias(self, alias: str) -> None:
        """Also give the alias that a collection keeps after a rename to the keys that got the collection by this name.

        Programs go on using the name, so they also follow it to another collection. Raises StorageError.
        """
        identity = HomeNames.of(self._home).identities.get(alias)
        grant, earlier_grant = Grant(alias, alias=True), Grant(alias, identity or "")
        if not any(earlier_grant in (key.collections or ()) for key in _read(self.path)):
            return
        with self._changing() as keys:
            for place, key in enumerate(keys):
                if key.collections is not None and earlier_grant in key.collections and grant not in key.collections:
                    keys[place] = replace(key, collections=(*key.collections, grant))

    def of_collection(self, name: str) -> list[str]:
        """Return the names of the keys that follow a collection, sorted; those of all collections do not count.

        Keys that have only its name are bound first. A disk that is full must not keep a collection from being deleted:
        where they cannot be bound, the log has a warning. Raises StorageError if the keys cannot be read.
        """
        try:
            self.bind()
        except StorageError as error:
            _log.warning("cannot bind keys to collection %r: %s", name, error)
        identity = HomeNames.of(self._home).identities.get(name)
        return [
            key.name
            for key in self.all()
            if identity and identity in [grant.identity for grant in key.collections or ()]
        ]

    def of_deleted(self, name: str) -> list[str]:
        """Return the names of the keys that got a collection by a name, and that it is deleted of, sorted."""
        names = HomeNames.of(self._home)
        return [
            key.name
            for key in self.all()
            if any(grant.name == name and not grant.shown(names) for grant in key.collections or ())
        ]

    def _bound(self, grants: Sequence[Grant]) -> tuple[Grant, ...]:
        """Return the grants, bound to what their names stand for; the collections get identities."""
        names = HomeNames.of(self._home)
        unbound = {grant.name for grant in grants if not grant.bound} & (names.identities.keys() - names.aliases.keys())
        identities = {}
        for name in unbound:
            with suppress(FileNotFoundError):  # the collection has just been deleted
                identities[name] = CollectionFolder(self._home / name).identify()
        return tuple(grant.binding(names, identities) for grant in grants)

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

    ``required`` requires keys even if the home has had none. With ``published``, the collections are not those of the
    home, and keys are for their names.
    """

    def __init__(self, home: Path, required: bool = False, published: bool = False) -> None:
        self._path, self._stored = home / FILE, Keys(home)
        self._names = None if published else LiveNames(home)
        self._waiting: frozenset[str] = frozenset()
        """The names of grants that are not bound."""
        self._tried: HomeNames | None = None
        self._required = required
        self._state: tuple[int, ...] | None = None
        self._keys: Mapping[str, tuple[bytes, Identity, float]] = {}
        """Hash, identity and end of each key, by its public id."""

    def required(self) -> bool:
        """Return whether callers need a key. Once they do, they need one as long as the process lives.

        Raises StorageError if the file cannot be read.
        """
        try:
            status = os.stat(self._path, follow_symlinks=False)
        except FileNotFoundError:
            self._keys, self._state = {}, None
            return self._required
        self._required = True
        state = status.st_ino, status.st_mtime_ns, status.st_size, status.st_ctime_ns
        if state != self._state:
            self._keys = {}  # nobody has a key while the file cannot be read
            keys = _read(self._path)
            self._keys = {key.id: (bytes.fromhex(key.sha256), key.identity(self._names), key.ends) for key in keys}
            self._state, self._waiting = state, frozenset(grant for key in keys for grant in _unbound(key))
            if self._names is not None:
                self._names.renew()
        if self._waiting and self._names is not None:
            self._bind(self._names.now())
        return True

    def _bind(self, names: HomeNames) -> None:
        """Bind the grants whose names exist. While the home cannot be written, no name changes, and the names count."""
        if names is self._tried or not self._waiting & names.identities.keys():
            return
        self._tried = names
        try:
            self._stored.bind()
        except (BusyError, StorageError) as error:
            _log.warning("cannot bind keys to collections yet: %s", error)
        else:
            self.required()

    def identity(self, secret: str) -> Identity:
        """Return the identity of callers with a key; raise UnauthenticatedError for an unknown or expired one."""
        form = _FORM.fullmatch(secret)
        entry = self._keys.get(form[1]) if form is not None else None
        digest, identity, ends = entry or (bytes(_SECRET_BYTES), Identity(), 0.0)
        # Also computed for an unknown key, so that the time does not tell whether there is one.
        same = hmac.compare_digest(hashlib.sha256(secret.encode()).digest(), digest)
        if entry is None or not same:
            raise UnauthenticatedError("the server does not know the key, or it was revoked: ask for a new one")
        if time.time() >= ends:
            raise UnauthenticatedError(f"the key {identity.name!r} has expired: ask for a new one")
        return identity


def _named(keys: Sequence[Key], name: str) -> Key:
    """Return the key of a name; raise NotFoundError."""
    key = next((key for key in keys if key.name == name), None)
    if key is None:
        existing = f"there are: {', '.join(sorted(key.name for key in keys))}" if keys else "there are none"
        raise NotFoundError(f"no key {name!r}; {existing}")
    return key


def _unbound(key: Key) -> list[str]:
    """Return the names of a key's grants that are not bound."""
    return [grant.name for grant in key.collections or () if not grant.bound]


def _check(name: str, scope: str, collections: Sequence[str] | None) -> None:
    if not NAME.fullmatch(name):
        raise InvalidInputError(
            f"{name!r} cannot name a key: use 1 to 63 of a-z, 0-9, '-' and '_', a letter or digit first"
        )
    if scope not in (scopes := [member.value for member in Scope]):
        raise InvalidInputError(f"the scope of a key is {', '.join(scopes[:-1])} or {scopes[-1]}, not {scope!r}")
    if collections is None:
        return
    if scope == Scope.ADMIN.value:
        raise InvalidInputError(
            "an admin key has every collection, because it can rename them and see their aliases: name no collections, "
            "or use the scope write"
        )
    if not collections:
        raise InvalidInputError("the list of collections is empty: name one or more, or leave it out for all of them")
    for collection in collections:
        if not NAME.fullmatch(collection):
            raise InvalidInputError(f"{collection!r} is not the name of a collection or an alias")


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
        if version in (_NAMES_ONLY, _VERSION):
            return [_key(entry, version) for entry in stored["keys"]]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise StorageError(
            "the file of the keys is damaged: remove it, and create the keys again", detail=path
        ) from error
    raise StorageError(
        f"the file of the keys has version {version}, and this version of crossview reads {_VERSION}: use the newer "
        "version of crossview",
        detail=path,
    )


def _key(stored: Mapping[str, object], version: int) -> Key:
    """Return a stored key; raise ValueError, TypeError or KeyError for a damaged one."""
    fields: dict[str, Any] = dict(stored)
    only = fields["collections"]
    grants = None if only is None else tuple(Grant(row) if version == _NAMES_ONLY else Grant(**row) for row in only)
    key = Key(**{**fields, "collections": grants})
    Scope(key.scope)
    if len(bytes.fromhex(key.sha256)) != _SECRET_BYTES or not key.ends:
        raise ValueError("not a hash or not a time")
    return key


def _write(path: Path, keys: Sequence[Key]) -> None:
    """Replace the file in one step."""
    temporary = path.with_name(f"{FILE}-{uuid.uuid4().hex}")
    content = json.dumps({"version": _VERSION, "keys": [asdict(key) for key in keys]}, indent=1)
    with file_errors():
        try:
            make_file(temporary)
            with open(temporary, "w", encoding="utf-8") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)
        sync_folder(path.parent)
