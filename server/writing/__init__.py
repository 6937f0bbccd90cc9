"""Writes of items, carried out in a process beside the one that answers searches."""
