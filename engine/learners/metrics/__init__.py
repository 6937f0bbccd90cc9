"""Mahalanobis metrics from comparisons: Fantope regularisation and large margin nearest neighbours.

May import the root of ``engine.learners`` and ``engine.learners.subspace``.
"""
