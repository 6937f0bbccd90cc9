"""Relative attributes (Parikh and Grauman, ICCV 2011): scores that order the classes.

May import the root of ``engine.learners``, ``losses``, ``solvers`` and ``subspace`` of it.
"""
