"""The catalog, the only truth about a collection: schema, migrations, items, rows, views, spaces, and who may write.

Everything else is derived from it. May import ``features``, ``engine.runtime`` and the nouns of ``engine``
that import nothing; SQLAlchemy and SQLite are known here only.
"""
