"""Maps: the items of a space as points in a plane, and how well their neighbourhoods are kept.

May import from the other rooms of the engine only ``catalog``, ``spaces`` and ``runtime``.
"""
