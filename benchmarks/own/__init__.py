"""Learners on your own features: several views, labels, random splits, one table."""
