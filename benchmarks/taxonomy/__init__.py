"""Metrics that respect a tree of classes, after Law, Thome and Cord (IJCV 2017), tables 4 to 6."""
