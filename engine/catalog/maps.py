"""The maps of spaces in the catalog: places of items in a plane."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from crossview.engine.catalog.schema import maps
from crossview.engine.catalog.state import pack, unpack
from crossview.engine.values.errors import StorageError
from crossview.engine.values.map import MapInfo

MOST_MAPS = 50
"""Maximum number of maps of a collection: the oldest one is deleted first."""


@dataclass(frozen=True, kw_only=True)
class MapRecord:
    """The description of a map."""

    space: str
    generation: int
    """For the raw space, the revision of the view."""
    view: str
    target: str
    method: str
    condition: str
    created: str
    summary: Mapping[str, Any]
    id: int = 0

    @property
    def identity(self) -> dict[str, Any]:
        """The columns in which two maps differ; a map replaces an earlier one that differs in none of them."""
        return {name: value for name, value in asdict(self).items() if name not in ("created", "summary", "id")}

    def info(self, missing: int) -> MapInfo:
        """Return the description for users; ``missing`` items have no place."""
        columns = {name: value for name, value in vars(self).items() if name not in ("condition", "summary")}
        return MapInfo(**columns, **self.summary, where=self.condition, missing=missing)


class Places(NamedTuple):
    """The places of the items of a map."""

    ids: NDArray[np.int64]
    """(n,), ascending."""
    points: NDArray[np.float32]
    """(n, 2)"""


_COLUMNS = tuple(getattr(maps.c, name) for name in MapRecord.__dataclass_fields__)


class Maps:
    """The maps of one transaction."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def all(self) -> list[MapRecord]:
        """Return every map, the newest first."""
        rows = self._connection.execute(sa.select(*_COLUMNS).order_by(maps.c.id.desc()))
        return [MapRecord(**row._mapping) for row in rows]

    def places(self, number: int) -> Places:
        """Return the places of a map; StorageError if they are damaged."""
        state = self._connection.scalar(sa.select(maps.c.state).where(maps.c.id == number))
        try:
            tree = unpack(bytes(state or b""))
            ids, points = np.asarray(tree["ids"], np.int64), np.asarray(tree["points"], np.float32)
            if points.shape != (*ids.shape, 2) or ids.ndim != 1 or not len(ids):
                raise ValueError(f"ids of shape {ids.shape} and places of shape {points.shape}")
            if bool((ids[1:] <= ids[:-1]).any()) or not bool(np.isfinite(points).all()):
                raise ValueError("its ids do not ascend, or a place is not finite")
        except (ValueError, LookupError, TypeError) as error:
            raise StorageError(f"map {number} is damaged: renew it; {error}") from error
        return Places(ids, points)

    def add(self, new: MapRecord, places: Places) -> MapRecord:
        """Store a map, instead of an earlier one with the same identity, and return it with its id."""
        same = [maps.c[name] == value for name, value in new.identity.items()]
        self._connection.execute(sa.delete(maps).where(*same))
        columns = {name: value for name, value in vars(new).items() if name != "id"}
        result = self._connection.execute(sa.insert(maps).values(**columns, state=pack(places._asdict())))
        oldest = sa.select(maps.c.id).order_by(maps.c.id.desc()).offset(MOST_MAPS)
        self._connection.execute(sa.delete(maps).where(maps.c.id.in_(oldest.scalar_subquery())))
        return MapRecord(**columns, id=int(result.lastrowid))

    def delete(self, number: int) -> None:
        """Delete a map."""
        self._connection.execute(sa.delete(maps).where(maps.c.id == number))

    def delete_of_view(self, space: str, view: str) -> None:
        """Delete the maps that show items of a view, or a joined view with it, in any generation of a space."""
        for record in self.all():
            if record.space == space and view in (*record.view.split("+"), *record.target.split("+")):
                self.delete(record.id)
