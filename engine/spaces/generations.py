"""Generations of spaces: a new one is built beside the one that answers, and replaces it in one step."""

from collections.abc import Callable

from engine.catalog.catalog import Catalog, Transaction, now
from engine.catalog.description import RAW, no_space
from engine.catalog.spaces import Generation
from engine.errors import NotFoundError
from engine.learners.cancellation import uncancellable
from engine.spaces.indexed import IndexedSpace
from engine.spaces.space import Space
from engine.spaces.versions import Versions


def add_generation(
    catalog: Catalog, versions: Versions, name: str, fit: Callable[[Transaction, int], Space], activate: bool
) -> None:
    """Fit the next generation of a space, given its number; place every item and store it.

    The caller holds the writer lock. A training that is stopped leaves nothing.
    """
    with catalog.read() as tx:
        earlier = tx.spaces.generations(name)
        fitted = fit(tx, max([one.generation for one in earlier], default=0) + 1)
        summary, sequence = fitted.summary(), tx.sequence()
        space = IndexedSpace(fitted, (fitted.generation, sequence)).built(tx)
    with catalog.write() as tx:
        made = Generation(space=name, generation=fitted.generation, created=now(), sequence=sequence, summary=summary)
        tx.spaces.add(made, fitted.to_state())
        if activate:
            _switch(tx, name, fitted.generation)
    with uncancellable():
        versions.take(space, in_use=activate)


def activate_space(tx: Transaction, space: str, generation: int | None) -> None:
    """Let a space answer by default, by one of its generations; None: the one that answers for it now.

    Raises NotFoundError, which lists the spaces or generations that exist.
    """
    known = [one.generation for one in tx.spaces.generations(space)]
    if not known and space != RAW:
        raise no_space(tx, space)
    if generation is not None and generation not in known:
        choices = ", ".join(map(str, known)) or "none to choose from"
        raise NotFoundError(f"space {space!r} has no generation {generation}; there are: {choices}")
    _switch(tx, space, generation)


def _switch(tx: Transaction, name: str, generation: int | None) -> None:
    if generation is not None:
        tx.spaces.use(name, generation)
    tx.activate(name)
    tx.next_sequence()
