"""Metrics of relative attributes, after Law, Thome and Cord (CVPR 2014), table 5."""
