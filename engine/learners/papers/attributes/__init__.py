"""Relative attributes (Parikh and Grauman, ICCV 2011): scores that order the classes."""
