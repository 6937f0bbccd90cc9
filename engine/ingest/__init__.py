"""Ingest: files, pictures, texts, vectors and annotations, and the fitting of views, into the catalog.

It also reads the files of comparisons and pairs that training learns from. This room may import ``engine.catalog``,
``engine.runtime``, ``engine.learners.comparisons``, ``features`` and the nouns of ``engine``.
"""
