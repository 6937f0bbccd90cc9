"""How well the match of hits is calibrated, and whether it recognises queries of unknown classes."""
