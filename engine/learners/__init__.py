"""Learners: scikit-learn estimators that map the rows of one or several views to embeddings.

The root contains their base class, the chain, capabilities, supervision and settings. Each family has a room:
``steps``, ``subspace``, ``npp``, ``metrics``, ``joint``, ``attributes``, ``hashing``, ``musl``. The rooms below them,
``losses``, ``solvers`` and ``samplers``, contain functions and values without an estimator, for every room that may
import the learners. Outside these rooms, the learners import only ``engine.runtime`` of crossview.
"""
