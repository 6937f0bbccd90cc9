"""Functions that minimise a loss and return the solution as a value.

A public place: every room that may import the learners may use it without an estimator. It may import the root of
``engine.learners`` and ``engine.learners.losses``.
"""
