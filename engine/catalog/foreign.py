"""Objects of a database that run code when it is read or written; only a database of another maker has them."""

import sqlite3

_OBJECTS = "SELECT type || ' ' || name FROM sqlite_master WHERE type NOT IN ('table', 'index')"
_TABLES = (
    "SELECT type || ' table ' || name FROM pragma_table_list WHERE schema = 'main' AND type != 'table' "
    "ORDER BY type DESC"  # a virtual table before its shadow tables
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
    """Return a view, trigger, virtual table, computed column or computed index of a database in words; "" for none.

    Such objects run code of their maker at any read or write. A catalog never has one.
    """
    for query in (_OBJECTS, _TABLES, _COLUMNS, _INDEXES):
        if (found := database.execute(query).fetchone()) is not None:
            return str(found[0])
    return ""
