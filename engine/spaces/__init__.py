"""What answers: pipelines, spaces and their targets, living indexes, search and embedding.

May import ``engine.catalog``, ``engine.learners``, ``features``, ``index`` and the nouns of ``engine``.
"""
