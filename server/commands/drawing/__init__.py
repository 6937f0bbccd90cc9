"""Drawings: contact sheets, charts, questions and reports as pages, with lettering in the fonts of the system.

This room imports values of the engine and Pillow. A report consists of the macros of ``server/edge/pages/templates``,
with pictures in the file instead of addresses (``page.py``); this room imports nothing else of ``server``.
"""
