"""Learners whose embeddings are binary codes.

May import the root of ``engine.learners``, ``engine.learners.npp`` and ``engine.learners.subspace``, and faiss.
"""
