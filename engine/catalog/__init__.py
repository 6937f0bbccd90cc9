"""The catalog, the single source of truth of a collection: schema, migrations, items, rows, views, spaces, locks.

All other data derives from the catalog. This room may import ``features``, ``engine.runtime`` and the nouns of
``engine`` that import nothing; no other room imports SQLAlchemy or SQLite.
"""
