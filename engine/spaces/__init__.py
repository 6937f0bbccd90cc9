"""Pipelines, spaces and their targets, indexes that follow the catalog, search and embedding."""
