"""Maps: the items of a space as points in a plane, and how well their neighbourhoods are kept."""
