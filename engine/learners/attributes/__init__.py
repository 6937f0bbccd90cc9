"""Relative attributes (Parikh and Grauman, ICCV 2011): scores that order the classes.

May import the root of ``engine.learners`` and its rooms ``losses``, ``solvers`` and ``subspace``.
"""
