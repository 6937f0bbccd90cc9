"""Mahalanobis metrics from comparisons: Fantope regularisation and large margin nearest neighbours.

The estimators are thin: they draw constraints (``samplers``), state what these cost (``losses``) and minimise it
(``solvers``).
"""
