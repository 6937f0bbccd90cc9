"""What a catalog's database does by itself when it is read or written: nothing, unless somebody else has made it."""

import sqlite3

_OBJECTS = "SELECT type || ' ' || name FROM sqlite_master WHERE type NOT IN ('table', 'index')"
_TABLES = (
    "SELECT type || ' table ' || name FROM pragma_table_list WHERE schema = 'main' AND type != 'table' "
    "ORDER BY type DESC"  # a virtual one before its shadows
)
_COLUMNS = (
    "SELECT 'computed column ' || columns.name || ' of ' || tables.name FROM sqlite_master AS tables, "
    "pragma_table_xinfo(tables.name) AS columns WHERE tables.type = 'table' AND columns.hidden"
)
_INDEXES = (
    "SELECT 'computed index ' || indexes.name FROM sqlite_master AS indexes, "
    "pragma_index_xinfo(indexes.name) AS columns WHERE indexes.type = 'index' AND columns.cid = -2"
)


def foreign_object(database: sqlite3.Connection) -> str:
    """Return a view, trigger, virtual table, computed column or index, in words, where a database has one; "" for none.

    They run what their maker wants as soon as somebody reads or writes; no catalog has any.
    """
    for query in (_OBJECTS, _TABLES, _COLUMNS, _INDEXES):
        if (found := database.execute(query).fetchone()) is not None:
            return str(found[0])
    return ""
