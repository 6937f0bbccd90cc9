"""Audits: what in a collection makes searches worse, or figures of evaluations too good, each with the items concerned.

May import from the other rooms of the engine only ``catalog`` and ``spaces``.
"""
