"""Functions that draw tuples of rows from classes, from nearest neighbours and from trees of classes.

A public place: every room that may import the learners may use it without an estimator.
"""
