"""Multiple similarity learning (Babenko, Branson and Belongie, ICCV 2009): boosted metrics for groups of classes."""
