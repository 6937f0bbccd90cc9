"""Learners: scikit-learn estimators that map the rows of one or several views to embeddings.

The root has their base class, the chain, capabilities, supervision and settings. Each family has a room: ``steps``,
``subspace``, ``npp``, ``metrics``, ``joint``, ``attributes``, ``hashing``, ``musl``. Below them are ``losses``,
``solvers`` and ``samplers``: functions and values without an estimator, for every room that may import the learners.
The learners import nothing else of ours but ``engine.runtime``.
"""
