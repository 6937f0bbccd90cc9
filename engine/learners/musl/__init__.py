"""Multiple similarity learning: a few boosted metrics in place of one, or of one for each class."""
