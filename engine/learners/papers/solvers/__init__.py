"""Functions that minimise a loss and return the solution as a value, and thresholds of the learned distances.

A public place: every room that may import the learners may use it without an estimator.
"""
