"""The engine: its nouns (collection, home, query, item, info) and requests (recipe, evaluation), above its rooms.

``collection`` uses the rooms ``ingest``, ``training`` and ``spaces``, which read and write the ``catalog``.
``learners`` import none of these rooms. Every room may import ``runtime``. The engine may import ``features`` and
``index``, but not ``server``.
"""
