"""Learners: scikit-learn estimators that map the rows of one or several views to embeddings.

Here are their base, the chain, settings, normalisation steps and kernels. Each family has a room: ``subspace``,
``npp``, ``metrics``, ``attributes``, ``hashing``, ``musl``. They import nothing else of ours but
``engine.runtime``.
"""
