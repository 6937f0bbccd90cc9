"""What comes in: files, pictures, texts, vectors and annotations, and the fitting of views, into the catalog.

It also reads the files of comparisons and pairs that training learns from. May import ``engine.catalog``,
``engine.runtime``, ``engine.learners.comparisons``, ``features`` and the nouns of ``engine``.
"""
