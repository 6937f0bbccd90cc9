"""Important changes between versions of a page or a fixed view, and their regions, learned from time.

Law, Thome and Cord, "Learning a Distance Metric from Relative Comparisons between Quadruplets of Images" (IJCV 2017),
section 5. ``series`` reads the versions of a collection, ``version_distances`` compares two of them, ``monotony`` makes
quadruplets from time, ``importance`` learns a metric from quadruplets, and ``decision`` learns the threshold.
``finding`` answers a request.
"""
