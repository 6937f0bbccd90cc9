"""Verification of pairs, after Law, Thome and Cord (CVPR 2014), tables 2 to 4."""
