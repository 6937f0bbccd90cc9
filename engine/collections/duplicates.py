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


def _source(opened: Opened, only: Filter | None = None) -> Source:
    if only is None or only.is_empty:
        return Source(opened.folder.name, opened.read, opened.writable)
    with opened.read() as tx:
        ids = opened.columns.matching(tx, only.condition)
        opened.unmet.warn(tx, only.condition, not len(ids))
    return Source(opened.folder.name, opened.read, opened.writable, frozenset(ids.tolist()))


@contextmanager
def _other(opened: Opened, name: str) -> Iterator[Opened | None]:
    """Open another collection of the same home for the block; None without a name."""
    if not name:
        yield None
        return
    home = opened.folder.path.parent
    names = Names(home)
    names.check_exists(name)
    collection = names.collection_of(name)
    if collection == opened.folder.name:
        raise InvalidInputError(f"{name!r} is this collection: name another one, or none")
    with closing(Opened(CollectionFolder(home / collection), opened.pictures)) as other:
        yield other
