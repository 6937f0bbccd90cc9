"""Collections that are made once; tests get copies of them, which they may change."""

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from drawn import write_pictures

from crossview.engine.collections.collection import Collection
from crossview.engine.collections.home import Home


class Once:
    """Results of functions, each called once with the same arguments, in folders below one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._made: dict[tuple[object, ...], Path] = {}
        self._pictures = folder / "pictures"
        write_pictures(self._pictures, 6)

    def copy(self, home: Home, make: Callable[..., Collection], *arguments: object) -> Collection:
        """Open in ``home`` a copy of the collection that ``make(another home, *arguments)`` returns."""
        return home.open(self._copied(home, make, *arguments).name)

    def copy_pictures(self, folder: Path) -> None:
        """Write 18 pictures in three classes: folder/LABEL/N.png."""
        shutil.copytree(self._pictures, folder)

    def copy_of_pictures(self, home: Home, make: Callable[[Home, Path], Collection], pictures: Path) -> Collection:
        """Open in ``home`` the result of ``make(another home, pictures)``, as if made of these copied pictures."""
        copied = self._copied(home, make, self._pictures)
        paths = str(self._pictures), str(pictures)
        with closing(sqlite3.connect(copied / "catalog.db")) as catalog, catalog:
            catalog.execute("UPDATE roots SET path = replace(path, ?, ?)", paths)
            catalog.execute("UPDATE items SET source = replace(source, ?, ?)", paths)
        return home.open(copied.name)

    def _copied(self, home: Home, make: Callable[..., Collection], *arguments: object) -> Path:
        what = (make, *arguments)
        if what not in self._made:
            own = Home(self._folder / str(len(self._made)))
            with make(own, *arguments) as collection:
                self._made[what] = own.path / collection.name
        made = self._made[what]
        return Path(shutil.copytree(made, home.path / made.name))
