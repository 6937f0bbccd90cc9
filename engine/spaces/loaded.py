"""The spaces and extractors of an open collection, each loaded at first use.

Learners, indexes and decoders are also imported at first use, so that describing a collection is fast.
"""

import threading
from typing import TYPE_CHECKING

from crossview.engine.catalog.catalog import Catalog, Transaction
from crossview.engine.catalog.description import RAW, no_space, raw_identity
from crossview.engine.catalog.extractors import load_extractor
from crossview.engine.catalog.joined import joined_view
from crossview.engine.catalog.soundness import mistyped
from crossview.engine.catalog.views import ViewRecord
from crossview.engine.runtime.locks import Locks, held
from crossview.engine.values.errors import Argument, CrossviewError, InvalidInputError, NotInstalledError, StorageError
from crossview.engine.values.info import SpaceDescription
from crossview.features.pictures import IN_PROCESS, Pictures

if TYPE_CHECKING:
    from crossview.engine.spaces.space import Space
    from crossview.features.base import Extractor

Identity = tuple[int, ...]


class LoadedSpaces:
    """Spaces by name and identity, and extractors by view and revision; ``pictures`` reads pictures with them."""

    pictures: Pictures

    def __init__(self, catalog: Catalog, pictures: Pictures = IN_PROCESS) -> None:
        self._catalog, self.pictures = catalog, pictures
        self._loading = Locks()
        self._changing = threading.Lock()
        self._history = ""
        self._spaces: dict[str, tuple[tuple[Identity, int], Space]] = {}
        """The spaces with their identities, and the change up to which they know the new keys of items."""
        self._extractors: dict[tuple[int, int], Extractor] = {}

    def get(self, tx: Transaction, name: str) -> "Space":
        """Return a space [default: the active one] as stored in the catalog; NotFoundError lists the existing ones."""
        name = name or tx.active_space() or RAW
        identity = space_identity(tx, name)
        if identity is None:
            raise no_space(tx, name)
        from crossview.engine.spaces.space import raw_space

        self.of_history(tx.head().history)
        state = identity, 0 if name == RAW else tx.moves.last_rename()
        spaces = self._spaces  # a restore during the load replaces the dictionary of the object, not this one
        with held(self._loading.of(name)):
            entry = spaces.get(name)
            if entry is None or entry[0] != state:
                space = raw_space(tx.views.all()) if name == RAW else stored_space(tx, name)
                entry = spaces[name] = state, space
            return entry[1]

    def of_history(self, history: str) -> None:
        """Drop everything of another history, in which the same numbers can mean other spaces and views."""
        with self._changing:
            if history != self._history:
                self._history, self._spaces, self._extractors = history, {}, {}

    def forget(self, name: str) -> None:
        """Drop a deleted space."""
        self._spaces.pop(name, None)

    def extractor(self, view: ViewRecord) -> "Extractor":
        """Return the extractor of a view at a revision."""
        revision, extractors = (view.id, view.revision), self._extractors
        if revision not in extractors:
            with held(self._loading.of(revision)):
                if revision not in extractors:
                    with self._catalog.read() as tx:
                        extractors[revision] = load_extractor(tx, view)
        return extractors[revision]


def stored_space(tx: Transaction, name: str) -> "Space":
    """Return the generation in use of a trained space. Raises InvalidInputError for ``raw``, and NotFoundError."""
    if name == RAW:
        raise InvalidInputError(f"{RAW!r} already contains every view: name a trained space")
    from crossview.engine.spaces.space import Space

    number = tx.spaces.in_use().get(name)
    if number is None:
        raise no_space(tx, name)
    try:
        space = Space.from_state(name, number, tx.spaces.state(name, number))
        space = space.renamed(tx.moves.renames_since(tx.spaces.trained_at(name, number)))
        if wrong := mistyped(space, SpaceDescription):
            raise ValueError(f"{wrong} has a wrong type")
        space.outdated(tx.views.all())
        space.check({view: joined_view(tx, view).dim for view in space.views})
    except CrossviewError:
        raise
    except ImportError as error:
        raise NotInstalledError(
            f"space {name!r} cannot be loaded: ",
            error,
            "; install the package, train the space again, or search another space, such as ",
            Argument("space", RAW),
        ) from error
    except Exception as error:  # a state from an untrusted copy can contain anything
        raise StorageError(
            f"generation {number} of space {name!r} is damaged (", error, "): train it again, or activate another one"
        ) from error
    return space


def space_identity(tx: Transaction, name: str) -> Identity | None:
    """Return the identity of a space, which differs from earlier spaces of the name; None for an unknown name."""
    return raw_identity(tx.views.all()) if name == RAW else tx.spaces.identity(name)
