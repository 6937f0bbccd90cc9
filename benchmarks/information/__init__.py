"""Learners with little, partial or wrong information."""
