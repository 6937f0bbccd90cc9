"""The method of a collection that finds important changes between pictures of one page or scene."""

from typing import TYPE_CHECKING

from crossview.engine.catalog.contents import Contents

if TYPE_CHECKING:
    from crossview.engine.changes.request import Changes, ChangesRequest


class ImportantChanges(Contents):
    """A collection whose pictures are versions of one page or scene."""

    def changes(self, request: "ChangesRequest") -> "Changes":
        """Return the changes between successive pictures, and which are important, learned from time alone.

        Raises InvalidInputError, NotFoundError (view), NotReadyError (too few versions, or equal versions).
        """
        from crossview.engine.changes.finding import find_changes

        with self._read() as tx:
            find = find_changes(tx, request)
        return find()
