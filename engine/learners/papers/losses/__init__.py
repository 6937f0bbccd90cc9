"""Losses of distances between rows, and their parts: constraints, differences of pairs, metrics and regularisers.

A public place: every room that may import the learners may use it without an estimator.
"""
