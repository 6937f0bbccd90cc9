"""Learners: scikit-learn estimators that map the rows of one or several views to embeddings.

Here are their base, the chain, settings, normalisation steps and kernels. Each family has a room: ``subspace``,
``npp``, ``metrics``, ``attributes``, ``hashing``, ``musl``. Nothing of ours outside ``engine.learners`` is imported.
"""
