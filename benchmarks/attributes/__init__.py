"""Section 7 of the quadruplet paper: relative attributes from pairs and from quadruplets of the classes' order."""
