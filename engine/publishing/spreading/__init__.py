"""Spreading: work on rows in object storage, divided into partitions, on this machine or in a Ray cluster."""
