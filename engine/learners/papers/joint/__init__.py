"""Metrics of several notions of similarity over one common map, and embeddings of objects.

Zhang, Maji and Tomioka, "Jointly Learning Multiple Measures of Similarities from Triplet Comparisons" (2015). May
import the root of ``engine.learners`` and its rooms ``losses``, ``solvers`` and ``subspace``.
"""
