"""Multi-view neighborhood preserving projections (Quadrianto and Lampert, ICML 2011) and the hybrid with PCA.

May import ``engine.learners.subspace``, where it starts, and the root of ``engine.learners``.
"""
