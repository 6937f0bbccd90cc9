"""Changes: which versions of a page or a fixed view differ importantly, and in which regions, learned from time.

Law, Thome and Cord, "Learning a Distance Metric from Relative Comparisons between Quadruplets of Images" (IJCV 2017),
section 5. ``series`` has the versions of a collection, ``regions`` and ``structure`` how far two differ, ``monotony``
the quadruplets that time gives, ``importance`` the metric that is learned of them, ``decision`` the threshold,
``finding`` all of it from a request. May import ``engine.catalog``, ``engine.learners``,
``engine.runtime`` and ``features``.
"""
