"""Pipelines, spaces and their targets, indexes that follow the catalog, search and embedding.

May import ``engine.catalog``, ``engine.learners``, ``engine.runtime``, ``features``, ``index`` and the
nouns of ``engine``.
"""
