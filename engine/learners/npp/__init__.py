"""Multi-view neighborhood preserving projections (Quadrianto and Lampert, ICML 2011) and their hybrid with PCA.

May import ``engine.learners.steps``, ``engine.learners.subspace``, which provides the starts, and the root of
``engine.learners``.
"""
