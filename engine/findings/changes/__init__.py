"""Important changes between versions of a page or a fixed view, and their regions, learned from time.

Law, Thome and Cord, "Learning a Distance Metric from Relative Comparisons between Quadruplets of Images" (IJCV 2017),
section 5. ``series`` reads the versions of a collection, ``monotony`` makes quadruplets from time, ``importance``
learns a metric from quadruplets, and ``decision`` compares two versions and learns the threshold.
``important_changes`` answers a request.
"""
