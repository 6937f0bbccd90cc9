"""Notes on the keys of a collection after a command that frees or takes its name, in a home on this machine."""

from typing import TYPE_CHECKING

from crossview.server.commands.output import say

if TYPE_CHECKING:
    from crossview.engine.collections.home import Home


def key_names(backend: object, collection: str) -> list[str]:
    """Return the names of the keys that follow a collection of a home; a server logs those of its own."""
    from crossview.engine.collections.home import Home

    if not isinstance(backend, Home):
        return []
    from crossview.server.core.keys.keys import Keys

    return Keys(backend.path).of_collection(collection)


def keep_alias_of_keys(backend: object, alias: str) -> None:
    """Give the keys that follow a renamed collection of a home the alias that its old name has become."""
    from crossview.engine.collections.home import Home
    from crossview.server.core.keys.keys import Keys

    if isinstance(backend, Home):
        Keys(backend.path).keep_alias(alias)


def lost_keys(home: "Home", collection: str) -> list[str]:
    """Return the names of the keys that had a deleted collection of a name."""
    from crossview.server.core.keys.keys import Keys

    return Keys(home.path).of_deleted(collection)


def note_keys(names: list[str], outcome: str) -> None:
    """Print what happens to the keys of some names; nothing without any."""
    if names:
        say(f"note: keys of the collection, {', '.join(names)}: {outcome}", err=True)
