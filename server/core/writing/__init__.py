"""Writes of items, in a separate process beside the one that answers searches."""
