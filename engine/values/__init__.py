"""The nouns of the engine as values: items, requests, answers, conditions, errors, and what a collection can do."""
