"""Findings about a collection, without a query: audits, changes, duplicates, explanations, maps, questions."""
