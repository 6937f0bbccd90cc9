"""What comes in: files, pictures, texts, vectors and annotations, and the fitting of views, into the catalog.

May import ``engine.catalog``, ``engine.learners.cancellation``, ``features`` and the nouns of ``engine``.
"""
