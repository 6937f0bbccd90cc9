"""A metric of known rank from quadruplets, after Law, Thome and Cord (CVPR 2014), table 1."""
