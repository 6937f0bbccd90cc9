"""Plans: the memory, disk and time that collections of a size take, and the kind of index that suits them."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from crossview.engine.values.errors import InvalidInputError
from crossview.engine.values.index_choice import FLAT, VECTORS

MANY = 200_000
"""Number of vectors from which ``auto`` chooses an approximate kind. Up to it, an exact search takes about 1 ms."""
SHARE_OF_MEMORY = 0.5
"""Share of the available memory up to which ``auto`` puts the vectors into lists; beyond, it scans codes."""
_COMPONENT = {"float32": 4, "float16": 2}
_ID = 8
_ITEM = 180
"""Bytes of an item in the catalog besides its rows and texts."""
_TWO_STAGES = 6_400_000
"""Number of components from which exact searches scan bytes first."""
_BLOCK = 16
"""Their widths are multiples of this number of components."""


@dataclass(frozen=True, kw_only=True)
class PlannedIndex:
    """The cost of an index of one kind for the vectors of one view."""

    view: str
    kind: str
    vectors: str
    memory: int
    """Bytes that searches read again and again; the rest can stay on disk."""
    disk: int
    build_seconds: float
    search_ms: float
    """Time of a search for ten items by one query, on one core."""
    suits: bool
    """Whether ``auto`` chooses this kind."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The cost of a collection, on two cores of the machine of the benchmark ``scale``."""

    items: int
    catalog: int
    """Bytes of the catalog on disk, without texts, thumbnails and attributes."""
    load_seconds: float
    """Time of loading vectors from files, without labels and attributes."""
    available: int | None
    """Bytes of memory that are available here; None if the system does not state them."""
    indexes: tuple[PlannedIndex, ...]
    notes: tuple[str, ...] = ()


def suitable_kind(count: int, dim: int, available: int | None) -> str:
    """Return the kind of index that suits a number of vectors and the bytes of available memory.

    Inverted lists are the fastest kind at every size where a scan takes more than a millisecond, and they are built in
    seconds. They contain the vectors. If the vectors take too much memory, a scan of codes needs a sixteenth.
    """
    if count < MANY:
        return FLAT
    fits = available is None or _COMPONENT["float32"] * dim * count < SHARE_OF_MEMORY * available
    return "ivf" if fits else "scan"


def planned(items: int, widths: Mapping[str, int], available: int | None) -> Plan:
    """Return the plan for a number of items with float vectors of some views, given the width of each.

    The times come from the benchmark ``scale``; they grow with items and widths as the work does, and are right within
    a factor of two on similar machines. Raises InvalidInputError unless there are items and columns.
    """
    if items < 1 or not widths or min(widths.values()) < 1:
        raise InvalidInputError(f"a plan needs items and views with columns, not {items} items of {dict(widths)}")
    indexes = tuple(
        _index(view, kind, vectors, items, dim, kind == suitable_kind(items, dim, available) and vectors == VECTORS[0])
        for view, dim in widths.items()
        for kind in (FLAT, "ivf", "scan", "hnsw")
        for vectors in (VECTORS if kind == "ivf" else VECTORS[:1])
    )
    columns = sum(widths.values())
    memory = sum(index.memory for index in indexes if index.suits)
    notes: tuple[str, ...] = ()
    if available is not None and memory > available:
        notes = (f"the indexes that auto chooses take more memory than the {available:,} bytes that are available",)
    return Plan(
        items=items,
        catalog=items * (_ITEM + 4 * columns),
        load_seconds=items * (_LOAD_ITEM + _LOAD_COLUMN * columns),
        available=available,
        indexes=indexes,
        notes=notes,
    )


_LOAD_ITEM, _LOAD_COLUMN = 6e-6, 4e-8
"""Seconds of loading an item without labels and attributes, and a column of an item."""
_FLAT_COMPONENT, _BYTE_COMPONENT = 1.4e-7, 5e-8
"""Milliseconds of comparing a component of four bytes, and of one."""
_FIXED = 0.05
"""Milliseconds of any search in an index."""
_LIST_COMPONENT = 1.0e-7
"""Milliseconds of comparing a component in lists."""
_PROBES = 8
_CODE_COMPONENT, _CANDIDATES = 6e-9, 300
_LINK_COMPONENT, _STEPS = 4e-7, 5_000
_LIST_BUILD, _CODE_BUILD, _LINK_BUILD = 2.5e-11, 1.1e-8, 4e-8
"""Seconds of building, for each component and list; for each component; for each component and step of a graph."""
_LINKS = 32


def _index(view: str, kind: str, vectors: str, items: int, dim: int, suits: bool) -> PlannedIndex:
    rows, components = items * (_COMPONENT[vectors] * dim + _ID), items * dim
    lists = 2 ** round(math.log2(max(2.0, 2 * math.sqrt(items))))
    if kind == FLAT:
        codes = items * _BLOCK * -(-dim // _BLOCK) if components >= _TWO_STAGES else 0
        memory, disk, build = codes or rows, rows + codes, components * 5e-9
        search = codes * _BYTE_COMPONENT if codes else components * _FLAT_COMPONENT
    elif kind == "ivf":
        memory, disk = rows + 4 * dim * lists, 2 * rows
        build = components * lists * _LIST_BUILD
        search = (lists + _PROBES * items / lists) * dim * _LIST_COMPONENT
    elif kind == "scan":
        memory = components // 4
        disk, build = rows + components // 4, components * _CODE_BUILD
        search = components * _CODE_COMPONENT + _CANDIDATES * dim * _LIST_COMPONENT
    else:
        memory = rows + items * (_LINKS * 2 * 4 + 16)
        disk, build = rows + memory, components * math.log2(max(2, items)) * _LINK_BUILD
        search = _STEPS * dim * _LINK_COMPONENT
    return PlannedIndex(
        view=view,
        kind=kind,
        vectors=vectors,
        memory=int(memory),
        disk=int(disk),
        build_seconds=build,
        search_ms=_FIXED + search,
        suits=suits,
    )
