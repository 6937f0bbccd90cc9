"""Commands on the keys of a home: create, list and revoke. They work on this machine, not through a server."""

from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated

import typer

from crossview.server.commands.common import JsonOption, NameArgument, names, print_json, print_result
from crossview.server.commands.connection_options import HomeOption
from crossview.server.commands.hints import hint
from crossview.server.commands.output import say, show, table

if TYPE_CHECKING:
    from pathlib import Path

    from crossview.server.core.keys.keys import Key, Keys

KeyNameArgument = Annotated[str, typer.Argument(metavar="KEY-NAME", help="Name of the key.")]


@dataclass(frozen=True)
class PrintedKey:
    """A key of a home, without the key itself."""

    name: str
    scope: str
    """``read``, ``write`` or ``admin``."""
    collections: tuple[str, ...] | None
    """The names now of the collections and aliases that callers with the key may use; null for all."""
    deleted: tuple[str, ...]
    """The names by which the key got collections that are deleted since then."""
    created: str
    expires: str | None
    """The time from which the key is invalid; null for never."""
    expired: bool


@dataclass(frozen=True, kw_only=True)
class CreatedKey(PrintedKey):
    """A new key. Nothing can show the key again."""

    key: str = field(repr=False)


def create(
    key_name: KeyNameArgument,
    scope: Annotated[
        str,
        typer.Option(
            metavar="read|write|admin", help="Rights of callers with the key; each contains the earlier ones."
        ),
    ],
    collections: Annotated[
        str | None,
        typer.Option(metavar="A,B", help="Collections and aliases that callers may use [default: all]."),
    ] = None,
    expires: Annotated[
        str | None,
        typer.Option(metavar="90d", help="Hours, days, weeks or years until it is invalid [default: never]."),
    ] = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Create a key for the servers of a home, and print it once.

    From the first key on, servers of the home refuse every call without a key, without a restart. read searches and
    reads, write also changes items, views, spaces and answers, and admin also creates, renames and deletes collections
    and aliases.

    Examples:
        crossview key create website --scope read --collections pets
        crossview key create importer --scope write --expires 90d
    """
    keys = _keys(home)
    only = None if collections is None else names(collections)
    first = not keys.path.exists()
    secret, key = keys.create(key_name, scope, only, expires)
    printed = _printed(key, keys.path.parent)
    if as_json:
        print_json(CreatedKey(**vars(printed), key=secret))
    else:
        say(secret)
        say(
            f"created the key {key_name} ({_rights(printed)}); store it now, because nothing can show it again",
            err=True,
        )
    if first:
        say("from now on, servers of this home refuse calls without a key", err=True)
    _note_missing(home, only or ())


def list_(home: HomeOption = None, as_json: JsonOption = False) -> None:
    """List the keys of a home, without the keys themselves.

    A key is for a collection, whatever its name is now. A deleted collection has the name that the key got it by.

    Examples:
        crossview key list
        crossview key list --json
    """
    from crossview.engine.values.errors import StorageError

    keys = _keys(home)
    with suppress(StorageError):  # a home that cannot be written
        keys.bind()
    printed = [_printed(key, keys.path.parent) for key in keys.all()]
    if as_json:
        print_json(printed)
        return
    if not printed:
        required = "; servers of this home refuse every call" if keys.path.exists() else ""
        say(f"no keys{required}; create one with: {hint('key create', 'website', '--scope', 'read')}")
        return
    rows = table("key", "scope", "collections", "created", "expires")
    for key in printed:
        expires = "never" if key.expires is None else f"{_time(key.expires)}{' (expired)' if key.expired else ''}"
        rows.add_row(key.name, key.scope, _reach(key, "all"), _time(key.created), expires)
    show(rows)


def grant(key_name: KeyNameArgument, name: NameArgument, home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Give a key one more collection or alias.

    A collection that crossview restore creates is a new one, which no key has.

    Examples:
        crossview key grant website pets
        crossview key grant website pets --json
    """
    keys = _keys(home)
    printed = _printed(keys.grant(key_name, name), keys.path.parent)
    print_result(printed, f"{key_name} ({_rights(printed)})", as_json)


def revoke(key_name: KeyNameArgument, home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Revoke a key: servers refuse its next call.

    Open streams get an error for each further message. A running job of the key continues; cancel it with job cancel.
    After the last key, servers still refuse calls without a key. To serve without keys again, stop the servers and
    remove the file .keys of the home.

    Examples:
        crossview key revoke website
        crossview key revoke website --json
    """
    keys = _keys(home)
    print_result(_printed(keys.revoke(key_name), keys.path.parent), f"revoked the key {key_name}", as_json)
    if not keys.all():
        say("no keys are left: servers of this home refuse every call", err=True)


def _keys(home: "Path | None") -> "Keys":
    from crossview.engine.collections.home import Home
    from crossview.server.core.keys.keys import Keys

    return Keys(Home(home).path)


def _printed(key: "Key", home: "Path") -> PrintedKey:
    import time

    from crossview.server.core.keys.grants import HomeNames

    names, grants = HomeNames.of(home), key.collections
    now = None if grants is None else tuple(sorted({name for grant in grants for name in grant.shown(names)}))
    deleted = tuple(grant.name for grant in grants or () if not grant.shown(names))
    expired = time.time() >= key.ends
    return PrintedKey(key.name, key.scope, now, deleted, key.created, key.expires, expired=expired)


def _reach(key: PrintedKey, everything: str) -> str:
    if key.collections is None:
        return everything
    return ", ".join([*key.collections, *(f"a deleted collection (once {name})" for name in key.deleted)])


def _rights(key: PrintedKey) -> str:
    expires = "never expires" if key.expires is None else f"expires {_time(key.expires)}"
    return f"{key.scope}, {_reach(key, 'all collections')}, {expires}"


def _note_missing(home: "Path | None", only: tuple[str, ...]) -> None:
    """Print the collections of a key that do not exist yet: perhaps their names are misspelt."""
    from crossview.engine.collections.home import Home

    opened = Home(home)
    existing_names = {*opened.names(), *opened.aliases()}
    if new := [name for name in only if name not in existing_names]:
        say(f"note: the home has no collection {', '.join(new)} yet", err=True)


def _time(text: str) -> str:
    return text[:19].replace("T", " ")
