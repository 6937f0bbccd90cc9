"""The search for duplicates in an open collection, alone or against another one of its home."""

from collections.abc import Iterator
from contextlib import closing, contextmanager

from crossview.engine.catalog.condition_checks import check_filter
from crossview.engine.catalog.folder import CollectionFolder
from crossview.engine.catalog.names import Names
from crossview.engine.collections.opened import Opened
from crossview.engine.findings.duplicates.compared import Source
from crossview.engine.findings.duplicates.duplicate_groups import find_duplicates
from crossview.engine.values.conditions.filter import Filter
from crossview.engine.values.duplicate import Duplicates, DuplicatesRequest
from crossview.engine.values.errors import InvalidInputError


def duplicates_of(opened: Opened, request: DuplicatesRequest) -> Duplicates:
    """Return the duplicates that a request wants; see ``Collection.duplicates``."""
    request.check()
    own = _source(opened, check_filter(request.filter))
    with _other(opened, request.against) as other:
        return find_duplicates(own, None if other is None else _source(other), request)


def _source(opened: Opened, chosen: Filter | None = None) -> Source:
    if chosen is None or chosen.is_empty:
        return Source(opened.folder.name, opened.read, opened.writable)
    with opened.read() as tx:
        found = opened.columns.matching(tx, chosen.condition)
        opened.unmet.warn(tx, chosen.condition, not len(found))
    return Source(opened.folder.name, opened.read, opened.writable, frozenset(found.tolist()))


@contextmanager
def _other(opened: Opened, name: str) -> Iterator[Opened | None]:
    """Open another collection of the same home for the block; None without a name."""
    if not name:
        yield None
        return
    home = opened.folder.path.parent
    names = Names(home)
    names.check_exists(name)
    named = names.collection_of(name)
    if named == opened.folder.name:
        raise InvalidInputError(f"{name!r} is this collection: name another one, or none")
    with closing(Opened(CollectionFolder(home / named), opened.pictures)) as other:
        yield other
