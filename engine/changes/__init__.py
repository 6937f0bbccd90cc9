"""Changes: which versions of a page or a fixed view differ importantly, and in which regions, learned from time.

Law, Thome and Cord, "Learning a Distance Metric from Relative Comparisons between Quadruplets of Images" (IJCV 2016),
section 5. ``regions`` has the distances of versions in each cell of a grid, ``monotony`` the quadruplets that time
gives, ``importance`` the metric that is learned of both. May import the catalog, learners and features.
"""
