"""Drawings: contact sheets, questions and reports of changes, with lettering in the fonts of the system.

This room imports values of the engine and Pillow, but no other room of ``server``.
"""
