"""Multiple similarity learning (Babenko, Branson and Belongie, ICCV 2009): a few boosted metrics for groups of classes.

May import the root of ``engine.learners``.
"""
