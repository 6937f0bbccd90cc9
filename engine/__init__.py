"""The nouns (collection, home, query, item, info) and requests (recipe, evaluation), above the rooms that do the work.

``collection`` opens the rooms: ``ingest``, ``training`` and ``spaces``, which all work on the ``catalog``. ``learners``
know none of them. All stand on ``runtime``. May import ``features`` and ``index``; never ``server``.
"""
