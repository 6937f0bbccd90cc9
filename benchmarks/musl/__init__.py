"""Metrics for groups of classes, after Babenko, Branson and Belongie (ICCV 2009)."""
