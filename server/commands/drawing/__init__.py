"""Drawings: contact sheets, charts, questions and reports as pages, with lettering in the fonts of the system.

This room imports values of the engine and Pillow, but no other room of ``server``.
"""
