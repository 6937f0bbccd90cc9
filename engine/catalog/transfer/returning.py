"""Import of an export: its parts become the catalog of a new collection, which an interrupted import continues."""

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

from crossview.engine.catalog.database import known_versions
from crossview.engine.catalog.database_copies import Progress
from crossview.engine.catalog.new_catalog import NewCatalog
from crossview.engine.catalog.transfer.manifest import Manifest, Part, damaged, read_manifest
from crossview.engine.catalog.transfer.parts import ROWS, Layout, pyarrow, read_part
from crossview.engine.runtime.cancellation import checkpoint
from crossview.engine.values.errors import InvalidInputError


class Export:
    """An exported collection, whose content is not trusted.

    Raises InvalidInputError for a folder that is not a finished export, is damaged, or is of a newer version, and
    NotReadyError without pyarrow.
    """

    def __init__(self, folder: Path) -> None:
        pyarrow()
        self._folder = folder
        self.manifest: Manifest = read_manifest(folder)
        if self.manifest.schema not in known_versions():
            raise InvalidInputError(
                f"the export in {folder} has the unknown schema version {self.manifest.schema[:20]!r}, of crossview "
                f"{self.manifest.crossview[:20]}: upgrade crossview"
            )

    def make_catalog(self, folder: Path, progress: Progress | None = None) -> Path:
        """Make the catalog of a new collection in a folder, or finish an interrupted one; return the catalog's file.

        Raises InvalidInputError for a file that is damaged, or a value that crossview would not write; StorageError.
        """
        parts = self.manifest.parts
        new = NewCatalog(folder, self.manifest.schema, lambda how: damaged(self._folder, how), lasting=True)
        with closing(new):
            done = new.pieces()
            finished = sum(part.rows for part in parts if part.path in done)
            new.expect(sum(part.rows for part in parts), progress, finished)
            for part in parts:
                checkpoint()
                if part.path not in done:
                    new.bring(part.path, part.table, read_part(self._folder, part, self._layout(part, new.tables)))
            return new.finish()

    def _layout(self, part: Part, kinds: Mapping[str, Mapping[str, str]]) -> Layout:
        if part.table not in kinds or (part.table == ROWS) != (part.dim > 0):
            raise damaged(self._folder / part.path, f"the manifest states an unknown table {part.table[:40]!r}")
        return Layout(part.table, kinds[part.table], part.dim)
