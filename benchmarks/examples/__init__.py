"""Searches by examples and counter-examples: how good they are, over rounds of feedback too, and how fast."""
