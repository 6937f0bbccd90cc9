"""The catalog, the single source of truth of a collection: schema, migrations, items, rows, views, spaces, locks.

All other data derives from the catalog. ``ingest`` brings files, pictures and vectors into it, and ``transfer`` moves
whole collections and the data of other programs.
"""
