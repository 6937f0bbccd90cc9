"""Explanations of searches: the places of items for a query, what agrees, and what places them in lists."""
