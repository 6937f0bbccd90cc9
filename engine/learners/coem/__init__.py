"""Co-EM: class posteriors learned from items whose classes are known in part, in doubt, or by similar pairs alone.

Imports what its siblings share, and the regressions of ``subspace``.
"""
